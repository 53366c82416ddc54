"""What runs in the cluster so that sick nodes leave service and come back once they are sound: the quarantine
controller, and a check on every node that it has taken out.

The controller may read and patch nodes, read pods everywhere, and fail and end pods in the namespaces of jobs;
nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from typing import Any, Final

from components import node_labels
from components.accelerators import Accelerator
from components.catalog import Catalog
from components.manifests import device_plugins, namespaces, quantities
from components.manifests.jobs import programs
from components.manifests.nodes import whole_node
from components.manifests.nodes.whole_node import Machine
from components.planning.pool import Pool
from components.spec.pools import PoolSpec
from components.spec.stack import StackSpec

NAME: Final = "quarantine"
NAMESPACE: Final = device_plugins.NAMESPACE
PROGRAMS: Final = "node-health-programs"
# As workload/health names them.
LABEL: Final = "trainshed.io/quarantine"
CHECK_LABEL: Final = "trainshed.io/node-check"
CHECK_CONTAINER: Final = "preflight"
# Its Python needs no package; the controller runs on system nodes, and the checks' image must have glibc, which
# nvidia-smi is linked with.
CONTROLLER_IMAGE: Final = "python"
CHECK_IMAGE: Final = "amazonlinux"
_FOLDER: Final = "/program"
_ARCHIVE: Final = f"{_FOLDER}/programs.zip"
_PARTS: Final = ("health", "preflight")
_NOBODY: Final = 65534
_RBAC: Final = "rbac.authorization.k8s.io"
_UNPRIVILEGED: Final = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "readOnlyRootFilesystem": True,
}
_POD_SECURITY: Final = {
    "runAsNonRoot": True,
    "runAsUser": _NOBODY,
    "runAsGroup": _NOBODY,
    "seccompProfile": {"type": "RuntimeDefault"},
}

Manifest = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Check:
    """The check of one pool's nodes: the DaemonSet lacks only the address of its image."""

    pool: str
    words: tuple[str, ...]
    machine: Machine
    labels: dict[str, str]

    @property
    def name(self) -> str:
        return f"node-check-{self.pool}"


def _machines(stack: StackSpec, cat: Catalog) -> list[tuple[PoolSpec, Machine]]:
    """Pools whose nodes do jobs' work, with their machines, by name."""
    found = [(pool, whole_node.machine_of(Pool(pool, cat))) for pool in sorted(stack.pools, key=lambda pool: pool.name)]
    return [(pool, machine) for pool, machine in found if machine is not None and pool.purpose != "system"]


def families(stack: StackSpec, cat: Catalog) -> list[Accelerator]:
    """Families of the pools' cards, on machines of EC2 and on the premises alike, by vendor."""
    found = {machine.family.vendor: machine.family for _, machine in _machines(stack, cat) if machine.family}
    return [found[vendor] for vendor in sorted(found)]


def health_codes(stack: StackSpec, cat: Catalog) -> list[str]:
    """Codes of the driver for which a node goes: those after which it has to be replaced or started again."""
    codes = {each.code for family in families(stack, cat) for each in family.health_codes if each.action in _TAKEN_OUT}
    return sorted((code for code in codes if code.isdigit()), key=int)


_TAKEN_OUT: Final = ("replace", "reboot")


def pools(stack: StackSpec, cat: Catalog) -> dict[str, Manifest]:
    """What the controller must know of each pool: the labels of its nodes, and the cards that each has to show."""
    found: dict[str, Manifest] = {}
    for pool, machine in _machines(stack, cat):
        cards = {machine.resource_name: machine.card_resources} if machine.resource_name else {}
        found[pool.name] = {"labels": whole_node.labels_of(pool), "cards": cards}
    return found


def _arguments(stack: StackSpec, cat: Catalog) -> list[str]:
    spec = stack.node_health
    words = [
        "--pools",
        f"{_FOLDER}/pools.json",
        "--most-percent",
        str(spec.most_percent),
        "--lost-after",
        str(spec.lost_seconds),
    ]
    codes = health_codes(stack, cat)
    ignored = sorted({reason for family in families(stack, cat) for reason in family.left_alone})
    if codes:
        words += ["--health-codes", ",".join(codes)]
    return [*words, "--ignore-reasons", ",".join(ignored)]


def checks(stack: StackSpec, cat: Catalog) -> list[Check]:
    """One for each pool with cards whose family the check knows, by name."""
    found: list[Check] = []
    for pool, machine in _machines(stack, cat):
        family = machine.family
        if family is None or family.gate_kind is None or not machine.cards.count:
            continue
        words = ["--health", "--devices", str(machine.cards.count), "--device-kind", family.gate_kind]
        if family.probe:
            words += ["--cuda-probe", family.probe]
        found.append(Check(pool=pool.name, words=tuple(words), machine=machine, labels=whole_node.labels_of(pool)))
    return found


def controller_objects(stack: StackSpec, cat: Catalog, image: Any) -> dict[str, Manifest]:
    """The controller's manifests by role, in the order in which one needs the other."""
    found = {"account": _account(), "role": _cluster_role(), "binding": _binding("ClusterRole", None)}
    for namespace in namespaces.job_namespaces(stack):
        found[f"role-{namespace}"] = _role_in(namespace)
        found[f"binding-{namespace}"] = _binding("Role", namespace)
    found["programs"] = config_map(stack, cat)
    found["controller"] = deployment(stack, cat, image)
    return found


