"""Seconds of one transformer layer on one card for one micro-batch, by its parts, arithmetic and traffic apart."""

from __future__ import annotations

from dataclasses import dataclass

from components.sizing.layout.layout import Job, Layout
from components.sizing.machine.links import path
from components.sizing.step.exchange import exchange_seconds
from components.sizing.step.products import ProductPart, Rates, both, linear
from components.sizing.tuning.constants import Tuning

_HEAD_DIM_COST = 32.0  # exponentials of a score cost as much as this much width of head
_REFERENCE_HEAD = 128.0
_BACKWARD_ATTENTION = (
    3.0  # fused backward forms the scores again: five products to the forward's two, at five sixths of its rate
)
_BACKWARD_ELEMENTWISE = 1.7
_SCORE_BYTES = 13.0  # written and read per score when attention is not fused: product, softmax, dropout and its mask
_KERNELS = 14.0  # of a layer's forward pass
# Bytes a copy and width: received and sorted, sorted back and sent, each read and written in 16 bits, and the sum at
# home.
_COPIES = {"node": 10.0, "alltoall": 16.0, "allgather": 10.0}  # all-to-all sorts twice: for ranks, then for experts
DEFAULT_IMBALANCE = 1.05  # of experts in training with a balancing loss or bias; forced balance has 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerTime:
    """Parts of one layer and micro-batch.

    The traffic is the part that doesn't overlap with arithmetic. `host` is what launching all of it takes, both ways.
    """

    projections: ProductPart  # into attention from the residual stream, and out of it
    ups: ProductPart  # queries, keys and values from their latents
    core: ProductPart
    norms: ProductPart
    block: ProductPart  # the feed-forward block, or the routed experts and their router
    shared: ProductPart
    act: ProductPart  # activation function; with experts also the copies into and out of their order
    tensor: float  # one way
    expert_forward: float
    expert_backward: float
    context_forward: float
    context_backward: float
    host: float

    @property
    def parts(self) -> tuple[ProductPart, ...]:
        return self.projections, self.ups, self.core, self.norms, self.block, self.shared, self.act

    @property
    def forward(self) -> float:
        return sum(part.forward for part in self.parts)

    @property
    def backward(self) -> float:
        return sum(part.backward for part in self.parts)

    @property
    def weights(self) -> float:
        """Of the backward pass, what only weight gradients take."""
        return sum(part.weights for part in self.parts)


def passes(job: Job, layout: Layout, tuning: Tuning) -> float:
    """Traffic of norms, residuals and activations against plainly fused kernels."""
    return tuning.elementwise_passes * (tuning.plain_framework if job.plain_kernels(layout) else 1.0)


def _elementwise(size: float, job: Job, layout: Layout, tuning: Tuning, rate: Rates) -> ProductPart:
    seconds = size * passes(job, layout, tuning) / rate.memory
    return ProductPart(seconds, seconds * _BACKWARD_ELEMENTWISE)


def _attention(job: Job, layout: Layout, rate: Rates) -> ProductPart:
    shape = job.shape
    heads = shape.heads / layout.tensor
    rows = layout.micro_batch * shape.sequence / layout.context
    width = (shape.key_dim + shape.value_dim) / 2
    flops = 4.0 * rows * shape.sequence * heads * width * shape.attended
    if layout.fused_attention:
        shaped = (width / (width + _HEAD_DIM_COST)) / (_REFERENCE_HEAD / (_REFERENCE_HEAD + _HEAD_DIM_COST))
        forward = flops / 2 / (rate.attention * shaped)
        return ProductPart(forward, forward * _BACKWARD_ATTENTION)
    scores = rows * shape.sequence * heads
    forward = both(flops / rate.plain, scores * _SCORE_BYTES / rate.memory, 1.0)
    return ProductPart(forward, 2 * forward)


def _projections(
    job: Job, layout: Layout, rate: Rates, tokens: float, *, frozen: bool
) -> tuple[ProductPart, ProductPart]:
    """Products around attention: from and to the residual stream, and up from latents."""
    shape, tensor = job.shape, layout.tensor
    out = linear(rate, tokens, shape.hidden, shape.heads * shape.value_dim / tensor, frozen=frozen)
    if latent := shape.latent:
        down = linear(rate, tokens, latent.kv_rank + latent.rope, shape.hidden, frozen=frozen)
        keys = linear(
            rate,
            tokens,
            shape.heads * (shape.key_dim - latent.rope + shape.value_dim) / tensor,
            latent.kv_rank,
            frozen=frozen,
        )
        query = linear(rate, tokens, shape.heads * shape.key_dim / tensor, latent.q_rank or shape.hidden, frozen=frozen)
        if latent.q_rank:
            return down + out + linear(rate, tokens, latent.q_rank, shape.hidden, frozen=frozen), keys + query
        return down + out + query, keys
    keys = max(shape.kv_heads / tensor, 1.0) * (shape.key_dim + shape.value_dim)
    return linear(
        rate, tokens, shape.heads * shape.key_dim / tensor + keys, shape.hidden, frozen=frozen
    ) + out, ProductPart()


