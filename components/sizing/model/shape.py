"""A model's shape as numbers that every formula uses, with its exact parameter count and its FLOPs a token.

Conventions: biases come with a plain (not gated) block, padding is already in `vocab`, attention counts the full
square.
"""

from __future__ import annotations

from dataclasses import dataclass

from components.spec.sizing import ModelSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Experts:
    """The mixture of experts of the sparse layers; `ffn` is one expert's inner width."""

    count: int
    active: int
    shared: int
    ffn: int
    dense_layers: int
    every: int = 1
    most_nodes: int | None = None
    imbalance: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Latent:
    """Multi-head latent attention's widths."""

    kv_rank: int
    q_rank: int
    rope: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """All widths filled in. `key_dim` and `value_dim` are the widths of a head where scores and values are formed."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    key_dim: int
    value_dim: int
    ffn: int
    vocab: int
    sequence: int
    gated: bool
    tied: bool
    experts: Experts | None
    latent: Latent | None
    window: int = 0
    window_full_every: int = 0
    predictions: int = 0

    @property
    def sparse_layers(self) -> int:
        return max(0, self.layers - self.experts.dense_layers) // self.experts.every if self.experts else 0

    @property
    def attended(self) -> float:
        """Share of the full square that attention covers, over all layers.

        A window looks back on one side of the diagonal.
        """
        if not self.window or self.window >= self.sequence:
            return 1.0
        # Half of the square is masked anyway; a window of w leaves w s of the s^2 / 2 that count.
        narrow = min(1.0, (2 * self.window - self.window**2 / self.sequence) / self.sequence)
        full = 1 / self.window_full_every if self.window_full_every else 0.0
        return full + (1 - full) * narrow

    @property
    def matrices(self) -> int:
        return 3 if self.gated else 2

    @property
    def attention_parameters(self) -> int:
        """Of one layer, without norms and biases."""
        if latent := self.latent:
            query = (
                self.hidden * latent.q_rank + latent.q_rank * self.heads * self.key_dim
                if latent.q_rank
                else self.hidden * self.heads * self.key_dim
            )
            keys = self.hidden * (latent.kv_rank + latent.rope) + latent.kv_rank * self.heads * (
                self.key_dim - latent.rope + self.value_dim
            )
            return query + keys + self.heads * self.value_dim * self.hidden
        return self.hidden * self.key_dim * (2 * self.heads + 2 * self.kv_heads)

    @property
    def dense_block(self) -> int:
        return self.matrices * self.hidden * self.ffn

    @property
    def one_expert(self) -> int:
        return self.matrices * self.hidden * self.experts.ffn if self.experts else 0

    @property
    def router(self) -> int:
        return self.hidden * self.experts.count if self.experts else 0

    @property
    def layer_small(self) -> int:
        """Norms and biases of one layer."""
        norms = 2 * self.hidden + (self.latent.q_rank + self.latent.kv_rank if self.latent else 0)
        if self.gated:
            return norms
        # A plain block (GPT) has biases on every matrix and two vectors a norm: 13 h in all at ffn = 4 h.
        return 2 * norms + self.key_dim * (self.heads + 2 * self.kv_heads) + self.hidden + self.ffn + self.hidden

    @property
    def embedding(self) -> int:
        """One table of vocab x hidden."""
        return self.vocab * self.hidden

    @property
    def head(self) -> int:
        return 0 if self.tied else self.embedding

    @property
    def dense_parameters(self) -> int:
        """All that is not a routed expert, embeddings excluded."""
        plain = self.layers - self.sparse_layers
        blocks = plain * self.dense_block
        if self.experts:
            blocks += self.sparse_layers * (self.router + self.experts.shared * self.one_expert)
        return (
            self.layers * (self.attention_parameters + self.layer_small)
            + blocks
            + self.hidden * (1 if self.gated else 2)
        )

    @property
    def routed_parameters(self) -> int:
        return self.sparse_layers * self.experts.count * self.one_expert if self.experts else 0

    @property
    def total(self) -> int:
        return self.dense_parameters + self.routed_parameters + self.embedding + self.head

    @property
    def active(self) -> int:
        """What one token passes through, output layer and one embedding table included."""
        routed = self.sparse_layers * self.experts.active * self.one_expert if self.experts else 0
        return self.dense_parameters + routed + self.embedding + self.head

    @property
    def multiplied(self) -> int:
        """Parameters that take part in a product for each token: the active ones with the output layer, without the
        input embedding.
        """
        return self.active - self.embedding - self.head + self.embedding

    @property
    def attention_flops(self) -> int:
        """Forward and backward, a token, all layers: the PaLM convention, which counts the full square though attention
        is causal.
        """
        square = 6 * self.layers * self.heads * (self.key_dim + self.value_dim) * self.sequence
        return square if self.attended == 1.0 else round(square * self.attended)

    @property
    def flops_per_token(self) -> int:
        return 6 * self.multiplied + self.attention_flops


def of(model: ModelSpec) -> Shape:
    """The shape of a task file's model, with what it left out."""
    head_dim = model.head_dim or model.hidden // model.heads
    latent = model.latent_attention
    ffn = model.ffn or (_rounded(8 * model.hidden / 3, 256) if model.gated_mlp else 4 * model.hidden)
    experts = model.experts
    nope = (latent.nope_dim or head_dim) if latent else head_dim
    return Shape(
        layers=model.layers,
        hidden=model.hidden,
        heads=model.heads,
        kv_heads=model.kv_heads or model.heads,
        key_dim=nope + latent.rope_dim if latent else head_dim,
        value_dim=(latent.value_dim or head_dim) if latent else head_dim,
        ffn=ffn,
        vocab=model.vocab,
        sequence=model.sequence,
        gated=model.gated_mlp,
        tied=model.tied_embeddings,
        experts=Experts(
            count=experts.count,
            active=experts.active,
            shared=experts.shared,
            ffn=experts.ffn or ffn,
            dense_layers=experts.dense_layers,
            every=experts.every,
            most_nodes=experts.most_nodes,
            imbalance=experts.imbalance,
        )
        if experts
        else None,
        latent=Latent(kv_rank=latent.kv_rank, q_rank=latent.q_rank or 0, rope=latent.rope_dim) if latent else None,
        window=model.sliding_window.tokens if model.sliding_window else 0,
        window_full_every=model.sliding_window.full_every if model.sliding_window else 0,
        predictions=model.prediction_modules,
    )


def _rounded(value: float, step: int) -> int:
    return -int(-value // step) * step
