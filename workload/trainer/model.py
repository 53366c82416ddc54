"""The reference trainer's model: a decoder-only transformer that can be cut into pipeline stages and tensor-parallel
parts.

A parameter's name and first value don't depend on the cut: each is drawn from the seed and its own name. So every
layout begins with the same model, and a checkpoint of one layout fits every other.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional


@dataclass(frozen=True)
class Shape:
    """Sizes of the model; `sequence` is the tokens it sees at once."""

    vocab: int = 256
    sequence: int = 32
    hidden: int = 32
    heads: int = 4
    kv_heads: int = 0  # as many as query heads where 0
    ffn: int = 0  # 4 x hidden where 0
    layers: int = 2
    gated_mlp: bool = False
    dropout: float = 0.0

    @property
    def head_dim(self) -> int:
        return self.hidden // self.heads

    @property
    def keys(self) -> int:
        return self.kv_heads or self.heads

    @property
    def inner(self) -> int:
        return self.ffn or 4 * self.hidden

    @property
    def matrix_parameters(self) -> int:
        """Weights of all matrix products, the output layer included and embeddings left out."""
        attention = 2 * self.hidden * self.hidden + 2 * self.hidden * self.keys * self.head_dim
        feed_forward = (3 if self.gated_mlp else 2) * self.hidden * self.inner
        return self.layers * (attention + feed_forward) + self.hidden * self.vocab

    @property
    def flops_per_token(self) -> float:
        """Forward and backward: 6 for each weight, and 12 x layers x hidden x sequence for attention (the full square,
        as in Chowdhery 2022, appendix B).
        """
        return 6.0 * self.matrix_parameters + 12.0 * self.layers * self.hidden * self.sequence


class Attention(nn.Module):
    """Causal attention; with tensor parallelism each rank has some of the heads."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.head_dim, self.dropout = shape.head_dim, shape.dropout
        self.query = nn.Linear(shape.hidden, shape.hidden, bias=False)
        self.key = nn.Linear(shape.hidden, shape.keys * shape.head_dim, bias=False)
        self.value = nn.Linear(shape.hidden, shape.keys * shape.head_dim, bias=False)
        self.out = nn.Linear(shape.hidden, shape.hidden, bias=False)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        batch, length, _ = hidden.shape
        query, key, value = (
            layer(hidden).view(batch, length, -1, self.head_dim).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        mixed = functional.scaled_dot_product_attention(
            query, key, value, is_causal=True, enable_gqa=query.shape[1] != key.shape[1]
        )
        return self.out(mixed.transpose(1, 2).reshape(batch, length, -1))


class FeedForward(nn.Module):
    """Two matrices, or three with a gate (SwiGLU)."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.up = nn.Linear(shape.hidden, shape.inner, bias=False)
        self.gate = nn.Linear(shape.hidden, shape.inner, bias=False) if shape.gated_mlp else None
        self.down = nn.Linear(shape.inner, shape.hidden, bias=False)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        if self.gate is None:
            return self.down(functional.gelu(self.up(hidden)))
        return self.down(functional.silu(self.gate(hidden)) * self.up(hidden))


class Block(nn.Module):
    """Attention and a feed-forward layer, each added to its input."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.before_attention = nn.LayerNorm(shape.hidden)
        self.attention = Attention(shape)
        self.before_feed_forward = nn.LayerNorm(shape.hidden)
        self.feed_forward = FeedForward(shape)
        self.dropout = nn.Dropout(shape.dropout)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        hidden = hidden + self.dropout(self.attention(self.before_attention(hidden)))
        return hidden + self.dropout(self.feed_forward(self.before_feed_forward(hidden)))


class LanguageModel(nn.Module):
    """Tokens in, logits of the next token out; or one pipeline stage of that, hidden states at its open ends."""

    def __init__(self, shape: Shape, stage: int = 0, stages: int = 1) -> None:
        super().__init__()
        first, last = stage == 0, stage == stages - 1
        mine = range(shape.layers * stage // stages, shape.layers * (stage + 1) // stages)
        self.tokens = nn.Embedding(shape.vocab, shape.hidden) if first else None
        self.places = nn.Embedding(shape.sequence, shape.hidden) if first else None
        # Keys keep a layer's number of the whole model.
        self.blocks = nn.ModuleDict({str(number): Block(shape) for number in mine})
        self.norm = nn.LayerNorm(shape.hidden) if last else None
        self.head = nn.Linear(shape.hidden, shape.vocab, bias=False) if last else None

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        if self.tokens is not None and self.places is not None:
            places = torch.arange(hidden.shape[1], device=hidden.device)
            hidden = self.tokens(hidden) + self.places(places)
        for block in self.blocks.values():
            hidden = block(hidden)
        return hidden if self.norm is None or self.head is None else self.head(self.norm(hidden))


def key_of(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=7).digest(), "little")


def initialise(model: nn.Module, seed: int, layers: int) -> None:
    """First values by seed and name: normal with 0.02, outputs of residual branches narrower by the depth (GPT-2)."""
    for name, parameter in model.named_parameters():
        generator = torch.Generator().manual_seed(key_of(f"{seed}/{name}"))
        with torch.no_grad():
            if parameter.dim() == 1:
                parameter.fill_(1.0 if name.endswith("weight") else 0.0)
                continue
            narrow = name.endswith(("attention.out.weight", "feed_forward.down.weight"))
            deviation = 0.02 / math.sqrt(2 * layers) if narrow else 0.02
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * deviation)
