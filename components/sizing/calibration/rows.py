"""The published runs that the step-time model is calibrated on and judged by, and the fit itself.

Runs are published in different units (seconds, tokens a second, FLOP/s with or without recomputation). Every row
becomes seconds a step.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from components.sizing.layout.layout import Job, Layout
from components.sizing.machine import profiles
from components.sizing.machine.profiles import NodeProfile
from components.sizing.memory import memory
from components.sizing.model import shape
from components.sizing.model.shape import Shape
from components.sizing.plan.search import search
from components.sizing.step.step import Clock, StepTime
from components.sizing.tuning.constants import FITTED, PRIOR, Tuning
from components.spec.sizing import SizingSpec

DATA = Path(__file__).parent / "data" / "calibration.json"
_CANDIDATES = 24  # splits kept for a row that leaves some of its split open


@dataclass(frozen=True, kw_only=True)
class Family:
    """Rows of one publication, which are held out together. `core` rows are those of the project's calibration set."""

    name: str
    source: str
    core: bool
    fit: bool
    recalled: bool


@dataclass(frozen=True, kw_only=True)
class CalibrationRow:
    """One published run; `seconds` is its step, `options` the splits it may have run with."""

    id: str
    family: Family
    shape: Shape
    machine: NodeProfile
    cards: int
    seconds: float
    options: tuple[tuple[Job, Layout], ...]

    def predict(self, tuning: Tuning) -> StepTime:
        clocks: dict[int, Clock] = {}
        times = [clocks.setdefault(id(job), Clock(job, tuning)).step(layout) for job, layout in self.options]
        return min(times, key=lambda time: time.total)

    @property
    def tokens(self) -> int:
        return self.options[0][0].tokens_per_step


def read() -> Mapping[str, Any]:
    """The data file as written."""
    data: Mapping[str, Any] = json.loads(DATA.read_text(encoding="utf-8"))
    return data


def spec_of(row: Mapping[str, Any]) -> SizingSpec:
    return SizingSpec.model_validate({key: row[key] for key in ("model", "training", "hardware", "parallelism")})


def machine_of(spec: SizingSpec) -> NodeProfile:
    card = profiles.card_named(spec.hardware.accelerator or "")
    if card is None:
        raise ValueError(f"no card named {spec.hardware.accelerator}")
    return profiles.of_accelerator(card, spec.hardware.cards_per_node, spec.hardware.network_gbps)


def _seconds(
    measured: Mapping[str, float], spec: SizingSpec, found: Shape, machine: NodeProfile, cards: int, batch: int
) -> float:
    tokens = batch * found.sequence
    if "step_seconds" in measured:
        return measured["step_seconds"]
    if "tokens_per_second_per_card" in measured:
        return tokens / (measured["tokens_per_second_per_card"] * cards)
    if "tokens_per_second" in measured:
        return tokens / measured["tokens_per_second"]
    if "hardware_tflops" in measured:
        # Narayanan 2021: 96 B s l h^2 (1 + s/6h + V/16lh), full recomputation counted.
        layers, hidden, sequence = found.layers, found.hidden, found.sequence
        flops = (
            96.0 * tokens * layers * hidden**2 * (1 + sequence / (6 * hidden) + found.vocab / (16 * layers * hidden))
        )
        return flops / (measured["hardware_tflops"] * 1e12 * cards)
    if "model_tflops_causal" in measured:
        flops = (6.0 * found.multiplied + found.attention_flops / 2) * tokens
        return flops / (measured["model_tflops_causal"] * 1e12 * cards)
    return found.flops_per_token * tokens / (measured["mfu_percent"] / 100 * machine.card.tflops * 1e12 * cards)


def options_of(spec: SizingSpec, found: Shape, machine: NodeProfile, cards: int) -> tuple[tuple[Job, Layout], ...]:
    """The splits a published run may have used: what it says, and the planner's own best for what it leaves open."""
    result = search(found, machine, cards, spec.training, spec.parallelism, PRIOR)
    fitting = (
        result.fitting
        or search(found, machine, cards, spec.training, spec.parallelism, PRIOR, ignore_memory=True).fitting
    )
    if not fitting:
        raise ValueError("no split is possible")
    most = max(candidate.layout.cards for candidate in fitting)
    whole = [candidate for candidate in fitting if candidate.layout.cards == most]
    return tuple((candidate.job, candidate.layout) for candidate in whole[:_CANDIDATES])


