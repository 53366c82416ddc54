"""Where a pool's nodes go: its node groups, what Karpenter buys beside them, and what job the pool then carries.

A pool is split by reservation or block first, then by the nodes that EKS allows in one group. Keys come from ids or
running numbers that fill up one after the other, so that adding or removing one leaves the others' names alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from components.catalog import Catalog
from components.planning import blocks, nodes
from components.planning import pool as pool_values
from components.planning.blocks import Window
from components.planning.nodes import max_pods
from components.planning.pool import Pool
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

CapacityType = Literal["ON_DEMAND", "CAPACITY_BLOCK"]
Buys = Literal["spot", "on-demand", "reserved"]


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
    sized_elsewhere: bool  # a block's calendar sets the size: the engine leaves a live value alone
    template: str = ""
    reservation: str | None = None
    reservation_group: str | None = None
    placement_group: str | None = None  # an existing one, by name
    own_placement_group: bool = False
    window: Window | None = None

    @property
    def capacity_word(self) -> str:
        """The group's own way of being bought, as its nodes' label says it."""
        if self.capacity_type == "CAPACITY_BLOCK":
            return "block"
        return "reservation" if self.reservation or self.reservation_group else "on-demand"

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
        }


@dataclass(frozen=True, kw_only=True)
class Elastic:
    """What Karpenter buys of a pool, up to `max_nodes` at once.

    `buys` are Karpenter's capacity types, all in one node pool: Karpenter itself takes spot before on-demand and falls
    back when spot is short, and one limit holds over both. `reservations` by id where `buys` is `reserved`.
    """

    types: tuple[str, ...]
    zones: tuple[str, ...]
    max_nodes: int
    buys: tuple[Buys, ...]
    reservations: tuple[str, ...] = ()
    capacity_word: str | None = None  # how its nodes are bought, as their label says it; None where that may differ
    placement_group: str | None = None  # an existing one, by name
    own_placement_group: bool = False

    def as_plan(self) -> dict[str, object]:
        return {
            "instance_types": list(self.types),
            "zones": list(self.zones),
            "max": self.max_nodes,
            "buys": list(self.buys),
            "reservations": list(self.reservations),
            "placement_group": self.placement_group or ("own" if self.own_placement_group else ""),
        }


@dataclass(frozen=True, kw_only=True)
class Placement:
    """A pool's node groups, what Karpenter buys in addition, and the largest job that fits without using its spares."""

    pool: str
    groups: tuple[NodeGroup, ...]
    elastic: Elastic | None = None
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
            "elastic": self.elastic.as_plan() if self.elastic else None,
        }


def pool_zones(pool: Pool, network_zones: Sequence[str]) -> tuple[str, ...]:
    """The pool's zones, sorted: its own; else all of the network's for a pool that may spread, and the only one for one
    that may not.

    Empty when a pool with accelerators names no zone and the network has several: a rule reports it.
    """
    if pool.spec.zone:
        return (pool.spec.zone,)
    if pool.spec.zones:
        return tuple(sorted(pool.spec.zones))
    known = all(name in pool.catalog.instances for name in pool.spec.types)
    single = known and (pool.fabric.zone_bound or pool.cards > 0)
    if single and len(network_zones) != 1:
        return ()
    return tuple(sorted(network_zones))


def system_zones(stack: StackSpec, cat: Catalog) -> tuple[str, ...]:
    """Zones of the system pool: those of the network that sell its type, all of them where the catalog knows none."""
    if stack.cluster is None:
        return ()
    machine = cat.instances.get(stack.cluster.system_pool.instance_type)
    sold = machine.zones.get(stack.region, ()) if machine else ()
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
    """The nodes of the pool's groups by what they are bought through, ids in their own order whatever the file's."""
    capacity, total = pool.capacity, nodes.fixed_nodes(pool)
    if isinstance(capacity, Block):
        return [
            _Share(key=window.reservation, nodes=window.nodes, reservation=window.reservation, window=window)
            for window in sorted(blocks.windows(pool), key=lambda window: window.reservation)
        ]
    if isinstance(capacity, Reservation) and capacity.ids:
        ids = sorted(set(capacity.ids))
        sizes = [capacity.sizes[each] for each in ids] if capacity.sizes else _even(total, len(ids))
        left, found = total, list[_Share]()
        for each, size in zip(ids, sizes, strict=True):
            found.append(_Share(key=each, nodes=min(size, left), reservation=each))
            left -= found[-1].nodes
        return [share for share in found if share.nodes]
    return [_Share(key="", nodes=total)] if total else []


