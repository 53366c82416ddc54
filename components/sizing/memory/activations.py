"""Bytes of activations that one card keeps for the backward pass (Korthikanti 2022, with grouped queries, gates and
experts).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from components.sizing.layout.layout import Job, Layout
from components.sizing.layout.stages import StageLoad, stage_loads
from components.sizing.step.again import full_share, modules
from components.sizing.step.schedule import in_flight

_LOSS_BYTES = 8.0  # a score of the output layer: 32-bit copy and its gradient, held at once
_SELECTIVE_KEPT = (
    0.7  # with fused attention there are no scores to drop: every other product's output goes instead (torchtitan)
)


@dataclass(frozen=True, slots=True)
class Kept:
    """Bytes a token of one layer, by the part that keeps them."""

    inputs: float  # of the layer itself, which no recomputation drops
    norms: float
    heads: float  # queries, keys, values and attention's result
    scores: float
    latents: float
    block: float  # feed-forward or routed experts, without the activation function's result
    act: float
    shared: float

    @property
    def total(self) -> float:
        return self.inputs + self.norms + self.heads + self.scores + self.latents + self.block + self.act + self.shared


def kept_bytes(job: Job, layout: Layout, *, sparse: bool) -> Kept:
    """What a layer keeps without recomputation; a product keeps its input in its own precision."""
    shape, tensor = job.shape, layout.tensor
    copies = tensor if layout.sequence_parallel else 1
    narrow = 1.0 if job.recipe.narrow else 2.0
    # Two dropout masks of one byte; gated models and stacks with fused attention train without dropout.
    masks = 0.0 if shape.gated or layout.fused_attention else 2.0
    width = shape.key_dim + shape.value_dim
    heads = (2.0 * shape.heads * width + 2.0 * max(shape.kv_heads, tensor) * width) / tensor
    latents = 0.0
    if latent := shape.latent:
        heads = (2.0 * shape.heads * width + 2.0 * shape.heads * width) / tensor
        latents = narrow * (latent.q_rank + latent.kv_rank + latent.rope)
    gates = 2.0 * (2 if shape.gated else 1)  # what the activation function reads
    wide = experts_wide = 0.0
    routed_in = 0.0
    if sparse and (experts := shape.experts):
        experts_wide = experts.ffn * experts.active / tensor
        wide = experts.ffn * experts.shared / tensor
        routed_in = narrow * shape.hidden * experts.active / tensor
    else:
        experts_wide = shape.ffn / tensor
    scores = 0.0 if layout.fused_attention else 5.0 * shape.heads * shape.sequence / tensor
    return Kept(
        inputs=(4.0 + masks) * shape.hidden / copies,
        norms=2 * narrow * shape.hidden / copies,
        heads=heads,
        scores=scores,
        latents=latents,
        block=gates * experts_wide + routed_in,
        act=narrow * experts_wide,
        shared=(gates + narrow) * wide,
    )


def layer_activations(job: Job, layout: Layout, *, sparse: bool = False) -> float:
    """Bytes that one layer keeps for the backward pass of one micro-batch.

    Full recomputation keeps the 2-byte input alone.
    """
    shape = job.shape
    tokens = layout.micro_batch * shape.sequence / layout.context
    copies = layout.tensor if layout.sequence_parallel else 1
    if layout.recompute == "full" and not layout.recompute_layers:
        return 2.0 * tokens * shape.hidden / copies
    kept = kept_bytes(job, layout, sparse=sparse)
    asked = modules(job, layout)
    if layout.recompute == "selective" and not asked:
        return tokens * kept.total * _SELECTIVE_KEPT
    total = kept.total
    if "core_attn" in asked:
        total -= kept.scores
    if "mla_up_proj" in asked:
        total -= kept.heads - 2.0 * shape.heads * shape.value_dim / layout.tensor
    if "layernorm" in asked:
        total -= kept.norms / 2 if "mla_up_proj" not in asked else 2.0 * shape.hidden / copies
    if ("mlp" in asked and not sparse) or ("moe" in asked and sparse):
        total -= kept.block + kept.act + kept.shared
    if "moe_act" in asked and sparse and "moe" not in asked:
        total -= kept.act
    if "shared_experts" in asked and sparse and "moe" not in asked:
        total -= kept.shared
    return tokens * max(total, 2.0 * shape.hidden / copies)


def _whole_layer(job: Job, layout: Layout, *, sparse: bool) -> float:
    """A layer without recomputation, as it is while it runs backward again."""
    plain = Layout(
        tensor=layout.tensor,
        context=layout.context,
        expert=layout.expert,
        micro_batch=layout.micro_batch,
        sequence_parallel=layout.sequence_parallel,
        fused_attention=layout.fused_attention,
    )
    return layer_activations(job, plain, sparse=sparse)


def stage_bytes(job: Job, layout: Layout, load: StageLoad) -> float:
    """Bytes that the layers of one stage keep for one micro-batch."""
    sparse = load.sparse + (load.predictions if job.shape.experts else 0)
    dense = load.dense + (0 if job.shape.experts else load.predictions)
    share = full_share(layout, load.layers)
    if layout.recompute_layers and 0.0 < share < 1.0:
        again, rest = replace(layout, recompute_layers=0), replace(layout, recompute="none", recompute_layers=0)
        return share * stage_bytes(job, again, load) + (1 - share) * stage_bytes(job, rest, load)
    if layout.recompute_layers:
        layout = replace(layout, recompute_layers=0)
    kept = dense * layer_activations(job, layout) if dense else 0.0
    return kept + (sparse * layer_activations(job, layout, sparse=True) if sparse else 0.0)


def rank_activations(job: Job, layout: Layout, rank: int, load: StageLoad) -> float:
    """Bytes of one pipeline rank: micro-batches in flight, a layer at work, and the output layer's scores."""
    tokens = layout.micro_batch * job.shape.sequence / layout.context
    micro = layout.micro_batches(job.global_batch)
    flight = in_flight(layout, rank, micro) if layout.pipeline > 1 else 1.0
    if job.forward_only:
        flight = 0.0
    kept = stage_bytes(job, layout, load)
    if "activations" in layout.offload:
        flight = min(flight, 2.0)  # one runs, one is on its way
    working = (
        _whole_layer(job, layout, sparse=load.sparse > 0) if layout.recompute == "full" or job.forward_only else 0.0
    )
    scores = tokens * job.shape.vocab / layout.tensor * _LOSS_BYTES if load.head else 0.0
    return flight * kept + max(working, scores)


def micro_batch_bytes(job: Job, layout: Layout) -> float:
    """Bytes that a stage of the mean size keeps for one micro-batch."""
    loads = stage_loads(job.shape, layout)
    return sum(stage_bytes(job, layout, load) for load in loads) / len(loads)
