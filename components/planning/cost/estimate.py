"""What declared resources cost a month, from low over expected to high, what is owed whatever is used, and what has no
known price.

A price that isn't known is listed and left out of the sum, never taken as zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from components import file_systems
from components.catalog import Catalog
from components.planning.cost import bought, claims, machines, network, services, storage, watching
from components.planning.cost.free import FREE
from components.planning.cost.lines import Commitment, Line, Pricer, Setting, Unpriced
from components.record import Record
from components.spec.stack import StackSpec

PRICERS: Mapping[str, Pricer] = {
    **bought.PRICERS,
    **machines.PRICERS,
    **network.PRICERS,
    **services.PRICERS,
    **storage.PRICERS,
    **watching.PRICERS,
    **file_systems.pricers(),
}


@dataclass(frozen=True, kw_only=True)
class Monthly:
    """US dollars a month, from what is owed at least to what the stack can cost at most."""

    low: float = 0.0
    expected: float = 0.0
    high: float = 0.0

    def minus(self, other: Monthly) -> Monthly:
        """The difference end by end: one estimate of use holds on both sides."""
        return Monthly(
            low=round(self.low - other.low, 2),
            expected=round(self.expected - other.expected, 2),
            high=round(self.high - other.high, 2),
        )

    def as_json(self) -> dict[str, float]:
        return {"low": self.low, "expected": self.expected, "high": self.high}


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """What a stack costs; without resources every list is empty and every sum zero."""

    prices_as_of: date
    lines: tuple[Line, ...] = ()
    unpriced: tuple[Unpriced, ...] = ()
    commitments: tuple[Commitment, ...] = ()

    @property
    def monthly(self) -> Monthly:
        return Monthly(
            low=round(sum((each.low for each in self.lines), 0.0), 2),
            expected=round(sum((each.expected for each in self.lines), 0.0), 2),
            high=round(sum((each.high for each in self.lines), 0.0), 2),
        )

    @property
    def without_price(self) -> tuple[str, ...]:
        """What is left out of the sums and why, each said once."""
        return tuple(sorted({str(each) for each in self.unpriced}))

    def as_json(self) -> dict[str, Any]:
        """The `cost` object of `trainshed preview --json`."""
        return {
            "currency": "USD",
            "monthly": self.monthly.as_json(),
            "prices_as_of": self.prices_as_of.isoformat(),
            "unpriced": list(self.without_price),
            "lines": [each.as_json() for each in self.lines],
            "unpriced_lines": [each.as_json() for each in self.unpriced],
            "commitments": [each.as_json() for each in self.commitments],
        }


def estimate(
    records: Iterable[Record],
    stack: StackSpec | None,
    cat: Catalog,
    *,
    region: str | None = None,
    on: date | None = None,
) -> Estimate:
    """The cost of declared resources, the largest line first.

    `stack` tells sizes that no resource carries (a bucket's contents, a block's dates); without it they are listed as
    unpriced. `on` is the day that support dates are compared with; the price list's own when left out.
    """
    resources = list(records)
    setting = Setting(
        by_urn={each.urn: each for each in resources},
        cat=cat,
        region=region or (stack.region if stack else "us-east-1"),
        on=on or cat.prices.as_of,
        stack=stack,
    )
    found = _priced(resources, setting)
    lines = [each for each in found if isinstance(each, Line)]
    unpriced = {each for each in found if isinstance(each, Unpriced)}
    return Estimate(
        prices_as_of=cat.prices.as_of,
        lines=tuple(sorted(lines, key=lambda each: (-each.expected, each.what))),
        unpriced=tuple(sorted(unpriced, key=lambda each: (each.what, each.why))),
        commitments=tuple(each for each in found if isinstance(each, Commitment)),
    )


def _priced(resources: Sequence[Record], setting: Setting) -> list[Line | Unpriced | Commitment]:
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


def _where(resource: Record, setting: Setting) -> Setting:
    """A resource may name another region than its stack's."""
    own = resource.inputs.get("region")
    return replace(setting, region=own) if isinstance(own, str) and own and "<" not in own else setting
