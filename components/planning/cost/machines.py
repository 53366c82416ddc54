"""What node groups cost: machines by how they are bought, their root volumes and metrics, and what is owed for
reservations and blocks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal

from components.catalog import InstanceType
from components.planning.blocks import Window, stamp, windows
from components.planning.cost.lines import (
    HOURS,
    Commitment,
    Found,
    Line,
    Pricer,
    Range,
    Setting,
    Unpriced,
    between,
    used,
)
from components.planning.cost.network import between_zones
from components.planning.cost.sizes import GROUP, TEMPLATE, sizes_of, types_of
from components.record import Record

RESERVATION = "aws:ec2/capacityReservation:CapacityReservation"
# EC2 User Guide, "Manage detailed monitoring": seven metrics an instance beside the free five-minute ones.
DETAILED_METRICS = 7
GP3_FREE_IOPS, GP3_FREE_MIB_PER_S = 3000, 125
# The lowest spot price seen anywhere is about a tenth of on-demand; on-demand itself is the ceiling.
LOWEST_SPOT_SHARE = 0.1

Buying = Literal["on-demand", "spot", "block"]


def node_group(group: Record, given: Setting) -> Found:
    """Machines, root volumes and metrics of one node group, from its smallest to its largest size."""
    template = group.one(given.by_urn, TEMPLATE)
    low, expected, high = sizes_of(group)
    if high == 0:
        return
    sizes = (low, expected, high)
    label = f"{group.name}: {', '.join(types_of(group, template)) or 'machines of unknown type'}"
    machines = [given.cat.instances[each] for each in types_of(group, template) if each in given.cat.instances]
    if len(machines) < max(1, len(types_of(group, template))):
        yield Unpriced(what=label, why="the type is not in the catalog", urn=group.urn)
    elif template is not None and template.one(given.by_urn, RESERVATION):
        pass  # The reservation is declared here too, and priced by its own size.
    else:
        yield from _machines(group, template, label, machines, sizes, given)
    yield from _volumes(group, template, sizes, given)
    yield from _metrics(group, template, sizes, given)
    subnets: Any = group.inputs.get("subnetIds")
    yield from between_zones(group, len(subnets) if isinstance(subnets, list) else 0, sizes, given)


def _reservation(template: Record | None) -> str:
    """The id or the resource group of the reservation that the template targets."""
    chosen: Mapping[str, Any] = template.part("capacityReservationSpecification") if template else {}
    target: Mapping[str, Any] = chosen.get("capacityReservationTarget") or {}
    return str(target.get("capacityReservationId") or target.get("capacityReservationResourceGroupArn") or "")


def rates(machines: Sequence[InstanceType], buying: Buying, given: Setting) -> list[tuple[float, float]]:
    """Lowest and highest USD an hour of each type; empty as soon as one of them is unknown."""
    found = [given.cat.prices.machine_hour(each, given.region, buying) for each in machines]
    if buying == "spot":
        ceilings = [given.cat.prices.machine_hour(each, given.region, "on-demand") for each in machines]
        found = [
            rate if rate is not None else (ceiling[0] * LOWEST_SPOT_SHARE, ceiling[0]) if ceiling is not None else None
            for rate, ceiling in zip(found, ceilings, strict=True)
        ]
    known = [each for each in found if each is not None]
    return known if len(known) == len(found) else []


def _machines(
    group: Record, template: Record | None, label: str, machines: list[InstanceType], sizes: Range, given: Setting
) -> Found:
    kind = str(group.inputs.get("capacityType") or "ON_DEMAND")
    buying: Buying = "spot" if kind == "SPOT" else "block" if kind == "CAPACITY_BLOCK" else "on-demand"
    reserved = _reservation(template)
    known = rates(machines, buying, given)
    window = _window(reserved, given) if buying == "block" else None
    if not known:
        yield Unpriced(
            what=f"{label} {buying}",
            why=f"no {buying} price is known in {given.region} for {between(sizes[0], sizes[2], 'machines')}",
            most=sizes[2],
            urn=group.urn,
        )
        if window:
            yield _block(label, group.urn, window, None)
        return
    least, most = min(each[0] for each in known), max(each[1] for each in known)
    middle = sum((a + b) / 2 for a, b in known) / len(known)
    unverified = any(given.cat.prices.machine_unverified(each, given.region, buying) for each in machines)
    if window:
        yield _block_month(label, group.urn, window, middle, unverified=unverified)
        yield _block(label, group.urn, window, middle)
        return
    low, expected, high = (sizes[2],) * 3 if reserved else sizes
    words = f"{buying}, reserved" if reserved else buying
    yield Line(
        what=label,
        urn=group.urn,
        low=low * least * HOURS,
        expected=expected * middle * HOURS,
        high=high * most * HOURS,
        basis=f"{between(low, high, 'machines')} x {between(least, most, 'USD')} x {HOURS:.0f} h ({words})",
        commitment="owed whether used or not, until the reservation ends" if reserved else "",
        unverified=unverified,
    )
    if reserved:
        monthly = high * middle * HOURS
        yield Commitment(
            what=label,
            urn=group.urn,
            kind="block" if buying == "block" else "reservation",
            starts="",
            ends="",
            usd=None,
            usd_monthly=monthly,
            said=f"{monthly:,.0f} USD a month until {reserved} ends or is cancelled",
        )


def _window(reserved: str, given: Setting) -> Window | None:
    pools = given.stack.pools if given.stack else ()
    return next((each for pool in pools for each in windows(pool) if each.reservation == reserved), None)


def _block_month(label: str, urn: str, window: Window, rate: float, *, unverified: bool) -> Line:
    """A month of a prepaid block, or as much of the month as the block lasts; `rate` is in USD a machine and hour."""
    hours = min((window.end - window.start) / timedelta(hours=1), HOURS)
    usd = window.nodes * hours * rate
    return Line(
        what=label,
        urn=urn,
        low=usd,
        expected=usd,
        high=usd,
        basis=f"{window.nodes:,} machines x {rate:g} USD x {hours:,.0f} h of the block in a month (prepaid)",
        commitment=_until(window),
        unverified=unverified,
    )


def _until(window: Window) -> str:
    return f"prepaid from {stamp(window.start)} to {stamp(window.end)}, owed whether used or not"


def _block(label: str, urn: str, window: Window, rate: float | None) -> Commitment:
    hours = (window.end - window.start) / timedelta(hours=1)
    total = None if rate is None else rate * hours * window.nodes
    price = "at a price that isn't known here" if total is None else f"{total:,.0f} USD, paid when it was bought"
    return Commitment(
        what=label,
        urn=urn,
        kind="block",
        starts=stamp(window.start),
        ends=stamp(window.end),
        usd=total,
        usd_monthly=None,
        said=f"{window.nodes:,} machines from {stamp(window.start)} to {stamp(window.end)}, {price}",
    )


def _volumes(group: Record, template: Record | None, sizes: Range, given: Setting) -> Found:
    mappings: Any = (template.inputs.get("blockDeviceMappings") if template else None) or []
    yield from root_volumes(group, [each.get("ebs") or {} for each in mappings], sizes, given)


def root_volumes(of: Record, disks: Sequence[Mapping[str, Any]], sizes: Range, given: Setting) -> Found:
    """Capacity of the root volumes, and the operations and throughput bought beyond what gp3 includes."""
    amounts = {
        "ebs-gp3": ("GB", sum(float(each.get("volumeSize") or 0) for each in disks)),
        "ebs-gp3-iops": ("IOPS", sum(max(0.0, float(each.get("iops") or 0) - GP3_FREE_IOPS) for each in disks)),
        "ebs-gp3-throughput": (
            "MiB/s",
            sum(max(0.0, float(each.get("throughput") or 0) - GP3_FREE_MIB_PER_S) for each in disks),
        ),
    }
    names = {
        "ebs-gp3": "root volumes",
        "ebs-gp3-iops": "root volumes' IOPS",
        "ebs-gp3-throughput": "root volumes' throughput",
    }
    for item, (unit, amount) in amounts.items():
        if amount:
            totals = (sizes[0] * amount, sizes[1] * amount, sizes[2] * amount)
            basis = f"{between(sizes[0], sizes[2], 'machines')} x {amount:g} {unit}"
            yield from used(of, given, item, f"{of.name}: {names[item]}", totals, basis)


def _metrics(group: Record, template: Record | None, sizes: Range, given: Setting) -> Found:
    if template is not None and str(template.part("monitoring").get("enabled")).lower() == "true":
        yield from detailed_metrics(group, sizes, given)


def detailed_metrics(of: Record, sizes: Range, given: Setting) -> Found:
    """What detailed monitoring adds to the metrics that are free of charge."""
    totals = (sizes[0] * DETAILED_METRICS, sizes[1] * DETAILED_METRICS, sizes[2] * DETAILED_METRICS)
    basis = f"{between(sizes[0], sizes[2], 'machines')} x {DETAILED_METRICS} metrics"
    yield from used(of, given, "metrics-custom", f"{of.name}: detailed monitoring", totals, basis)


def reservation(resource: Record, given: Setting) -> Found:
    """An On-Demand Capacity Reservation declared here: billed from its creation, used or not."""
    name, count = str(resource.inputs.get("instanceType") or ""), resource.number("instanceCount")
    machine = given.cat.instances.get(name)
    known = rates([machine], "on-demand", given) if machine else []
    label = f"{resource.name}: {name or 'machines of unknown type'} reserved"
    if machine is None or count is None or not known:
        why = "its size is not known" if count is None else f"no on-demand price of it is known in {given.region}"
        yield Unpriced(what=label, why=why, urn=resource.urn)
        return
    monthly = count * known[0][1] * HOURS
    ends = str(resource.inputs.get("endDate") or "")
    until = f"until {ends}" if ends else "until it is cancelled"
    basis = f"{count:g} machines x {known[0][1]:g} USD x {HOURS:.0f} h (reserved)"
    yield Line(
        what=label,
        urn=resource.urn,
        low=monthly,
        expected=monthly,
        high=monthly,
        basis=basis,
        commitment=f"owed whether used or not, {until}",
    )
    said = f"{monthly:,.0f} USD a month {until}"
    yield Commitment(
        what=label, urn=resource.urn, kind="reservation", starts="", ends=ends, usd=None, usd_monthly=monthly, said=said
    )


def instance(resource: Record, given: Setting) -> Found:
    """A machine of its own, beside the node groups."""
    name = str(resource.inputs.get("instanceType") or "")
    machine = given.cat.instances.get(name)
    label = f"{resource.name}: {name or 'a machine of unknown type'}"
    known = rates([machine], "on-demand", given) if machine else []
    if not known:
        why = f"no on-demand price is known in {given.region}" if machine else "the type is not in the catalog"
        yield Unpriced(what=label, why=why, urn=resource.urn)
        return
    usd = known[0][1] * HOURS
    yield Line(
        what=label,
        urn=resource.urn,
        low=usd,
        expected=usd,
        high=usd,
        basis=f"1 x {known[0][1]:g} USD x {HOURS:.0f} h (on-demand)",
    )


PRICERS: Mapping[str, Pricer] = {GROUP: node_group, RESERVATION: reservation, "aws:ec2/instance:Instance": instance}
