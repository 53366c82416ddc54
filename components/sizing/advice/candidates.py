"""The changes that are tried, in the order in which they cost least to make.

Each is one thing a person can decide; what it frees is then fixed to what the planner chose, so that it can be written
down.
"""

from __future__ import annotations

from collections.abc import Iterator

from components.catalog import Catalog
from components.sizing.advice.change import PlanChange
from components.sizing.machine import profiles
from components.sizing.plan.result import Plan
from components.sizing.run.money import PRICED_AS
from components.spec.pools import CapacityKind

_MEMORY_KEYS = ("recompute", "recompute_modules", "recompute_layers", "sharding")
_SPLIT_KEYS = (
    *("tensor", "pipeline", "context", "expert", "virtual_stages", "micro_batch"),
    *("stages", "pipeline_layout", "schedule", "shard", "sequence_parallel"),
)
_BATCH_REACH = (0.75, 1.3)  # of the task's batch: further away, training itself would change
_OTHER_TYPES = 3
LARGEST_BLOCK = 64  # instances of one Capacity Block
LARGEST_SPOT = 16  # machines with cards that spot is likely to have at once; engineering choice
_RARE_STOPS = "spot machines are taken away at two minutes' notice"


def candidates(plan: Plan, cat: Catalog) -> Iterator[PlanChange]:
    """Every change worth a try for this plan."""
    yield from _splits(plan)
    yield from _batches(plan)
    yield from _memory(plan)
    yield from _schedules(plan)
    yield from _precisions(plan)
    yield from _experts(plan)
    yield from _buying(plan)
    yield from _regions(plan, cat)
    yield from _types(plan, cat)
    yield from _nodes(plan)


def _cleared(section: str, keys: tuple[str, ...]) -> dict[str, object]:
    return {f"{section}.{key}": None for key in keys}


def _splits(plan: Plan) -> Iterator[PlanChange]:
    split = plan.request.spec.parallelism
    if any(getattr(split, key) is not None for key in _SPLIT_KEYS):
        yield PlanChange(
            kind="split",
            words="another split",
            sets=_cleared("parallelism", _SPLIT_KEYS) | _cleared("training", _MEMORY_KEYS),
        )


