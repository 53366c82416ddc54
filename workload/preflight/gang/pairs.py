"""The pairwise stage: rounds of pairs until it is certain which node or link is slow, stuck or corrupts data."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from workload.preflight.gang import rounds
from workload.preflight.gang.asked import Asked
from workload.preflight.gang.rounds import Pair, RoundOutcome

WIRE_SHARE = 0.8  # of the stated rate, where no baseline is recorded
MEDIAN_SHARE = 0.5  # of the gang's median pair, where not even the wire's rate is known


@dataclass(frozen=True)
class PairFindings:
    """Nodes and links by their ranks, each with what was measured; `unnamed` when every pair failed."""

    nodes: dict[int, str] = field(default_factory=dict)
    links: dict[Pair, str] = field(default_factory=dict)
    unnamed: str = ""
    unnamed_ranks: tuple[int, ...] = ()
    figures: dict[str, float] = field(default_factory=dict)


def least(asked: Asked, baseline: float, outcomes: Sequence[RoundOutcome]) -> float:
    """The rate below which a pair is too slow."""
    if baseline:
        return baseline * asked.minimum
    if asked.wire_gb_per_s:
        return asked.wire_gb_per_s * WIRE_SHARE
    rates = [each.gb_per_s for each in outcomes if each.gb_per_s is not None]
    return statistics.median(rates) * MEDIAN_SHARE if rates else 0.0


def find(
    members: Sequence[int],
    play: Callable[[Sequence[Pair]], list[RoundOutcome]],
    bound: Callable[[Sequence[RoundOutcome]], float],
    gone: Callable[[], AbstractSet[int]],
    until: float,
) -> PairFindings:
    """`play` runs pairs at once; `gone` are the members that left on the way, whose pairs count for nobody."""
    outcomes: list[RoundOutcome] = []
    for pairs in rounds.ring_rounds(members):
        outcomes += play(pairs)
    limit = bound(outcomes)
    while True:
        outcomes = [each for each in outcomes if not gone() & set(each.pair)]
        verdict = rounds.judge(outcomes, limit)
        if not verdict.next_pairs or time.monotonic() > until:
            break
        played = [outcome for pairs in rounds.disjoint(verdict.next_pairs) for outcome in play(pairs)]
        if not played:  # all of them lost an end; without it there is nothing left to ask
            break
        outcomes += played
    rates = [each.gb_per_s for each in outcomes if each.gb_per_s is not None]
    figures = {}
    if rates:
        figures = {"pair_gb_per_s": round(statistics.median(rates), 4), "slowest_pair_gb_per_s": round(min(rates), 4)}
    return PairFindings(
        nodes={rank: _worst([each for each in outcomes if rank in each.pair], limit) for rank in verdict.nodes},
        links={
            pair: _worst([each for each in outcomes if set(each.pair) == set(pair)], limit) for pair in verdict.links
        },
        unnamed=_worst(outcomes, limit) if verdict.unnamed else "",
        unnamed_ranks=tuple(sorted({rank for pair in verdict.unnamed for rank in pair})),
        figures=figures,
    )


def _worst(outcomes: Sequence[RoundOutcome], limit: float) -> str:
    """The worst of some pairs' outcomes, in words."""
    found = [each for each in outcomes if not each.good(limit)]
    stopped = next((each for each in found if each.gb_per_s is None), None)
    if stopped is not None:
        return f"its transfer did not end: {stopped.said}"
    wrong = next((each for each in found if each.wrong), None)
    if wrong is not None:
        return f"{wrong.wrong} values came out wrong"
    slowest = min((each.gb_per_s or 0.0 for each in found), default=0.0)
    return f"{slowest:.3g} GB/s between nodes, {limit:.3g} are asked"
