"""Seconds of one optimizer step, split into what takes them.

The fullest stage sets the pace, the pipeline fills and drains once a step, traffic hides behind arithmetic where it
can.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from components.sizing.layout.layout import Job, Layout
from components.sizing.layout.stages import StageLoad, counted, stage_loads
from components.sizing.machine.links import path
from components.sizing.step import again
from components.sizing.step.counts import hardware_flops
from components.sizing.step.exchange import wire_bytes
from components.sizing.step.layer import LayerTime, head_time, layer_time
from components.sizing.step.products import ProductPart, rates
from components.sizing.step.schedule import fill
from components.sizing.step.traffic import data_traffic, offload_seconds, optimizer_seconds, stage_bytes
from components.sizing.tuning.constants import DEFAULT, Tuning

_SMOOTH = 6.0  # how sharply the longer of host and card wins; a sum would be 1


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
    host: float
    offload: float
    micro_batches: int
    hardware_flops: float
    network_bytes: float  # a card and step, over the network between nodes

    @property
    def total(self) -> float:
        return (
            self.compute
            + self.tensor
            + self.bubble
            + self.pipeline
            + self.data
            + self.expert
            + self.context
            + self.optimizer
            + self.scale
            + self.host
            + self.offload
        )


@dataclass(frozen=True, slots=True)
class _Cost:
    """Seconds of one micro-batch, by cause and by direction; both add up to the same total."""

    compute: float = 0.0
    tensor: float = 0.0
    expert: float = 0.0
    context: float = 0.0
    host: float = 0.0
    time: ProductPart = field(default_factory=ProductPart)

    def times(self, count: float) -> _Cost:
        time = ProductPart(self.time.forward * count, self.time.inputs * count, self.time.weights * count)
        return _Cost(
            self.compute * count,
            self.tensor * count,
            self.expert * count,
            self.context * count,
            self.host * count,
            time,
        )

    def __add__(self, other: _Cost) -> _Cost:
        return _Cost(
            self.compute + other.compute,
            self.tensor + other.tensor,
            self.expert + other.expert,
            self.context + other.context,
            self.host + other.host,
            self.time + other.time,
        )

    @property
    def total(self) -> float:
        return self.time.forward + self.time.backward


class Clock:
    """Times layouts of one job; layers that several layouts share are timed once."""

    def __init__(self, job: Job, tuning: Tuning = DEFAULT, kept: Callable[[Job, Layout], float] | None = None) -> None:
        self.job = job
        self.tuning = tuning
        self.rate = rates(job, tuning)
        self._plain = rates(job, tuning, plain_only=True)
        self._kept = kept  # bytes of activations of a micro-batch, asked for where they go to the host
        self._layers: dict[
            tuple[object, ...], tuple[LayerTime, LayerTime | None, LayerTime | None, LayerTime | None, ProductPart]
        ] = {}

    def _timed(
        self, layout: Layout
    ) -> tuple[LayerTime, LayerTime | None, LayerTime | None, LayerTime | None, ProductPart]:
        """A dense and a sparse layer, the same in 16 bits where some stay so, and the output layer."""
        key = (
            layout.tensor,
            layout.context,
            layout.expert,
            layout.expert_tensor,
            layout.micro_batch,
            layout.sequence_parallel,
            layout.fused_attention,
            layout.context_method,
            layout.dispatcher,
            layout.schedule == "dualpipe",
            self.job.plain_kernels(layout),
        )
        found = self._layers.get(key)
        if found is None:
            job, tuning, sparse = self.job, self.tuning, self.job.shape.experts is not None
            kept = job.bf16_layers > 0 and job.recipe.narrow
            found = (
                layer_time(job, layout, tuning, self.rate, sparse=False),
                layer_time(job, layout, tuning, self.rate, sparse=True) if sparse else None,
                layer_time(job, layout, tuning, self._plain, sparse=False) if kept else None,
                layer_time(job, layout, tuning, self._plain, sparse=True) if kept and sparse else None,
                head_time(job, layout, tuning, self.rate),
            )
            self._layers[key] = found
        return found

    def _cost(self, layout: Layout, time: LayerTime, *, sparse: bool = False) -> _Cost:
        """One layer with its recomputation; where launching takes longer than running, the card waits for its host."""
        if self.job.forward_only:
            gpu = time.forward + time.tensor + time.expert_forward + time.context_forward
            waiting = _longer(gpu, time.host / 3) - gpu
            return _Cost(
                time.forward,
                time.tensor,
                time.expert_forward,
                time.context_forward,
                waiting,
                ProductPart(gpu + waiting),
            )
        share = again.full_share(layout, self.job.shape.layers / layout.pipeline)
        repeated = share * time.forward + again.again(self.job, layout, time)
        compute = time.forward + time.backward + repeated
        tensor = time.tensor * (2 + share)
        expert = (
            time.expert_forward * (1 + share / 2) + time.expert_backward
        )  # nothing reads what came back: only dispatch is repeated
        if layout.recompute == "selective" and "moe" in layout.recompute_modules:
            repeated -= time.expert_forward
            compute -= time.expert_forward
            expert += time.expert_forward
        context = time.context_forward * (1 + share) + time.context_backward
        forward = time.forward + time.tensor + time.expert_forward + time.context_forward
        gpu = compute + tensor + expert + context
        host = time.host * (1 + share / 3)
        # All-to-all waits for the tokens' numbers on the host, so that launching never runs ahead of the card.
        waiting = host if sparse and layout.dispatcher == "alltoall" else _longer(gpu, host) - gpu
        stretch = (gpu + waiting) / gpu
        weights = time.weights * stretch
        inputs = (gpu - forward) * stretch - weights
        return _Cost(compute, tensor, expert, context, waiting, ProductPart(forward * stretch, inputs, weights))

    def _stage(self, layout: Layout, load: StageLoad) -> _Cost:
        dense, sparse, plain_dense, plain_sparse, head = self._timed(layout)
        job = self.job
        kept = min(1.0, job.bf16_layers / job.shape.layers) if job.recipe.narrow else 0.0

        def mixed(time: LayerTime, plain: LayerTime | None, *, sparse: bool) -> _Cost:
            cost = self._cost(layout, time, sparse=sparse)
            if plain is None or not kept:
                return cost
            return cost.times(1 - kept) + self._cost(layout, plain, sparse=sparse).times(kept)

        more_sparse = load.predictions if sparse else 0
        total = mixed(dense, plain_dense, sparse=False).times(load.dense + load.predictions - more_sparse)
        if sparse and load.sparse + more_sparse:
            total += mixed(sparse, plain_sparse, sparse=True).times(load.sparse + more_sparse)
        outputs = (1 if load.head else 0) + load.predictions
        if outputs:
            one = ProductPart(head.forward) if job.forward_only else head
            total += _Cost(compute=one.forward + one.backward, time=one).times(outputs)
        return total

    def step(self, layout: Layout) -> StepTime:
        job, tuning = self.job, self.tuning
        priced: dict[StageLoad, _Cost] = {}
        mean = _Cost()
        for load, count in counted(job.shape, layout):
            priced[load] = self._stage(layout, load)
            mean += priced[load].times(count / layout.pipeline)
        slowest = max(cost.total for cost in priced.values())
        if layout.schedule == "dualpipe":
            loads = stage_loads(job.shape, layout)
            pairs = [
                (priced[one].total + priced[other].total) / 2 for one, other in zip(loads, reversed(loads), strict=True)
            ]
            slowest = max(pairs)
        micro = layout.micro_batches(job.global_batch)
        bubble = fill(layout, mean.time, micro) + micro * (slowest - mean.total)
        sent = micro * 2 * layout.virtual * stage_bytes(job, layout) if layout.pipeline > 1 else 0.0
        stages = path(
            job.machine,
            tuning,
            min(layout.tensor * layout.context * layout.data, job.machine.domain * 2),
            layout.pipeline,
        )
        pipeline = sent / stages.bytes_per_s * (1 - tuning.pipeline_overlap)
        data = data_traffic(job, layout, tuning, mean.compute, micro)
        optimizer = tuning.step_overhead + (
            0.0 if job.forward_only else optimizer_seconds(job, layout, self.rate.memory)
        )
        offload = 0.0
        if "activations" in layout.offload and self._kept is not None:
            offload = micro * offload_seconds(job, self._kept(job, layout), mean.compute)
        parts = {name: micro * getattr(mean, name) for name in ("compute", "tensor", "expert", "context", "host")}
        sub = sum(parts.values()) + bubble + pipeline + data.seconds + optimizer + offload
        nodes = max(1.0, layout.cards / job.machine.cards)
        exchanged = (
            wire_bytes(job, layout, tuning) * micro * job.shape.sparse_layers / layout.pipeline
            if job.shape.experts
            else 0.0
        )
        return StepTime(
            **parts,
            bubble=bubble,
            pipeline=pipeline,
            data=data.seconds,
            optimizer=optimizer,
            offload=offload,
            scale=sub * tuning.straggler * math.log2(nodes),
            micro_batches=micro,
            hardware_flops=hardware_flops(job, layout),
            network_bytes=(sent if stages.together < layout.pipeline else 0.0) + data.bytes + exchanged,
        )


def _longer(card: float, host: float) -> float:
    """The longer of two times that run side by side; where both are alike, each holds up the other a little."""
    return (card**_SMOOTH + host**_SMOOTH) ** (1 / _SMOOTH)
