"""What a run costs, by how its machines are bought.

What has no price in the catalog is "unpriced", with the reason, and never counts as nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from components.catalog import Catalog
from components.catalog.prices import Buying
from components.sizing.machine.profiles import NodeProfile
from components.spec.pools import CapacityKind

_HOURS_A_MONTH = 730.0
# How the price list names each kind. A reservation is paid at the on-demand price, used or not.
PRICED_AS: Mapping[CapacityKind, Buying] = {
    "on-demand": "on-demand",
    "reservation": "on-demand",
    "block": "block",
    "spot": "spot",
}
_PREFERRED: tuple[CapacityKind, ...] = ("on-demand", "block", "spot")
_USUAL_REGIONS = ("region", "us-west-2", "us-east-1", "us-east-2")


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """USD."""

    low: float
    expected: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCost:
    """`by_capacity` holds an Amount, or the reason why there is none; `main` is the kind that the totals are of."""

    main: CapacityKind
    total: Amount | None
    by_capacity: Mapping[str, Amount | str]
    machine_hour: Mapping[str, tuple[float, float] | None]
    prices_as_of: str
    unverified: tuple[str, ...]


def region_for(machine: NodeProfile, asked: str | None) -> str:
    """The region of prices and zones: as asked, else the first of the usual ones that sells the type."""
    if asked:
        return asked
    if machine.instance is None:
        return "us-west-2"
    sold = machine.instance.zones
    return next((region for region in _USUAL_REGIONS if region in sold), min(sold, default="us-west-2"))


def money(
    machine: NodeProfile,
    nodes: int,
    days: Amount,
    storage_monthly: float | None,
    cat: Catalog,
    region: str,
    buying: CapacityKind | None = None,
) -> RunCost:
    """Cost of `nodes` machines for the days of the run, with its storage.

    The total is that of `buying`, or of the first kind with a price.
    """
    prices = cat.prices
    as_of = prices.as_of.isoformat()
    if machine.instance is None:
        reason = f"unpriced: {machine.name} is not in the catalog"
        return RunCost(
            main="on-demand",
            total=None,
            by_capacity=dict.fromkeys(PRICED_AS, reason),
            machine_hour={},
            prices_as_of=as_of,
            unverified=(),
        )
    amounts: dict[str, Amount | str] = {}
    hours: dict[str, tuple[float, float] | None] = {}
    unverified: list[str] = []
    for kind, bought in PRICED_AS.items():
        rate = cat.price(machine.name, region, bought)
        hours[kind] = rate
        if rate is None:
            amounts[kind] = f"unpriced: no {kind} price of {machine.name} in {region} is known"
            continue
        if prices.machine_unverified(machine.instance, region, bought):
            unverified.append(kind)
        low, high = rate
        months = [
            span * 24 / _HOURS_A_MONTH * (storage_monthly or 0.0) for span in (days.low, days.expected, days.high)
        ]
        amounts[kind] = Amount(
            low=nodes * 24 * days.low * low + months[0],
            expected=nodes * 24 * days.expected * (low + high) / 2 + months[1],
            high=nodes * 24 * days.high * high + months[2],
        )
    priced: list[CapacityKind] = [kind for kind in _PREFERRED if isinstance(amounts[kind], Amount)]
    main = buying or (priced[0] if priced else _PREFERRED[0])
    found = amounts[main]
    return RunCost(
        main=main,
        total=found if isinstance(found, Amount) else None,
        by_capacity=amounts,
        machine_hour=hours,
        prices_as_of=as_of,
        unverified=tuple(unverified),
    )