def _experts(
    job: Job, layout: Layout, tuning: Tuning, rate: Rates, tokens: float, *, frozen: bool
) -> tuple[ProductPart, ProductPart, ProductPart]:
    """Routed experts with their router, shared experts, and the passes over memory between them."""
    shape, experts = job.shape, job.shape.experts
    assert experts is not None  # a sparse layer has experts
    up = 2 if shape.gated else 1
    own = tokens / layout.tensor
    local, split = experts.count / layout.expert, layout.expert_tensor
    rows = own * split * experts.active * (experts.imbalance or DEFAULT_IMBALANCE) * layout.expert / experts.count
    routed = linear(rate, rows, up * experts.ffn / split, shape.hidden, groups=local, frozen=frozen)
    routed += linear(rate, rows, shape.hidden, experts.ffn / split, groups=local, frozen=frozen)
    routed += linear(rate, own, experts.count, shape.hidden, plain=True, frozen=frozen)
    wide = experts.shared * experts.ffn / layout.tensor
    shared = ProductPart()
    if wide:
        shared = linear(rate, tokens, up * wide, shape.hidden, frozen=frozen) + linear(
            rate, tokens, shape.hidden, wide, frozen=frozen
        )
    # Tokens are copied once per visited expert into their experts' order, and back with their weights.
    copied = (
        own * experts.active * (_COPIES[layout.dispatcher] * shape.hidden + 6.0 * experts.ffn) + tokens * 6.0 * wide
    )
    return routed, shared, _elementwise(copied, job, layout, tuning, rate)


def layer_time(job: Job, layout: Layout, tuning: Tuning, rate: Rates, *, sparse: bool) -> LayerTime:
    """The time of one layer; `sparse` chooses the mixture of experts."""
    shape, tensor = job.shape, layout.tensor
    tokens = layout.micro_batch * shape.sequence / layout.context
    frozen = job.lora_rank > 0
    projections, ups = _projections(job, layout, rate, tokens, frozen=frozen)
    core = _attention(job, layout, rate)
    spread = tensor if layout.sequence_parallel else 1
    element = tokens * (21.0 * shape.hidden / spread + 4.0 * (shape.heads + shape.kv_heads) * shape.key_dim / tensor)
    norms = _elementwise(element, job, layout, tuning, rate) + ProductPart(
        _KERNELS * tuning.kernel_gap, 2 * _KERNELS * tuning.kernel_gap
    )
    shared = ProductPart()
    if sparse:
        block, shared, act = _experts(job, layout, tuning, rate, tokens, frozen=frozen)
        there, back = exchange_seconds(job, layout, tuning, tokens / tensor)
    else:
        up = 2 if shape.gated else 1
        block = linear(rate, tokens, up * shape.ffn / tensor, shape.hidden, frozen=frozen)
        block += linear(rate, tokens, shape.hidden, shape.ffn / tensor, frozen=frozen)
        act = _elementwise(tokens * (6.0 if shape.gated else 4.0) * shape.ffn / tensor, job, layout, tuning, rate)
        there = back = 0.0
    reductions = 1.0 if sparse and not (shape.experts and shape.experts.shared) else 2.0
    hidden_share = tuning.tensor_overlap if layout.fused_attention else 0.0
    if job.recipe.narrow:
        hidden_share = max(hidden_share, tuning.tensor_overlap_fp8)
    one_way = reductions * path(job.machine, tuning, 1, tensor).reduce(tokens * shape.hidden * 2.0) * (1 - hidden_share)
    ring_forward, ring_backward = _context_traffic(job, layout, tuning, tokens, core)
    overlapped = 1 - tuning.expert_overlap if job.expert_overlap or layout.schedule == "dualpipe" else 1.0
    return LayerTime(
        projections=projections,
        ups=ups,
        core=core,
        norms=norms,
        block=block,
        shared=shared,
        act=act,
        tensor=one_way,
        expert_forward=there * overlapped,
        expert_backward=back * overlapped,
        context_forward=ring_forward,
        context_backward=ring_backward,
        host=tuning.expert_host if sparse else tuning.layer_host,
    )


def _context_traffic(job: Job, layout: Layout, tuning: Tuning, tokens: float, core: ProductPart) -> tuple[float, float]:
    """Seconds of a context group's traffic, forward and backward, that attention does not hide."""
    if layout.context == 1:
        return 0.0, 0.0
    shape, size = job.shape, layout.context
    group = path(job.machine, tuning, layout.tensor, size)
    keys = max(shape.kv_heads / layout.tensor, 1.0) * (shape.key_dim + shape.value_dim)
    if shape.latent:
        keys = shape.latent.kv_rank + shape.latent.rope
    if layout.context_method == "alltoall":
        # Heads are exchanged for tokens before attention and back after it; every rank keeps one part of
        # `size` for itself.
        width = (shape.heads * (shape.key_dim + shape.value_dim) / layout.tensor) + keys
        moved = tokens * width * 2.0 * (size - 1) / size / group.bytes_per_s + 2 * group.steps * group.latency
        return moved, moved
    gathered = group.gather(tokens * size * keys * 2.0)
    if layout.context_method == "allgather":
        return gathered, 2 * gathered
    # Round a ring one part arrives while another is attended to; gradients of keys travel with the keys on the
    # way back.
    forward = gathered - min(gathered * tuning.context_overlap, core.forward)
    return forward, 2 * gathered - min(2 * gathered * tuning.context_overlap, core.backward)


def head_time(job: Job, layout: Layout, tuning: Tuning, rate: Rates) -> ProductPart:
    """The output layer and the loss for one micro-batch."""
    shape = job.shape
    tokens = layout.micro_batch * shape.sequence / layout.context
    made = linear(rate, tokens, shape.vocab / layout.tensor, shape.hidden, plain=True, frozen=job.lora_rank > 0)
    # Scores go to 32 bits, are read for their maximum and their sum, and their gradient is written and read back.
    loss = tokens * shape.vocab / layout.tensor * 24.0 * passes(job, layout, tuning) / rate.memory
    return made + ProductPart(loss / 2, loss / 2)
