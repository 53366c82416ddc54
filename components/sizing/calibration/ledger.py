"""A team's own measured stages, read from a ledger of JSON lines, and what they say about the planner's step times.

A line is one stage of a job: what ran on how many nodes in which split, and how fast. Lines that can't be used are
reported, each with its number and reason, and the others still count.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from components.catalog import Catalog
from components.problems import Problem, errors
from components.sizing.plan import request
from components.sizing.plan.request import Request
from components.sizing.plan.search import search
from components.sizing.step.measured import Measured, measured
from components.spec.base import Count, Spec, Text
from components.spec.reading.shape import validate
from components.spec.sizing import (
    HardwareSpec,
    ModelSpec,
    Number,
    ParallelismSpec,
    Precision,
    SizingSpec,
    TrainingSpec,
)


class SplitSpec(Spec):
    """The split that ran."""

    tensor: Count = 1
    pipeline: Count = 1
    context: Count = 1
    expert: Count = 1
    data: Count = 1
    virtual_stages: Count | None = None


class LedgerLine(Spec):
    """One measured stage; without `model` it is the planned task's."""

    task: Text = Field(description="the task's name")
    model: ModelSpec | None = Field(default=None, description="the model's shape, where it is not the planned task's")
    instance_type: Text = Field(description="EC2 type, or an accelerator by name")
    nodes: Count = Field(description="nodes that trained")
    cards: Count = Field(description="cards that trained")
    split: SplitSpec = Field(description="tensor, pipeline, context, expert and data ranks")
    micro_batch: Count = Field(default=1, description="sequences of one forward pass")
    global_batch: Count = Field(description="sequences of one step")
    sequence_length: Count = Field(description="tokens in a sequence")
    precision: Precision = Field(default="bf16", description="arithmetic of the products")
    tokens_per_second: Number | None = Field(default=None, description="of the whole job")
    step_seconds: Number | None = Field(default=None, description="of one optimizer step")
    time: Annotated[str, Field(max_length=64)] | None = Field(default=None, description="when it was measured")


@dataclass(frozen=True, slots=True, kw_only=True)
class RampStage:
    """One used line beside what the planner says of it, in seconds a step."""

    line: int
    task: str
    nodes: int
    cards: int
    measured_seconds: float
    planned_seconds: float

    @property
    def ratio(self) -> float:
        return self.measured_seconds / self.planned_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """`measured` is None when no line could be used."""

    stages: tuple[RampStage, ...]
    measured: Measured | None
    problems: tuple[Problem, ...]


def read(path: Path, asked: Request, cat: Catalog) -> Ledger:
    """A ledger file; a missing or unreadable one is a problem."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "it is not UTF-8 text"
        problem = Problem(id="ledger-unreadable", path="", said=f"the ledger {path} can't be read: {reason}")
        return Ledger(stages=(), measured=None, problems=(problem,))
    return of_lines(text.splitlines(), asked, cat)


def of_lines(lines: Iterable[str], asked: Request, cat: Catalog) -> Ledger:
    """As `read`, from given lines."""
    stages: list[RampStage] = []
    problems: list[Problem] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        found = _stage(number, line, asked, cat)
        if isinstance(found, RampStage):
            stages.append(found)
        else:
            problems += found
    made = measured([(stage.nodes, stage.ratio) for stage in stages])
    if made is None and not problems:
        problems.append(Problem(id="ledger-empty", path="", said="the ledger holds no stage", severity="warning"))
    return Ledger(stages=tuple(stages), measured=made, problems=tuple(problems))


def _unusable(number: int, said: str, hint: str = "") -> list[Problem]:
    where = f"line {number}"
    return [Problem(id="ledger-line", path=where, said=said, hint=hint, severity="warning")]


def _stage(number: int, text: str, asked: Request, cat: Catalog) -> RampStage | list[Problem]:
    try:
        data: Any = json.loads(text)
    except json.JSONDecodeError as error:
        return _unusable(number, f"is not JSON: {error.msg}")
    if not isinstance(data, dict):
        return _unusable(number, "is no JSON object")
    shaped = validate(LedgerLine, data)
    line = shaped.value
    if line is None or shaped.problems:
        first = shaped.problems[0]
        return _unusable(number, f"{first.path} {first.said}".strip(), first.hint or "")
    if line.model is None and line.task != asked.name:
        return _unusable(number, f'task "{line.task}" is not the planned one, and its model is not there', "add model")
    tokens = line.global_batch * line.sequence_length
    seconds = line.step_seconds or (tokens / line.tokens_per_second if line.tokens_per_second else None)
    if seconds is None:
        return _unusable(number, "neither step_seconds nor tokens_per_second is there")
    planned = _planned(line, asked, cat)
    if isinstance(planned, str):
        return _unusable(number, planned)
    return RampStage(
        line=number,
        task=line.task,
        nodes=line.nodes,
        cards=line.cards,
        measured_seconds=seconds,
        planned_seconds=planned,
    )


def _planned(line: LedgerLine, asked: Request, cat: Catalog) -> float | str:
    """What the planner says of the stage, uncorrected, or why it can't say."""
    split = line.split
    ranks = split.tensor * split.pipeline * split.context * split.data
    if ranks != line.cards:
        return f"tensor x pipeline x context x data is {ranks}, but {line.cards} cards are said to have run"
    model = (line.model or asked.spec.model).model_copy(update={"sequence": line.sequence_length})
    hardware: Mapping[str, Any] = (
        {"instance_type": line.instance_type, "nodes": line.nodes}
        if line.instance_type in cat.instances
        else {"accelerator": line.instance_type, "nodes": line.nodes, "cards_per_node": -(-line.cards // line.nodes)}
    )
    same = asked.spec.training
    kept = {
        key: getattr(same, key)
        for key in ("recompute", "recompute_modules", "recompute_layers", "sharding", "framework")
    }
    spec = SizingSpec(
        model=model,
        training=TrainingSpec(tokens=1e12, global_batch=line.global_batch, precision=line.precision, **kept),
        hardware=HardwareSpec(**hardware),
        parallelism=ParallelismSpec(
            tensor=split.tensor,
            pipeline=split.pipeline,
            context=split.context,
            expert=split.expert if model.experts else None,
            micro_batch=line.micro_batch,
            virtual_stages=split.virtual_stages,
        ),
    )
    made, problems = request.build(spec, cat, name=line.task)
    if made is None or errors(problems):
        worst = errors(problems)
        return f"{worst[0].path} {worst[0].said}" if worst else "its machines are unknown"
    found = search(made.shape, made.machine, line.cards, spec.training, spec.parallelism, asked.tuning)
    best = found.fitting[0] if found.fitting else found.tightest  # it ran, whatever the estimate of its memory says
    return best.step.total if best else "the planner finds no split like it"
