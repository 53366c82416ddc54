"""Settings of the Kueue and JobSet controllers, as values of their Helm charts.

Hides how they are sized: at their defaults (50 requests a second in older releases of Kueue, 512 MiB) a gang of 1,250
pods takes a minute more to start, or the controller runs out of memory in the middle of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import yaml

from components.spec.stack import StackSpec

FRAMEWORKS = ("batch/job", "jobset.x-k8s.io/jobset")
REQUESTS_PER_SECOND = 1000
BURST = 2000
_LARGE_STACK_NODES = 64


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
    if sum(pool.max_nodes for pool in stack.pools) <= _LARGE_STACK_NODES:
        return Size(millicpu=250, memory_mib=1024)
    return Size(millicpu=1000, memory_mib=4096)


def kueue_configuration() -> dict[str, Any]:
    """Kueue's own configuration file."""
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
            # A first start pulls a large image on every node and passes the gate; a restart finds the image there.
            "timeout": "30m",
            "recoveryTimeout": "15m",
            "blockAdmission": False,
            "requeuingStrategy": {
                "timestamp": "Eviction",
                "backoffLimitCount": 10,
                "backoffBaseSeconds": 60,
                "backoffMaxSeconds": 3600,
            },
        },
        "manageJobsWithoutQueueName": False,
        "managedJobsNamespaceSelector": {
            "matchExpressions": [
                {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", "kueue-system"]}
            ]
        },
        "integrations": {"frameworks": list(FRAMEWORKS)},
        "objectRetentionPolicies": {"workloads": {"afterFinished": "168h"}},
    }


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
            "replicas": 1,
            "manager": manager,
            **_placement(stack),
        },
        "managerConfig": {"controllerManagerConfigYaml": yaml.safe_dump(kueue_configuration(), sort_keys=False)},
    }


def jobset_values(stack: StackSpec, *, registry: Any = None) -> dict[str, Any]:
    """Values of the JobSet chart."""
    values: dict[str, Any] = {
        "controller": {
            "replicas": 1,
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
    Kubernetes fills them again, and makes one anew that Helm has just deleted; Helm would then wait for it to go until
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
