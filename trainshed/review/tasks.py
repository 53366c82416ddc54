"""The repository's task files against the stack: a task whose pool is gone, was never there, or no longer fits.

Only what is wrong after the change is reported, and whether it was wrong before. A task of another stack's pool is that
stack's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from components.catalog import Catalog
from components.naming import did_you_mean
from components.planning.rules.task import check_task
from components.problems import Problem, errors
from components.spec.stack import StackSpec
from components.spec.task import TaskReading, read_task
from trainshed.review.sources import Side, stack_settings


@dataclass(frozen=True, kw_only=True)
class TaskFinding:
    """One error of a task; `new` when the change brings it."""

    task: str
    problem: Problem
    new: bool

    def as_json(self) -> dict[str, Any]:
        return {"task": self.task, **self.problem.as_json(), "new": self.new}


def task_findings(
    base: Side, head: Side, old: StackSpec | None, new: StackSpec | None, cat: Catalog
) -> tuple[TaskFinding, ...]:
    """Errors of every task in `tasks/` beside the stack file, those of the change first."""
    if new is None or head.stack_file is None:
        return ()
    before = {(name, each.id, each.path, each.said) for name, each in _errors(base, old, cat, {})}
    gone = {pool.name for pool in old.pools} - {pool.name for pool in new.pools} if old else set[str]()
    found = [
        TaskFinding(task=name, problem=each, new=(name, each.id, each.path, each.said) not in before)
        for name, each in _errors(head, new, cat, dict.fromkeys(gone, "gone"))
    ]
    return tuple(sorted(found, key=lambda each: (not each.new, each.task)))


def _errors(
    side: Side, stack: StackSpec | None, cat: Catalog, gone: Mapping[str, str]
) -> Iterator[tuple[str, Problem]]:
    if stack is None or side.stack_file is None or side.stack_file.parent.name != "stacks":
        return
    project = side.stack_file.parent.parent
    mine, others = {pool.name for pool in stack.pools}, _pools_of_others(side.stack_file)
    for path in sorted((project / "tasks").glob("*.yaml")):
        name = path.relative_to(project).as_posix()
        reading = read_task(path, name)
        pool = _pool(reading)
        if pool in mine and reading.task is not None:
            yield from ((name, each) for each in errors(reading.placed(check_task(reading.task, stack, cat))))
        elif pool is not None and pool not in others and pool not in mine:
            yield name, _without_pool(reading, pool, pool in gone, mine | others)


def _pool(reading: TaskReading) -> str | None:
    return reading.task.resources.pool if reading.task is not None else None


def _without_pool(reading: TaskReading, pool: str, gone: bool, known: set[str]) -> Problem:
    said = f'this change takes away the pool "{pool}" that it runs on' if gone else f'no stack has a pool "{pool}"'
    hint = did_you_mean(pool, known) or f"name one of {', '.join(sorted(known))}"
    return reading.placed([Problem(id="task-pool-unknown", path="resources.pool", said=said, hint=hint)])[0]


def _pools_of_others(file: Path) -> set[str]:
    """Names of the pools in the other stack files, as written there."""
    found: set[str] = set()
    for other in file.parent.glob("Pulumi.*.yaml"):
        written = (stack_settings(other) or {}).get("trainshed:pools") if other != file else None
        pools = cast("list[object]", written) if isinstance(written, list) else []
        found |= {str(each["name"]) for each in pools if isinstance(each, Mapping) and "name" in each}
    return found
