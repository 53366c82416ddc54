"""Where a pool's nodes go: its node groups, their sizes and names, and what job the pool then carries.

Hides how a pool is split: by reservation or block first, then by the nodes that EKS allows in one group. Keys come from
ids or running numbers that fill up one after the other, so that adding or removing one leaves the others' names alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from components import fabrics
from components.catalog import Catalog
from components.planning import blocks, nodes
from components.planning.blocks import Window
from components.planning.nodes import max_pods
from components.spec.pools import Block, OnDemand, PoolSpec, Reservation
from components.spec.stack import StackSpec

__all__ = [
    "NodeGroup",
    "Placement",
    "groups",
    "largest_group",
    "max_pods",
    "of_stack",
    "plan",
    "pool_zones",
    "system_zones",
]

CapacityType = Literal["ON_DEMAND", "SPOT", "CAPACITY_BLOCK"]


@dataclass(frozen=True, kw_only=True)
class NodeGroup:
    """One EKS managed node group. `template` names the launch template it shares with the pool's other groups."""

    key: str
    capacity_type: CapacityType
    types: tuple[str, ...]
    zones: tuple[str, ...]
    min_nodes: int
    max_nodes: int
    desired_nodes: int
    sized_elsewhere: bool  # an autoscaler or a calendar sets the size: the engine leaves a live value alone
    template: str = ""
    reservation: str | None = None
    reservation_group: str | None = None
    placement_group: str | None = None  # an existing one, by name
    own_placement_group: bool = False
    window: Window | None = None
    fallback: bool = False

    @property
    def capacity_word(self) -> str:
        """The group's own way of being bought, as its nodes' label says it."""
        if self.capacity_type == "ON_DEMAND":
            return "reservation" if self.reservation or self.reservation_group else "on-demand"
        return "spot" if self.capacity_type == "SPOT" else "block"

    def as_plan(self) -> dict[str, object]:
        return {
            "key": self.key,
            "capacity_type": self.capacity_type,
            "instance_types": list(self.types),
            "zones": list(self.zones),
            "min": self.min_nodes,
            "max": self.max_nodes,
            "desired": self.desired_nodes,
            "reservation": self.reservation or self.reservation_group or "",
            "placement_group": self.placement_group or ("own" if self.own_placement_group else ""),
            "fallback": self.fallback,
        }


@dataclass(frozen=True, kw_only=True)
class Placement:
    """A pool's node groups, and the largest job that fits beside its spares."""

    pool: str
    groups: tuple[NodeGroup, ...]
    cards_per_node: int
    spares: int
    max_nodes: int

    @property
    def job_nodes(self) -> int:
        return max(self.max_nodes - self.spares, 0)

    @property
    def job_cards(self) -> int:
        return self.job_nodes * self.cards_per_node

    def as_plan(self) -> dict[str, object]:
        return {
            "pool": self.pool,
            "nodes": self.max_nodes,
            "cards": self.max_nodes * self.cards_per_node,
            "spares": self.spares,
            "largest_job": {"nodes": self.job_nodes, "cards": self.job_cards},
            "groups": [group.as_plan() for group in self.groups],
        }


def pool_zones(pool: PoolSpec, network_zones: Sequence[str], cat: Catalog) -> tuple[str, ...]:
    """The pool's zones, sorted: its own; else all of the network's for a pool that may spread, and the only one for one
    that may not.

    Empty when a pool with accelerators names no zone and the network has several: a rule says so.
    """
    if pool.zone:
        return (pool.zone,)
    if pool.zones:
        return tuple(sorted(pool.zones))
    known = all(name in cat.instances for name in pool.types)
    single = known and (fabrics.of_pool(pool, cat).zone_bound or nodes.cards(pool, cat) > 0)
    if single and len(network_zones) != 1:
        return ()
    return tuple(sorted(network_zones))


def system_zones(stack: StackSpec, cat: Catalog) -> tuple[str, ...]:
    """Zones of the system pool: those of the network that sell its type, all of them where the catalog knows none."""
    if stack.cluster is None:
        return ()
    sold = cat.zones_offering(stack.cluster.system_pool.instance_type, stack.region)
    return tuple(zone for zone in stack.zones if zone in sold) or stack.zones


def _filled(total: int, limit: int) -> list[int]:
    """`total` in parts of at most `limit`, each full but the last: growth touches the last part or adds one."""
    return [min(limit, total - done) for done in range(0, total, limit)]


def _even(total: int, parts: int) -> list[int]:
    share, rest = divmod(total, parts)
    return [share + (1 if place < rest else 0) for place in range(parts)]


def _numbered(key: str, place: int) -> str:
    """`cr-1`, `cr-1-2`, `cr-1-3` for an id; `1`, `2`, `3` without one."""
    if not key:
        return str(place + 1)
    return key if place == 0 else f"{key}-{place + 1}"


@dataclass(frozen=True, kw_only=True)
class _Share:
    key: str
    nodes: int
    reservation: str | None = None
    window: Window | None = None


