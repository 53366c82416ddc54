"""What declared resources cost a month, from low over expected to high, and what has no known price.

Hides which module prices which type, and that a price nobody knows is told and left out of the sum, never taken as zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from components.catalog import Catalog
from components.planning import cost_machines, cost_services
from components.planning.cost_lines import FREE, Declared, Line, Pricer, Unpriced, declared
from components.spec.stack import StackSpec

PRICERS: Mapping[str, Pricer] = {**cost_machines.PRICERS, **cost_services.PRICERS}


def estimate(records: Iterable[Mapping[str, Any]], stack: StackSpec | None, cat: Catalog, *, region: str | None = None) -> dict[str, Any]:
    """The `cost` object of the preview's JSON, from records as the preview lists them.

    `stack` tells sizes that no resource carries (a bucket's contents); without it they are listed as unpriced.
    """
    where = region or (stack.region if stack else "us-east-1")
    resources = declared(records)
    lines, unpriced = _priced(resources, stack, cat, where)
    return {
        "currency": "USD",
        "monthly": {
            "low": round(sum(each.low for each in lines), 2),
            "expected": round(sum(each.expected for each in lines), 2),
            "high": round(sum(each.high for each in lines), 2),
        },
        "prices_as_of": cat.prices.as_of.isoformat(),
        "unpriced": sorted({f"{each.what}: {each.why}" for each in unpriced}),
        "lines": [each.as_json() for each in sorted(lines, key=lambda each: (-each.expected, each.what))],
    }


def _priced(resources: Sequence[Declared], stack: StackSpec | None, cat: Catalog, region: str) -> tuple[list[Line], list[Unpriced]]:
    lines: list[Line] = []
    unpriced: list[Unpriced] = []
    by_urn = {each.urn: each for each in resources}
    for resource in resources:
        pricer = PRICERS.get(resource.type)
        if pricer is None:
            if resource.custom and resource.type.startswith("aws:") and resource.type not in FREE:
                unpriced.append(Unpriced(what=resource.type, why="no price is known for this type"))
            continue
        for found in pricer(resource, by_urn, cat, region, stack):
            if isinstance(found, Line):
                lines.append(found)
            else:
                unpriced.append(found)
    return lines, unpriced
