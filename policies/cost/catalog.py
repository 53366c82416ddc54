"""What machines have and what things cost, read from the project's dated files as data.

The pack reads `components/catalog/data/*.json` itself, because a pack that the engine starts may import nothing of the
project. Where a region's price comes from is its own matter; a price that isn't there is None and never 0.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[2] / "components" / "catalog" / "data"
HOURS_A_MONTH = 730


@dataclass(frozen=True)
class Machine:
    """An instance type: its cards, and what an hour costs."""

    name: str
    vcpu: int
    cards: int
    max_efa: int
    on_demand_usd: float | None
    spot_usd: Mapping[str, tuple[float, float]]


@dataclass(frozen=True)
class Catalog:
    """The machines and the prices of one date."""

    machines: Mapping[str, Machine]
    prices: Mapping[str, Any]
    # Types that AWS does not charge for by themselves.
    free: frozenset[str] = frozenset()

    @property
    def as_of(self) -> str:
        return str(self.prices.get("as_of", ""))

    def machine(self, name: str) -> Machine | None:
        return self.machines.get(name)

    def price(self, item: str, region: str) -> float | None:
        """USD a unit of something that isn't a machine."""
        usd: Mapping[str, float] = self.prices["items"].get(item, {}).get("usd", {})
        return usd.get(region, usd.get("us-east-1") if region in self.prices.get("same_in", ()) else None)

    def hourly(self, name: str, region: str, capacity: str) -> tuple[float, float, float] | None:
        """Low, expected and high USD an hour of a machine bought on demand, by reservation, as a block, or on spot."""
        machine = self.machines.get(name)
        if machine is None:
            return None
        if capacity == "block":
            rate = self.prices.get("blocks", {}).get("usd_per_hour", {}).get(name)
            return None if rate is None else (rate, rate, rate)
        if capacity == "spot":
            known = machine.spot_usd.get(region)
            if known is not None:
                return (known[0], sum(known) / 2, known[1])
        listed = self._on_demand(machine, region)
        if listed is None:
            return None
        # Without a spot figure of the region: a third of the list price is usual, and the list price is the most it can
        # be.
        return (listed * 0.3, listed * 0.6, listed) if capacity == "spot" else (listed, listed, listed)

    def _on_demand(self, machine: Machine, region: str) -> float | None:
        machines: Mapping[str, Any] = self.prices.get("machines", {})
        elsewhere = machines.get("elsewhere", {}).get(region, {}).get(machine.name)
        if isinstance(elsewhere, int | float):
            return float(elsewhere)
        family = machine.name.partition(".")[0]
        same = [
            *machines.get("as_us_east_1", {}).get(region, ()),
            *machines.get("as_us_east_1_unverified", {}).get(region, ()),
        ]
        return machine.on_demand_usd if region == "us-east-1" or family in same or machine.name in same else None


@cache
def catalog(folder: Path = DATA) -> Catalog:
    """The catalog of the files in a folder."""
    listed = json.loads((folder / "instances.json").read_text(encoding="utf-8"))["instances"]
    prices = json.loads((folder / "prices.json").read_text(encoding="utf-8"))
    free = json.loads((folder / "free_types.json").read_text(encoding="utf-8"))["types"]
    return Catalog({name: _machine(name, entry) for name, entry in listed.items()}, prices, frozenset(free))


def _machine(name: str, entry: Mapping[str, Any]) -> Machine:
    accelerator = entry.get("accelerator") or {}
    spot = {region: (float(low), float(high)) for region, (low, high) in (entry.get("spot_usd_per_hour") or {}).items()}
    network = entry.get("network") or {}
    return Machine(
        name,
        int(entry.get("vcpu") or 0),
        int(accelerator.get("count") or 0),
        int(network.get("max_efa") or 0),
        entry.get("on_demand_usd_per_hour"),
        spot,
    )
