"""Settings of Karpenter's controller, as values of its Helm chart."""

from __future__ import annotations

from typing import Any, Final

from components import node_labels
from components.manifests.nodes.whole_node import KERNEL_SHARE
from components.spec.stack import StackSpec

NAMESPACE: Final = "kube-system"  # where the API server serves it before everybody else, by its own guide
SERVICE_ACCOUNT: Final = "karpenter"
_LARGE_STACK_NODES = 64


def values(stack: StackSpec, *, cluster_name: Any, endpoint: Any, queue: Any, image: Any = None) -> dict[str, Any]:
    """Values of the chart; `image` is the repository where the controller's image is mirrored and its tag."""
    large = sum(pool.max_nodes for pool in stack.pools) > _LARGE_STACK_NODES
    memory = "2Gi" if large else "1Gi"
    controller: dict[str, Any] = {
        # No CPU limit: a throttled controller buys a gang's nodes in several rounds.
        "resources": {"requests": {"cpu": "1" if large else "250m", "memory": memory}, "limits": {"memory": memory}}
    }
    if image is not None:
        # The publisher's digest is that of its own index, which a copied image need not have.
        controller["image"] = {**image, "digest": ""}
    isolated = stack.network is not None and stack.network.egress == "isolated"
    return {
        "replicas": replicas(stack),
        "podDisruptionBudget": {"name": "karpenter", "maxUnavailable": 1},
        "priorityClassName": "system-cluster-critical",
        "serviceAccount": {"name": SERVICE_ACCOUNT},
        "nodeSelector": {"kubernetes.io/os": "linux", node_labels.PURPOSE: "system"},
        "controller": controller,
        "settings": {
            "clusterName": cluster_name,
            "clusterEndpoint": endpoint,
            "eksControlPlane": True,
            "interruptionQueue": queue,
            "isolatedVPC": isolated,
            # What whole-node workers leave to firmware and kernel. With Karpenter's own 7.5 % no machine would seem
            # large enough for one.
            "vmMemoryOverheadPercent": KERNEL_SHARE,
        },
    }


def replicas(stack: StackSpec) -> int:
    """Two, each on a node of its own; one where the system pool has a single node."""
    return 2 if stack.cluster is None or stack.cluster.system_pool.nodes > 1 else 1
