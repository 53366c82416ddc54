"""The changes worth most: each is planned again, and only what fits and is better by the planner's own figures is
reported.

Better means fewer days for no more money, or less money for no more days; a goal of days or money widens one of the
two.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from components.catalog import Catalog
from components.sizing.advice.candidates import candidates
from components.sizing.advice.change import PlanChange, changed
from components.sizing.plan.assemble import planned
from components.sizing.plan.request import Request
from components.sizing.plan.result import Plan

_WORTH_SAYING = 0.01  # of the days or the money
_ALIKE = 1e-9
_TOLD = 3


@dataclass(frozen=True, kw_only=True)
class Advice:
    """One change with its own plan; `days` and `usd` are saved, negative where it costs more of one of them."""

    change: PlanChange
    plan: Plan
    days: float
    usd: float | None

    @property
    def worth(self) -> float:
        """Share of days and of money saved, added up."""
        before = self.days + self.plan.days.expected
        money = self.plan.money.total
        saved = self.usd / (self.usd + money.expected) if self.usd is not None and money else 0.0
        return self.days / before + saved


def advise(plan: Plan, cat: Catalog, count: int = _TOLD) -> list[Advice]:
    """At most `count` changes, the best of each kind, those worth most first."""
    base = replace(plan.request, nodes=plan.request.nodes or plan.nodes, days=None, quick=True)
    best: dict[str, Advice] = {}
    for change in candidates(plan, cat):
        found = _weighed(plan, base, change, cat)
        if found is not None and (change.kind not in best or found.worth > best[change.kind].worth):
            best[change.kind] = found
    ranked = sorted(best.values(), key=lambda each: -each.worth)
    return _apart(ranked)[:count]


def _apart(ranked: list[Advice]) -> list[Advice]:
    """Of changes that lead to the same plan, the first."""
    kept: list[Advice] = []
    for each in ranked:
        same = [other for other in kept if abs(other.days - each.days) < _ALIKE and other.usd == each.usd]
        if not same:
            kept.append(each)
    return kept


def _weighed(plan: Plan, base: Request, change: PlanChange, cat: Catalog) -> Advice | None:
    """The change as it would be written into the task, planned as written.

    None when it is not better or can't be had.
    """
    first = _replanned(base, change, cat)
    if first is None or not better(plan, first):
        return None
    exact = written(change, plan, first)
    made = _replanned(base, exact, cat)
    if made is None or not better(plan, made):
        return None
    now, then = plan.money.total, made.money.total
    return Advice(
        change=exact,
        plan=made,
        days=plan.days.expected - made.days.expected,
        usd=now.expected - then.expected if now and then else None,
    )


def _replanned(base: Request, change: PlanChange, cat: Catalog) -> Plan | None:
    request = changed(base, change, cat)
    if request is None or request.nodes is None:
        return None
    # What leaves the split alone is searched like the task itself, so that it comes to the same split.
    quick = base.quick and _frees(change)
    made = planned(replace(request, days=None, quick=quick), cat, request.nodes)[0]
    return made if made is not None and made.memory.fits else None


def better(plan: Plan, made: Plan) -> bool:
    """Whether a plan saves days or money without costing the other, as far as the first plan's goals don't allow it."""
    goal, now, then = plan.request.spec.goal, plan.money.total, made.money.total
    if now and not then:
        return False  # what has no price can't be weighed against what has
    days = plan.days.expected - made.days.expected
    usd = now.expected - then.expected if now and then else None
    gains = days > _WORTH_SAYING * plan.days.expected
    saves = usd is not None and now is not None and usd > _WORTH_SAYING * now.expected
    in_time = made.days.expected <= max(plan.days.expected, goal.days or 0.0) * (1 + _ALIKE)
    within = usd is None or usd >= 0.0
    if goal.usd is not None and then is not None:
        within = within or then.expected <= goal.usd
    return (gains and within and in_time) or (saves and in_time and within)


def _frees(change: PlanChange) -> bool:
    return any(path.startswith(("parallelism.", "training.", "hardware.nodes")) for path in change.sets)


def written(change: PlanChange, plan: Plan, made: Plan) -> PlanChange:
    """The change with what the planner chose in place of what it left open, so that the task can be written with it."""
    sets = dict(change.sets)
    layout, job = made.best.layout, made.best.job
    if plan.request.nodes is None:
        sets["hardware.nodes"] = made.nodes
    if _frees(change):
        chosen: dict[str, Any] = {
            "tensor": layout.tensor,
            "pipeline": layout.pipeline,
            "context": layout.context,
            "expert": layout.expert if job.shape.experts else plan.request.spec.parallelism.expert,
            "virtual_stages": layout.virtual if layout.pipeline > 1 else None,
            "micro_batch": layout.micro_batch,
        }
        sets |= {f"parallelism.{key}": value for key, value in chosen.items()}
        if made.nodes != made.asked_nodes or "hardware.nodes" in sets:
            sets["hardware.nodes"] = made.nodes
        sets["training.global_batch"] = job.global_batch
        sets |= {"training.recompute": layout.recompute, "training.sharding": layout.sharding}
        if layout.recompute_layers:
            sets["training.recompute_layers"] = layout.recompute_layers
    return replace(change, sets={path: value for path, value in sets.items() if _differs(plan, path, value)})


def _differs(plan: Plan, path: str, value: Any) -> bool:
    section, _, key = path.partition(".")
    now = getattr(getattr(plan.request.spec, section), key)
    return (now or None) != (value or None)
