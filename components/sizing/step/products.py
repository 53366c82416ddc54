"""Seconds of matrix products on one card by a roofline: arithmetic at a sustained rate, memory traffic, and part of the
shorter of both.
"""

from __future__ import annotations

from dataclasses import dataclass

from components.sizing.layout.layout import Job
from components.sizing.layout.recipe import Recipe
from components.sizing.tuning.constants import Tuning

_TILE = 128.0  # rows of a product come in tiles; the last one is half empty on average


@dataclass(frozen=True, slots=True)
class Rates:
    """Sustained rates of one card: FLOP/s by precision, bytes/s of its memory."""

    plain: float
    matrix: float
    element_bytes: float
    attention: float
    memory: float
    overlap: float
    recipe: Recipe


@dataclass(frozen=True, slots=True)
class ProductPart:
    """Seconds of one part of a layer: forward, backward to its inputs, and backward to its weights."""

    forward: float = 0.0
    inputs: float = 0.0
    weights: float = 0.0

    def __add__(self, other: ProductPart) -> ProductPart:
        return ProductPart(self.forward + other.forward, self.inputs + other.inputs, self.weights + other.weights)

    @property
    def backward(self) -> float:
        return self.inputs + self.weights


def rates(job: Job, tuning: Tuning, *, plain_only: bool = False) -> Rates:
    """The rates of a job's card; `plain_only` for layers that stay in 16 bits."""
    card, recipe = job.machine.card, job.recipe
    plain = card.tflops * 1e12 * tuning.plain_share(card.generation) * card.power
    attention = plain * tuning.attention_share(card.generation)
    matrix, width = plain, 2.0
    if recipe.narrow and not plain_only:
        narrow = recipe.peak_tflops * 1e12 * tuning.narrow_share(card.generation) * recipe.share * card.power
        matrix, width = 1.0 / ((1 - recipe.kept) / narrow + recipe.kept / plain), recipe.bits / 8
    return Rates(
        plain,
        matrix,
        width,
        attention,
        card.memory_gb_per_s * 1e9 * tuning.memory_bandwidth,
        tuning.roofline_overlap,
        recipe,
    )


def both(arithmetic: float, memory: float, overlap: float) -> float:
    return arithmetic + overlap * memory if arithmetic > memory else memory + overlap * arithmetic


def product(
    rate: Rates, m: float, n: float, k: float, *, plain: bool = False, groups: float = 1.0, out_bytes: float = 2.0
) -> float:
    """Seconds of `groups` products of (m x k) by (k x n)."""
    width = 2.0 if plain else rate.element_bytes
    arithmetic = 2.0 * m * n * k / (rate.plain if plain else rate.matrix)
    memory = (width * (m * k + k * n) + out_bytes * m * n) / rate.memory
    return groups * both(arithmetic, memory, rate.overlap)


def linear(
    rate: Rates, tokens: float, n: float, k: float, *, plain: bool = False, groups: float = 1.0, frozen: bool = False
) -> ProductPart:
    """A layer of weights k x n over `tokens` rows; a frozen one has no weight gradient."""
    narrow = rate.element_bytes < 2 and not plain
    rows = tokens + _TILE / 2 if groups > 1 else tokens
    forward = product(rate, rows, n, k, plain=plain, groups=groups)
    inputs = product(rate, rows, k, n, plain=plain, groups=groups)
    # Weight gradients are read and written once a micro-batch, in 32 bits, or in 16 where products are narrower.
    out = 4.0 if narrow else 8.0
    weights = 0.0 if frozen else product(rate, n, k, rows, plain=plain, groups=groups, out_bytes=out)
    if narrow:
        # Narrowing with its scale: inputs forward, output gradients backward.
        forward += groups * tokens * k * rate.recipe.cast_forward / rate.memory
        inputs += groups * tokens * n * rate.recipe.cast_backward / rate.memory
    return ProductPart(forward, inputs, weights)
