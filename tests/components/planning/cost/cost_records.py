"""Small records for the tests of the cost model, and the lines that it makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

from components.planning.cost.estimate import estimate
from components.record import Record
from components.spec.stack import StackSpec
from tests.given import CAT

TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
GROUP = "aws:eks/nodeGroup:NodeGroup"


def record(type_: str, name: str, inputs: dict[str, Any] | None = None, after: Sequence[str] = ()) -> Record:
    depends_on = tuple(f"urn:{each}" for each in after)
    return Record(urn=f"urn:{name}", type=type_, name=name, inputs=inputs or {}, depends_on=depends_on)


def group(
    name: str = "nodes", types: Sequence[str] = ("p5.48xlarge",), low: int = 2, high: int = 2, **inputs: Any
) -> Record:
    scaling = {"minSize": low, "maxSize": high, "desiredSize": low}
    return record(GROUP, name, {"instanceTypes": list(types), "scalingConfig": scaling, **inputs}, after=["template"])


def template(**inputs: Any) -> Record:
    return record(TEMPLATE, "template", inputs)


def priced(
    *records: Record, stack: StackSpec | None = None, region: str = "us-west-2", on: date | None = None
) -> dict[str, Any]:
    return estimate(records, stack, CAT, region=region, on=on).as_json()


def lines(*records: Record, **given: Any) -> dict[str, tuple[float, float, float]]:
    """Low, expected and high by what they are for."""
    return {each["what"]: (each["low"], each["expected"], each["high"]) for each in priced(*records, **given)["lines"]}
