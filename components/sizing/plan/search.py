"""The splits that are possible on a number of cards, and the best of them.

Tensor groups stay inside the fast domain, context groups serve long sequences, pipelines reach across nodes, data ranks
lie outermost.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from components.sizing.layout import frameworks, pipeline_text
from components.sizing.layout.layout import Job, Layout, fused_by_default
from components.sizing.layout.stages import even_chunks, tidy
from components.sizing.machine.profiles import NodeProfile
from components.sizing.memory import memory
from components.sizing.memory.activations import micro_batch_bytes
from components.sizing.memory.memory import Memory
from components.sizing.model.shape import Shape
from components.sizing.step.step import Clock, StepTime
from components.sizing.tuning.constants import DEFAULT, Tuning
from components.spec.sizing import ParallelismSpec, Recompute, Sharding, StatePrecision, TrainingSpec

_MICRO_BATCHES = (1, 2, 4, 8, 16, 32)
_LONG_SEQUENCE = 16384  # beyond it one card's activations of a single sequence call for a context group
_TENSOR_LIMIT = 16
_NARROW_GROUP = 8  # expert groups that recipes serve by plain all-to-all; wider ones by DeepEP or its like
_SHARD_LIMIT = 512  # data ranks that published runs without a pipeline share their weights over
_VIRTUAL_LIMIT = 12
_BATCH_TOKENS, _LARGE_BATCH_TOKENS = 4_194_304, 16_777_216  # LLaMA, BLOOM: 4 M; Llama 3 405B: 16 M
_LARGE_MODEL = 100e9  # parameters
_BATCH_SLACK = (0.75, 2.0)  # how far a batch that the task leaves open may be from those


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One split with its time and memory."""

    layout: Layout
    job: Job
    step: StepTime
    memory: Memory

    @property
    def tokens_per_second(self) -> float:
        return self.job.tokens_per_step / self.step.total


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """All splits of a search, best first: those that fit, and the nearest to fitting when none does."""

    fitting: tuple[Candidate, ...]
    tightest: Candidate | None
    tried: int


def powers(limit: int) -> list[int]:
    return [1 << i for i in range(limit.bit_length()) if 1 << i <= limit]


