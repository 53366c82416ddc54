"""GiB that one card of the fullest pipeline stage holds: weights, gradients, optimizer state, activations and the framework's own share.

Hides which bytes are sharded by what: `ddp` shares nothing, `zero1` the optimizer state, `zero2` also gradients, `zero3` also weights.
"""

from __future__ import annotations

from dataclasses import dataclass

from components.sizing.layout.layout import Job, Layout, stage_layers
from components.sizing.step.step import lora_parameters, stage_parameters
from components.sizing.tuning.constants import Constant

GIB = 1024.0**3
FRAMEWORK = Constant(
    name="framework_memory",
    value=5.0,
    low=3.0,
    high=8.0,
    unit="GiB a card",
    source="EleutherAI cookbook: about 5 GiB unexplained (contexts, collectives' buffers, workspaces)",
)
FRAGMENTATION = Constant(
    name="fragmentation",
    value=0.05,
    low=0.03,
    high=0.10,
    unit="of all tensors",
    source="5-10 % of the allocator's memory is lost to fragments; expandable segments reach the lower end",
)
_STATE = {"adam": 12.0, "adamw": 12.0, "adafactor": 4.5, "sgd": 8.0}  # 32-bit master copy, and two moments, row-and-column moments, or one
_LOSS_BYTES = 8.0  # a score of the output layer: 32-bit copy and its gradient, held at once
_SELECTIVE_KEPT = (
    0.7  # with fused attention there are no scores to drop: every other product's output goes instead (torchtitan's operator mode)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """GiB of one card in the fullest stage."""

    weights: float
    gradients: float
    optimizer: float
    activations: float
    overhead: float
    usable: float

    @property
    def total(self) -> float:
        return self.weights + self.gradients + self.optimizer + self.activations + self.overhead

    @property
    def fits(self) -> bool:
        return self.total <= self.usable


def layer_activations(job: Job, layout: Layout, *, sparse: bool = False) -> float:
    """Bytes that one layer keeps for the backward pass of one micro-batch (Korthikanti 2022, with grouped queries, gates and experts).

    A plain block keeps 34 bytes a token and width (10 of them on every tensor rank without sequence parallelism) and, where attention is
    not fused, 5 bytes a score; full recomputation keeps the 2-byte input alone.
    """
    shape, tensor = job.shape, layout.tensor
    tokens = layout.micro_batch * shape.sequence / layout.context
    copies = tensor if layout.sequence_parallel else 1
    if layout.recompute == "full":
        return 2.0 * tokens * shape.hidden / copies
    masks = 0.0 if shape.gated else 2.0  # two dropout masks of one byte; gated models train without dropout
    # Inputs of both norms and of both blocks; a product keeps its input in its own precision.
    eight = job.precision == "fp8"
    alike = ((6.0 if eight else 8.0) + masks) * shape.hidden / copies
    act = (5.0 if eight else 6.0) if shape.gated else (3.0 if eight else 4.0)
    wide = (
        2.0 * shape.heads * (shape.key_dim + shape.value_dim) + 2.0 * max(shape.kv_heads, tensor) * (shape.key_dim + shape.value_dim)
    ) / tensor
    if (latent := shape.latent) and layout.recompute == "selective":
        # Queries, keys and values come again from their latents, and norms from their inputs (DeepSeek-V3, section 3.2.3).
        wide = 2.0 * (latent.q_rank + latent.kv_rank + latent.rope) + 2.0 * shape.heads * shape.value_dim / tensor
        alike -= 2.0 * shape.hidden / copies
    if sparse and (experts := shape.experts):
        visited = experts.active / tensor + experts.shared / tensor
        block = act * experts.ffn * visited + (1.0 if eight else 2.0) * shape.hidden * experts.active / tensor
    else:
        block = act * shape.ffn / tensor
    scores = 0.0
    if not layout.fused_attention and layout.recompute == "none":
        scores = 5.0 * shape.heads * shape.sequence / tensor
    kept = _SELECTIVE_KEPT if layout.recompute == "selective" and layout.fused_attention and not shape.latent else 1.0
    return tokens * (alike + wide + block + scores) * kept


def of(job: Job, layout: Layout) -> Memory:
    """Memory of the fullest stage: the first holds most micro-batches, the last the output layer's scores."""
    shape, machine = job.shape, job.machine
    everywhere, routed = stage_parameters(job, layout)
    ranks = layout.data * layout.context
    expert_ranks = max(1, ranks // layout.expert)
    trained, trained_routed = (lora_parameters(job, layout), 0.0) if job.lora_rank else (everywhere, routed)
    weight_bytes = 2.0  # fp8 keeps a weight and its transpose, a byte each; the 32-bit master copy is the optimizer's
    if layout.sharding == "zero3":
        # Sharded weights, and two layers gathered at a time.
        per_layer = (everywhere / shape.layers + routed / shape.layers) * layout.pipeline
        weights = 2.0 * (everywhere / ranks + routed / expert_ranks) + 2 * 2.0 * per_layer
    else:
        weights = weight_bytes * (everywhere + routed)
    gradient_shared = layout.sharding in ("zero2", "zero3")
    # fp8 recipes add gradients up in bf16, others in 32 bits (NeMo performance recipes; Megatron's distributed optimizer).
    gradients = (2.0 if job.precision == "fp8" else 4.0) * (
        trained / (ranks if gradient_shared else 1) + trained_routed / (expert_ranks if gradient_shared else 1)
    )
    state_shared = layout.sharding != "ddp"
    optimizer = _STATE[job.optimizer] * (trained / (ranks if state_shared else 1) + trained_routed / (expert_ranks if state_shared else 1))
    activations = stage_activations(job, layout)
    overhead = FRAMEWORK.value * GIB + FRAGMENTATION.value * (weights + gradients + optimizer + activations)
    return Memory(
        weights=weights / GIB,
        gradients=gradients / GIB,
        optimizer=optimizer / GIB,
        activations=activations / GIB,
        overhead=overhead / GIB,
        usable=machine.card.usable_gib,
    )


def stage_activations(job: Job, layout: Layout) -> float:
    """Bytes of activations of the fullest stage."""
    shape = job.shape
    share = shape.sparse_layers / shape.layers
    each = layer_activations(job, layout) * (1 - share) + (layer_activations(job, layout, sparse=True) * share if share else 0.0)
    stage = stage_layers(shape.layers, layout.pipeline) or (-(-shape.layers // layout.pipeline),) * 3
    micro = layout.micro_batches(job.global_batch)
    tokens = layout.micro_batch * shape.sequence / layout.context
    working = 0.0
    if layout.recompute == "full":
        # One layer is whole again while it runs backward.
        whole = Layout(
            tensor=layout.tensor,
            context=layout.context,
            expert=layout.expert,
            micro_batch=layout.micro_batch,
            sequence_parallel=layout.sequence_parallel,
            fused_attention=layout.fused_attention,
        )
        working = layer_activations(job, whole, sparse=bool(share))
    scores = tokens * shape.vocab / layout.tensor * _LOSS_BYTES
    if layout.pipeline == 1:
        return each * shape.layers + max(working, scores)
    # One forward, one backward: stage i holds p - i micro-batches; interleaving makes it p (1 + (p - 1) / (p v)) of them at stage 0.
    stages, chunks = layout.pipeline, layout.virtual
    extra = (stages - 1) / chunks if chunks > 1 else 0.0
    first = each * stage[0] * min(float(micro), stages + extra)
    second = each * stage[1] * min(float(micro), stages - 1 + extra) if stages > 2 else 0.0
    first = max(first, second) + working
    last_flight = min(float(micro), 1.0 + ((layout.virtual - 1) * layout.pipeline / layout.virtual if layout.virtual > 1 else 0.0))
    last = each * stage[2] * last_flight + max(working, scores)
    return max(first, last)
