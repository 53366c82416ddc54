"""Days against money: other numbers of nodes and ways of buying them, and the points that nothing beats."""

from __future__ import annotations

from dataclasses import dataclass, replace

from components.catalog import Catalog
from components.sizing.advice.candidates import sold
from components.sizing.advice.change import PlanChange, changed
from components.sizing.plan.assemble import planned
from components.sizing.plan.result import Plan
from components.sizing.run.money import Amount

_SHARES = (0.25, 0.375, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One way to run the task; `best` when no other point is both faster and cheaper."""

    nodes: int
    buying: str
    days: float
    usd: float
    best: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Frontier:
    """All points, fewest days first, and the two that a goal asks for."""

    points: tuple[Point, ...]
    cheapest_in_time: Point | None
    fastest_for_money: Point | None


def frontier(plan: Plan, cat: Catalog) -> Frontier:
    """Points around the plan with a free split; the plan itself is one of them. Without prices there are none."""
    points = _of(plan)
    freed = {
        f"parallelism.{key}": None
        for key in ("tensor", "pipeline", "context", "expert", "virtual_stages", "micro_batch")
    }
    freed |= {f"parallelism.{key}": None for key in ("stages", "pipeline_layout", "schedule", "shard")}
    freed |= {f"training.{key}": None for key in ("recompute", "recompute_modules", "recompute_layers", "sharding")}
    base = replace(plan.request, days=None, quick=True)
    for share in _SHARES:
        nodes = max(1, round(plan.nodes * share))
        request = changed(base, PlanChange(kind="nodes", words="", sets={**freed, "hardware.nodes": nodes}), cat)
        made = planned(replace(request, days=None), cat, nodes)[0] if request else None
        if made is not None and made.memory.fits:
            points += _of(made)
    points = list(dict.fromkeys(points))
    marked = [replace(one, best=not any(_beats(other, one) for other in points)) for one in points]
    marked.sort(key=lambda point: (point.days, point.usd))
    goal = plan.request.spec.goal
    in_time = [point for point in marked if goal.days and point.days <= goal.days]
    within = [point for point in marked if goal.usd and point.usd <= goal.usd]
    return Frontier(
        points=tuple(marked),
        cheapest_in_time=min(in_time, key=lambda point: point.usd, default=None),
        fastest_for_money=min(within, key=lambda point: point.days, default=None),
    )


def _of(made: Plan) -> list[Point]:
    amounts = [(kind, made.money.by_capacity.get(kind)) for kind in sold(made) if kind != "spot"]
    return [
        Point(nodes=made.nodes, buying=kind, days=made.days.expected, usd=amount.expected)
        for kind, amount in amounts
        if isinstance(amount, Amount)
    ]


def _beats(other: Point, one: Point) -> bool:
    return other.days <= one.days and other.usd <= one.usd and (other.days, other.usd) != (one.days, one.usd)