def row_of(raw: Mapping[str, Any], families: Mapping[str, Family]) -> CalibrationRow:
    spec = spec_of(raw)
    found, machine = shape.of(spec.model), machine_of(spec)
    cards = (spec.hardware.nodes or 1) * machine.cards
    options = options_of(spec, found, machine, cards)
    batch = options[0][0].global_batch
    return CalibrationRow(
        id=raw["id"],
        family=families[raw["family"]],
        shape=found,
        machine=machine,
        cards=cards,
        seconds=_seconds(raw["measured"], spec, found, machine, cards, batch),
        options=options,
    )


@lru_cache(maxsize=1)
def rows() -> tuple[CalibrationRow, ...]:
    data = read()
    families = {
        name: Family(
            name=name,
            source=raw["source"],
            core=raw["core"],
            fit=raw.get("fit", True),
            recalled=raw.get("recalled", False),
        )
        for name, raw in data["families"].items()
    }
    return tuple(row_of(raw, families) for raw in data["rows"])


def _loss(values: Mapping[str, float], fitted: Sequence[CalibrationRow], weights: Mapping[str, float]) -> float:
    tuning = replace(PRIOR, **values)
    total = 0.0
    for row in fitted:
        error = abs(math.log(row.predict(tuning).total / row.seconds))
        # Quadratic for small errors, linear beyond 10 %: one odd publication must not bend the constants.
        total += weights[row.family.name] * (error * error / 0.2 if error < 0.1 else error - 0.05)
    for constant in FITTED:
        off = (values[constant.name] - constant.prior) / ((constant.high - constant.low) / 2)
        total += _PULL * off * off
    return total


_PULL = 0.02  # weight of the distance to the prior against the rows' errors


def fit(training: Iterable[CalibrationRow], progress: Callable[[str], None] | None = None) -> Tuning:
    """The fitted constants by coordinate descent from their priors; the same rows always give the same constants."""
    fitted = [row for row in training if row.family.fit]
    counts: dict[str, int] = {}
    for row in fitted:
        counts[row.family.name] = counts.get(row.family.name, 0) + 1
    # A family counts with the root of its rows: twenty rows of one page are not twenty independent results.
    scale = sum(math.sqrt(count) for count in counts.values()) or 1.0
    weights = {name: 1 / math.sqrt(count) / scale for name, count in counts.items()}
    values = {constant.name: constant.prior for constant in FITTED}
    best = _loss(values, fitted, weights)
    for turn in range(4):
        width = 0.5**turn
        for constant in FITTED:
            reach = (constant.high - constant.low) / 4 * width
            for trial in (values[constant.name] - reach, values[constant.name] + reach):
                inside = min(constant.high, max(constant.low, trial))
                loss = _loss({**values, constant.name: inside}, fitted, weights)
                if loss < best:
                    best, values = loss, {**values, constant.name: inside}
        if progress:
            progress(f"turn {turn + 1}: loss {best:.4f}")
    return replace(PRIOR, **values)


@dataclass(frozen=True, kw_only=True)
class Run:
    """A whole published run, downtime included; `core` ones are those of the project's calibration set."""

    id: str
    core: bool
    spec: SizingSpec
    days: float


def runs() -> tuple[Run, ...]:
    return tuple(
        Run(id=raw["id"], core=raw["core"], spec=spec_of(raw), days=raw["measured"]["days"])
        for raw in read()["whole_runs"]
    )


@dataclass(frozen=True, kw_only=True)
class Held:
    """Published memory of one card in GiB, beside what the planner says."""

    id: str
    activations: float
    planned_activations: float
    state: float
    planned_state: float


def memories() -> tuple[Held, ...]:
    held: list[Held] = []
    for raw in read()["memory"]:
        spec = spec_of(raw)
        found, machine = shape.of(spec.model), machine_of(spec)
        cards = (spec.hardware.nodes or 1) * machine.cards
        job, layout = options_of(spec, found, machine, cards)[0]
        planned = memory.of(job, layout)
        measured = raw["measured"]
        held.append(
            Held(
                id=raw["id"],
                activations=measured["activations_gib"],
                planned_activations=planned.activations,
                state=measured["state_gib"],
                planned_state=planned.weights + planned.gradients + planned.optimizer,
            )
        )
    return tuple(held)
