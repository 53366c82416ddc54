"""The whole campaign: the main run with the ramp of its batch, the phases beside it, and where the days go.

Every phase is searched like a run of its own, on the same machines; its days count restarts and checkpoints like the
main run's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from components.sizing.layout.layout import Job, Layout
from components.sizing.memory import memory
from components.sizing.memory.activations import micro_batch_bytes
from components.sizing.plan.request import Request
from components.sizing.plan.search import Candidate, search
from components.sizing.run.goodput import Goodput
from components.sizing.step.step import Clock
from components.sizing.tuning.constants import Constant
from components.spec.sizing import ParallelismSpec, PhaseSpec

_DAY = 86400.0
STAGING = Constant(
    name="staging_bandwidth",
    value=20e9,
    low=5e9,
    high=60e9,
    unit="bytes/s from objects to the file system",
    source="planning choice: FSx imports at a share of its throughput, S3 scales beyond it",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PhasePlan:
    """One phase: `days` restarts included; `problem` says why there is no plan for it."""

    name: str
    kind: str
    tokens: float
    sequence: int
    global_batch: int
    nodes: int
    step_seconds: float
    steps: int
    days: float
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """Days by cause: `training` is steps alone; `ramp` what small batches at the start add to it."""

    training: float
    ramp: float
    failures: float
    checkpoints: float
    stops: float
    staging: float
    phases: tuple[PhasePlan, ...]

    @property
    def days(self) -> float:
        return self.main + self.staging + sum(phase.days for phase in self.phases)

    @property
    def main(self) -> float:
        return self.training + self.ramp + self.failures + self.checkpoints + self.stops


def campaign(
    request: Request, best: Candidate, share: Goodput, nodes: int, factor: float, dataset_bytes: float
) -> Campaign:
    """The main run's days by cause, with the phases that the task names."""
    tokens = request.spec.training.tokens
    steps = max(1, math.ceil(tokens / best.job.tokens_per_step))
    plain = steps * best.step.total * factor / _DAY
    ramp = _ramp_days(request, best, factor)
    busy = plain + ramp
    whole = busy / share.fraction
    # Failures take their share of the wall clock, stalls their share of what is left, and the campaign's own
    # stops the rest.
    running = whole * share.campaign
    failures = running * share.failure_share
    checkpoints = (running - failures) * share.checkpoint_share
    return Campaign(
        training=plain,
        ramp=ramp,
        failures=failures,
        checkpoints=checkpoints,
        stops=whole - running,
        staging=dataset_bytes / STAGING.value / _DAY,
        phases=tuple(_phases(request, best, share, nodes, factor)),
    )


def ramp_batches(first: int, last: int) -> list[int]:
    """Batches from `first` to `last`, each double the one before."""
    batches = [first]
    while batches[-1] * 2 < last:
        batches.append(batches[-1] * 2)
    return batches


def _ramp_days(request: Request, best: Candidate, factor: float) -> float:
    """What the ramp's small batches add: the same tokens in more steps, each shorter, but with a larger share of
    bubble.
    """
    training = request.spec.training
    first, last = training.batch_from, best.job.global_batch
    if first is None or first >= last:
        return 0.0
    tokens = min(training.ramp_tokens or training.tokens, training.tokens)
    full = best.step.total / best.job.tokens_per_step
    batches = ramp_batches(first, last)
    added = 0.0
    for batch in batches:
        job = replace(best.job, global_batch=batch)
        one = Clock(job, request.tuning, micro_batch_bytes).step(best.layout).total / job.tokens_per_step
        added += tokens / len(batches) * (one - full)
    return max(0.0, added) * factor / _DAY


def _phases(request: Request, best: Candidate, share: Goodput, nodes: int, factor: float) -> Iterator[PhasePlan]:
    for phase in request.spec.phases:
        yield _phase(request, phase, best, share, phase.nodes or nodes, factor)


def _phase(request: Request, phase: PhaseSpec, best: Candidate, share: Goodput, nodes: int, factor: float) -> PhasePlan:
    sequence = phase.sequence or request.shape.sequence
    shape = replace(request.shape, sequence=sequence)
    # With another length a step keeps its tokens, unless the phase says how many sequences it holds.
    batch = phase.global_batch or max(1, round(best.job.tokens_per_step / sequence))
    training = request.spec.training.model_copy(
        update={"global_batch": batch, "recompute": None, "sharding": None, "recompute_modules": ()}
    )
    cards = nodes * request.machine.cards
    found: Candidate | None
    if phase.kind == "evaluation":
        found = _forward(request, best, batch, sequence)
    else:
        asked = request.spec.parallelism if sequence == request.shape.sequence else ParallelismSpec()
        fitting = search(shape, request.machine, cards, training, asked, request.tuning).fitting
        fitting = fitting or search(shape, request.machine, cards, training, ParallelismSpec(), request.tuning).fitting
        found = fitting[0] if fitting else None
    steps = max(1, math.ceil(phase.tokens / (batch * sequence)))
    seconds = found.step.total * factor if found else 0.0
    return PhasePlan(
        name=phase.name,
        kind=phase.kind,
        tokens=phase.tokens,
        sequence=sequence,
        global_batch=batch,
        nodes=nodes,
        step_seconds=seconds,
        steps=steps,
        days=steps * seconds / share.fraction / _DAY,
        problem="" if found else f"{sequence:,} tokens in a sequence fit {cards:,} cards under no split",
    )


def _forward(request: Request, best: Candidate, batch: int, sequence: int) -> Candidate:
    """Evaluation runs forward only, in the main run's split."""
    job: Job = replace(best.job, shape=replace(request.shape, sequence=sequence), global_batch=batch, forward_only=True)
    layout: Layout = replace(best.layout, recompute="none", recompute_modules=(), recompute_layers=0)
    step = Clock(job, request.tuning, micro_batch_bytes).step(layout)
    return Candidate(layout=layout, job=job, step=step, memory=memory.of(job, layout))
