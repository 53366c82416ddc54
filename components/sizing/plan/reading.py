"""Reads the planner's sections out of a task file and leaves the job's sections to the job.

A task file has two readers, so sections that only the other one knows are not a problem here.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import Any

from components.catalog import Catalog
from components.naming import did_you_mean
from components.problems import Problem, errors, in_file_order
from components.sizing.plan import request
from components.sizing.plan.request import PoolFacts, Request
from components.spec.reading import document
from components.spec.reading.document import Document
from components.spec.reading.paths import parsed
from components.spec.reading.shape import validate
from components.spec.sizing import HardwareSpec, SizingSpec
from components.spec.task import TaskSpec


@dataclass(frozen=True, kw_only=True)
class SizingReading:
    """`request` is None when something stands in its way; `problems` then says what, in the file's order."""

    request: Request | None
    problems: tuple[Problem, ...]
    document: Document = field(default_factory=lambda: Document(file=""), repr=False)
    data: dict[str, Any] = field(default_factory=dict[str, Any], repr=False)

    def placed(self, problems: list[Problem]) -> list[Problem]:
        """The problems with their places in the task file."""
        return [
            each if each.where or not self.document.file else each.at(_where(self.document, each)) for each in problems
        ]


def _where(source: Document, problem: Problem) -> Any:
    return source.where(parsed(problem.path), of_key=problem.id in ("unknown-key", "key-twice"))


def read(path: FilePath, cat: Catalog, shown_as: str | None = None) -> SizingReading:
    """Read a task file; a missing or unreadable one is a problem too."""
    name = shown_as or str(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        others = sorted(each.name for each in path.parent.glob("*.yaml")) if path.parent.is_dir() else []
        problem = Problem(
            id="task-file-missing", path="", said=f"there is no task file {name}", hint=did_you_mean(path.name, others)
        )
        return SizingReading(request=None, problems=(problem,))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "it is not UTF-8 text"
        return SizingReading(
            request=None,
            problems=(
                Problem(id="task-file-unreadable", path="", said=f"the task file {name} can't be read: {reason}"),
            ),
        )
    return read_text(text, name, cat)


def read_text(text: str, name: str, cat: Catalog) -> SizingReading:
    """As `read`, from a given text."""
    found = document.read(text, name)
    if found.data is None and found.problems:
        return SizingReading(request=None, problems=found.problems, document=found)
    if not isinstance(found.data, dict):
        hint = "the planner needs at least model and training.tokens"
        return SizingReading(
            request=None,
            problems=(Problem(id="task-file-empty", path="", said=f"the task file {name} holds no task", hint=hint),),
        )
    data: dict[str, Any] = found.data
    return build(data, cat, found)


def build(data: dict[str, Any], cat: Catalog, source: Document | None = None) -> SizingReading:
    """The request in a task's plain data."""
    found = source or Document(file="")
    known = (*TaskSpec.model_fields, *SizingSpec.model_fields)
    strange = [
        Problem(id="unknown-key", path=str(key), said=f'"{key}" is not a key here', hint=did_you_mean(str(key), known))
        for key in data
        if key not in known
    ]
    mine = {key: value for key, value in data.items() if key in SizingSpec.model_fields and value is not None}
    shaped = validate(SizingSpec, mine)
    problems = [*found.problems, *strange, *shaped.problems]
    made: Request | None = None
    if shaped.value is not None:
        recovery, resources = data.get("recovery"), data.get("resources")
        keep = recovery.get("keep_last") if isinstance(recovery, dict) else None
        nodes = resources.get("nodes") if isinstance(resources, dict) else None
        pool = resources.get("pool") if isinstance(resources, dict) else None
        made, more = request.build(
            shaped.value,
            cat,
            name=str(data.get("task") or "task"),
            keep_last=keep if isinstance(keep, int) and keep > 0 else 5,
            task_nodes=nodes if isinstance(nodes, int) and not isinstance(nodes, bool) and nodes > 0 else None,
            pool=PoolFacts(name=pool) if isinstance(pool, str) and pool else None,
        )
        reported = {
            problem.path.partition(".")[0]
            for problem in shaped.problems
            if problem.path.partition(".")[0] in shaped.incomplete
        }
        problems += [problem for problem in more if problem.path.partition(".")[0] not in reported]
    elif isinstance(mine.get("hardware"), dict) and "hardware" not in shaped.incomplete:
        machines = validate(HardwareSpec, mine["hardware"]).value
        problems += request.hardware_problems(machines, cat) if machines is not None else []
    reading = SizingReading(request=None if errors(problems) else made, problems=(), document=found, data=data)
    return replace(reading, problems=tuple(in_file_order(reading.placed(problems))))
