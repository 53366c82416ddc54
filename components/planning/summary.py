"""The plans of a stack as one plain object: cards, pools, addresses, topology, quotas and calendars.

Hides which module makes which plan, for the preview, its report and the review.
"""

from __future__ import annotations

from typing import Any

from components.catalog import Catalog
from components.planning import address_needs, addresses, blocks, demand, endpoints, images, placement, quotas, topology
from components.spec.stack import StackSpec

EMPTY: dict[str, Any] = {
    "cards": 0,
    "nodes": 0,
    "pools": [],
    "subnets": [],
    "topology": {},
    "quotas": [],
    "calendar": [],
    "endpoints": [],
}


def summary(stack: StackSpec, cat: Catalog) -> dict[str, Any]:
    """Every plan of a stack that has no errors."""
    places = placement.of_stack(stack, cat) if stack.on_aws else ()
    pools = [each.as_plan() for each in places] or [_hosts(stack, index) for index in range(len(stack.pools))]
    return {
        "cards": sum(int(str(each["cards"])) for each in pools),
        "nodes": sum(int(str(each["nodes"])) for each in pools),
        "pools": pools,
        "subnets": _subnets(stack, cat),
        "endpoints": [{"service": each.service, "why": each.why} for each in endpoints.needed(stack)]
        if stack.network
        else [],
        "topology": topology.of_stack(stack, cat),
        "quotas": quotas.of_stack(stack, cat) if stack.on_aws else [],
        "calendar": blocks.calendar(stack.pools),
        "storage": demand.compare(stack, cat, ()).as_plan(),
        "images": [each.as_plan() for each in images.needed(stack, cat)],
        "pull": pulls.as_plan() if (pulls := images.pull_plan(stack, cat)) else {},
        "queues": [
            {"name": each.name, "pool": each.pool, "cards": each.cards, "cohort": each.cohort} for each in stack.queues
        ],
    }


def _hosts(stack: StackSpec, index: int) -> dict[str, Any]:
    pool = stack.pools[index]
    cards = pool.hosts.cards if pool.hosts else 0
    job = max(0, pool.max_nodes - pool.spares)
    return {
        "pool": pool.name,
        "nodes": pool.max_nodes,
        "cards": pool.max_nodes * cards,
        "spares": pool.spares,
        "largest_job": {"nodes": job, "cards": job * cards},
        "groups": [],
    }


def _subnets(stack: StackSpec, cat: Catalog) -> list[dict[str, Any]]:
    if stack.network is None:
        return []
    needs = {each.zone: each for each in address_needs.compute_needs(stack, cat)}
    plan = addresses.plan(stack.network, tuple(needs.values()))
    management = {each.zone: each for each in address_needs.management_needs(stack, cat)}
    rows: list[dict[str, Any]] = []
    for subnet in plan.subnets:
        need = (
            needs.get(subnet.zone)
            if subnet.kind == "compute"
            else management.get(subnet.zone)
            if subnet.kind == "nodes"
            else None
        )
        rows.append(
            {
                "kind": subnet.kind,
                "zone": subnet.zone,
                "cidr": subnet.cidr,
                "usable": subnet.usable,
                "needed": need.addresses if need else None,
                "reckoning": need.arithmetic if need else "",
            }
        )
    return rows
