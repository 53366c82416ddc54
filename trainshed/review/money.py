"""What a change costs a month: before, after, and which component the difference comes from.

Both sides are priced with one price table, so that a new price list never reads as a change of the stack. What has no
known price is never taken as zero: with it a difference is only a bound, and the words say which.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from components.planning.cost.estimate import Estimate, Monthly
from components.planning.cost.lines import Commitment, Unpriced
from components.record import Record
from trainshed.review.differences import component_of

# How far the known difference can be trusted: it is the whole, a lower bound, an upper bound, or no bound at all.
Bound = Literal["exact", "at least", "at most", "unknown"]


@dataclass(frozen=True, kw_only=True)
class Driver:
    """One component's part of the difference, with its largest lines before and after."""

    component: str
    before: float
    after: float
    lines: tuple[str, ...]
    unpriced: bool = False  # part of it has no known price after the change

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
class Added:
    """A commitment that the change makes or enlarges; `before` is the same one as it stood."""

    commitment: Commitment
    before: Commitment | None = None

    @property
    def usd(self) -> float | None:
        """What is owed in addition, in all; None until an end is known."""
        return _more(self.commitment.usd, self.before.usd if self.before else 0.0)

    @property
    def usd_monthly(self) -> float | None:
        """What is owed in addition a month, while no end is known."""
        return _more(self.commitment.usd_monthly, self.before.usd_monthly if self.before else 0.0)

    def as_json(self) -> dict[str, Any]:
        return {**self.commitment.as_json(), "added_usd": self.usd, "added_usd_monthly": self.usd_monthly}


def _more(now: float | None, was: float | None) -> float | None:
    return None if now is None else round(now - (was or 0.0), 2)


@dataclass(frozen=True, kw_only=True)
class Money:
    """US dollars a month. A side that could not be previewed has no estimate, which is None and never 0."""

    before: Estimate | None
    after: Estimate | None
    drivers: tuple[Driver, ...]
    prices_as_of: str
    cards_before: int | None
    cards_after: int | None
    budget: float | None = None  # the stack's own, a month, after the change

    @property
    def delta(self) -> Monthly | None:
        """Range of the difference between what is known of both sides."""
        if self.before is None or self.after is None:
            return None
        return self.after.monthly.minus(self.before.monthly)

    @property
    def unpriced_new(self) -> tuple[Unpriced, ...]:
        """What has no known price after the change, and wasn't there before it or had one."""
        return newly_unpriced(self.before, self.after)

    @property
    def bound(self) -> Bound:
        """What the known difference says of the whole one."""
        if self.before is None or self.after is None:
            return "unknown"
        come, gone = newly_unpriced(self.before, self.after), newly_unpriced(self.after, self.before)
        lost = {each.urn for each in come} & {each.urn for each in self.before.lines}
        found = {each.urn for each in gone} & {each.urn for each in self.after.lines}
        same = {(each.what, each.urn) for each in come} & {(each.what, each.urn) for each in gone}
        if (come and gone and not same) or _moved_over(lost, self) or _moved_over(found, self):
            return "unknown"
        if same:
            return _of_amounts(come, gone)
        return "at least" if come else "at most" if gone else "exact"

    @property
    def percent(self) -> float | None:
        """The known difference as a share of what the stack cost before."""
        delta = self.delta
        if delta is None or self.before is None or self.before.monthly.expected <= 0:
            return None
        return 100 * delta.expected / self.before.monthly.expected

    @property
    def commitments(self) -> tuple[Added, ...]:
        """Those that come or grow; what was owed already is left out."""
        if self.after is None:
            return ()
        before = self.before.commitments if self.before else ()
        owed = {(each.what, each.urn): each for each in before}
        # Under another name it is the same one when it says the same of the same reservation.
        renamed = {each.said for each in before}
        found = [
            Added(commitment=each, before=owed.get((each.what, each.urn)))
            for each in self.after.commitments
            if (each.what, each.urn) in owed or each.said not in renamed
        ]
        return tuple(each for each in found if _grows(each))

    @property
    def over_budget(self) -> float | None:
        """By how much the expected cost exceeds the stack's own budget; None when it doesn't."""
        if self.after is None or self.budget is None or self.after.monthly.expected <= self.budget:
            return None
        return self.after.monthly.expected - self.budget

    def as_json(self) -> dict[str, Any]:
        return {
            "currency": "USD",
            "before": self.before.monthly.as_json() if self.before else None,
            "after": self.after.monthly.as_json() if self.after else None,
            "delta": self.delta.as_json() if self.delta else None,
            "delta_bound": self.bound,
            "delta_percent": None if self.percent is None else round(self.percent, 2),
            "budget": self.budget,
            "drivers": [each.as_json() for each in self.drivers],
            "cards": {"before": self.cards_before, "after": self.cards_after},
            "prices_as_of": self.prices_as_of,
            "unpriced": list(self.after.without_price) if self.after else [],
            "unpriced_new": sorted({str(each) for each in self.unpriced_new}),
            "commitments": [each.as_json() for each in self.commitments],
        }


