"""The campaign, what runs beside it, its power and its frameworks, as plain data and as tables.

Grids are means by place, so carbon is an estimate."""

from __future__ import annotations

from typing import Any

from components.sizing.layout import frameworks
from components.sizing.plan.result import Plan
from components.sizing.report.words import PlanTable, count
from components.sizing.run.beside import PREPARATION_DAYS
from components.sizing.run.power import GRID_SOURCE


def campaign_json(plan: Plan) -> dict[str, Any]:
    whole = plan.campaign
    return {
        "days": {
            "training": _r(whole.training),
            "batch_ramp": _r(whole.ramp),
            "failures": _r(whole.failures),
            "checkpoints": _r(whole.checkpoints),
            "stops": _r(whole.stops),
            "data_staging": _r(whole.staging),
        },
        "phases": [
            {
                "name": phase.name,
                "kind": phase.kind,
                "tokens": phase.tokens,
                "sequence": phase.sequence,
                "global_batch": phase.global_batch,
                "nodes": phase.nodes,
                "steps": phase.steps,
                "step_seconds": _r(phase.step_seconds),
                "days": _r(phase.days),
                "problem": phase.problem,
            }
            for phase in whole.phases
        ],
    }


def beside_json(plan: Plan) -> dict[str, Any]:
    found = plan.beside
    return {
        "preprocessing": {"nodes": found.preparing_nodes, "vcpus_per_node": 32, "days": _r(found.preparing_days)},
        "inference": {"cards": found.serving_cards, "nodes": found.serving_nodes},
        "host": {
            "vcpus_needed": found.host_vcpus_needed,
            "vcpus": found.host_vcpus,
            "memory_gib_needed": found.host_gib_needed,
            "memory_gib": found.host_gib,
        },
    }


def power_json(plan: Plan) -> dict[str, Any]:
    found = plan.power
    return {
        "kilowatts": _r(found.kilowatts),
        "megawatt_hours": _r(found.megawatt_hours),
        "tonnes_co2e": None if found.tonnes is None else _r(found.tonnes),
        "grams_per_kwh": found.grams_per_kwh,
        "source": GRID_SOURCE,
    }


def frameworks_json(plan: Plan) -> dict[str, str]:
    return frameworks.by_name(plan.best.job, plan.best.layout)


def campaign_table(plan: Plan) -> PlanTable:
    whole = plan.campaign
    parts = (
        ("training", whole.training, f"{plan.steps:,} steps"),
        ("batch ramp", whole.ramp, "what smaller batches at the start add"),
        ("failures", whole.failures, "detection, restart, lost work"),
        ("checkpoints", whole.checkpoints, "stalls of the step"),
        ("stops", whole.stops, "evaluations, rewinds, slow days"),
        ("data staging", whole.staging, "before the first step"),
    )
    rows = [(name, f"{days:.3g}", detail) for name, days, detail in parts if days > 0]
    for phase in whole.phases:
        detail = (
            phase.problem or f"{count(phase.tokens)} tokens at {phase.sequence:,}, {phase.step_seconds:.3g} s a step"
        )
        rows.append((f"{phase.name} ({phase.kind})", f"{phase.days:.3g}", detail))
    return PlanTable("Where the days go", ("", "days", "detail"), tuple(rows))


def beside_table(plan: Plan) -> PlanTable:
    found, power = plan.beside, plan.power
    own = "" if found.host_vcpus is None else f"the machine has {found.host_vcpus} and {found.host_gib:,} GiB"
    carbon = "" if power.tonnes is None else f"{power.tonnes:,.0f} t CO2e at {power.grams_per_kwh:g} g/kWh, an estimate"
    rows = (
        (
            "preparing the data",
            f"{found.preparing_nodes:,} nodes of 32 vCPUs",
            f"for {PREPARATION_DAYS.value:g} days at most",
        ),
        ("serving a checkpoint", f"{found.serving_cards} cards", f"{found.serving_nodes} node(s) of the same machine"),
        ("host of a training node", f"{found.host_vcpus_needed} vCPUs, {found.host_gib_needed:,} GiB", own),
        ("power", f"{power.kilowatts:,.0f} kW", f"{power.megawatt_hours:,.0f} MWh{'; ' + carbon if carbon else ''}"),
    )
    return PlanTable("Beside the training", ("", "value", "detail"), rows)


def frameworks_table(plan: Plan) -> PlanTable:
    return PlanTable("Who can run this split", ("framework", ""), tuple(frameworks_json(plan).items()))


def _r(value: float) -> float:
    return float(f"{value:.6g}")
