"""The plan: from a request to the split, the step, the days, the machines, the storage and the money.

Where nodes follow from days, the estimate by total FLOPs is refined until the planned run ends in time.
"""

from __future__ import annotations

import math
from dataclasses import replace

from components.catalog import Catalog
from components.problems import Problem
from components.sizing.plan.assemble import planned
from components.sizing.plan.request import Request
from components.sizing.plan.result import Plan, flops_per_token

__all__ = ["Plan", "flops_per_token", "plan"]

_DAY = 86400.0
_FIRST_GUESS = 0.4  # share of the peak that the first estimate assumes
_SEARCH_NODES = 16
_NEAR_ENOUGH = 0.02  # of the nodes, how near the fewest the search comes
_MISSES = 4
_WORTH_MORE_NODES = 0.97  # of the days, at most, that more nodes must bring them to
_GROWTH = 4.0


def plan(request: Request, cat: Catalog) -> tuple[Plan | None, list[Problem]]:
    """The plan, or the problem that no split of the cards fits."""
    if request.nodes is None:
        return _in_time(request, cat, request.days or 1.0)
    made, problems = planned(request, cat, request.nodes)
    if made is None or request.days is None or made.days.expected <= request.days:
        return made, problems
    enough = _in_time(replace(request, nodes=None), cat, request.days)[0]
    if enough is not None and enough.days.expected <= request.days:
        hint = f"{enough.nodes:,} nodes would take {enough.days.expected:.1f}"
    elif enough is not None:
        hint = (
            f"with this batch and split no number of nodes would do: {enough.nodes:,} take {enough.days.expected:.1f}"
        )
    else:
        hint = "free the split, or use more nodes"
    said = f"{made.nodes:,} nodes take {made.days.expected:.1f} days, more than the {request.days:g} asked for"
    late = Problem(id="goal-days", path="goal.days", said=said, hint=hint, severity="warning")
    return replace(made, problems=(*made.problems, late)), []


def _in_time(request: Request, cat: Catalog, days: float) -> tuple[Plan | None, list[Problem]]:
    """The fewest nodes found that end within `days`, or the fastest plan with a warning."""
    cards = request.machine.cards
    guess = (
        flops_per_token(request)
        * request.spec.training.tokens
        / (_FIRST_GUESS * request.machine.card.tflops * 1e12 * days * _DAY)
    )
    nodes = max(1, math.ceil(guess / cards))
    best: Plan | None = None
    fastest: Plan | None = None
    last: list[Problem] = []
    few, misses = 0, 0  # nodes known to be too few; attempts with more nodes that brought nothing
    for _ in range(_SEARCH_NODES):
        made, last = planned(request, cat, nodes)
        in_time = made is not None and made.days.expected <= days
        if made is None or not in_time:
            few = max(few, nodes)
        elif best is None or made.nodes < best.nodes:
            best = made
        if made is not None:
            gained = fastest is None or made.days.expected < _WORTH_MORE_NODES * fastest.days.expected
            misses = 0 if gained else misses + 1
            fastest = made if fastest is None or made.days.expected < fastest.days.expected else fastest
        estimate = math.ceil(made.nodes * min(made.days.expected / days, _GROWTH)) if made else 2 * nodes
        if best is not None:
            if best.nodes - few <= max(1, best.nodes * _NEAR_ENOUGH):
                break
            nodes = estimate if few < estimate < best.nodes else (few + best.nodes) // 2
        elif misses >= _MISSES:
            break  # more nodes no longer help
        else:
            # An odd number of nodes may deal the batch out badly: after a miss a rounder one gets a try.
            nodes = max(estimate, few + 1) if misses == 0 else _rounder(max(few + 1, round(few * 1.1)))
    if best is not None or fastest is None:
        return best, [] if best else last
    late = Problem(
        id="goal-days",
        path="goal.days",
        said=(
            f"{days:g} days can't be reached: the fastest plan found takes "
            f"{fastest.days.expected:.1f} on {fastest.nodes:,} nodes"
        ),
        hint="raise training.global_batch, so that more cards find work, or goal.days",
        severity="warning",
    )
    return replace(fastest, problems=(*fastest.problems, late)), []


def _rounder(nodes: int) -> int:
    """The next number of nodes that is a multiple of a quarter to an eighth of its own power of two."""
    step = 1 << max(0, nodes.bit_length() - 3)
    return -(-nodes // step) * step
