"""Seconds of one transformer layer on one card for one micro-batch, forward and backward, arithmetic and traffic apart.

Hides the roofline: a product takes its arithmetic at the generation's best rate or its memory traffic, and part of the shorter of both.
"""

from __future__ import annotations

from dataclasses import dataclass

from components.sizing.layout.layout import Job, Layout
from components.sizing.machine.links import path
from components.sizing.tuning.constants import Tuning

_HEAD_DIM_COST = 32.0  # exponentials of a score cost as much as this much width of head
_REFERENCE_HEAD = 128.0
_BACKWARD_ATTENTION = 3.0  # fused backward forms the scores again: five products to the forward's two, at five sixths of its rate
_BACKWARD_ELEMENTWISE = 1.7
_SCORE_BYTES = 13.0  # written and read per score when attention is not fused: product, softmax, dropout and its mask


@dataclass(frozen=True, slots=True)
class Rates:
    """Sustained rates of one card: FLOP/s by precision, bytes/s of its memory."""

    plain: float
    matrix: float
    element_bytes: float
    attention: float
    memory: float
    overlap: float


@dataclass(frozen=True, slots=True)
class LayerTime:
    """Seconds of one layer and one micro-batch; `tensor`, `expert` and `context` are traffic that nothing hides."""

    forward: float
    backward: float
    tensor_forward: float
    tensor_backward: float
    expert_forward: float
    expert_backward: float
    context: float
    attention_forward: float


def rates(job: Job, tuning: Tuning) -> Rates:
    card = job.machine.card
    plain_share = {
        "volta": tuning.matrix_volta,
        "ampere": tuning.matrix_ampere,
        "hopper": tuning.matrix_hopper,
        "blackwell": tuning.matrix_blackwell,
        "tpu": tuning.matrix_tpu,
    }.get(card.generation, tuning.matrix_other)
    plain = card.tflops * 1e12 * plain_share * card.power
    attention = tuning.attention_kernel_hopper if card.generation in ("hopper", "blackwell") else tuning.attention_kernel
    matrix, width = plain, 2.0
    if job.precision == "fp8" and card.fp8_tflops:
        share = tuning.matrix_blackwell_fp8 if card.generation == "blackwell" else tuning.matrix_hopper_fp8
        matrix, width = card.fp8_tflops * 1e12 * share * card.power, 1.0
    return Rates(plain, matrix, width, plain * attention, card.memory_gb_per_s * 1e9 * tuning.memory_bandwidth, tuning.roofline_overlap)


def _passes(layout: Layout, tuning: Tuning) -> float:
    plain = tuning.plain_framework if layout.sharding in ("zero2", "zero3") else 1.0
    return tuning.elementwise_passes * plain


def _both(arithmetic: float, memory: float, overlap: float) -> float:
    return arithmetic + overlap * memory if arithmetic > memory else memory + overlap * arithmetic


def product(rate: Rates, m: float, n: float, k: float, *, plain: bool = False, groups: float = 1.0, out_bytes: float = 2.0) -> float:
    """Seconds of `groups` products of (m x k) by (k x n)."""
    width = 2.0 if plain else rate.element_bytes
    arithmetic = 2.0 * m * n * k / (rate.plain if plain else rate.matrix)
    memory = (width * (m * k + k * n) + out_bytes * m * n) / rate.memory
    return groups * _both(arithmetic, memory, rate.overlap)


def linear(
    rate: Rates, tokens: float, n: float, k: float, *, plain: bool = False, groups: float = 1.0, frozen: bool = False
) -> tuple[float, float]:
    """Forward and backward seconds of a layer of weights k x n over `tokens` rows; a frozen one has no weight gradient."""
    forward = product(rate, tokens, n, k, plain=plain, groups=groups)
    backward = product(rate, tokens, k, n, plain=plain, groups=groups)
    if not frozen:
        # Weight gradients are read and written once a micro-batch, in 32 bits, or in 16 where products are in 8.
        backward += product(rate, n, k, tokens, plain=plain, groups=groups, out_bytes=4.0 * rate.element_bytes)
    if rate.element_bytes < 2 and not plain:
        # Casting to eight bits with its scale: inputs forward, output gradients backward.
        forward += groups * tokens * k * 3.0 / rate.memory
        backward += groups * tokens * n * 4.0 / rate.memory
    return forward, backward


