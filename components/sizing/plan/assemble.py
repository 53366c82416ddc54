"""One plan for one number of nodes: the best split, and everything that follows from its step time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from components.catalog import Catalog
from components.problems import Problem
from components.sizing.layout import frameworks
from components.sizing.memory.activations import micro_batch_bytes
from components.sizing.plan.campaign import campaign
from components.sizing.plan.misfit import misfit, no_split
from components.sizing.plan.request import Request
from components.sizing.plan.result import Plan, lora_total_of
from components.sizing.plan.search import Candidate, Found, search
from components.sizing.run import goodput
from components.sizing.run import money as cost
from components.sizing.run.beside import Beside, beside
from components.sizing.run.money import Amount, region_for
from components.sizing.run.power import power
from components.sizing.run.store import Store, dataset_bytes, store
from components.sizing.step import band as bands

_IDLE_WORTH_SAYING = 0.03


def planned(request: Request, cat: Catalog, nodes: int) -> tuple[Plan | None, list[Problem]]:
    """The plan on so many nodes, or why there is none."""
    spec, machine = request.spec, request.machine
    available = nodes * machine.cards
    found = search(
        request.shape, machine, available, spec.training, spec.parallelism, request.tuning, quick=request.quick
    )
    best, problems = _chosen(request, found, available)
    if best is None:
        return None, problems
    used = -(-best.layout.cards // machine.cards)
    factor = request.measured.factor(used) if request.measured else 1.0
    step = best.step.total * factor
    steps = max(1, math.ceil(spec.training.tokens / best.job.tokens_per_step))
    rate = goodput.FAILURE_RATE.value + (goodput.SPOT_RATE.value if request.buying == "spot" else 0.0)
    saved = goodput.checkpoint(request.shape.total, _trainable(request), used, best.layout.cards, step, steps, rate)
    share = goodput.goodput(used, saved, rate)
    data = dataset_bytes(request.shape.vocab, spec.training.tokens)
    whole = campaign(request, best, share, used, factor, data)
    band = bands.of_step(best.job, best.layout, spec.parallelism, request.measured)
    wide = bands.of_days(band)
    days = Amount(low=whole.days * wide.low, expected=whole.days, high=whole.days * wide.high)
    spare = goodput.spares(used)
    region = region_for(machine, spec.hardware.region)
    tokens = spec.training.tokens
    kept = store(
        request.shape.vocab, tokens, request.keep_last, machine, saved, best.job.tokens_per_step / step, cat, region
    )
    money = cost.money(machine, used + spare, days, _monthly(kept), cat, region, request.buying)
    hosts = beside(machine, request.shape, spec.training.tokens, used, saved.bytes, _offloaded(best))
    asked = request.nodes is not None
    reserve = min(0.20, max(0.10, (band.high - 1) / 2))
    made = Plan(
        request=request,
        found=found,
        best=best,
        nodes=used,
        asked_nodes=nodes if asked else used,
        cards=best.layout.cards,
        idle_cards=(available if asked else used * machine.cards) - best.layout.cards,
        steps=steps,
        band=band,
        checkpoint=saved,
        goodput=share,
        campaign=whole,
        days=days,
        reserve_fraction=reserve,
        reserve_nodes=math.ceil(used * reserve),
        spares=spare,
        store=kept,
        beside=hosts,
        power=power(machine, used, whole.days, region),
        money=money,
        region=region,
        problems=(*problems, *_notes(request, best, available, hosts)),
    )
    return replace(made, problems=(*made.problems, *_too_dear(made))), []


def _trainable(request: Request) -> float:
    """Parameters that the optimizer changes."""
    return lora_total_of(request) if request.lora_rank else request.shape.total


def _monthly(kept: Store) -> float | None:
    """USD a month of the run's storage; None where no part of it has a price."""
    known = [part for part in (kept.lustre_monthly_usd, kept.object_monthly_usd) if part is not None]
    return sum(known) if known else None


def _too_dear(made: Plan) -> list[Problem]:
    most, total = made.request.spec.goal.usd, made.money.total
    if most is None or total is None or total.expected <= most:
        return []
    said = f"the run costs {total.expected:,.0f} USD, more than the {most:,.0f} asked for"
    hint = "trainshed size --advice names what costs less"
    return [Problem(id="goal-usd", path="goal.usd", said=said, hint=hint, severity="warning")]


def _chosen(request: Request, found: Found, available: int) -> tuple[Candidate | None, list[Problem]]:
    """The split to plan with; one that the task fixes is planned though it does not fit."""
    if found.fitting:
        return found.fitting[0], []
    if found.tightest is None:
        return None, [no_split(request, available)]
    too_much = misfit(request, available, found.tightest)
    return (None if too_much.severity == "error" else found.tightest), [too_much]


def _offloaded(best: Candidate) -> float:
    """Bytes of one card that lie in host memory."""
    offload = best.layout.offload
    size = 0.0
    if "activations" in offload:
        size += micro_batch_bytes(best.job, best.layout) * best.layout.pipeline
    if "optimizer" in offload:
        size += 12.0 * best.job.shape.total / best.layout.cards
    return size


def _notes(request: Request, best: Candidate, available: int, hosts: Beside) -> Iterator[Problem]:
    """What is worth knowing about the chosen split."""
    spec, layout = request.spec, best.layout
    if request.nodes is not None and available - layout.cards > _IDLE_WORTH_SAYING * available:
        yield Problem(
            id="idle-cards",
            path="hardware.nodes",
            said=f"{available - layout.cards:,} of {available:,} cards stay idle: "
            f"a batch of {best.job.global_batch} sequences deals out over {layout.cards:,} of them",
            hint=(
                "another training.global_batch (a multiple of many data "
                "ranks) or another number of nodes would use more"
            ),
            severity="warning",
        )
    if layout.states == "bf16" and spec.training.optimizer_states is None and best.memory.fits:
        yield Problem(
            id="states-16-bit",
            path="training.optimizer_states",
            said="with the optimizer's states in 32 bits no split fits: planned with 16 bits, "
            f"{best.memory.total:.1f} of {best.memory.usable:.1f} GiB",
            hint="set optimizer_states: bf16 if that is meant, or use more nodes",
            severity="note",
        )
    if spec.training.framework and (reasons := frameworks.cannot(spec.training.framework, best.job, layout)):
        name = frameworks.NAMES[spec.training.framework]
        yield Problem(
            id="framework-cannot",
            path="training.framework",
            said=f"{name} can't run this split: it " + "; it ".join(reasons),
            hint="use another framework, or change what it can't do",
            severity="warning",
        )
    if hosts.short:
        yield Problem(
            id="host-short",
            path="hardware",
            said="a node's host is small: " + "; ".join(hosts.short),
            hint="use a type with a larger host, or fewer loader workers",
            severity="note",
        )
