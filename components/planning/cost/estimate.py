"""What declared resources cost a month, from low over expected to high, what is owed whatever is used, and what has no
known price.

Hides which module prices which type, and that a price nobody knows is told and left out of the sum, never taken as
zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from components.catalog import Catalog
from components.planning.cost import bought, claims, machines, network, services, storage, watching
from components.planning.cost.free import FREE
from components.planning.cost.lines import Commitment, Declared, Line, Pricer, Setting, Unpriced, declared
from components.spec.stack import StackSpec

PRICERS: Mapping[str, Pricer] = {
    **bought.PRICERS,
    **machines.PRICERS,
    **network.PRICERS,
    **services.PRICERS,
    **storage.PRICERS,
    **watching.PRICERS,
}


def estimate(
    records: Iterable[Mapping[str, Any]],
    stack: StackSpec | None,
    cat: Catalog,
    *,
    region: str | None = None,
    on: date | None = None,
) -> dict[str, Any]:
    """The `cost` object of the preview's JSON, from records as the preview lists them.

    `stack` tells sizes that no resource carries (a bucket's contents, a block's dates); without it they are listed as
    unpriced. `on` is the day that support dates are compared with; the price list's own when left out.
    """
    resources = declared(records)
    setting = Setting(
        by_urn={each.urn: each for each in resources},
        cat=cat,
        region=region or (stack.region if stack else "us-east-1"),
        on=on or cat.prices.as_of,
        stack=stack,
    )
    found = _priced(resources, setting)
    lines = [each for each in found if isinstance(each, Line)]
    unpriced = sorted({each for each in found if isinstance(each, Unpriced)}, key=lambda each: (each.what, each.why))
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
        "unpriced_lines": [each.as_json() for each in unpriced],
        "commitments": [each.as_json() for each in found if isinstance(each, Commitment)],
    }


def _priced(resources: Sequence[Declared], setting: Setting) -> list[Line | Unpriced | Commitment]:
    found: list[Line | Unpriced | Commitment] = []
    on_aws = any(each.type.startswith("aws:eks/") for each in resources)
    for resource in resources:
        pricer = PRICERS.get(resource.type)
        if pricer is not None:
            found += pricer(resource, _where(resource, setting))
        elif resource.type.startswith("kubernetes:"):
            # On somebody's own rack a claim or a balancer costs nothing that a price list knows.
            found += claims.priced(resource, setting) if on_aws else ()
        elif resource.custom and resource.type.startswith("aws:") and resource.type not in FREE:
            found.append(
                Unpriced(
                    what=f"{resource.name} ({resource.type})", why="no price is known for this type", urn=resource.urn
                )
            )
    return found


def _where(resource: Declared, setting: Setting) -> Setting:
    """A resource may name another region than its stack's."""
    own = resource.inputs.get("region")
    return replace(setting, region=own) if isinstance(own, str) and own and "<" not in own else setting
