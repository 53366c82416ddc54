"""The plan of a stack: its pools, addresses, endpoints, topology, quotas, calendar, storage, images and queues.

Each part is the frozen value that its own module makes; `as_json` turns all of it into the `plan` of a preview.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from components.catalog import Catalog
from components.planning import address_needs, addresses, blocks, demand, endpoints, images, placement, quotas, topology
from components.planning.blocks import Window
from components.planning.demand import Demand
from components.planning.endpoints import Endpoint
from components.planning.images import Mirrored, PullPlan
from components.planning.placement import Placement
from components.planning.quotas import QuotaRow
from components.planning.topology import Topology
from components.spec.pools import PoolSpec
from components.spec.queues import QueueSpec
from components.spec.stack import StackSpec

_NOTHING_MOVED = Demand(supplies=(), needs=(), problems=())


@dataclass(frozen=True, kw_only=True)
class SubnetPlan:
    """One subnet with the addresses that it has and those that are needed; `needed` is None where nodes don't live."""

    kind: str
    zone: str
    cidr: str
    usable: int
    needed: int | None
    arithmetic: str

    def as_plan(self) -> dict[str, object]:
        return {
            "kind": self.kind,
            "zone": self.zone,
            "cidr": self.cidr,
            "usable": self.usable,
            "needed": self.needed,
            "reckoning": self.arithmetic,
        }


@dataclass(frozen=True, kw_only=True)
class StackPlan:
    """Every plan of one stack. The plan of a stack with errors is empty, in the same shape."""

    pools: tuple[Placement, ...] = ()
    subnets: tuple[SubnetPlan, ...] = ()
    endpoints: tuple[Endpoint, ...] = ()
    topology: Mapping[str, Topology] = field(default_factory=dict[str, Topology])
    quotas: tuple[QuotaRow, ...] = ()
    calendar: tuple[Window, ...] = ()
    storage: Demand = _NOTHING_MOVED
    images: tuple[Mirrored, ...] = ()
    pull: PullPlan | None = None
    queues: tuple[QueueSpec, ...] = ()

    @property
    def cards(self) -> int:
        return sum(each.max_nodes * each.cards_per_node for each in self.pools)

    @property
    def nodes(self) -> int:
        return sum(each.max_nodes for each in self.pools)

    def as_json(self) -> dict[str, Any]:
        """The `plan` object of `trainshed preview --json`."""
        return {
            "cards": self.cards,
            "nodes": self.nodes,
            "pools": [each.as_plan() for each in self.pools],
            "subnets": [each.as_plan() for each in self.subnets],
            "endpoints": [{"service": each.service, "why": each.why} for each in self.endpoints],
            "topology": {name: each.as_plan() for name, each in self.topology.items()},
            "quotas": [each.as_plan() for each in self.quotas],
            "calendar": [each.as_plan() for each in self.calendar],
            "storage": self.storage.as_plan(),
            "images": [each.as_plan() for each in self.images],
            "pull": self.pull.as_plan() if self.pull else {},
            "queues": [
                {"name": each.name, "pool": each.pool, "cards": each.cards, "cohort": each.cohort}
                for each in self.queues
            ],
        }


def summary(stack: StackSpec, cat: Catalog) -> StackPlan:
    """Every plan of a stack that has no errors."""
    places = placement.of_stack(stack, cat) if stack.on_aws else ()
    return StackPlan(
        pools=places or tuple(_hosts(each) for each in stack.pools),
        subnets=_subnets(stack, cat),
        endpoints=endpoints.needed(stack),
        topology=topology.of_stack(stack, cat),
        quotas=quotas.rows(stack, cat) if stack.on_aws else (),
        calendar=blocks.calendar(stack.pools),
        storage=demand.compare(stack, cat, ()),
        images=tuple(images.needed(stack, cat)),
        pull=images.pull_plan(stack, cat),
        queues=stack.queues,
    )


def _hosts(pool: PoolSpec) -> Placement:
    """Hosts that exist already belong to no node group of ours."""
    cards = pool.hosts.cards if pool.hosts else 0
    return Placement(pool=pool.name, groups=(), cards_per_node=cards, spares=pool.spares, max_nodes=pool.max_nodes)


def _subnets(stack: StackSpec, cat: Catalog) -> tuple[SubnetPlan, ...]:
    if stack.network is None:
        return ()
    compute = {each.zone: each for each in address_needs.compute_needs(stack, cat)}
    management = {each.zone: each for each in address_needs.management_needs(stack, cat)}
    by_kind = {"compute": compute, "nodes": management}
    rows: list[SubnetPlan] = []
    for subnet in addresses.plan(stack.network, tuple(compute.values())).subnets:
        need = by_kind.get(subnet.kind, {}).get(subnet.zone)
        rows.append(
            SubnetPlan(
                kind=subnet.kind,
                zone=subnet.zone,
                cidr=subnet.cidr,
                usable=subnet.usable,
                needed=need.addresses if need else None,
                arithmetic=need.arithmetic if need else "",
            )
        )
    return tuple(rows)