def groups(pool: Pool) -> int:
    """How many node groups `plan` makes, computed without making one."""
    limit = pool.catalog.limits.nodes_per_node_group.value
    return sum(-(-share.nodes // limit) for share in _shares(pool.spec))


def largest_group(pool: Pool) -> int:
    """Most nodes of one of the groups that `plan` makes; 0 when it makes none."""
    return max(
        (min(share.nodes, pool.catalog.limits.nodes_per_node_group.value) for share in _shares(pool.spec)), default=0
    )


def plan(pool: Pool, *, network_zones: Sequence[str], spot_preprocessing: bool) -> Placement:
    """The pool's node groups, sorted by key. Assumes that the rules passed; raises UnknownInstanceType for an unknown
    type.
    """
    zones = pool_zones(pool, network_zones)
    return Placement(
        pool=pool.name,
        groups=tuple(sorted(_groups(pool, zones), key=lambda group: group.key)),
        elastic=_elastic(pool, zones, spot_preprocessing=spot_preprocessing) if nodes.sizes_itself(pool.spec) else None,
        cards_per_node=pool.cards,
        spares=pool.spec.spares,
        max_nodes=pool.spec.max_nodes,
    )


def _existing_group(pool: PoolSpec) -> str | None:
    """The placement group that the user names."""
    return pool.capacity.placement_group if isinstance(pool.capacity, OnDemand | Reservation) else None


def _own_group(pool: Pool) -> bool:
    """Whether a placement group is made: for nodes bought on demand whose fabric wants them side by side."""
    on_demand = isinstance(pool.spec.capacity, OnDemand)
    return on_demand and pool.fabric.open_group and _existing_group(pool.spec) is None


def _groups(pool: Pool, zones: tuple[str, ...]) -> list[NodeGroup]:
    limit, capacity, own_group = pool.catalog.limits.nodes_per_node_group.value, pool.spec.capacity, _own_group(pool)
    found = list[NodeGroup]()
    for share in _shares(pool.spec):
        for place, size in enumerate(_filled(share.nodes, limit)):
            key, block = _numbered(share.key, place), share.window
            # A block's nodes come with its start, and with it only: until then the group is empty.
            now = block is None or block.running
            least = min(pool.spec.min_nodes, size) if block else size
            found.append(
                NodeGroup(
                    key=key,
                    capacity_type="CAPACITY_BLOCK" if block else "ON_DEMAND",
                    types=pool.spec.types,
                    zones=zones,
                    min_nodes=least if now else 0,
                    max_nodes=size,
                    # A prepaid block is used whole: its nodes come with it, not with the queue.
                    desired_nodes=size if now else 0,
                    sized_elsewhere=block is not None,
                    template=(share.reservation or "") if not own_group else key,
                    reservation=share.reservation,
                    reservation_group=capacity.resource_group_arn
                    if isinstance(capacity, Reservation) and not share.reservation
                    else None,
                    placement_group=_existing_group(pool.spec),
                    own_placement_group=own_group,
                    window=block,
                )
            )
    return found


def _elastic(pool: Pool, zones: tuple[str, ...], *, spot_preprocessing: bool) -> Elastic | None:
    count = nodes.bought_nodes(pool.spec)
    if not count:
        return None
    kind = nodes.capacity_kind(pool.spec, spot_preprocessing=spot_preprocessing)
    buys: tuple[Buys, ...] = ("on-demand",)
    # A label for what the toggle governs would change with it.
    word: str | None = None if pool.spec.purpose == "preprocessing" else "on-demand"
    if kind == "spot":
        buys, word = ("spot", "on-demand"), None
    elif kind == "reservation":
        buys, word = ("reserved",), "reservation"
    return Elastic(
        types=pool.spec.types,
        zones=zones,
        max_nodes=count,
        buys=buys,
        capacity_word=word,
        reservations=tuple(sorted(set(pool.spec.capacity.ids))) if isinstance(pool.spec.capacity, Reservation) else (),
        placement_group=_existing_group(pool.spec),
        own_placement_group=_own_group(pool),
    )


def of_stack(stack: StackSpec, cat: Catalog) -> tuple[Placement, ...]:
    """Every pool on AWS, by name."""
    found = [
        plan(pool, network_zones=stack.zones, spot_preprocessing=stack.spot_preprocessing)
        for pool in pool_values.of_stack(stack, cat)
        if pool.spec.types
    ]
    return tuple(sorted(found, key=lambda placement: placement.pool))