def _attention(job: Job, layout: Layout, rate: Rates) -> tuple[float, float]:
    shape = job.shape
    heads = shape.heads / layout.tensor
    rows = layout.micro_batch * shape.sequence / layout.context
    width = (shape.key_dim + shape.value_dim) / 2
    flops = 4.0 * rows * shape.sequence * heads * width
    if layout.fused_attention:
        shaped = (width / (width + _HEAD_DIM_COST)) / (_REFERENCE_HEAD / (_REFERENCE_HEAD + _HEAD_DIM_COST))
        forward = flops / 2 / (rate.attention * shaped)
        return forward, forward * _BACKWARD_ATTENTION
    scores = rows * shape.sequence * heads
    forward = _both(flops / rate.plain, scores * _SCORE_BYTES / rate.memory, 1.0)
    return forward, 2 * forward


def layer_time(job: Job, layout: Layout, tuning: Tuning, rate: Rates, *, sparse: bool) -> LayerTime:
    """The time of one layer; `sparse` chooses the mixture of experts."""
    shape, tensor = job.shape, layout.tensor
    tokens = layout.micro_batch * shape.sequence / layout.context
    frozen = job.lora_rank > 0
    forward = backward = 0.0

    def add(pair: tuple[float, float]) -> None:
        nonlocal forward, backward
        forward += pair[0]
        backward += pair[1]

    if latent := shape.latent:
        if latent.q_rank:
            add(linear(rate, tokens, latent.q_rank, shape.hidden, frozen=frozen))
        add(linear(rate, tokens, shape.heads * shape.key_dim / tensor, latent.q_rank or shape.hidden, frozen=frozen))
        add(linear(rate, tokens, latent.kv_rank + latent.rope, shape.hidden, frozen=frozen))
        add(linear(rate, tokens, shape.heads * (shape.key_dim - latent.rope + shape.value_dim) / tensor, latent.kv_rank, frozen=frozen))
    else:
        keys = max(shape.kv_heads / tensor, 1.0) * (shape.key_dim + shape.value_dim)
        add(linear(rate, tokens, shape.heads * shape.key_dim / tensor + keys, shape.hidden, frozen=frozen))
    add(linear(rate, tokens, shape.hidden, shape.heads * shape.value_dim / tensor, frozen=frozen))
    core = _attention(job, layout, rate)
    add(core)

    spread = tensor if layout.sequence_parallel else 1
    element = tokens * (21.0 * shape.hidden / spread + 4.0 * (shape.heads + shape.kv_heads) * shape.key_dim / tensor)
    expert_forward = 0.0
    kernels = 14.0
    up = 2 if shape.gated else 1
    if sparse and (experts := shape.experts):
        own_tokens = tokens / tensor
        local = experts.count / layout.expert
        rows = own_tokens * experts.active * tuning.expert_imbalance * layout.expert / experts.count
        add(linear(rate, rows, up * experts.ffn, shape.hidden, groups=local, frozen=frozen))
        add(linear(rate, rows, shape.hidden, experts.ffn, groups=local, frozen=frozen))
        add(linear(rate, own_tokens, experts.count, shape.hidden, plain=True, frozen=frozen))
        if experts.shared:
            add(linear(rate, tokens, up * experts.shared * experts.ffn / tensor, shape.hidden, frozen=frozen))
            add(linear(rate, tokens, shape.hidden, experts.shared * experts.ffn / tensor, frozen=frozen))
        # Tokens are copied once per visited expert into their experts' order, and back with their weights.
        element += (
            own_tokens * experts.active * (16.0 * shape.hidden + 6.0 * experts.ffn) + tokens * experts.shared * 6.0 * experts.ffn / tensor
        )
        forward += tuning.expert_gap / 3
        backward += tuning.expert_gap * 2 / 3
        expert_forward = _expert_traffic(job, layout, tuning, own_tokens)
    else:
        add(linear(rate, tokens, up * shape.ffn / tensor, shape.hidden, frozen=frozen))
        add(linear(rate, tokens, shape.hidden, shape.ffn / tensor, frozen=frozen))
        element += tokens * (6.0 if shape.gated else 4.0) * shape.ffn / tensor
    element_seconds = element * _passes(layout, tuning) / rate.memory
    forward += element_seconds + kernels * tuning.kernel_gap
    backward += element_seconds * _BACKWARD_ELEMENTWISE + 2 * kernels * tuning.kernel_gap

    reductions = 1.0 if sparse and not (shape.experts and shape.experts.shared) else 2.0
    group = path(job.machine, tuning, 1, tensor)
    hidden_share = tuning.tensor_overlap if layout.fused_attention else 0.0
    if job.precision == "fp8":
        hidden_share = max(hidden_share, tuning.tensor_overlap_fp8)
    one_way = reductions * group.reduce(tokens * shape.hidden * 2.0) * (1 - hidden_share)
    return LayerTime(
        forward=forward,
        backward=backward,
        tensor_forward=one_way,
        tensor_backward=one_way,
        expert_forward=expert_forward,
        expert_backward=expert_forward,
        context=_context_traffic(job, layout, tuning, tokens, core[0] + core[1]),
        attention_forward=core[0],
    )


