"""What nodes cost: machines by how they are bought, their root volumes, and reservations as commitments.

Hides how a node group finds its machine type, and what share of an autoscaled pool is taken as running.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from components.catalog import Catalog, InstanceType
from components.planning.cost_lines import HOURS, Declared, Line, Pricer, Unpriced
from components.spec.stack import StackSpec

# A pool that follows its queue is taken as half used between its two sizes: no record says how busy it will be.
EXPECTED_SHARE = 0.5


def _types(group: Declared, template: Declared | None) -> list[str]:
    named: Any = group.inputs.get("instanceTypes") or []
    own = template.inputs.get("instanceType") if template else None
    return [str(each) for each in named] or ([str(own)] if own else [])


def _sizes(group: Declared) -> tuple[int, float, int]:
    scaling: Mapping[str, Any] = group.inputs.get("scalingConfig") or {}
    low, high = int(scaling.get("minSize", 0)), int(scaling.get("maxSize", 0))
    desired = scaling.get("desiredSize", low)
    expected = float(desired) if low == high else low + EXPECTED_SHARE * (high - low)
    return low, expected, high


def node_group(
    group: Declared, by_urn: Mapping[str, Declared], cat: Catalog, region: str, stack: StackSpec | None
) -> Iterator[Line | Unpriced]:
    """Machines and root volumes of one node group, from its smallest to its largest size."""
    template = group.one(by_urn, "aws:ec2/launchTemplate:LaunchTemplate")
    low, expected, high = _sizes(group)
    if high == 0:
        return
    if low == 0 and _stands_in(group, template, by_urn):
        expected = 0.0
    kind = str(group.inputs.get("capacityType") or "ON_DEMAND")
    types = _types(group, template)
    machines = [cat.instances[each] for each in types if each in cat.instances]
    label = f"{group.name}: {', '.join(types) or 'machines of unknown type'}"
    unknown = [each for each in types if each not in cat.instances]
    if unknown or not machines:
        yield Unpriced(what=label, why="the type is not in the catalog")
    else:
        yield from _machines(group, label, machines, kind, _reserved(template), (low, expected, high), cat, region)
    yield from _volumes(group, template, (low, expected, high), cat, region)


def _stands_in(group: Declared, template: Declared | None, by_urn: Mapping[str, Declared]) -> bool:
    """Whether the group only runs when the spot group of the same template finds no machines."""
    if template is None or group.inputs.get("capacityType") == "SPOT":
        return False
    others = (each for each in by_urn.values() if each.type == group.type and template.urn in each.depends_on)
    return any(each.inputs.get("capacityType") == "SPOT" for each in others)


def _reserved(template: Declared | None) -> bool:
    chosen: Mapping[str, Any] = (template.inputs.get("capacityReservationSpecification") or {}) if template else {}
    return bool(chosen.get("capacityReservationTarget"))


def _machines(
    group: Declared,
    label: str,
    machines: list[InstanceType],
    kind: str,
    reserved: bool,
    sizes: tuple[int, float, int],
    cat: Catalog,
    region: str,
) -> Iterator[Line | Unpriced]:
    low, expected, high = sizes
    buying = {"SPOT": "spot", "CAPACITY_BLOCK": "block"}.get(kind, "on-demand")
    rates = [cat.prices.machine_hour(each, region, buying) for each in machines]  # type: ignore[arg-type] - one of the three words by construction
    known = [each for each in rates if each is not None]
    ceiling = [cat.prices.machine_hour(each, region, "on-demand") for each in machines] if buying == "spot" else []
    if not known and buying == "spot" and all(ceiling):
        # No spot price was read: the on-demand price is its ceiling, and a tenth of it the lowest seen anywhere.
        known = [(rate[0] * 0.1, rate[0]) for rate in ceiling if rate]
    if not known:
        yield Unpriced(what=f"{label} {buying}", why=f"no {buying} price is known in {region}")
        return
    least, most = min(each[0] for each in known), max(each[1] for each in known)
    middle = sum((a + b) / 2 for a, b in known) / len(known)
    commitment = (
        "owed whether used or not, until the block ends"
        if buying == "block"
        else "owed whether used or not, until the reservation ends"
        if reserved
        else ""
    )
    committed = bool(commitment) and buying != "block"
    bought = float(high) if committed else expected
    yield Line(
        what=label,
        urn=group.urn,
        low=(high if committed else low) * least * HOURS,
        expected=bought * middle * HOURS,
        high=high * most * HOURS,
        basis=f"{low} to {high} machines x {least:g} to {most:g} USD x {HOURS:.0f} h ({buying}{', reserved' if reserved else ''})",
        commitment=commitment,
        unverified=any(cat.prices.machine_unverified(each, region, buying) for each in machines),  # type: ignore[arg-type] - as above
    )


def _volumes(
    group: Declared, template: Declared | None, sizes: tuple[int, float, int], cat: Catalog, region: str
) -> Iterator[Line | Unpriced]:
    mappings: Any = (template.inputs.get("blockDeviceMappings") if template else None) or []
    gigabytes = sum(float((each.get("ebs") or {}).get("volumeSize") or 0) for each in mappings)
    if not gigabytes:
        return
    rate = cat.prices.price("ebs-gp3", region)
    if rate is None:
        yield Unpriced(what=f"{group.name}: root volumes", why=f"no gp3 price is known in {region}")
        return
    low, expected, high = (size * gigabytes * rate.usd for size in sizes)
    basis = f"{sizes[0]} to {sizes[2]} x {gigabytes:g} GB x {rate.usd:g} USD"
    yield Line(
        what=f"{group.name}: root volumes",
        urn=group.urn,
        low=low,
        expected=expected,
        high=high,
        basis=basis,
        unverified=rate.origin.unverified,
    )


PRICERS: Mapping[str, Pricer] = {"aws:eks/nodeGroup:NodeGroup": node_group}
