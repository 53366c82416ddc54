"""Which pairs to test, and which node or link their speeds accuse.

A pair that ran well clears both its nodes: so a node is blamed only when every pair it was in failed, three of them
with cleared nodes where there are so many, and a link only when it failed twice between two cleared nodes. The number
of rounds doesn't grow with the gang.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

Pair = tuple[int, int]
CONFIRMATIONS = 3


@dataclass(frozen=True)
class RoundOutcome:
    """One pair's test: gigabytes a second in its slower direction, None when it did not end; values that came wrong."""

    pair: Pair
    gb_per_s: float | None
    wrong: int = 0
    said: str = ""

    def good(self, least: float) -> bool:
        return self.gb_per_s is not None and self.gb_per_s >= least and not self.wrong


def ring_rounds(members: Sequence[int]) -> list[list[Pair]]:
    """The edges of the ring in rounds where nobody is in two pairs: two rounds, three when the count is odd."""
    count = len(members)
    if count < 2:
        return []
    if count == 2:
        return [[(members[0], members[1])]]
    edges = [(members[place], members[(place + 1) % count]) for place in range(count)]
    rounds = [edges[0 : count - count % 2 : 2], edges[1 : count - count % 2 : 2]]
    return [*rounds, [edges[-1]]] if count % 2 else rounds


def disjoint(pairs: Iterable[Pair]) -> list[list[Pair]]:
    """Any pairs in rounds where nobody is in two at once."""
    rounds: list[list[Pair]] = []
    busy: list[set[int]] = []
    for pair in pairs:
        for number, taken in enumerate(busy):
            if not taken & set(pair):
                rounds[number].append(pair)
                taken |= set(pair)
                break
        else:
            rounds.append([pair])
            busy.append(set(pair))
    return rounds


@dataclass(frozen=True)
class Judgement:
    """`cleared` ran well in some pair; `next_pairs` are to be tested before the rest is certain."""

    cleared: frozenset[int]
    nodes: tuple[int, ...] = ()
    links: tuple[Pair, ...] = ()
    next_pairs: tuple[Pair, ...] = ()
    unnamed: tuple[Pair, ...] = field(default=())  # failed, and nobody is cleared to tell which end it is


def judge(outcomes: Sequence[RoundOutcome], least: float) -> Judgement:
    """What all the tests so far say; ask again with the outcomes of `next_pairs` until there are none."""
    good = [outcome for outcome in outcomes if outcome.good(least)]
    bad = [outcome for outcome in outcomes if not outcome.good(least)]
    cleared = frozenset(member for outcome in good for member in outcome.pair)
    suspects = sorted({member for outcome in bad for member in outcome.pair} - cleared)
    again: list[Pair] = []
    blamed: list[int] = []
    for place, suspect in enumerate(suspects):
        tried = [_other(outcome.pair, suspect) for outcome in bad if suspect in outcome.pair]
        confirmed = len({other for other in tried if other in cleared})
        fresh = sorted(cleared - set(tried))
        if confirmed >= min(CONFIRMATIONS, len(cleared)) and confirmed:
            blamed.append(suspect)
        elif fresh:
            again.append((fresh[place % len(fresh)], suspect))
    links: list[Pair] = []
    good_pairs = {frozenset(outcome.pair) for outcome in good}
    for outcome in bad:
        pair = (min(outcome.pair), max(outcome.pair))
        if not cleared.issuperset(pair) or frozenset(pair) in good_pairs or pair in links or pair in again:
            continue
        times = sum(1 for each in bad if set(each.pair) == set(pair))
        (links if times > 1 else again).append(pair)
    unnamed = () if cleared else tuple(outcome.pair for outcome in bad)
    return Judgement(cleared, tuple(blamed), tuple(links), tuple(again), unnamed)


def _other(pair: Pair, member: int) -> int:
    return pair[1] if pair[0] == member else pair[0]