def _expert_traffic(job: Job, layout: Layout, tuning: Tuning, tokens: float) -> float:
    """Seconds of dispatch and combine in one direction of the layer that arithmetic does not hide."""
    experts = job.shape.experts
    if experts is None or layout.expert == 1:
        return 0.0
    group = path(job.machine, tuning, layout.tensor * layout.context, layout.expert)
    # With 8-bit products tokens are sent out in 8 bits and come back in 16.
    size = tokens * job.shape.hidden * (1.5 if job.precision == "fp8" else 2.0)
    if group.together >= layout.expert:
        moved = size * experts.active * (layout.expert - 1) / layout.expert / group.bytes_per_s
    else:
        # A token is sent once to each node that holds some of its experts, then spread over the fast links.
        nodes = layout.expert / group.together
        sent = min(experts.active, nodes) * (nodes - 1) / nodes
        network = job.machine.network_bytes_per_card * tuning.network_efficiency
        moved = max(size * sent / network, size * experts.active / (job.machine.card.link_gb_per_s * 1e9 * tuning.link_efficiency))
    return (2 * moved + 2 * group.latency * group.steps) * (1 - tuning.expert_overlap)


def _context_traffic(job: Job, layout: Layout, tuning: Tuning, tokens: float, attention: float) -> float:
    """Seconds of keys and values going round a context group, forward and backward, that attention does not hide."""
    if layout.context == 1:
        return 0.0
    shape = job.shape
    group = path(job.machine, tuning, layout.tensor, layout.context)
    keys = max(shape.kv_heads / layout.tensor, 1.0) * (shape.key_dim + shape.value_dim)
    if shape.latent:
        keys = shape.latent.kv_rank + shape.latent.rope
    moved = 3 * group.gather(tokens * layout.context * keys * 2.0)
    hidden = min(moved * tuning.context_overlap, attention)
    return moved - hidden


def head_time(job: Job, layout: Layout, tuning: Tuning, rate: Rates) -> float:
    """Seconds of the output layer and the loss for one micro-batch, both directions."""
    shape = job.shape
    tokens = layout.micro_batch * shape.sequence / layout.context
    forward, backward = linear(rate, tokens, shape.vocab / layout.tensor, shape.hidden, plain=True, frozen=job.lora_rank > 0)
    # Scores go to 32 bits, are read for their maximum and their sum, and their gradient is written and read back.
    loss = tokens * shape.vocab / layout.tensor * 24.0 * _passes(layout, tuning) / rate.memory
    return forward + backward + loss