def _grows(added: Added) -> bool:
    """A commitment that only ends earlier or gets cheaper is no new one; one whose amount isn't known may be."""
    if added.before is None:
        return True
    if added.commitment == added.before:
        return False
    figures = [each for each in (added.usd, added.usd_monthly) if each is not None]
    return any(each > 0 for each in figures) if figures else True


def _moved_over(urns: set[str], money: Money) -> bool:
    """Whether one of these resources lost a line to an unknown price, so that the known figures don't compare."""
    if money.before is None or money.after is None:
        return False
    old = {(each.urn, each.what) for each in money.before.lines}
    new = {(each.urn, each.what) for each in money.after.lines}
    gone, come = old - new, new - old
    return any(urn in urns for urn, _ in gone | come)


def _of_amounts(come: Sequence[Unpriced], gone: Sequence[Unpriced]) -> Bound:
    """Things without a price on both sides whose amounts differ: a bound only where every one of them grows, or every
    one shrinks.
    """
    old = {(each.what, each.urn): each for each in gone}
    steps = {_growth(old.get((each.what, each.urn)), each) for each in come}
    steps |= {"shrinks" for each in gone if (each.what, each.urn) not in {(one.what, one.urn) for one in come}}
    return "at least" if steps == {"grows"} else "at most" if steps == {"shrinks"} else "unknown"


def _growth(old: Unpriced | None, new: Unpriced) -> str:
    if old is None:
        return "grows"
    if old.most is None or new.most is None or old.most == new.most:
        return "unclear"
    return "grows" if new.most > old.most else "shrinks"


def drivers(
    before: Estimate,
    after: Estimate,
    resources: Sequence[Record],
    *,
    renamed: Mapping[str, str] = MappingProxyType({}),
    most: int = 5,
) -> tuple[Driver, ...]:
    """The components that move the expected cost by a dollar or more, the largest first; `renamed` gives the new URN
    of what had another one before.
    """
    parents = {each.urn: each for each in resources}
    old, new = _by_component(before, parents, renamed), _by_component(after, parents)
    doubtful = {_component(each.urn, parents) for each in newly_unpriced(before, after)}
    found = [
        Driver(
            component=name,
            before=sum(usd for usd, _ in old.get(name, {}).values()),
            after=sum(usd for usd, _ in new.get(name, {}).values()),
            lines=tuple(_moved(old.get(name, {}), new.get(name, {}))),
            unpriced=name in doubtful,
        )
        for name in {*old, *new, *doubtful}
    ]
    moved = [each for each in found if abs(each.delta) >= 1 or each.unpriced]
    return tuple(sorted(moved, key=lambda each: (-abs(each.delta), not each.unpriced, each.component))[:most])


def newly_unpriced(before: Estimate | None, after: Estimate | None) -> tuple[Unpriced, ...]:
    """What one estimate leaves without a price that the other doesn't, or leaves in another amount."""
    if before is None or after is None:
        return ()
    known = set(before.unpriced)
    return tuple(each for each in after.unpriced if each not in known)


_Lines = Mapping[str, tuple[float, str]]


def _component(urn: str, parents: Mapping[str, Record]) -> str:
    return component_of(parents[urn], parents) if urn in parents else "(the stack itself)"


def _by_component(
    cost: Estimate, parents: Mapping[str, Record], renamed: Mapping[str, str] = MappingProxyType({})
) -> dict[str, dict[str, tuple[float, str]]]:
    found: dict[str, dict[str, tuple[float, str]]] = {}
    for line in cost.lines:
        of = found.setdefault(_component(renamed.get(line.urn, line.urn), parents), {})
        known, _ = of.get(line.what, (0.0, ""))
        of[line.what] = (known + line.expected, line.basis)
    return found


def _moved(old: _Lines, new: _Lines, most: int = 3) -> list[str]:
    """The lines that moved most, each with its arithmetic before and after."""

    def moved(what: str) -> float:
        return new.get(what, (0.0, ""))[0] - old.get(what, (0.0, ""))[0]

    found = sorted((each for each in {*old, *new} if abs(moved(each)) >= 1), key=lambda each: (-abs(moved(each)), each))
    words = [f"{each}: {_arithmetic(old.get(each), new.get(each))}" for each in found[:most]]
    return [*words, *([f"and {len(found) - most} more lines"] if len(found) > most else [])]


def _arithmetic(old: tuple[float, str] | None, new: tuple[float, str] | None) -> str:
    if old is None or new is None:
        return f"comes, {new[1]}" if new else f"goes, {old[1]}" if old else ""
    return new[1] if old[1] == new[1] else f"{old[1]} → {new[1]}"
