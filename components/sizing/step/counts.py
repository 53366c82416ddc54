"""Parameters that one card holds, and FLOPs that it really computes."""

from __future__ import annotations

from components.sizing.layout.layout import Job, Layout
from components.sizing.layout.stages import StageLoad, holdings
from components.sizing.step.again import SELECTIVE_AGAIN, full_share

_FUSED_BACKWARD = 2.5


def load_parameters(job: Job, layout: Layout, load: StageLoad) -> tuple[float, float]:
    """Parameters of one card before data-parallel sharding, on one pipeline rank: (alike on all expert ranks, routed
    experts).
    """
    shape, tensor = job.shape, layout.tensor
    plain = shape.attention_parameters + shape.layer_small
    shared = shape.router + (shape.experts.shared if shape.experts else 0) * shape.one_expert
    expert_share = layout.expert * layout.expert_tensor
    routed = (shape.experts.count if shape.experts else 0) * shape.one_expert / expert_share
    sparse = load.sparse + (load.predictions if shape.experts else 0)
    dense = load.dense + (0 if shape.experts else load.predictions)
    everywhere = (load.layers + load.predictions) * plain + dense * shape.dense_block + sparse * shared
    everywhere += load.predictions * 2 * shape.hidden**2
    tables = (shape.embedding if load.embedding else 0) + (shape.head if load.head else 0)
    if load.head and not load.embedding and shape.tied:
        tables += shape.embedding  # the tied table is a copy where the output layer lies apart
    return (everywhere + tables) / tensor, sparse * routed


def heaviest(job: Job, layout: Layout) -> tuple[float, float]:
    """Parameters of the card that holds the most."""
    return max((load_parameters(job, layout, load) for _, load in holdings(job.shape, layout)), key=sum)


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
    backward = (1.0 if job.lora_rank else 2.0) * matrices + (
        _FUSED_BACKWARD if layout.fused_attention else 2.0
    ) * attention
    repeated = 0.0
    if layout.recompute == "full":
        repeated = (matrices - head + attention) * full_share(layout, shape.layers / layout.pipeline)
    elif layout.recompute == "selective":
        repeated = SELECTIVE_AGAIN * (matrices - head) if layout.fused_attention else attention
    if job.forward_only:
        backward = repeated = 0.0
    return (matrices + attention + backward + repeated) * job.tokens_per_step / layout.cards