def _shares(pool: PoolSpec) -> list[_Share]:
    """The pool's nodes by what they are bought through, ids in their own order whatever the file's."""
    capacity = pool.capacity
    if isinstance(capacity, Block):
        return [
            _Share(key=window.reservation, nodes=window.nodes, reservation=window.reservation, window=window)
            for window in sorted(blocks.windows(pool), key=lambda window: window.reservation)
        ]
    if isinstance(capacity, Reservation) and capacity.ids:
        ids = sorted(set(capacity.ids))
        sizes = [capacity.sizes[each] for each in ids] if capacity.sizes else _even(pool.max_nodes, len(ids))
        left, found = pool.max_nodes, list[_Share]()
        for each, size in zip(ids, sizes, strict=True):
            found.append(_Share(key=each, nodes=min(size, left), reservation=each))
            left -= found[-1].nodes
        return [share for share in found if share.nodes]
    return [_Share(key="", nodes=pool.max_nodes)]


def groups(pool: PoolSpec, *, cat: Catalog, spot_preprocessing: bool) -> int:
    """How many node groups `plan` makes, reckoned without making one."""
    limit = cat.limits.nodes_per_node_group.value
    twice = nodes.capacity_kind(pool, spot_preprocessing=spot_preprocessing) == "spot"
    return sum(-(-share.nodes // limit) for share in _shares(pool)) * (2 if twice else 1)


def largest_group(pool: PoolSpec, *, cat: Catalog) -> int:
    """Most nodes of one of the groups that `plan` makes; 0 when it makes none."""
    return max((min(share.nodes, cat.limits.nodes_per_node_group.value) for share in _shares(pool)), default=0)


def plan(pool: PoolSpec, *, cat: Catalog, network_zones: Sequence[str], spot_preprocessing: bool) -> Placement:
    """The pool's node groups, sorted by key. Assumes that the rules passed; raises UnknownInstanceType for an unknown
    type.
    """
    limit = cat.limits.nodes_per_node_group.value
    zones = pool_zones(pool, network_zones, cat)
    kind = nodes.capacity_kind(pool, spot_preprocessing=spot_preprocessing)
    fabric = fabrics.of_pool(pool, cat)
    capacity = pool.capacity
    existing = (
        None
        if isinstance(capacity, Block) or not isinstance(capacity, OnDemand | Reservation)
        else capacity.placement_group
    )
    own_group = kind == "on-demand" and fabric.open_group and existing is None
    flexible = kind == "spot" or (kind == "on-demand" and pool.purpose == "preprocessing")
    groups = list[NodeGroup]()
    unplaced_min = pool.min_nodes

    def add(
        key: str, size: int, share: _Share, least: int, capacity_type: CapacityType, *, fallback: bool = False
    ) -> None:
        block = share.window
        now = block is None or block.running
        groups.append(
            NodeGroup(
                key=key,
                capacity_type=capacity_type,
                types=pool.types,
                zones=zones,
                min_nodes=least if now else 0,
                max_nodes=size,
                # A prepaid block is used whole: its nodes come with it, not with the queue.
                desired_nodes=(size if block else least) if now else 0,
                sized_elsewhere=pool.autoscaled or block is not None or fallback,
                template=(share.reservation or "") if not own_group else key,
                reservation=share.reservation,
                reservation_group=capacity.resource_group_arn
                if isinstance(capacity, Reservation) and not share.reservation
                else None,
                placement_group=existing,
                own_placement_group=own_group,
                window=block,
                fallback=fallback,
            )
        )

    for share in _shares(pool):
        for place, size in enumerate(_filled(share.nodes, limit)):
            least = size if not pool.autoscaled else min(size, unplaced_min)
            unplaced_min -= least if pool.autoscaled else 0
            if not flexible:
                add(_numbered(share.key, place), size, share, least, "CAPACITY_BLOCK" if share.window else "ON_DEMAND")
            elif kind == "spot":
                # Two groups with keys of their own: the toggle adds one and drops the other, and no name is taken
                # twice.
                add(_numbered("spot", place), size, share, least, "SPOT")
                add(_numbered("on-demand", place), size, share, 0, "ON_DEMAND", fallback=True)
            else:
                add(_numbered("on-demand", place), size, share, least, "ON_DEMAND")
    return Placement(
        pool=pool.name,
        groups=tuple(sorted(groups, key=lambda group: group.key)),
        cards_per_node=nodes.cards(pool, cat),
        spares=pool.spares,
        max_nodes=pool.max_nodes,
    )


def of_stack(stack: StackSpec, cat: Catalog) -> tuple[Placement, ...]:
    """Every pool on AWS, by name."""
    found = [
        plan(pool, cat=cat, network_zones=stack.zones, spot_preprocessing=stack.spot_preprocessing)
        for pool in stack.pools
        if pool.types
    ]
    return tuple(sorted(found, key=lambda placement: placement.pool))