def _batches(plan: Plan) -> Iterator[PlanChange]:
    """Batches that deal out in whole pipeline rounds, near the one that the task names."""
    training, layout = plan.request.spec.training, plan.best.layout
    batch = training.global_batch
    if batch is None:
        return
    for unit in (layout.data * layout.micro_batch, layout.data * layout.micro_batch * layout.pipeline):
        for count in (batch // unit, -(-batch // unit)):
            near = count * unit
            if near and near != batch and _BATCH_REACH[0] * batch <= near <= _BATCH_REACH[1] * batch:
                sets = {"training.global_batch": near} | _cleared("training", _MEMORY_KEYS)
                yield PlanChange(kind="batch", words=f"a batch of {near:,}", sets=sets)
    free = {"training.global_batch": None} | _cleared("parallelism", _SPLIT_KEYS) | _cleared("training", _MEMORY_KEYS)
    yield PlanChange(kind="batch", words="another batch and split", sets=free)


def _memory(plan: Plan) -> Iterator[PlanChange]:
    training, layout = plan.request.spec.training, plan.best.layout
    if any(getattr(training, key) for key in _MEMORY_KEYS):
        yield PlanChange(kind="memory", words="another recomputation", sets=_cleared("training", _MEMORY_KEYS))
    if layout.recompute == "full" and not layout.recompute_layers:
        stage = -(-plan.request.shape.layers // layout.pipeline)
        for layers in sorted({max(1, stage // 4), max(1, stage // 2), max(1, stage * 3 // 4)}):
            if layers < stage:
                sets = {"training.recompute": "full", "training.recompute_layers": layers}
                yield PlanChange(kind="memory", words=f"recomputation of {layers} of {stage} layers a stage", sets=sets)
    if layout.recompute != "none" and training.optimizer_states is None:
        sets = {"training.optimizer_states": "bf16"} | _cleared("training", _MEMORY_KEYS)
        caution = "moments in 16 bits want stochastic rounding or a check of the loss"
        yield PlanChange(kind="memory", words="optimizer states in 16 bits", sets=sets, caution=caution)


def _schedules(plan: Plan) -> Iterator[PlanChange]:
    layout, split = plan.best.layout, plan.request.spec.parallelism
    if layout.pipeline == 1 or split.pipeline_layout or split.stages:
        return
    for schedule in ("interleaved", "zero-bubble", "zbv"):
        if schedule == layout.schedule:
            continue
        sets: dict[str, object] = {"parallelism.schedule": schedule, "parallelism.virtual_stages": None}
        for virtual in (2, 4) if schedule == "interleaved" else (0,):
            more = {"parallelism.virtual_stages": virtual} if virtual else {}
            caution = "" if schedule == "interleaved" else "torch has it, Megatron-Core does not"
            yield PlanChange(
                kind="schedule",
                words=f"the {schedule} schedule",
                sets={**sets, **more, **_fixed(plan)},
                caution=caution,
            )


def _fixed(plan: Plan) -> dict[str, object]:
    """The split as it is, so that only the schedule differs."""
    layout = plan.best.layout
    return {
        "parallelism.tensor": layout.tensor,
        "parallelism.pipeline": layout.pipeline,
        "parallelism.context": layout.context,
        **_cleared("training", _MEMORY_KEYS),
    }


def _precisions(plan: Plan) -> Iterator[PlanChange]:
    training, card = plan.request.spec.training, plan.request.machine.card
    narrower = {"bf16": ("fp8", "fp8-mx"), "fp16": ("fp8",), "fp8": ("nvfp4",), "fp8-mx": ("nvfp4",)}
    for precision in narrower.get(training.precision, ()):
        if precision == "fp8-mx" and card.fp4_tflops is None:
            continue
        sets = {"training.precision": precision} | _cleared("training", _MEMORY_KEYS)
        caution = "watch the loss against a 16-bit run first"
        yield PlanChange(kind="precision", words=f"products in {precision}", sets=sets, caution=caution)


def _experts(plan: Plan) -> Iterator[PlanChange]:
    training, layout = plan.request.spec.training, plan.best.layout
    if plan.request.shape.experts is None or layout.expert == 1:
        return
    if not training.expert_overlap:
        words = "expert traffic beside another micro-batch's arithmetic"
        caution = "needs Megatron-Core's overlap or DualPipe"
        yield PlanChange(kind="experts", words=words, sets={"training.expert_overlap": True}, caution=caution)
    if layout.dispatcher != "node":
        yield PlanChange(kind="experts", words="tokens sent once to a node", sets={"parallelism.dispatcher": "node"})


def _buying(plan: Plan) -> Iterator[PlanChange]:
    for kind in sold(plan):
        if kind != plan.money.main:
            caution = {"block": "blocks come in at most 64 instances and are bought ahead", "spot": _RARE_STOPS}
            yield PlanChange(kind="capacity", words=f"{kind} machines", buying=kind, caution=caution.get(kind, ""))


def sold(plan: Plan) -> tuple[CapacityKind, ...]:
    """How so many machines can be bought at all."""
    kinds: tuple[CapacityKind, ...] = ("on-demand", "block", "spot")
    most = {"block": LARGEST_BLOCK, "spot": LARGEST_SPOT}
    return tuple(
        kind
        for kind in kinds
        if plan.money.machine_hour.get(kind) and plan.nodes + plan.spares <= most.get(kind, plan.nodes * 2)
    )


def _regions(plan: Plan, cat: Catalog) -> Iterator[PlanChange]:
    """The region where the same machines, bought the same way, cost least."""
    instance = plan.request.machine.instance
    if instance is None:
        return
    kind = PRICED_AS[plan.money.main]
    rates: list[tuple[float, str]] = []
    for region in sorted(instance.zones):
        rate = cat.prices.machine_hour(instance, region, kind)
        if rate is not None:
            rates.append(((rate[0] + rate[1]) / 2, region))
    if rates and min(rates)[1] != plan.region:
        region = min(rates)[1]
        sets = {"hardware.instance_type": instance.name, "hardware.region": region}
        yield PlanChange(kind="region", words=f"the region {region}", sets=sets, caution="data and quotas move along")


def _types(plan: Plan, cat: Catalog) -> Iterator[PlanChange]:
    """Other types with as much arithmetic as the plan's nodes have, the cheapest arithmetic first."""
    machine = plan.request.machine
    if machine.instance is None or machine.instance.accelerator is None:
        return
    offers: list[tuple[float, str, int]] = []
    for instance in cat.instances.values():
        other = profiles.of_instance(instance) if instance.accelerator else None
        if other is None or instance.name == machine.name or instance.accelerator is None:
            continue
        if instance.accelerator.vendor != machine.instance.accelerator.vendor or other.cards < machine.cards // 2:
            continue
        region = plan.region if plan.region in instance.zones else next(iter(sorted(instance.zones)), None)
        rate = cat.prices.machine_hour(instance, region, "on-demand") if region else None
        rate = rate or (cat.prices.machine_hour(instance, region, "block") if region else None)
        if rate is None or region is None:
            continue
        power = other.card.tflops * other.card.power * other.cards
        nodes = max(1, round(plan.nodes * machine.card.tflops * machine.card.power * machine.cards / power))
        offers.append(((rate[0] + rate[1]) / 2 / power, instance.name, nodes))
    freed = _cleared("parallelism", _SPLIT_KEYS) | _cleared("training", _MEMORY_KEYS)
    gone = _cleared("hardware", ("accelerator", "cards_per_node", "network_gbps", "region"))
    for _, name, nodes in sorted(offers)[:_OTHER_TYPES]:
        for count in dict.fromkeys((nodes, _rounder(nodes))):
            sets = {**freed, **gone, "hardware.instance_type": name, "hardware.nodes": count}
            yield PlanChange(kind="card", words=f"{count:,} nodes of {name}", sets=sets)


def _rounder(nodes: int) -> int:
    """The nearest number of nodes with few bits, over which batches and layers deal out well."""
    step = 1 << max(0, nodes.bit_length() - 3)
    return max(1, round(nodes / step) * step)


def _nodes(plan: Plan) -> Iterator[PlanChange]:
    """Other numbers of nodes, for a goal of days or money; and the round number below, which may idle less."""
    freed = _cleared("parallelism", _SPLIT_KEYS) | _cleared("training", _MEMORY_KEYS)
    counts = {
        _rounder(plan.nodes),
        max(1, _rounder(plan.nodes * 3 // 4)),
        plan.nodes - plan.idle_cards // plan.request.machine.cards,
    }
    for count in sorted(counts - {plan.asked_nodes}):
        if count >= 1:
            yield PlanChange(kind="nodes", words=f"{count:,} nodes", sets={**freed, "hardware.nodes": count})
