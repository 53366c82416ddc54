"""What every node of a pool is: its image, labels and taints, and what it offers to pods.

Templates, node pools and tolerations are all made from the same answers here, so that they agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from components import accelerators, fabrics, node_labels
from components.accelerators import Accelerator
from components.catalog import Catalog, ImageFamily, InstanceType
from components.fabrics import efa
from components.spec.pools import Block, PoolSpec, Reservation, Spot

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


def eks_effect(effect: str) -> str:
    """The EKS API's spelling of an effect, whichever the user wrote."""
    return _EKS[_KUBERNETES[effect]]


def instance(pool: PoolSpec, cat: Catalog) -> InstanceType:
    """The pool's type, the first of several. Raises UnknownInstanceType, or ValueError for a pool of hosts."""
    if not pool.types:
        raise ValueError(f"pool {pool.name} has no instance type")
    return cat.instance(pool.types[0])


def accelerator(pool: PoolSpec, cat: Catalog) -> Accelerator | None:
    """The adapter that drives the pool's cards; None for a CPU pool."""
    if pool.hosts:
        return accelerators.for_vendor(pool.hosts.vendor)
    return accelerators.of(instance(pool, cat))


def cards(pool: PoolSpec, cat: Catalog) -> int:
    """Cards of one node."""
    return pool.hosts.cards if pool.hosts else instance(pool, cat).cards


def capacity_kind(pool: PoolSpec, *, spot_preprocessing: bool) -> Literal["on-demand", "reservation", "block", "spot"]:
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


def image_runs_plugin(pool: PoolSpec, cat: Catalog) -> bool:
    """Whether the pool's image runs a device plugin for its cards itself, beside which a second would register the
    same resource: Bottlerocket's NVIDIA variants do, as a service of the host (bottlerocket-os/bottlerocket 3992).
    """
    family = cat.images.families.get(pool.image_family) if pool.image_family and not pool.image_id else None
    return family is not None and family.system == "bottlerocket" and family.vendor == "nvidia"


def repaired(pool: PoolSpec, cat: Catalog) -> bool:
    """Whether EKS repairs nodes of the pool's groups: those with cards, whose faults end a job anyway, unless said
    otherwise.
    """
    return accelerator(pool, cat) is not None if pool.node_repair is None else pool.node_repair


def has_efa(pool: PoolSpec, cat: Catalog) -> bool:
    """Whether pods of the pool ask for EFA devices."""
    return not pool.hosts and efa.RESOURCE in fabrics.of_pool(pool, cat).pod_resources(pool, instance(pool, cat))


def labels_of(pool: PoolSpec, cat: Catalog, *, capacity: str | None = None, block: str | None = None) -> dict[str, str]:
    """Labels of every node, sorted. `capacity` and `block` are a node group's own words, the pool's when left out."""
    family = accelerator(pool, cat)
    fabric = fabrics.of_pool(pool, cat)
    fixed = node_labels.of_pool(
        pool=pool.name,
        purpose=pool.purpose,
        capacity=capacity or pool.capacity.kind,
        fabric=fabric.kind,
        accelerator=family.vendor if family else None,
        efa=has_efa(pool, cat),
    )
    of_family = dict(family.labels) if family else {}
    of_block = {node_labels.BLOCK: block} if block else {}
    return dict(sorted({**of_family, **pool.labels, **fixed, **of_block}.items()))


def taints(pool: PoolSpec, cat: Catalog) -> tuple[Taint, ...]:
    """The accelerator's taint, then the user's, by key and effect."""
    family = accelerator(pool, cat)
    own = [Taint(key=family.taint_key, value=family.taint_value, effect="NoSchedule")] if family else []
    extra = [Taint(key=taint.key, value=taint.value, effect=_KUBERNETES[taint.effect]) for taint in pool.taints]
    return tuple(own + sorted(extra, key=lambda taint: (taint.key, taint.effect)))


def image(pool: PoolSpec, cat: Catalog) -> ImageFamily:
    """The image family: the user's, CUSTOM for an own image, else the one that fits cards and architecture.

    Raises NoImageFamily when EKS has none, KeyError for a family that the catalog doesn't know.
    """
    if pool.image_family:
        return cat.images.family(pool.image_family)
    if pool.image_id:
        return cat.images.family("CUSTOM")
    machine = instance(pool, cat)
    family = accelerator(pool, cat)
    if family:
        return cat.images.family(family.image_family(machine.arch))
    return cat.images.family("AL2023_ARM_64_STANDARD" if machine.arch == "arm64" else "AL2023_x86_64_STANDARD")


def max_pods(
    machine: InstanceType, *, layout: efa.Layout = "efa-only", has_efa: bool = False, prefix_delegation: bool = True
) -> int:
    """Pods that the kubelet takes: what the layout's addresses allow, no more than a whole-node pool can use.

    p5.48xlarge with an `efa-only` interface on card 0 has one interface for pods: 49 addresses, or 784 with prefixes.
    """
    addresses = efa.pod_interfaces(machine, layout, efa=has_efa) * (machine.network.ipv4_per_interface - 1)
    fit = (addresses * PREFIX_ADDRESSES if prefix_delegation else addresses) + _HOST_NETWORK_PODS
    return min(WHOLE_NODE_PODS if machine.cards else KUBELET_PODS, fit)
