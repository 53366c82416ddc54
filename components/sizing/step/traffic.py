"""Seconds that a step spends on traffic outside its layers: gradients, weights, stage inputs, and what waits in host
memory.
"""

from __future__ import annotations

from dataclasses import dataclass

from components.sizing.layout.layout import Job, Layout
from components.sizing.machine.links import RingPath, path
from components.sizing.step.counts import heaviest, lora_parameters
from components.sizing.tuning.constants import Tuning

_HOST_ADAM_BYTES = 40e9  # bytes/s a card that the optimizer gets of its host's memory when the states stay there
_HOST_HIDDEN = 0.9  # of activation traffic to the host that runs beside arithmetic


@dataclass(frozen=True, slots=True)
class DataTraffic:
    """Exposed seconds of a step, and the bytes that a card sends between nodes."""

    seconds: float
    bytes: float


@dataclass(frozen=True, slots=True)
class _Sharded:
    """One set of parameters with the group that shards it and the group of its copies."""

    size: float
    shards: RingPath
    copies: RingPath

    def gather(self, width: float) -> float:
        return self.shards.gather(self.size * width)

    def level(self, width: float) -> float:
        """Gradients of one shard summed between its copies."""
        return self.copies.reduce(self.size * width / self.shards.size)

    def reduce(self, width: float) -> float:
        """Gradients are summed inside the shard group, then between the copies."""
        return self.gather(width) + self.level(width)

    @property
    def crossing(self) -> float:
        """Parameters that a card sends over the network for one pass."""
        away = self.size / self.shards.together if self.shards.together < self.shards.size else 0.0
        return away + (2 * self.size / self.shards.size if self.copies.together < self.copies.size else 0.0)


def trained(job: Job, layout: Layout) -> tuple[float, float]:
    """Parameters of the fullest card that learn: (alike everywhere, routed)."""
    return (lora_parameters(job, layout), 0.0) if job.lora_rank else heaviest(job, layout)


def _sets(job: Job, layout: Layout, tuning: Tuning) -> tuple[_Sharded, _Sharded]:
    everywhere, routed = trained(job, layout)
    machine, shard, expert_shard = job.machine, layout.shard_ranks, layout.expert_shard_ranks
    spread = layout.expert * layout.expert_tensor
    return (
        _Sharded(
            everywhere,
            path(machine, tuning, layout.tensor, shard),
            path(machine, tuning, layout.tensor * shard, max(1, layout.ranks // shard)),
        ),
        _Sharded(
            routed,
            path(machine, tuning, spread, expert_shard),
            path(machine, tuning, spread * expert_shard, max(1, layout.expert_ranks // expert_shard)),
        ),
    )


def data_traffic(job: Job, layout: Layout, tuning: Tuning, busy: float, micro: int) -> DataTraffic:
    """Reducing gradients and gathering weights; `busy` is the arithmetic of one micro-batch, which may hide it."""
    if job.forward_only or (layout.ranks == 1 and layout.expert_ranks == 1):
        return DataTraffic(0.0, 0.0)
    sets = _sets(job, layout, tuning)
    gradient = 2.0 if job.precision == "fp16" or job.recipe.gradient_bytes < 4 or layout.sharding == "zero3" else 4.0
    crossing = sum(each.crossing for each in sets)
    if layout.sharding == "zero3":
        # With a pipeline, weights stay gathered and gradients wait until the step's last micro-batch (FSDP2
        # under pipeline schedules).
        once = layout.pipeline > 1
        gathers = 1 if once else 2
        moved = sum(gathers * each.gather(2.0) + each.gather(gradient) for each in sets)
        # Layer by layer: every gather and reduction is a round of its own.
        rounds = (gathers + 1) * (job.shape.layers / layout.pipeline - 1)
        moved += rounds * sets[0].shards.steps * sets[0].shards.latency
        times = 1 if once else micro
        exposed = moved * (1 - tuning.shard_overlap) + max(0.0, moved * tuning.shard_overlap - busy)
        # Copies of a shard agree once a step, after its last micro-batch.
        levelled = sum(each.level(gradient) for each in sets) * (1 - tuning.data_overlap)
        return DataTraffic(exposed * times + levelled, crossing * times * (2.0 * gathers + gradient))
    rounds = 1
    if layout.sharding == "zero2":
        # Sharded gradients can't wait for the step's end: each round of a pipeline, or each micro-batch, hands them on.
        rounds = max(1, micro // layout.pipeline)
        moved = sum(rounds * each.reduce(gradient) + each.gather(2.0) for each in sets)
    elif layout.sharding == "ddp":
        moved = sum(each.gather(gradient) + each.reduce(gradient) for each in sets)
    else:
        moved = sum(each.reduce(gradient) + each.gather(2.0) for each in sets)
    share = tuning.data_overlap if layout.fused_attention else 0.0
    exposed = moved * (1 - share) + max(0.0, moved * share - busy * rounds)
    return DataTraffic(exposed, crossing * (2 * gradient if layout.sharding == "ddp" else rounds * gradient + 2.0))


def stage_bytes(job: Job, layout: Layout) -> float:
    """Bytes that a stage hands to the next for one micro-batch."""
    split = layout.tensor if layout.sequence_parallel or not layout.fused_attention else 1
    return layout.micro_batch * job.shape.sequence / layout.context * job.shape.hidden * 2.0 / split


def optimizer_seconds(job: Job, layout: Layout, memory_rate: float) -> float:
    """Seconds of the update: gradient, master copy, moments and weight pass through memory, here or on the host."""
    everywhere, routed = trained(job, layout)
    if layout.sharding != "ddp":
        everywhere, routed = everywhere / layout.shard_ranks, routed / layout.expert_shard_ranks
    moments = {"adam": 2, "adamw": 2, "adafactor": 1, "sgd": 1}[job.optimizer]
    width = {"fp32": 4.0, "bf16": 2.0, "fp8": 1.0}[layout.states]
    # Read and written a parameter: gradient and its norm, master copy, moments, and the new weight.
    size = (everywhere + routed) * (10.0 + 8.0 + 2 * moments * width)
    if "optimizer" not in layout.offload:
        return size / memory_rate
    return size / _HOST_ADAM_BYTES + (everywhere + routed) * 6.0 / (job.machine.card.host_gb_per_s * 1e9)


def offload_seconds(job: Job, kept_bytes: float, busy: float) -> float:
    """Seconds in which activations on their way to the host and back hold up a micro-batch."""
    moved = 2 * kept_bytes / (job.machine.card.host_gb_per_s * 1e9)
    return max(moved * (1 - _HOST_HIDDEN), moved - busy)
