"""What runs in the cluster so that queues and jobs leave a Capacity Block in time: an account, a program and its
schedule.

Only the program may set Kueue's stop policy. The queue's own manifest leaves the field out for pools of blocks, so that
neither a deployment nor a refresh opens a held queue.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from components import node_labels
from components.catalog import Catalog
from components.planning import blocks, images
from components.spec.pools import PoolSpec
from components.spec.stack import StackSpec

Manifest = dict[str, Any]
NAMESPACE: Final = "kueue-system"
EVERY_MINUTES: Final = 5
_PROGRAM: Final = Path(__file__).parent / "programs" / "block_clock.py"
_NOBODY: Final = 65534


def pools(stack: StackSpec) -> tuple[PoolSpec, ...]:
    """Pools bought in blocks that a queue hands out, by name."""
    used = {queue.pool for queue in stack.queues}
    return tuple(
        sorted((pool for pool in stack.pools if blocks.windows(pool) and pool.name in used), key=lambda pool: pool.name)
    )


def name_of(pool: PoolSpec) -> str:
    return f"block-clock-{pool.name}"


def queues_of(stack: StackSpec, pool: PoolSpec) -> list[str]:
    """Queues that the clock opens and holds; one that the file holds stays held."""
    return sorted(queue.name for queue in stack.queues if queue.pool == pool.name and not queue.hold)


def objects(stack: StackSpec, pool: PoolSpec, cat: Catalog, *, registry: str | None = None) -> dict[str, Manifest]:
    """The manifests of one pool by role, in the order in which one needs the other.

    `registry`: the account's registry when images don't come from their publishers; left out, the component fills it
    in.
    """
    name = name_of(pool)
    queues = queues_of(stack, pool)
    plan = {"queues": queues, "blocks": [window.as_plan() for window in blocks.windows(pool)]}
    data = {
        "block_clock.py": _PROGRAM.read_text(encoding="utf-8"),
        "calendar.json": json.dumps(plan, indent=1, sort_keys=True),
    }
    image = images.path(cat.charts.image("python")) if registry is not None else cat.charts.image("python").reference
    return {
        "account": {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": _metadata(name),
            "automountServiceAccountToken": False,
        },
        "role": _role(name, queues),
        "binding": {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": f"trainshed-{name}"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": f"trainshed-{name}"},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE}],
        },
        "program": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": _metadata(name), "data": data},
        "timetable": _timetable(name, f"{registry}/{image}" if registry else image),
    }


def _metadata(name: str) -> Manifest:
    return {"name": name, "namespace": NAMESPACE}


def _role(name: str, queues: list[str]) -> Manifest:
    """Just these queues; nodes and pods can't be distinguished by label in a role, so the verbs are few."""
    # A rule without names would mean all of them.
    own = {
        "apiGroups": ["kueue.x-k8s.io"],
        "resources": ["clusterqueues"],
        "resourceNames": queues,
        "verbs": ["get", "patch"],
    }
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": f"trainshed-{name}"},
        "rules": [
            *([own] if queues else []),
            {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "patch"]},
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
            {"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]},
        ],
    }


def _timetable(name: str, image: str) -> Manifest:
    container: Manifest = {
        "name": "clock",
        "image": image,
        "command": ["python3", "/program/block_clock.py", "/program/calendar.json"],
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": [{"name": "program", "mountPath": "/program", "readOnly": True}],
    }
    pod: Manifest = {
        "serviceAccountName": name,
        "automountServiceAccountToken": True,
        "restartPolicy": "Never",
        "nodeSelector": {node_labels.PURPOSE: "system"},
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _NOBODY,
            "runAsGroup": _NOBODY,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
        "volumes": [{"name": "program", "configMap": {"name": name}}],
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": _metadata(name),
        "spec": {
            "schedule": f"*/{EVERY_MINUTES} * * * *",
            "timeZone": "Etc/UTC",
            "concurrencyPolicy": "Forbid",
            "startingDeadlineSeconds": 240,
            "successfulJobsHistoryLimit": 1,
            "failedJobsHistoryLimit": 3,
            "jobTemplate": {"spec": {"backoffLimit": 0, "activeDeadlineSeconds": 290, "template": {"spec": pod}}},
        },
    }
