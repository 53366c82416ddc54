"""Where nodes are near each other: the network layers of a pool's machines, as labels from the widest to the nearest.

Types report three layers, four or none. The highest number is the layer next to the machine. Sources: EC2 User Guide,
instance topology; kubernetes/cloud-provider-aws pkg/providers/v1/topology.go.
"""

from __future__ import annotations

from dataclasses import dataclass

from components.catalog import Catalog, InstanceType
from components.planning import pool as pool_values
from components.planning.pool import Pool
from components.spec.stack import StackSpec

LAYER = "topology.k8s.aws/network-node-layer-{}"
ZONE_ID = "topology.k8s.aws/zone-id"
HOST = "kubernetes.io/hostname"


@dataclass(frozen=True, kw_only=True)
class Topology:
    """`name` is shared by all pools of one depth: a node must carry every level's label, so depths can't be mixed."""

    name: str
    layers: int

    @property
    def levels(self) -> tuple[str, ...]:
        """Label keys, widest first: the network's layers, then the machine itself, which Kueue wants last."""
        return (*(LAYER.format(number + 1) for number in range(self.layers)), HOST)

    @property
    def leaf(self) -> str | None:
        """The layer nearest to the machine; None where the type reports none."""
        return LAYER.format(self.layers) if self.layers else None

    @property
    def spine(self) -> str | None:
        """The layer next above the leaf."""
        return LAYER.format(self.layers - 1) if self.layers > 1 else None

    def as_plan(self) -> dict[str, object]:
        return {"name": self.name, "levels": list(self.levels), "leaf": self.leaf or "", "spine": self.spine or ""}


def of_instance(instance: InstanceType) -> Topology:
    """The topology of one type: `network-3`, `network-4`, or `hosts` for types that report no layers."""
    layers = instance.topology_layers
    return Topology(name=f"network-{layers}" if layers else "hosts", layers=layers)


def of_pool(pool: Pool) -> Topology:
    """The depth that all of the pool's types have. Self-hosted machines carry no such labels."""
    return Topology(name=f"network-{pool.layers}" if pool.layers else "hosts", layers=pool.layers)


def of_stack(stack: StackSpec, cat: Catalog) -> dict[str, Topology]:
    """The topology of each pool with cards, by the pool's name."""
    pools = sorted(pool_values.of_stack(stack, cat), key=lambda each: each.name)
    return {pool.name: of_pool(pool) for pool in pools if pool.cards}
