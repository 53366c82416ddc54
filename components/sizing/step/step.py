"""Seconds of one optimizer step, split into what takes them.

Hides the schedule: the fullest stage sets the pace, the pipeline fills and drains once a step, traffic hides behind arithmetic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from components.sizing.layout.layout import Job, Layout, stage_layers
from components.sizing.machine.links import path
from components.sizing.step.layer import LayerTime, Rates, head_time, layer_time, rates
from components.sizing.tuning.constants import DEFAULT, Tuning

_OPTIMIZER_BYTES = {
    "adam": 34.0,
    "adamw": 34.0,
    "adafactor": 24.0,
    "sgd": 22.0,
}  # read and written a parameter: gradient, master copy, moments, weight
_SELECTIVE_AGAIN = 0.3  # of the forward pass, where fused attention leaves selective recomputation only products to drop
_FUSED_BACKWARD = 2.5


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTime:
    """Seconds; the parts add up to `total`. `hardware_flops` is what one card really computes in the step."""

    compute: float
    tensor: float
    bubble: float
    pipeline: float
    data: float
    expert: float
    context: float
    optimizer: float
    scale: float
    micro_batches: int
    hardware_flops: float
    network_bytes: float  # a card and step, over the network between nodes

    @property
    def total(self) -> float:
        return (
            self.compute + self.tensor + self.bubble + self.pipeline + self.data + self.expert + self.context + self.optimizer + self.scale
        )


class Clock:
    """Times layouts of one job; layers that several layouts share are timed once."""

    def __init__(self, job: Job, tuning: Tuning = DEFAULT) -> None:
        self.job = job
        self.tuning = tuning
        self.rate: Rates = rates(job, tuning)
        self._layers: dict[tuple[object, ...], tuple[LayerTime, LayerTime | None, float]] = {}

    def _parts(self, layout: Layout) -> tuple[LayerTime, LayerTime | None, float]:
        plain = layout.sharding in ("zero2", "zero3")
        key = (layout.tensor, layout.context, layout.expert, layout.micro_batch, layout.sequence_parallel, layout.fused_attention, plain)
        found = self._layers.get(key)
        if found is None:
            sparse = layer_time(self.job, layout, self.tuning, self.rate, sparse=True) if self.job.shape.experts else None
            found = (
                layer_time(self.job, layout, self.tuning, self.rate, sparse=False),
                sparse,
                head_time(self.job, layout, self.tuning, self.rate),
            )
            self._layers[key] = found
        return found

    def step(self, layout: Layout) -> StepTime:
        job, tuning, shape = self.job, self.tuning, self.job.shape
        dense, sparse, head = self._parts(layout)
        dealt = stage_layers(shape.layers, layout.pipeline) or (math.ceil(shape.layers / layout.pipeline),) * 3
        share = shape.sparse_layers / shape.layers
        one = _with_recompute(dense, layout)
        other = _with_recompute(sparse, layout) if sparse else one
        mixed = _Cost(*(a * (1 - share) + b * share for a, b in zip(one.parts(), other.parts(), strict=True)))
        micro = layout.micro_batches(job.global_batch)
        middle, last = dealt[1], dealt[2]
        if layout.pipeline == 1:
            slowest = mixed.total * shape.layers + head
        else:
            slowest = max(mixed.total * (middle if layout.pipeline > 2 else dealt[0]), mixed.total * last + head)
        mean = (mixed.total * shape.layers + head) / layout.pipeline
        bubble = (layout.pipeline - 1) / layout.virtual * mean + micro * (slowest - mean)
        per_stage = shape.layers / layout.pipeline
        compute = micro * (mixed.compute * per_stage + head / layout.pipeline)
        sent = micro * 2 * layout.virtual * self._activation_bytes(layout) if layout.pipeline > 1 else 0.0
        stages = path(job.machine, tuning, min(layout.tensor * layout.context * layout.data, job.machine.domain * 2), layout.pipeline)
        pipeline = sent / stages.bytes_per_s * (1 - tuning.pipeline_overlap)
        busy = mixed.compute * per_stage + head / layout.pipeline
        data, data_bytes = self._data_traffic(layout, busy, micro)
        optimizer = self._optimizer(layout) + tuning.step_overhead
        tensor, expert, context = (micro * per_stage * part for part in (mixed.tensor, mixed.expert, mixed.context))
        sub = compute + tensor + bubble + pipeline + data + expert + context + optimizer
        nodes = max(1.0, layout.cards / job.machine.cards)
        return StepTime(
            compute=compute,
            tensor=tensor,
            bubble=bubble,
            pipeline=pipeline,
            data=data,
            expert=expert,
            context=context,
            optimizer=optimizer,
            scale=sub * tuning.straggler * math.log2(nodes),
            micro_batches=micro,
            hardware_flops=hardware_flops(job, layout),
            network_bytes=(sent if stages.together < layout.pipeline else 0.0) + data_bytes + self._expert_bytes(layout, micro),
        )

    def _activation_bytes(self, layout: Layout) -> float:
        shape = self.job.shape
        split = layout.tensor if layout.sequence_parallel or not layout.fused_attention else 1
        return layout.micro_batch * shape.sequence / layout.context * shape.hidden * 2.0 / split

    def _expert_bytes(self, layout: Layout, micro: int) -> float:
        experts = self.job.shape.experts
        if experts is None or layout.expert == 1:
            return 0.0
        group = path(self.job.machine, self.tuning, layout.tensor * layout.context, layout.expert)
        if group.together >= layout.expert:
            return 0.0
        nodes = layout.expert / group.together
        tokens = layout.micro_batch * self.job.shape.sequence / layout.context / layout.tensor
        sent = tokens * self.job.shape.hidden * 2.0 * min(experts.active, nodes) * (nodes - 1) / nodes
        return 4 * sent * micro * self.job.shape.sparse_layers / layout.pipeline

    def _data_traffic(self, layout: Layout, busy: float, micro: int) -> tuple[float, float]:
        """Seconds that reducing gradients and gathering weights adds to the step, and the bytes a card sends between nodes."""
        job, tuning = self.job, self.tuning
        ranks = layout.data * layout.context
        if ranks == 1:
            return 0.0, 0.0
        everywhere, routed = stage_parameters(job, layout)
        if job.lora_rank:
            everywhere, routed = lora_parameters(job, layout), 0.0
        wide = path(job.machine, tuning, layout.tensor, ranks)
        narrow = path(job.machine, tuning, layout.tensor * layout.expert, max(1, ranks // layout.expert))
        gradient = 2.0 if job.precision in ("fp16", "fp8") or layout.sharding == "zero3" else 4.0
        hidden = layout.fused_attention

        def gathers(width: float) -> float:
            return wide.gather(everywhere * width) + narrow.gather(routed * width)

        crossing = 0.0
        for group, size in ((wide, everywhere), (narrow, routed)):
            if group.together < group.size:
                crossing += size / group.together
        if layout.sharding == "zero3":
            gathered = gathers(2.0) * (1 if layout.recompute == "none" and micro == 1 and layout.pipeline > 1 else 2) + gathers(gradient)
            share = tuning.shard_overlap
            # Weights are gathered layer by layer, twice, and gradients once: each is a round of its own.
            rounds = 3 * (job.shape.layers / layout.pipeline - 1)
            gathered += rounds * wide.steps * wide.latency
            exposed = gathered * (1 - share) + max(0.0, gathered * share - busy)
            return exposed * micro, crossing * micro * (4.0 + gradient)
        total = gathers(gradient) + (gathers(gradient) if layout.sharding == "ddp" else gathers(2.0))
        share = tuning.data_overlap if hidden else 0.0
        exposed = total * (1 - share) + max(0.0, total * share - busy)
        return exposed, crossing * (2 * gradient if layout.sharding == "ddp" else gradient + 2.0)

    def _optimizer(self, layout: Layout) -> float:
        everywhere, routed = stage_parameters(self.job, layout)
        if self.job.lora_rank:
            everywhere, routed = lora_parameters(self.job, layout), 0.0
        ranks = layout.data * layout.context
        if layout.sharding != "ddp":
            everywhere, routed = everywhere / ranks, routed / max(1, ranks // layout.expert)
        return (everywhere + routed) * _OPTIMIZER_BYTES[self.job.optimizer] / self.rate.memory


@dataclass(frozen=True, slots=True)
class _Cost:
    """One layer and micro-batch, forward and backward, recomputation included."""

    compute: float
    tensor: float
    expert: float
    context: float

    @property
    def total(self) -> float:
        return self.compute + self.tensor + self.expert + self.context

    def parts(self) -> tuple[float, float, float, float]:
        return self.compute, self.tensor, self.expert, self.context


def _with_recompute(time: LayerTime, layout: Layout) -> _Cost:
    again = 1.0 if layout.recompute == "full" else 0.0
    compute = time.forward * (1 + again) + time.backward
    if layout.recompute == "selective":
        compute += _SELECTIVE_AGAIN * time.forward if layout.fused_attention else time.attention_forward
    return _Cost(
        compute,
        time.tensor_forward * (1 + again) + time.tensor_backward,
        time.expert_forward * (1 + again) + time.expert_backward,
        time.context * (1 + again / 2),
    )


def stage_parameters(job: Job, layout: Layout) -> tuple[float, float]:
    """Parameters that one card holds before data-parallel sharding, in the fullest stage: (everywhere alike, routed experts)."""
    shape = job.shape
    dealt = stage_layers(shape.layers, layout.pipeline) or (math.ceil(shape.layers / layout.pipeline),) * 3
    most = max(dealt[0], dealt[1] if layout.pipeline > 2 else 0, dealt[2])
    # Norms are a copy on every tensor rank; they are too small to matter beside the matrices.
    per_layer = (shape.dense_parameters - shape.hidden) / shape.layers / layout.tensor
    tables = shape.embedding / layout.tensor
    if layout.pipeline == 1:
        return per_layer * shape.layers + tables + shape.head / layout.tensor, shape.routed_parameters / layout.expert
    routed = shape.routed_parameters / shape.layers / layout.expert
    full = max(most * (per_layer + routed), dealt[0] * (per_layer + routed) + tables)
    ends = full - most * (per_layer + routed)
    return most * per_layer + ends, most * routed


def lora_parameters(job: Job, layout: Layout) -> float:
    """Trainable parameters of one card when every matrix of the layers gets a low-rank addition."""
    return lora_total(job) / layout.tensor / layout.pipeline


def lora_total(job: Job) -> int:
    """r x (inputs + outputs) of every matrix in a layer; routed experts stay as they are."""
    shape = job.shape
    widths = [(shape.hidden, shape.heads * shape.key_dim), (shape.hidden, shape.kv_heads * shape.key_dim)]
    widths += [(shape.hidden, shape.kv_heads * shape.value_dim), (shape.heads * shape.value_dim, shape.hidden)]
    if not shape.experts:
        widths += [(shape.hidden, shape.ffn)] * shape.matrices
    return shape.layers * job.lora_rank * sum(a + b for a, b in widths)


def hardware_flops(job: Job, layout: Layout) -> float:
    """FLOPs one card really computes in a step: recomputation included, the masked half of fused attention left out."""
    shape = job.shape
    matrices = 2.0 * shape.multiplied
    head = 2.0 * shape.embedding
    attention = shape.attention_flops / 3.0 / (2.0 if layout.fused_attention else 1.0)
    backward = (1.0 if job.lora_rank else 2.0) * matrices + (_FUSED_BACKWARD if layout.fused_attention else 2.0) * attention
    again = 0.0
    if layout.recompute == "full":
        again = matrices - head + attention
    elif layout.recompute == "selective":
        again = _SELECTIVE_AGAIN * (matrices - head) if layout.fused_attention else attention
    return (matrices + attention + backward + again) * job.tokens_per_step / layout.cards
