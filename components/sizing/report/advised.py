"""Advice, the frontier and a ledger's correction, as plain data and as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from components.sizing.advice.advice import Advice
from components.sizing.advice.frontier import Frontier, Point
from components.sizing.calibration.ledger import Ledger
from components.sizing.plan.result import Plan
from components.sizing.report.words import PlanTable, dollars


def advice_json(reported: Sequence[Advice]) -> list[dict[str, Any]]:
    return [
        {
            "kind": each.change.kind,
            "change": each.change.words,
            "set": dict(each.change.sets),
            "capacity": each.change.buying,
            "caution": each.change.caution,
            "days_saved": _r(each.days),
            "usd_saved": None if each.usd is None else _r(each.usd),
            "days": _r(each.plan.days.expected),
            "usd": _r(each.plan.money.total.expected) if each.plan.money.total else None,
            "nodes": each.plan.nodes,
        }
        for each in reported
    ]


def frontier_json(drawn: Frontier) -> dict[str, Any]:
    return {
        "points": [_point(point) | {"best": point.best} for point in drawn.points],
        "cheapest_in_time": _point(drawn.cheapest_in_time),
        "fastest_for_money": _point(drawn.fastest_for_money),
    }


def _point(point: Point | None) -> dict[str, Any]:
    if point is None:
        return {}
    return {"nodes": point.nodes, "capacity": point.buying, "days": _r(point.days), "usd": _r(point.usd)}


def ledger_json(ledger: Ledger, before: Plan, after: Plan) -> dict[str, Any]:
    """How much the team's own runs moved the answer."""
    return {
        "stages": [
            {
                "line": stage.line,
                "nodes": stage.nodes,
                "measured_seconds": _r(stage.measured_seconds),
                "planned_seconds": _r(stage.planned_seconds),
                "ratio": _r(stage.ratio),
            }
            for stage in ledger.stages
        ],
        "factor": _r(after.factor),
        "days_before": _r(before.days.expected),
        "days_after": _r(after.days.expected),
        "band_before": [_r(before.band.low), _r(before.band.high)],
        "band_after": [_r(after.band.low), _r(after.band.high)],
    }


def advice_table(reported: Sequence[Advice]) -> PlanTable:
    rows = tuple(
        (
            each.change.words,
            f"{each.days:+.3g}",
            "" if each.usd is None else f"{'-' if each.usd < 0 else '+'}{dollars(abs(each.usd))}",
            ", ".join(f"{path}: {_yaml(value)}" for path, value in each.change.sets.items() if value is not None),
            each.change.caution,
        )
        for each in reported
    )
    title = "Advice: what would save most" if rows else "Advice: no change tried saves days or money"
    return PlanTable(title, ("change", "days saved", "money saved", "as the task says it", "mind"), rows)


def _yaml(value: object) -> str:
    return f"[{', '.join(map(str, value))}]" if isinstance(value, list | tuple) else str(value)


def frontier_table(drawn: Frontier) -> PlanTable:
    rows = tuple(
        (f"{point.nodes:,}", point.buying, f"{point.days:.3g}", dollars(point.usd), _marks(drawn, point))
        for point in drawn.points
        if point.best
    )
    return PlanTable("Days against money, with a free split", ("nodes", "capacity", "days", "cost", ""), rows)


def _marks(drawn: Frontier, point: Point) -> str:
    marks = ("cheapest in time", drawn.cheapest_in_time), ("fastest for the money", drawn.fastest_for_money)
    return ", ".join(words for words, found in marks if found == point)


def ledger_table(ledger: Ledger, before: Plan, after: Plan) -> PlanTable:
    rows = [
        (
            f"line {stage.line}",
            f"{stage.nodes:,}",
            f"{stage.measured_seconds:.3g}",
            f"{stage.planned_seconds:.3g}",
            f"{stage.ratio - 1:+.1%}",
        )
        for stage in ledger.stages
    ]
    moved = f"{before.days.expected:.3g} days become {after.days.expected:.3g}"
    rows.append(("correction", f"{after.nodes:,}", "", "", f"{after.factor - 1:+.1%}: {moved}"))
    return PlanTable(
        "Own runs against the plan", ("", "nodes", "measured s/step", "planned", "difference"), tuple(rows)
    )


def _r(value: float) -> float:
    return float(f"{value:.6g}")
