"""Electric power and carbon of a run, as an estimate: cards near their limit, hosts beside them, the building, and the
region's grid.
"""

from __future__ import annotations

from dataclasses import dataclass

from components.sizing.machine.profiles import NodeProfile
from components.sizing.tuning.constants import Constant

DRAW = Constant(
    name="card_draw",
    value=0.80,
    low=0.60,
    high=0.95,
    unit="of a card's limit",
    source="training traces: 70 to 90 % of the power limit",
)
HOST_SHARE = Constant(
    name="host_power",
    value=0.45,
    low=0.25,
    high=0.60,
    unit="of the cards' power",
    source="DGX H100: 10.2 kW for eight cards of 700 W",
)
BUILDING = Constant(
    name="building_power",
    value=1.15,
    low=1.05,
    high=1.4,
    unit="times",
    source="AWS sustainability page: mean power usage effectiveness of 1.15",
)
# g CO2e/kWh of the grid that a region lies in; eGRID 2022 subregions for the United States, national means elsewhere;
# recalled, unverified.
GRID: dict[str, float] = {
    "us-east-1": 270,
    "us-east-2": 415,
    "us-west-1": 225,
    "us-west-2": 275,
    "ca-central-1": 30,
    "eu-west-1": 290,
    "eu-central-1": 360,
    "eu-north-1": 30,
    "eu-west-2": 210,
    "eu-south-2": 150,
    "ap-northeast-1": 460,
    "ap-northeast-2": 430,
    "ap-south-1": 700,
    "ap-southeast-1": 470,
    "ap-southeast-2": 550,
    "ap-southeast-3": 680,
    "ap-southeast-4": 550,
    "sa-east-1": 100,
    "me-central-1": 420,
}
GRID_SOURCE = (
    "grid means by location (eGRID 2022 for the United States, national means "
    "elsewhere), recalled and unverified; contracts not counted"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """`kilowatts` while the job runs, `megawatt_hours` of the run; `tonnes` of CO2e, None where the grid is unknown."""

    kilowatts: float
    megawatt_hours: float
    tonnes: float | None
    grams_per_kwh: float | None


def power(machine: NodeProfile, nodes: int, days: float, region: str | None) -> Power:
    kilowatts = nodes * machine.cards * machine.card.watts * DRAW.value * (1 + HOST_SHARE.value) * BUILDING.value / 1e3
    hours = kilowatts * days * 24 / 1e3
    grams = GRID.get(region) if region and machine.instance else None
    return Power(
        kilowatts=kilowatts,
        megawatt_hours=hours,
        tonnes=None if grams is None else hours * grams / 1e3,
        grams_per_kwh=grams,
    )


CONSTANTS = (DRAW, HOST_SHARE, BUILDING)
