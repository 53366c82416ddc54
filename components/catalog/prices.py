"""What AWS charges for everything that isn't a machine's type, dated, per region; and a machine's hour by how it is
bought.

A price is asked for by name and region. A price that isn't known is None, never 0.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from components.catalog.instances import InstanceType
from components.catalog.pins import Origin

Buying = Literal["on-demand", "spot", "block"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """USD for one `unit` (`hour`, `GB-month`, `1000 requests` ...)."""

    name: str
    usd: float
    unit: str
    origin: Origin


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Item:
    """One thing AWS sells: its price in us-east-1 and in the regions that differ from it."""

    name: str
    unit: str
    by_region: Mapping[str, float]
    same_in: tuple[str, ...]  # regions known to charge as us-east-1 does
    origin: Origin


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Prices:
    """All items, the regions whose machine prices equal us-east-1's, and Capacity Block rates for one machine's
    hour.
    """

    as_of: date
    items: Mapping[str, Item]
    machines_as_us_east_1: Mapping[str, frozenset[str]]  # region -> families, read in a price list
    machines_assumed: Mapping[str, frozenset[str]]  # the same from memory
    machines_elsewhere: Mapping[str, Mapping[str, float]]  # region -> type -> USD an hour
    blocks: Mapping[str, float]
    blocks_origin: Origin

    def price(self, name: str, region: str = "us-east-1") -> Price | None:
        """None when the item isn't known, or not in that region."""
        item = self.items.get(name)
        if item is None:
            return None
        usd = item.by_region.get(region)
        if usd is None and region in item.same_in:
            usd = item.by_region.get("us-east-1")
        return None if usd is None else Price(name=name, usd=usd, unit=item.unit, origin=item.origin)

    def usd(self, name: str, region: str = "us-east-1") -> float | None:
        """The bare figure of `price`."""
        found = self.price(name, region)
        return found.usd if found else None

    def machine_hour(self, instance: InstanceType, region: str, kind: Buying) -> tuple[float, float] | None:
        """(lowest, highest) USD for one machine's hour; None where unknown or not sold so."""
        if kind == "spot":
            return instance.spot_usd_per_hour.get(region) if instance.spot else None
        if kind == "block":
            rate = self.blocks.get(instance.name) if instance.capacity_block else None
            return None if rate is None else (rate, rate)
        if not instance.on_demand:
            return None
        rate = self.machines_elsewhere.get(region, {}).get(instance.name)
        if rate is None and self._as_us_east_1(instance.family, region):
            rate = instance.on_demand_usd_per_hour
        return None if rate is None else (rate, rate)

    def machine_unverified(self, instance: InstanceType, region: str, kind: Buying) -> bool:
        """Whether `machine_hour`'s figure is from memory, out of date by its nature, or known to have changed since."""
        if kind == "block":
            return self.blocks_origin.unverified
        read = region == "us-east-1" or instance.name in self.machines_elsewhere.get(region, {})
        return kind == "spot" or not (read or instance.family in self.machines_as_us_east_1.get(region, ()))

    def _as_us_east_1(self, family: str, region: str) -> bool:
        return (
            region == "us-east-1"
            or family in self.machines_as_us_east_1.get(region, ())
            or family in self.machines_assumed.get(region, ())
        )


def _families(by_region: Mapping[str, list[str]]) -> Mapping[str, frozenset[str]]:
    return MappingProxyType({region: frozenset(families) for region, families in by_region.items()})


def load_prices(path: Path) -> Prices:
    """Reads data/prices.json."""
    data = json.loads(path.read_text())
    as_of = date.fromisoformat(data["as_of"])
    items = {
        name: Item(
            name=name,
            unit=row["unit"],
            by_region=MappingProxyType(row["usd"]),
            same_in=tuple(row.get("same_in", data["same_in"])),
            origin=Origin(
                as_of=date.fromisoformat(row["as_of"]) if "as_of" in row else as_of,
                source=row["source"],
                unverified=row.get("unverified", False),
            ),
        )
        for name, row in data["items"].items()
    }
    machines, blocks = data["machines"], data["blocks"]
    return Prices(
        as_of=as_of,
        items=MappingProxyType(items),
        machines_as_us_east_1=_families(machines["as_us_east_1"]),
        machines_assumed=_families(machines["as_us_east_1_unverified"]),
        machines_elsewhere=MappingProxyType(
            {region: MappingProxyType(rates) for region, rates in machines["elsewhere"].items()}
        ),
        blocks=MappingProxyType(blocks["usd_per_hour"]),
        blocks_origin=Origin(
            as_of=date.fromisoformat(blocks["as_of"]), source=blocks["source"], unverified=blocks["unverified"]
        ),
    )
