"""The plan: from a request to the split, the step, the days, the machines, the storage and the money.

Hides how nodes follow from days: the estimate by total FLOPs is refined until the planned run ends in time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from components.catalog import Catalog
from components.problems import Problem
from components.sizing.layout.layout import Job
from components.sizing.memory.memory import Memory
from components.sizing.plan.misfit import misfit, no_split
from components.sizing.plan.request import Request
from components.sizing.plan.search import Candidate, Found, search
from components.sizing.run import goodput as good
from components.sizing.run import money as cost
from components.sizing.run.goodput import Checkpoint, Goodput
from components.sizing.run.money import Amount, Money, region_for
from components.sizing.run.store import Store, store
from components.sizing.step import band as uncertainty
from components.sizing.step.band import Band
from components.sizing.step.counts import lora_total

_DAY = 86400.0
_FIRST_GUESS = 0.4  # share of the peak that the seed estimate takes for granted
_SEARCH_NODES = 16
_NEAR_ENOUGH = 0.02  # of the nodes, how near the fewest the search comes
_MISSES = 4
_WORTH_MORE_NODES = 0.97  # of the days, at most, that more nodes must bring them to
_GROWTH = 4.0
_IDLE_WORTH_SAYING = 0.03


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything `trainshed size` says. `nodes` train; `reserve` and `spares` come on top."""

    request: Request
    found: Found
    best: Candidate
    nodes: int
    asked_nodes: int
    cards: int
    idle_cards: int
    steps: int
    band: Band
    checkpoint: Checkpoint
    goodput: Goodput
    days: Amount
    reserve_fraction: float
    reserve_nodes: int
    spares: int
    store: Store
    money: Money
    region: str
    problems: tuple[Problem, ...]

    @property
    def memory(self) -> Memory:
        return self.best.memory

    @property
    def step_seconds(self) -> float:
        return self.best.step.total

    @property
    def flops_per_token(self) -> float:
        return flops_per_token(self.request)

    @property
    def mfu(self) -> float:
        """Model FLOPs of the step over what the cards' 16-bit peak allows in its time."""
        return (
            self.flops_per_token
            * self.best.job.tokens_per_step
            / (self.step_seconds * self.cards * self.request.machine.card.tflops * 1e12)
        )

    @property
    def hfu(self) -> float:
        return self.best.step.hardware_flops / (self.step_seconds * self.request.machine.card.tflops * 1e12)

    @property
    def tokens_per_second_per_card(self) -> float:
        return self.best.job.tokens_per_step / self.step_seconds / self.cards


def flops_per_token(request: Request) -> float:
    """Model FLOPs: 6 a parameter and the full square of attention; 4 where frozen weights need no gradient of their own."""
    shape = request.shape
    if request.lora_rank:
        return 4.0 * shape.multiplied + 6.0 * lora_total_of(request) + shape.attention_flops
    return float(shape.flops_per_token)


def lora_total_of(request: Request) -> int:
    job = Job(
        shape=request.shape, machine=request.machine, precision=request.spec.training.precision, global_batch=1, lora_rank=request.lora_rank
    )
    return lora_total(job)


def plan(request: Request, cat: Catalog) -> tuple[Plan | None, list[Problem]]:
    """The plan, or the problem that no split of the cards fits."""
    if request.nodes is None:
        return _in_time(request, cat, request.days or 1.0)
    made, problems = _planned(request, cat, request.nodes)
    if made is None or request.days is None or made.days.expected <= request.days:
        return made, problems
    enough = _in_time(replace(request, nodes=None), cat, request.days)[0]
    if enough is not None and enough.days.expected <= request.days:
        hint = f"{enough.nodes:,} nodes would take {enough.days.expected:.1f}"
    elif enough is not None:
        hint = f"with this batch and split no number of nodes would do: {enough.nodes:,} take {enough.days.expected:.1f}"
    else:
        hint = "free the split, or use more nodes"
    said = f"{made.nodes:,} nodes take {made.days.expected:.1f} days, more than the {request.days:g} asked for"
    late = Problem(id="goal-days", path="goal.days", said=said, hint=hint, severity="warning")
    return replace(made, problems=(*made.problems, late)), []