def divisors(number: int) -> list[int]:
    small = [d for d in range(1, int(number**0.5) + 1) if number % d == 0]
    return sorted({*small, *(number // d for d in small)})


def tensor_choices(shape: Shape, machine: NodeProfile) -> list[int]:
    choices = powers(min(machine.domain, _TENSOR_LIMIT))
    return [t for t in choices if shape.heads % t == 0 and (shape.kv_heads % t == 0 or t % shape.kv_heads == 0)]


def pipeline_choices(shape: Shape, machine: NodeProfile) -> list[int]:
    if machine.card.generation == "tpu":
        return [1]  # a torus is wide enough for tensor and data groups; published TPU runs use no pipeline
    return [p for p in range(1, min(shape.layers, 128) + 1) if tidy(shape.layers, p)]


def context_choices(shape: Shape) -> list[int]:
    if shape.sequence < _LONG_SEQUENCE:
        return [1]
    return [c for c in powers(32) if shape.sequence // c >= 4096]


def expert_choices(shape: Shape) -> list[int]:
    if not shape.experts:
        return [1]
    return [e for e in divisors(shape.experts.count) if e <= 64]


def virtual_choices(layers: int, pipeline: int, micro: int) -> list[int]:
    """Chunks of a stage that come out nearly equal; interleaving wants at least a micro-batch for each stage."""
    if pipeline == 1 or micro < pipeline:
        return [1]
    most = min(_VIRTUAL_LIMIT, layers // pipeline)
    return [v for v in range(1, most + 1) if v == 1 or _chunks_alike(layers, pipeline * v)]


def _chunks_alike(layers: int, chunks: int) -> bool:
    counts = even_chunks(layers, chunks)
    return sum(max(counts) - count for count in counts) <= 3


def _data_choices(cards: int, inner: int, batch: int | None, most: int, *, pinned: bool) -> list[int]:
    """Data ranks: all there is room for, or the most that a batch deals out over; the others stay idle."""
    room = min(cards // inner, most)
    if room < 1:
        return []
    if batch is None or pinned:
        return [room]  # whoever fixes the split means these ranks, even where the batch leaves some waiting
    fitting = [d for d in divisors(batch) if d <= room]
    return fitting[-1:]


def _batches(batch: int | None, wanted: int, step: int, pipeline: int, most: int, *, ragged: bool) -> list[int]:
    """Batches that deal out over `step` sequences a round: as asked, or near the usual one, in whole pipeline rounds
    too.
    """
    if batch is not None:
        return [batch] if ragged or batch % step == 0 else []
    near = {max(1, round(wanted / unit)) * unit for unit in (step, step * pipeline)}
    return sorted(total for total in near if wanted * _BATCH_SLACK[0] <= total <= most)


def usual_batch(shape: Shape) -> int:
    """Sequences of a step where the task file leaves it open."""
    tokens = _LARGE_BATCH_TOKENS if shape.total >= _LARGE_MODEL else _BATCH_TOKENS
    return max(1, round(tokens / shape.sequence))


def layouts(
    shape: Shape,
    machine: NodeProfile,
    cards: int,
    training: TrainingSpec,
    asked: ParallelismSpec,
    *,
    quick: bool = False,
) -> Iterator[tuple[Layout, int]]:
    """Every split with its global batch, before recomputation and sharding are chosen; fewer of them when `quick`."""
    sizes = _MICRO_BATCHES[:3] if quick else _MICRO_BATCHES
    batch = training.global_batch
    wanted = batch or usual_batch(shape)
    pinned = asked.tensor is not None and asked.pipeline is not None
    most = batch or max(1, int(wanted * _BATCH_SLACK[1]))
    for tensor in [asked.tensor] if asked.tensor else tensor_choices(shape, machine):
        for context in [asked.context] if asked.context else context_choices(shape):
            for pipeline in [asked.pipeline] if asked.pipeline else pipeline_choices(shape, machine):
                for data in _data_choices(cards, tensor * context * pipeline, batch, most, pinned=pinned):
                    for micro_batch in [asked.micro_batch] if asked.micro_batch else sizes:
                        outer = Layout(
                            tensor=tensor, pipeline=pipeline, context=context, data=data, micro_batch=micro_batch
                        )
                        ragged = pinned and (micro_batch == 1 or asked.micro_batch is not None)
                        for total in _batches(batch, wanted, data * micro_batch, pipeline, most, ragged=ragged):
                            for expert, virtual in _inner(shape, outer, total, asked, quick=quick):
                                yield replace(outer, expert=expert, virtual=virtual), total


def _inner(
    shape: Shape, outer: Layout, batch: int, asked: ParallelismSpec, *, quick: bool
) -> Iterator[tuple[int, int]]:
    """Expert groups and chunks of a stage for a split that is otherwise chosen."""
    micro = outer.micro_batches(batch)
    written = asked_stages(asked)
    experts = expert_choices(shape)
    if quick:
        experts = [e for e in experts if e >= _NARROW_GROUP and e & (e - 1) == 0] or experts
    for expert in [asked.expert] if asked.expert else experts:
        if (outer.tensor * outer.data * outer.context) % (expert * asked.expert_tensor):
            continue
        if asked.virtual_stages:
            yield expert, asked.virtual_stages
        elif written or asked.schedule in ("gpipe", "1f1b", "zero-bubble", "dualpipe"):
            yield expert, max(1, len(written) // outer.pipeline)
        elif asked.schedule == "zbv":
            yield expert, 2
        else:
            chunks = virtual_choices(shape.layers, outer.pipeline, micro)
            for virtual in sorted({chunks[0], chunks[len(chunks) // 2], chunks[-1]}) if quick else chunks:
                yield expert, virtual


def asked_stages(asked: ParallelismSpec) -> tuple[int, ...]:
    """Layers of each chunk as the task writes them, or none."""
    return pipeline_text.layers(asked.pipeline_layout) if asked.pipeline_layout else asked.stages or ()


def keepings(layout: Layout, training: TrainingSpec) -> Iterator[tuple[Sharding, Recompute]]:
    """Sharding and recomputation in the order of their cost in time."""
    shardings: list[Sharding]
    if training.sharding:
        shardings = [training.sharding]
    elif layout.pipeline == 1:
        shardings = ["zero1", "zero3"] if layout.ranks <= _SHARD_LIMIT else ["zero1"]
    else:
        shardings = ["zero1", "zero2"]
    recomputes: list[Recompute] = ["none", "selective", "full"]
    if training.recompute:
        recomputes = [training.recompute]
    elif training.recompute_modules:
        recomputes = ["selective"]
    elif training.recompute_layers:
        recomputes = ["full"]
    for recompute in recomputes:
        for sharding in shardings:
            yield sharding, recompute


def search(
    shape: Shape,
    machine: NodeProfile,
    cards: int,
    training: TrainingSpec,
    asked: ParallelismSpec,
    tuning: Tuning = DEFAULT,
    *,
    ignore_memory: bool = False,
    quick: bool = False,
) -> Found:
    """All splits of `cards` cards that keep to what the task file asks, best first by tokens a second.

    Optimizer states in 16 bits are tried only where nothing else fits and the task leaves them open.
    """
    first = _search(
        shape,
        machine,
        cards,
        training,
        asked,
        tuning,
        states=training.optimizer_states or "fp32",
        ignore_memory=ignore_memory,
        quick=quick,
    )
    if first.fitting or training.optimizer_states or first.tightest is None or training.method == "lora":
        return first
    second = _search(
        shape, machine, cards, training, asked, tuning, states="bf16", ignore_memory=ignore_memory, quick=quick
    )
    return second if second.fitting else first


def _search(
    shape: Shape,
    machine: NodeProfile,
    cards: int,
    training: TrainingSpec,
    asked: ParallelismSpec,
    tuning: Tuning,
    *,
    states: StatePrecision,
    ignore_memory: bool,
    quick: bool,
) -> Found:
    clocks: dict[int, Clock] = {}
    full_at: dict[tuple[int, ...], int] = {}  # the micro-batch that was too large for a split
    fitting: list[Candidate] = []
    tightest: tuple[float, Layout, Job, Memory] | None = None
    tried = 0
    for layout, batch in layouts(shape, machine, cards, training, asked, quick=quick):
        clock = clocks.get(batch)
        if clock is None:
            clock = clocks[batch] = Clock(job_of(shape, machine, training, batch), tuning, micro_batch_bytes)
        best: Candidate | None = None
        split = (layout.tensor, layout.context, layout.pipeline, layout.data, layout.expert, layout.virtual)
        if full_at.get(split, layout.micro_batch) < layout.micro_batch:
            continue
        kept = list(keepings(layout, training))
        if not ignore_memory and len(kept) > 1:
            # Where the last of them, which keeps the least, does not fit, none does.
            least = complete(layout, training, asked, machine, *kept[-1], states)
            small = memory.of(clock.job, least)
            if tightest is None or small.total < tightest[0]:
                tightest = (small.total, least, clock.job, small)
            if not small.fits:
                tried += 1
                full_at[split] = layout.micro_batch
                continue
        for sharding, recompute in kept:
            tried += 1
            full = complete(layout, training, asked, machine, sharding, recompute, states)
            if training.framework and asked.pipeline is None and frameworks.cannot(training.framework, clock.job, full):
                continue
            held = memory.of(clock.job, full)
            if tightest is None or held.total < tightest[0]:
                tightest = (held.total, full, clock.job, held)
            if not held.fits and not ignore_memory:
                continue
            candidate = Candidate(layout=full, job=clock.job, step=clock.step(full), memory=held)
            if best is None or candidate.step.total < best.step.total:
                best = candidate
            if not ignore_memory:
                break  # what follows costs more time for less memory
        if best:
            fitting.append(best)
        elif not ignore_memory:
            full_at[split] = layout.micro_batch
    last = None
    if tightest:
        step = Clock(tightest[2], tuning, micro_batch_bytes).step(tightest[1])
        last = Candidate(layout=tightest[1], job=tightest[2], step=step, memory=tightest[3])
    return Found(fitting=tuple(sorted(fitting, key=_rank)), tightest=last, tried=tried)


def _rank(found: Candidate) -> tuple[float, int, int, int, int]:
    """The fastest first; of equals the simpler split."""
    split = found.layout
    return (-found.tokens_per_second, split.tensor, split.pipeline, split.virtual, split.micro_batch)


def job_of(shape: Shape, machine: NodeProfile, training: TrainingSpec, batch: int) -> Job:
    return Job(
        shape=shape,
        machine=machine,
        precision=training.precision,
        global_batch=batch,
        optimizer=training.optimizer,
        lora_rank=training.rank if training.method == "lora" else 0,
        bf16_layers=training.bf16_layers,
        expert_overlap=training.expert_overlap,
        framework=training.framework,
    )


def complete(
    layout: Layout,
    training: TrainingSpec,
    asked: ParallelismSpec,
    machine: NodeProfile,
    sharding: Sharding,
    recompute: Recompute,
    states: StatePrecision = "fp32",
) -> Layout:
    """The layout with what follows from precision, recomputation and the machine's age."""
    if training.attention == "auto":
        fused = fused_by_default(training.precision, recompute if training.recompute else None, machine.card.generation)
    else:
        fused = training.attention == "fused"
    sequence = asked.sequence_parallel
    if sequence is None:
        # Sequence parallelism came with selective recomputation; fp16 runs without it predate both.
        sequence = not (training.precision == "fp16" and recompute != "selective")
    return replace(
        layout,
        sequence_parallel=sequence,
        recompute=recompute,
        recompute_modules=training.recompute_modules if recompute == "selective" else (),
        recompute_layers=(training.recompute_layers or 0) if recompute == "full" else 0,
        sharding=sharding,
        shard=asked.shard or 0,
        expert_tensor=asked.expert_tensor,
        fused_attention=fused,
        schedule=asked.schedule or ("interleaved" if layout.virtual > 1 else "1f1b"),
        stages=asked_stages(asked),
        context_method=asked.context_method,
        dispatcher=asked.dispatcher or ("node" if sharding == "zero3" or layout.expert > _NARROW_GROUP else "alltoall"),
        states=states,
        offload=training.offload,
    )
