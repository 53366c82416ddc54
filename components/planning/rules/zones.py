"""Rules over pools and zones: where machines are sold, and what can't be spread over zones.

A zone is always one that the user named.
"""

from __future__ import annotations

from collections.abc import Iterator

from components.catalog import Catalog, regions
from components.naming import listed
from components.planning import placement
from components.planning.pool import Pool
from components.planning.rules.pools import driven, on_aws
from components.planning.rules.registry import rule
from components.problems import Problem
from components.spec.pools import OnDemand, PoolSpec, Reservation
from components.spec.stack import StackSpec


def _apart(pool: Pool) -> str | None:
    """Why the pool sits in exactly one zone; None when it may spread."""
    if pool.fabric_known and pool.fabric.zone_bound:
        return f"{pool.fabric.kind.upper()} traffic can't leave a zone"
    return "machines with cards train together" if pool.cards else None


def offering(pool: PoolSpec, stack: StackSpec, cat: Catalog) -> list[str]:
    """Zones of the region that offer every type of the pool, sorted."""
    found = [set(cat.zones_offering(name, stack.region)) for name in pool.types]
    return sorted(set[str].intersection(*found)) if found else []


def _where(pool: PoolSpec, stack: StackSpec, cat: Catalog) -> str:
    """Where the types can be had, for a hint."""
    zones = offering(pool, stack, cat)
    name = listed(pool.types)
    if stack.region not in regions.known(cat):
        return "name one of the network's zones"
    if zones:
        usable = [zone for zone in zones if zone in stack.zones]
        return f"use {listed(usable, 'or')}" if usable else f"add {listed(zones, 'or')} to network.zones and use it"
    others = sorted(set[str].intersection(*(set(cat.regions_offering(each)) for each in pool.types)))
    return (
        f"{stack.region} has no zone with {name}; regions that do: {', '.join(others)}"
        if others
        else f"no region is known to offer {name}"
    )


@rule(each="pools")
def pool_names_its_zone(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """A pool that can't be spread names the one zone, so that no lookup ever moves it."""
    for path, pool in on_aws(stack):
        found = Pool(pool, cat)
        if not found.machines or not driven(found.machines[0]):
            continue
        reason = _apart(found)
        if pool.zone and pool.zones:
            yield Problem(
                id="zone-twice", path=f"{path}.zones", said="zone and zones are both given", hint="keep one of the two"
            )
        elif reason and len(set(pool.zones)) > 1:
            said = f'{reason}, and pool "{pool.name}" names {listed(pool.zones)}'
            sold = [zone for zone in pool.zones if zone in offering(pool, stack, cat)]
            hint = f"keep {listed(sold or pool.zones, 'or')}, and make a pool of its own for the other zone"
            yield Problem(id="zones-apart", path=f"{path}.zones", said=said, hint=hint)
        elif reason and not placement.pool_zones(found, stack.zones):
            said = f'{reason}, and pool "{pool.name}" names no zone'
            yield Problem(id="zone-missing", path=f"{path}.zone", said=said, hint=_where(pool, stack, cat))


@rule(each="pools")
def pool_zone_offers_its_types(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """The zone is the network's, and sells every type of the pool."""
    for path, pool in on_aws(stack):
        machines = Pool(pool, cat).machines
        judged = stack.region in regions.known(cat) and bool(machines) and driven(machines[0])
        named = (
            [(f"{path}.zone", pool.zone)]
            if pool.zone
            else [(f"{path}.zones[{place}]", zone) for place, zone in enumerate(pool.zones)]
        )
        for where, zone in named or [
            (f"{path}.instance_type" if pool.instance_type else f"{path}.instance_types", each) for each in stack.zones
        ]:
            if named and stack.network and zone not in stack.zones:
                said = f"{zone} is not among the network's zones ({', '.join(stack.zones)})"
                hint = _where(pool, stack, cat) if judged else f"use {listed(stack.zones, 'or')}"
                yield Problem(id="zone-unknown", path=where, said=said, hint=hint)
                continue
            if not judged or (not named and _apart(Pool(pool, cat)) and len(stack.zones) != 1):
                continue  # the rules on regions, on types and on missing zones report it
            missing = [name for name in pool.types if zone not in cat.zones_offering(name, stack.region)]
            # A pool over several types lives with the rest of them; one that a zone sells nothing of can't be placed
            # there.
            if missing and (len(missing) == len(pool.types) or len(pool.types) == 1):
                said = f"{zone} does not offer {listed(missing)}"
                here = [each for each in offering(pool, stack, cat) if each in stack.zones]
                hint = (
                    f"set zones to those that do: [{', '.join(here)}]"
                    if here and not named
                    else _where(pool, stack, cat)
                )
                yield Problem(id="zone-without-type", path=where, said=said, hint=hint)


@rule(each="pools")
def placement_group_is_in_one_zone(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """A cluster placement group lies in one zone, so its node groups have one subnet."""
    for path, pool in on_aws(stack):
        capacity, found = pool.capacity, Pool(pool, cat)
        if not isinstance(capacity, OnDemand | Reservation) or not capacity.placement_group or not found.machines:
            continue
        zones = placement.pool_zones(found, stack.zones)
        if len(zones) > 1:
            said = (
                f'the placement group "{capacity.placement_group}" lies in one zone, and pool "{pool.name}" spreads'
                f" over {listed(zones)}"
            )
            yield Problem(
                id="placement-group-over-zones",
                path=f"{path}.capacity.placement_group",
                said=said,
                hint=f"set zone: {zones[0]}",
            )