def _in_time(request: Request, cat: Catalog, days: float) -> tuple[Plan | None, list[Problem]]:
    """The fewest nodes found that end within `days`, or the fastest plan with a warning."""
    cards = request.machine.cards
    seconds = days * _DAY
    guess = flops_per_token(request) * request.spec.training.tokens / (_FIRST_GUESS * request.machine.card.tflops * 1e12 * seconds)
    nodes = max(1, math.ceil(guess / cards))
    best: Plan | None = None
    fastest: Plan | None = None
    last: list[Problem] = []
    few, misses = 0, 0  # nodes known to be too few; attempts with more nodes that brought nothing
    for _ in range(_SEARCH_NODES):
        made, last = _planned(request, cat, nodes)
        in_time = made is not None and made.days.expected <= days
        if made is None or not in_time:
            few = max(few, nodes)
        elif best is None or made.nodes < best.nodes:
            best = made
        if made is not None:
            gained = fastest is None or made.days.expected < _WORTH_MORE_NODES * fastest.days.expected
            misses = 0 if gained else misses + 1
            fastest = made if fastest is None or made.days.expected < fastest.days.expected else fastest
        estimate = math.ceil(made.nodes * min(made.days.expected / days, _GROWTH)) if made else 2 * nodes
        if best is not None:
            if best.nodes - few <= max(1, best.nodes * _NEAR_ENOUGH):
                break
            nodes = estimate if few < estimate < best.nodes else (few + best.nodes) // 2
        elif misses >= _MISSES:
            break  # more nodes no longer help
        else:
            # An odd number of nodes may deal the batch out badly: after a miss a rounder one gets a try.
            nodes = max(estimate, few + 1) if misses == 0 else _rounder(max(few + 1, round(few * 1.1)))
    if best is not None or fastest is None:
        return best, [] if best else last
    late = Problem(
        id="goal-days",
        path="goal.days",
        said=f"{days:g} days can't be reached: the fastest plan found takes {fastest.days.expected:.1f} on {fastest.nodes:,} nodes",
        hint="raise training.global_batch, so that more cards find work, or goal.days",
        severity="warning",
    )
    return replace(fastest, problems=(*fastest.problems, late)), []


def _rounder(nodes: int) -> int:
    """The next number of nodes that is a multiple of a quarter to an eighth of its own power of two."""
    step = 1 << max(0, nodes.bit_length() - 3)
    return -(-nodes // step) * step


def _planned(request: Request, cat: Catalog, nodes: int) -> tuple[Plan | None, list[Problem]]:
    spec, machine = request.spec, request.machine
    available = nodes * machine.cards
    found = search(request.shape, machine, available, spec.training, spec.parallelism)
    problems: list[Problem] = []
    if found.fitting:
        best = found.fitting[0]
    elif found.tightest is None:
        return None, [no_split(request, available)]
    else:
        too_much = misfit(request, available, found.tightest)
        if too_much.severity == "error":
            return None, [too_much]
        problems.append(too_much)
        best = found.tightest
    used = -(-best.layout.cards // machine.cards)
    step = best.step.total
    steps = max(1, math.ceil(spec.training.tokens / best.job.tokens_per_step))
    trainable = lora_total_of(request) if request.lora_rank else request.shape.total
    saved = good.checkpoint(request.shape.total, trainable, used, best.layout.cards, step, steps)
    share = good.goodput(used, saved)
    band = uncertainty.of_step(best.job, best.layout, spec.parallelism)
    wide = uncertainty.of_days(band)
    expected = steps * step / share.fraction / _DAY
    days = Amount(low=expected * wide.low, expected=expected, high=expected * wide.high)
    reserve = min(0.20, max(0.10, (band.high - 1) / 2))
    spare = good.spares(used)
    region = region_for(machine, spec.hardware.region)
    kept = store(request, saved, best.job.tokens_per_step / step, cat, region)
    monthly = [part for part in (kept.lustre_monthly_usd, kept.object_monthly_usd) if part is not None]
    money = cost.money(machine, used + spare, days, sum(monthly) if monthly else None, cat, region)
    if request.nodes is not None and available - best.layout.cards > _IDLE_WORTH_SAYING * available:
        idle_hint = "another training.global_batch (a multiple of many data ranks) or another number of nodes would use more"
        problems.append(
            Problem(
                id="idle-cards",
                path="hardware.nodes",
                said=f"{available - best.layout.cards:,} of {available:,} cards stay idle: "
                f"a batch of {best.job.global_batch} sequences deals out over {best.layout.cards:,} of them",
                hint=idle_hint,
                severity="warning",
            )
        )
    idle = available - best.layout.cards if request.nodes is not None else used * machine.cards - best.layout.cards
    return Plan(
        request=request,
        found=found,
        best=best,
        nodes=used,
        asked_nodes=nodes if request.nodes is not None else used,
        cards=best.layout.cards,
        idle_cards=idle,
        steps=steps,
        band=band,
        checkpoint=saved,
        goodput=share,
        days=days,
        reserve_fraction=reserve,
        reserve_nodes=math.ceil(used * reserve),
        spares=spare,
        store=kept,
        money=money,
        region=region,
        problems=tuple(problems),
    ), []
