"""The reference trainer's model: a small decoder-only transformer over bytes-as-tokens.

It hides nothing clever: pre-norm blocks with the framework's own attention, so that it runs on any torch from 1.13 on
and any accelerator.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn


@dataclass(frozen=True)
class Shape:
    """Sizes of the model; `sequence` is the tokens it sees at once."""

    vocab: int = 256
    sequence: int = 32
    hidden: int = 32
    heads: int = 4
    layers: int = 2
    dropout: float = 0.0


class Block(nn.Module):
    """Attention and a feed-forward layer, each added to its input."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.before_attention = nn.LayerNorm(shape.hidden)
        self.attention = nn.MultiheadAttention(shape.hidden, shape.heads, dropout=shape.dropout, batch_first=True)
        self.before_feed_forward = nn.LayerNorm(shape.hidden)
        self.feed_forward = nn.Sequential(
            nn.Linear(shape.hidden, 4 * shape.hidden),
            nn.GELU(),
            nn.Linear(4 * shape.hidden, shape.hidden),
            nn.Dropout(shape.dropout),
        )

    def forward(self, hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        normed = self.before_attention(hidden)
        attended, _ = self.attention(normed, normed, normed, attn_mask=mask, need_weights=False)
        hidden = hidden + attended
        return hidden + self.feed_forward(self.before_feed_forward(hidden))


class LanguageModel(nn.Module):
    """Tokens in, logits of the next token out."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.tokens = nn.Embedding(shape.vocab, shape.hidden)
        self.places = nn.Embedding(shape.sequence, shape.hidden)
        self.blocks = nn.ModuleList([Block(shape) for _ in range(shape.layers)])
        self.norm = nn.LayerNorm(shape.hidden)
        self.head = nn.Linear(shape.hidden, shape.vocab, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        length = tokens.shape[1]
        # True where a place must not look: everything after itself.
        mask = torch.triu(torch.ones(length, length, dtype=torch.bool, device=tokens.device), diagonal=1)
        hidden = self.tokens(tokens) + self.places(torch.arange(length, device=tokens.device))
        for block in self.blocks:
            hidden = block(hidden, mask)
        return self.head(self.norm(hidden))
