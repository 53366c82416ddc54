"""What a change costs a month: before, after, and which component the difference comes from.

Hides that both sides are priced with one price table, so that a new price list never reads as a change of the stack.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from trainshed.review.differences import Resource, component_of

Cost = Mapping[str, Any]
_RANGE = ("low", "expected", "high")


@dataclass(frozen=True, kw_only=True)
class Driver:
    """One component's part of the difference, with its largest lines before and after."""

    component: str
    before: float
    after: float
    lines: tuple[str, ...]
    unpriced: bool = False  # part of it has no known price after the change, so its difference isn't known either

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
            "unpriced": self.unpriced,
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
    def complete(self) -> bool:
        """Whether the difference holds: with something newly without a price it would read as a saving."""
        return not self.unpriced_new

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
            "delta_complete": self.complete,
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
        _driver(name, old.get(name, {}), new.get(name, {})) for name in {*old, *new, *_of_unpriced(after, parents)}
    ]
    doubtful = {component_of(parents.get(each["urn"], {}), parents) for each in newly_unpriced(before, after)}
    marked = [replace(each, unpriced=each.component in doubtful) for each in found]
    moved = [each for each in marked if abs(each.delta) >= 1 or each.unpriced]
    return tuple(sorted(moved, key=lambda each: (not each.unpriced, -abs(each.delta), each.component))[:most])


def newly_unpriced(before: Cost, after: Cost) -> list[Mapping[str, str]]:
    """What has no known price after the change, and wasn't there before it or had one."""
    known = {(each["what"], each["why"]) for each in before.get("unpriced_lines") or ()}
    return [each for each in after.get("unpriced_lines") or () if (each["what"], each["why"]) not in known]


def _of_unpriced(cost: Cost, parents: Mapping[str, Resource]) -> set[str]:
    return {component_of(parents.get(each["urn"], {}), parents) for each in cost.get("unpriced_lines") or ()}


_Lines = Mapping[str, tuple[float, str]]


def _by_component(cost: Cost, parents: Mapping[str, Resource]) -> dict[str, dict[str, tuple[float, str]]]:
    found: dict[str, dict[str, tuple[float, str]]] = {}
    for line in cost["lines"]:
        name = component_of(parents.get(line["urn"], {}), parents)
        of = found.setdefault(name, {})
        known, _ = of.get(line["what"], (0.0, ""))
        of[line["what"]] = (known + float(line["expected"]), str(line["basis"]))
    return found


def _driver(name: str, old: _Lines, new: _Lines) -> Driver:
    before, after = sum(usd for usd, _ in old.values()), sum(usd for usd, _ in new.values())
    return Driver(component=name, before=before, after=after, lines=tuple(_moved(old, new)))


def _moved(old: _Lines, new: _Lines, most: int = 3) -> list[str]:
    """The lines that moved most, each with its reckoning before and after."""

    def moved(what: str) -> float:
        return new.get(what, (0.0, ""))[0] - old.get(what, (0.0, ""))[0]

    found = sorted((each for each in {*old, *new} if abs(moved(each)) >= 1), key=lambda each: (-abs(moved(each)), each))
    said = [f"{each}: {_reckoning(old.get(each), new.get(each))}" for each in found[:most]]
    return [*said, *([f"and {len(found) - most} more lines"] if len(found) > most else [])]


def _reckoning(old: tuple[float, str] | None, new: tuple[float, str] | None) -> str:
    if old is None or new is None:
        return f"comes, {new[1]}" if new else f"goes, {old[1]}" if old else ""
    return new[1] if old[1] == new[1] else f"{old[1]} → {new[1]}"
