"""What a change costs a month: before, after, and which component the difference comes from.

Hides that both sides are priced with one price table, so that a new price list never reads as a change of the stack.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trainshed.reviewing.differences import Resource, component_of

Cost = Mapping[str, Any]
_RANGE = ("low", "expected", "high")


@dataclass(frozen=True, kw_only=True)
class Driver:
    """One component's part of the difference, with its largest lines before and after."""

    component: str
    before: float
    after: float
    lines: tuple[str, ...]

    @property
    def delta(self) -> float:
        return self.after - self.before

    def as_json(self) -> dict[str, Any]:
        return {
            "component": self.component,
            "before": round(self.before, 2),
            "after": round(self.after, 2),
            "delta": round(self.delta, 2),
            "lines": list(self.lines),
        }


@dataclass(frozen=True, kw_only=True)
class Money:
    """US dollars a month. A side that could not be previewed has no cost, which is None and never 0."""

    before: Mapping[str, float] | None
    after: Mapping[str, float] | None
    drivers: tuple[Driver, ...]
    prices_as_of: str
    cards_before: int | None
    cards_after: int | None
    unpriced: tuple[str, ...]
    unpriced_new: tuple[str, ...]
    commitments: tuple[Mapping[str, Any], ...] = ()

    @property
    def delta(self) -> dict[str, float] | None:
        """Range of the difference: both ends move together, as one estimate of use holds on both sides."""
        if self.before is None or self.after is None:
            return None
        return {key: round(self.after[key] - self.before[key], 2) for key in _RANGE}

    def as_json(self) -> dict[str, Any]:
        return {
            "currency": "USD",
            "before": dict(self.before) if self.before else None,
            "after": dict(self.after) if self.after else None,
            "delta": self.delta,
            "drivers": [each.as_json() for each in self.drivers],
            "cards": {"before": self.cards_before, "after": self.cards_after},
            "prices_as_of": self.prices_as_of,
            "unpriced": list(self.unpriced),
            "unpriced_new": list(self.unpriced_new),
            "commitments": [dict(each) for each in self.commitments],
        }


def drivers(before: Cost, after: Cost, resources: Sequence[Resource], *, most: int = 5) -> tuple[Driver, ...]:
    """The components that move the expected cost by a dollar or more, the largest first."""
    parents = {str(each["urn"]): each for each in resources}
    old, new = _by_component(before, parents), _by_component(after, parents)
    found = [
        Driver(
            component=name,
            before=sum(old.get(name, {}).values()),
            after=sum(new.get(name, {}).values()),
            lines=tuple(_moved(old.get(name, {}), new.get(name, {}))),
        )
        for name in {*old, *new}
    ]
    moved = [each for each in found if abs(each.delta) >= 1]
    return tuple(sorted(moved, key=lambda each: (-abs(each.delta), each.component))[:most])


def _by_component(cost: Cost, parents: Mapping[str, Resource]) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for line in cost["lines"]:
        name = component_of(parents.get(line["urn"], {}), parents)
        of = found.setdefault(name, {})
        label = f"{line['what']}: {line['basis']}"
        of[label] = of.get(label, 0.0) + float(line["expected"])
    return found


def _moved(old: Mapping[str, float], new: Mapping[str, float]) -> list[str]:
    """Lines of one side only, the dearest of each."""
    gone = sorted((each for each in old if each not in new and old[each] >= 1), key=lambda each: -old[each])[:2]
    come = sorted((each for each in new if each not in old and new[each] >= 1), key=lambda each: -new[each])[:2]
    return [*(f"was {each}" for each in gone), *(f"is {each}" for each in come)]