def config_map(stack: StackSpec, cat: Catalog) -> Manifest:
    """The programs of controller and checks, and what the controller knows of the pools."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": device_plugins.metadata(NAME) | {"name": PROGRAMS},
        "binaryData": {"programs.zip": base64.b64encode(programs.archive(_PARTS)).decode()},
        "data": {"pools.json": json.dumps(pools(stack, cat), indent=1, sort_keys=True)},
    }


def _version(stack: StackSpec, cat: Catalog) -> dict[str, str]:
    """A pod starts anew when what it has read at its start is another."""
    content = programs.archive(_PARTS) + json.dumps(pools(stack, cat), sort_keys=True).encode()
    return {"trainshed.io/programs": hashlib.sha256(content).hexdigest()[:16]}


def _account() -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": device_plugins.metadata(NAME),
        "automountServiceAccountToken": False,
    }


def _cluster_role() -> Manifest:
    rules = [
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch", "patch"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch"]},
    ]
    metadata = {"name": f"trainshed-{NAME}", "labels": device_plugins.identity(NAME)}
    return {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": rules}


def _role_in(namespace: str) -> Manifest:
    """A pod on a node that stays lost is ended without its kubelet, in the namespaces of jobs alone."""
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "Role",
        "metadata": {"name": NAME, "namespace": namespace, "labels": device_plugins.identity(NAME)},
        "rules": [
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["delete"]},
            {"apiGroups": [""], "resources": ["pods/status"], "verbs": ["patch"]},
        ],
    }


def _binding(kind: str, namespace: str | None) -> Manifest:
    name = NAME if namespace else f"trainshed-{NAME}"
    metadata: Manifest = {"name": name, "labels": device_plugins.identity(NAME)}
    if namespace:
        metadata["namespace"] = namespace
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": f"{kind}Binding",
        "metadata": metadata,
        "roleRef": {"apiGroup": _RBAC, "kind": kind, "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}],
    }


def _container(name: str, image: Any, module: str, words: list[str]) -> Manifest:
    return {
        "name": name,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["python3", _ARCHIVE, module, *words],
        "env": [{"name": "PYTHONUNBUFFERED", "value": "1"}],
        "securityContext": _UNPRIVILEGED,
        "volumeMounts": [{"name": "program", "mountPath": _FOLDER, "readOnly": True}],
    }


def deployment(stack: StackSpec, cat: Catalog, image: Any) -> Manifest:
    """One replica, and never two at once: each would count the nodes that are out for itself."""
    container = _container("controller", image, "workload.health.quarantine", _arguments(stack, cat))
    # A mirror of every node and every worker, in Python's own words: about 20 KiB an object.
    container["resources"] = {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "1Gi"}}
    pod: Manifest = {
        "serviceAccountName": NAME,
        "automountServiceAccountToken": True,
        "priorityClassName": "system-cluster-critical",
        "securityContext": _POD_SECURITY,
        "containers": [container],
        "volumes": [{"name": "program", "configMap": {"name": PROGRAMS}}],
    }
    if stack.on_aws:
        pod["nodeSelector"] = {node_labels.PURPOSE: "system"}
    selected = {"app.kubernetes.io/name": NAME}
    # The engine doesn't wait for it: a registry that is still empty would hold up the first deployment.
    metadata = device_plugins.metadata(NAME) | {"annotations": {"pulumi.com/skipAwait": "true"}}
    template = {"metadata": {"labels": device_plugins.identity(NAME), "annotations": _version(stack, cat)}, "spec": pod}
    return quantities.plain(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": metadata,
            "spec": {
                "replicas": 1,
                "strategy": {"type": "Recreate"},
                "selector": {"matchLabels": selected},
                "template": template,
            },
        }
    )


def daemon_set(check: Check, image: Any) -> Manifest:
    """Runs on the pool's nodes that are out, as soon as their cards are free; it checks again until it passes.

    It has no priority: a gang that still runs on the node keeps its cards. What passed waits until the controller lets
    the node in, which takes the pod away.
    """
    preflight = _container(CHECK_CONTAINER, image, "workload.preflight.gate", list(check.words))
    cards = {str(check.machine.resource_name): str(check.machine.card_resources)}
    asked = {"cpu": "100m", "memory": "256Mi", **cards}
    preflight["resources"] = {"requests": asked, "limits": {"memory": "256Mi", **cards}}
    if check.machine.family:
        preflight["env"] += [
            {"name": name, "value": value} for name, value in sorted(check.machine.family.probe_environment.items())
        ]
    waits = {
        "name": "passed",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["sleep", "infinity"],
        "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"memory": "32Mi"}},
        "securityContext": _UNPRIVILEGED,
    }
    expressions = [{"key": LABEL, "operator": "Exists"}]
    expressions += [{"key": key, "operator": "In", "values": [value]} for key, value in sorted(check.labels.items())]
    terms = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
    pod: Manifest = {
        "automountServiceAccountToken": False,
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}},
        "tolerations": device_plugins.EVERY_TAINT,
        "terminationGracePeriodSeconds": 5,
        "securityContext": _POD_SECURITY,
        "initContainers": [preflight],
        "containers": [waits],
        "volumes": [{"name": "program", "configMap": {"name": PROGRAMS}}],
    }
    made = device_plugins.daemon_set_of(check.name, pod)
    made["spec"]["template"]["metadata"]["labels"][CHECK_LABEL] = "true"
    return made
