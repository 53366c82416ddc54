"""How many nodes a pool has and how they are bought, their taints, and the pods that a node takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from components.catalog import InstanceType
from components.fabrics import efa
from components.spec.pools import Block, CapacityKind, PoolSpec, Reservation, Spot

Effect = Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
_KUBERNETES: Mapping[str, Effect] = {
    "NO_SCHEDULE": "NoSchedule",
    "PREFER_NO_SCHEDULE": "PreferNoSchedule",
    "NO_EXECUTE": "NoExecute",
    "NoSchedule": "NoSchedule",
    "PreferNoSchedule": "PreferNoSchedule",
    "NoExecute": "NoExecute",
}
_EKS: Mapping[Effect, str] = {
    "NoSchedule": "NO_SCHEDULE",
    "PreferNoSchedule": "PREFER_NO_SCHEDULE",
    "NoExecute": "NO_EXECUTE",
}

# Whole-node pools run one worker and the node's daemons; 30 pod addresses are two /28 prefixes.
WHOLE_NODE_PODS = 32
# Beyond this Kubernetes isn't tested by default.
KUBELET_PODS = 110
PREFIX_ADDRESSES = 16
# Most pods that EKS lets a managed node have by itself, below 30 vCPU and from there on (EKS User Guide, create a
# managed node group).
EKS_PODS, EKS_PODS_OF_LARGE, LARGE_VCPU = 110, 250, 30
_HOST_NETWORK_PODS = 2  # aws-node and kube-proxy, which EC2's own formula adds


@dataclass(frozen=True, kw_only=True)
class Taint:
    """A taint in Kubernetes' spelling; `eks_effect` is the same in the EKS API's."""

    key: str
    value: str
    effect: Effect

    @property
    def eks_effect(self) -> str:
        return _EKS[self.effect]

    def toleration(self) -> dict[str, str]:
        """What a pod needs to run on such a node."""
        return {"key": self.key, "operator": "Equal", "value": self.value, "effect": self.effect}


def taint(key: str, value: str, effect: str) -> Taint:
    """A taint of the stack file, in whichever spelling of the effect."""
    return Taint(key=key, value=value, effect=_KUBERNETES[effect])


def eks_effect(effect: str) -> str:
    """The EKS API's spelling of an effect, whichever the user wrote."""
    return _EKS[_KUBERNETES[effect]]


def capacity_kind(pool: PoolSpec, *, spot_preprocessing: bool) -> CapacityKind:
    """How the machines are bought once the toggle is applied: it decides for preprocessing pools that are not
    reserved.
    """
    if pool.purpose == "preprocessing" and not isinstance(pool.capacity, Reservation | Block):
        return "spot" if spot_preprocessing else "on-demand"
    return pool.capacity.kind


def sizes_itself(pool: PoolSpec) -> bool:
    """Whether Karpenter buys nodes of the pool when jobs wait: pools with a range, spot, and what the toggle governs.

    Machines of a Capacity Block come and go by its calendar, those on the premises are always there.
    """
    if pool.hosts or isinstance(pool.capacity, Block):
        return False
    governed = pool.purpose == "preprocessing" and not isinstance(pool.capacity, Reservation)
    return pool.autoscaled or isinstance(pool.capacity, Spot) or governed


def fixed_nodes(pool: PoolSpec) -> int:
    """Nodes that are always there, in managed node groups: the pool's `min` where it sizes itself, else all of them.

    A fixed number on a pool that sizes itself (spot, preprocessing) is the most that it buys.
    """
    if not sizes_itself(pool):
        return pool.max_nodes
    return pool.min_nodes if pool.autoscaled else 0


def bought_nodes(pool: PoolSpec) -> int:
    """The most nodes that Karpenter runs beside the fixed ones."""
    return max(pool.max_nodes - fixed_nodes(pool), 0)


def max_pods(
    machine: InstanceType, *, layout: efa.Layout = "efa-only", has_efa: bool = False, prefix_delegation: bool = True
) -> int:
    """Pods that the kubelet takes: what the layout's addresses allow, no more than a whole-node pool can use.

    p5.48xlarge with an `efa-only` interface on card 0 has one interface for pods: 49 addresses, or 784 with prefixes.
    """
    addresses = efa.pod_interfaces(machine, layout, efa=has_efa) * (machine.network.ipv4_per_interface - 1)
    fit = (addresses * PREFIX_ADDRESSES if prefix_delegation else addresses) + _HOST_NETWORK_PODS
    return min(WHOLE_NODE_PODS if machine.cards else KUBELET_PODS, fit)
