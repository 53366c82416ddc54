"""Settings of the Kueue and JobSet controllers, as values of their Helm charts.

They must be sized by the stack. At the defaults (50 requests a second in older releases of Kueue, 512 MiB) a gang of
1,250 pods takes a minute more to start, or the controller runs out of memory on the way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import yaml

from components.manifests.jobs import limits
from components.planning import nodes, turnover
from components.spec.stack import StackSpec

FRAMEWORKS = ("batch/job", "jobset.x-k8s.io/jobset")
REQUESTS_PER_SECOND = 1000
BURST = 2000
_LARGE_STACK_NODES = 64
# Namespaces whose jobs wait in queues (components/manifests/namespaces.py).
JOBS = {"trainshed.io/jobs": "true"}
# Machines that EC2 has not got at once are asked for again and again. Unverified: generous.
_BUYING_MINUTES = 10
# Kueue's own order of strategies (its documentation, Fair Sharing).
FAIR_SHARING = {"preemptionStrategies": ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]}


@dataclass(frozen=True, kw_only=True)
class Size:
    """CPU in millicores, memory in MiB: what a controller asks for, and its memory limit."""

    millicpu: int
    memory_mib: int

    def resources(self) -> dict[str, dict[str, str]]:
        # No CPU limit: a controller that is throttled while it starts a gang is what the size is there to avoid.
        return {
            "requests": {"cpu": f"{self.millicpu}m", "memory": f"{self.memory_mib}Mi"},
            "limits": {"memory": f"{self.memory_mib}Mi"},
        }


def size(stack: StackSpec) -> Size:
    """Small stacks share small system nodes; large ones get what 1,250-node gangs took (Kueue 102 MiB, JobSet 56) many
    times over.
    """
    if not _large(stack):
        return Size(millicpu=250, memory_mib=1024)
    return Size(millicpu=1000, memory_mib=4096)


def replicas(stack: StackSpec) -> int:
    """Two on large stacks, where an hour without a queue costs more than a controller; one elsewhere."""
    spread = stack.cluster is None or stack.cluster.system_pool.nodes > 1
    return 2 if _large(stack) and spread else 1


def _large(stack: StackSpec) -> bool:
    return sum(pool.max_nodes for pool in stack.pools) > _LARGE_STACK_NODES


def boot_minutes(stack: StackSpec) -> int:
    """What a job waits for its nodes where they are bought for it, at the longest; 0 where all are there."""
    bought = [pool for pool in stack.pools if nodes.bought_nodes(pool)]
    return turnover.BOOT_MINUTES_WITH_CARDS + _BUYING_MINUTES if bought else 0


def kueue_configuration(stack: StackSpec) -> dict[str, Any]:
    """Kueue's own configuration file."""
    boot = boot_minutes(stack)
    return {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": ":8081"},
        "metrics": {"bindAddress": ":8443", "enableClusterQueueResources": True},
        "webhook": {"port": 9443},
        "leaderElection": {"leaderElect": True, "resourceName": "c1f6bfd2.kueue.x-k8s.io"},
        "controller": {
            "groupKindConcurrency": {
                "Job.batch": 10,
                "Pod": 20,
                "Workload.kueue.x-k8s.io": 10,
                "LocalQueue.kueue.x-k8s.io": 1,
                "ClusterQueue.kueue.x-k8s.io": 1,
                "ResourceFlavor.kueue.x-k8s.io": 1,
            }
        },
        "clientConnection": {"qps": REQUESTS_PER_SECOND, "burst": BURST},
        "waitForPodsReady": {
            # Never before a worker's own probe gives up: pulling, the gate, and the way to the first heartbeat.
            "timeout": f"{limits.queue_minutes(boot)}m",
            "recoveryTimeout": f"{limits.queue_minutes(boot)}m",
            "blockAdmission": False,
            "requeuingStrategy": {
                "timestamp": "Eviction",
                # No limit: a workload that is requeued too often would be deactivated without a word to anybody.
                "backoffBaseSeconds": 60,
                "backoffMaxSeconds": 3600,
            },
        },
        # Jobs without a queue are refused before they get here (components/manifests/admission.py).
        "manageJobsWithoutQueueName": False,
        # The chart's webhooks select the same namespaces: jobs of other charts never wait for Kueue.
        "managedJobsNamespaceSelector": {"matchLabels": JOBS},
        **({"fairSharing": FAIR_SHARING} if any(queue.weight is not None for queue in stack.queues) else {}),
        "integrations": {"frameworks": list(FRAMEWORKS)},
        "objectRetentionPolicies": {"workloads": {"afterFinished": "168h"}},
    }


def _apart(name: str) -> list[dict[str, Any]]:
    """The two replicas on two nodes, if there are two with room."""
    return [
        {
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"app.kubernetes.io/name": name}},
        }
    ]


def _placement(stack: StackSpec) -> dict[str, Any]:
    """Controllers run beside the system's other pods, never on a node with cards: those are all tainted."""
    return {} if not stack.on_aws else {"nodeSelector": {"trainshed.io/purpose": "system"}}


def kueue_values(stack: StackSpec, *, registry: Any = None) -> dict[str, Any]:
    """Values of the Kueue chart; `registry` is where the image is mirrored, when it must not come from its
    publisher.
    """
    manager: dict[str, Any] = {"resources": size(stack).resources(), "priorityClassName": "system-cluster-critical"}
    if registry is not None:
        manager["image"] = {"repository": registry}
    return {
        "enablePrometheus": False,
        "controllerManager": {
            "featureGates": [{"name": "TopologyAwareScheduling", "enabled": True}],
            "replicas": replicas(stack),
            "podDisruptionBudget": {"enabled": replicas(stack) > 1, "minAvailable": 1},
            "topologySpreadConstraints": _apart("kueue") if replicas(stack) > 1 else [],
            "manager": manager,
            **_placement(stack),
        },
        "managerConfig": {"controllerManagerConfigYaml": yaml.safe_dump(kueue_configuration(stack), sort_keys=False)},
    }


def jobset_values(stack: StackSpec, *, registry: Any = None) -> dict[str, Any]:
    """Values of the JobSet chart."""
    values: dict[str, Any] = {
        "controller": {
            "replicas": replicas(stack),
            "podDisruptionBudget": {"enabled": replicas(stack) > 1, "minAvailable": 1},
            "leaderElection": {"enable": True},
            "clientConnection": {"qps": REQUESTS_PER_SECOND, "burst": BURST},
            "resources": size(stack).resources(),
            **_placement(stack),
        }
    }
    return values if registry is None else values | {"image": {"repository": registry}}


def aggregated_roles() -> list[dict[str, Any]]:
    """The chart's two roles that Kubernetes fills from other roles, in the chart's own words.

    They are declared beside the release so that they go before it. While Helm deletes the roles they are filled from,
    Kubernetes fills them again, and recreates one that Helm has just deleted; Helm would then wait for it to go until
    its time is over.
    """
    return [
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            # Helm made them: the field is shared, not fought over.
            "metadata": {"name": f"kueue-batch-{who}-role", "annotations": {"pulumi.com/patchForce": "true"}},
            "aggregationRule": {
                "clusterRoleSelectors": [{"matchLabels": {f"rbac.kueue.x-k8s.io/batch-{who}": "true"}}]
            },
        }
        for who in ("admin", "user")
    ]
