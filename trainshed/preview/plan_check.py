"""Checks that the stack carries the run that its plan describes: compares `trainshed:plan` with what the stack file
buys.

Only a preview asks: the engine's program reads no task file.
"""

from __future__ import annotations

from pathlib import Path

from components.catalog import Catalog
from components.file_systems.lustre import plan as lustre_plan
from components.planning.pool import Pool
from components.problems import Problem
from components.sizing.plan.plan import Plan, plan
from components.sizing.plan.reading import SizingReading, read
from components.sizing.stack.check import StackFigures, stack_check
from components.spec.pools import PoolSpec
from components.spec.reading.shape import shown
from components.spec.stack import StackSpec


def check(stack: StackSpec, cat: Catalog, folder: Path, monthly_usd: float | None) -> list[Problem]:
    """Warnings where stack and plan don't fit; nothing when the stack names no task."""
    if stack.plan is None:
        return []
    path = folder / stack.plan.task
    if not _is_there(path):
        said = f"there is no task file {_short(stack.plan.task)}"
        return [
            Problem(
                id="plan-task-missing",
                path="plan.task",
                said=said,
                hint="paths start at the stack file's folder",
                severity="warning",
            )
        ]
    reading = read(path, cat)
    made, found = plan(reading.request, cat) if reading.request else (None, [])
    resources = reading.data.get("resources")
    if made is not None and not isinstance(resources, dict | None):
        said = f"the task {stack.plan.task} names no pool: its resources are {shown(resources)}"
        hint = f"write resources: {{pool: {stack.pools[0].name}, nodes: …}}"
        return [Problem(id="plan-task-unusable", path="plan.task", said=said, hint=hint, severity="warning")]
    if made is None:
        problems = [*reading.problems, *found]
        reason = f"{problems[0].path} {problems[0].said}".strip() if problems else "it has no model"
        said = f"the task {stack.plan.task} can't be planned: {reason}"
        hint = f"run trainshed size {path.name} for all of it"
        return [Problem(id="plan-task-unusable", path="plan.task", said=said, hint=hint, severity="warning")]
    return stack_check(_figures(stack, cat, reading, made, monthly_usd), made)


def _short(task: str) -> str:
    return task if len(task) <= 200 else f"{task[:197]}..."


def _is_there(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that no file can have: too long, or with a null in it
        return False


def _pool(stack: StackSpec, reading: SizingReading) -> tuple[int, PoolSpec]:
    """The pool that the task names, else the first for training, else the first."""
    resources = reading.data.get("resources")
    wanted = resources.get("pool") if isinstance(resources, dict) else None
    numbered = list(enumerate(stack.pools))
    named = [each for each in numbered if each[1].name == wanted]
    training = [each for each in numbered if each[1].purpose == "training"]
    return (named or training or numbered)[0]


def _figures(
    stack: StackSpec, cat: Catalog, reading: SizingReading, made: Plan, monthly_usd: float | None
) -> StackFigures:
    index, pool = _pool(stack, reading)
    queues = [(place, each) for place, each in enumerate(stack.queues) if each.pool == pool.name]
    systems = [(place, each) for place, each in enumerate(stack.storage.lustre) if each.zone == pool.zone]
    system = lustre_plan.plan(systems[0][1], cat, stack.storage.datasets.size_gib) if systems else None
    return StackFigures(
        instance_type=pool.instance_type,
        cards=sum(each.cards or 0 for _, each in queues) or Pool(pool, cat).cards_to_share,
        spares=pool.spares,
        lustre_gib=system.capacity_gib if system else None,
        lustre_bandwidth=system.total_mbps * 1e6 if system and system.total_mbps else None,
        monthly_usd=monthly_usd,
        budget_monthly_usd=stack.budget.monthly_usd if stack.budget else None,
        pool_path=f"pools[{index}]",
        queue_path=f"queues[{queues[0][0]}].cards" if queues else f"pools[{index}].nodes",
        lustre_path=f"storage.lustre[{systems[0][0]}]" if systems else "storage.lustre",
    )
