"""A line of an estimate, a thing without a price, a commitment, and what pricers make them from.

An amount times no price is unpriced, never zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from components.catalog import Catalog
from components.record import Record
from components.spec.stack import StackSpec

HOURS = 730.0  # in a month, as AWS' own calculator counts

# Low, expected, high: of an amount a month, or of US dollars. AWS' GB of storage is 2^30 bytes, so a GiB is one.
Range = tuple[float, float, float]


@dataclass(frozen=True, kw_only=True)
class Line:
    """US dollars a month. `commitment` tells until when it is owed whatever is used."""

    what: str
    urn: str
    low: float
    expected: float
    high: float
    basis: str
    commitment: str = ""
    unverified: bool = False

    def as_json(self) -> dict[str, Any]:
        return {
            "what": self.what,
            "urn": self.urn,
            "low": round(self.low, 2),
            "expected": round(self.expected, 2),
            "high": round(self.high, 2),
            "basis": self.basis,
            "commitment": self.commitment,
            "unverified": self.unverified,
        }


@dataclass(frozen=True, kw_only=True)
class Unpriced:
    """Something that costs money of which no price or no amount is known here."""

    what: str
    why: str
    urn: str = ""
    most: float | None = None  # how many of it there may be, where that is known

    def __str__(self) -> str:
        return f"{self.what}: {self.why}"

    def as_json(self) -> dict[str, Any]:
        return {"what": self.what, "why": self.why, "urn": self.urn}


@dataclass(frozen=True, kw_only=True)
class Commitment:
    """Money owed whether used or not: `usd` in all where the end is known, `usd_monthly` until then."""

    what: str
    urn: str
    kind: str  # "block" or "reservation"
    starts: str
    ends: str
    usd: float | None
    usd_monthly: float | None
    said: str

    def as_json(self) -> dict[str, Any]:
        return {
            "what": self.what,
            "urn": self.urn,
            "kind": self.kind,
            "from": self.starts,
            "until": self.ends,
            "usd": None if self.usd is None else round(self.usd, 2),
            "usd_monthly": None if self.usd_monthly is None else round(self.usd_monthly, 2),
            "said": self.said,
        }


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What a price depends on beside the resource: its neighbours, the catalog, the region, the stack file and
    the day.
    """

    by_urn: Mapping[str, Record]
    cat: Catalog
    region: str
    on: date
    stack: StackSpec | None = None

    def of(self, kind: str) -> list[Record]:
        return [each for each in self.by_urn.values() if each.type == kind]


Found = Iterator[Line | Unpriced | Commitment]
Pricer = Callable[[Record, Setting], Iterable[Line | Unpriced | Commitment]]


def flat(amount: float) -> Range:
    return (amount, amount, amount)


def between(low: float, high: float, unit: str) -> str:
    """`3 nodes`, or `0 to 200 nodes` where the two ends differ."""
    first, last = _figure(low), _figure(high)
    return f"{first} {unit}" if first == last else f"{first} to {last} {unit}"


def _figure(amount: float) -> str:
    return f"{amount:,.0f}" if amount >= 100 or float(amount).is_integer() else f"{amount:.4g}"


def used(resource: Record, given: Setting, item: str, what: str, amounts: Range, basis: str) -> Found:
    """A line of amounts of one item, or what lacks a price."""
    price = given.cat.prices.price(item, given.region)
    if price is None:
        yield Unpriced(what=what, why=f"no price of {item} is known in {given.region}", urn=resource.urn)
        return
    low, expected, high = (each * price.usd for each in amounts)
    yield Line(
        what=what,
        urn=resource.urn,
        low=low,
        expected=expected,
        high=high,
        basis=f"{basis} x {price.usd:g} USD",
        unverified=price.origin.unverified,
    )


def hourly(resource: Record, given: Setting, item: str, what: str, count: float = 1) -> Found:
    yield from used(resource, given, item, what, flat(count * HOURS), f"{count:g} x {HOURS:.0f} h")
