"""What a precision means for products, casts, weights and gradients.

The output layer, the router, norms and the attention kernel stay in 16 bits or more in every recipe.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType

from components.sizing.machine.profiles import CardProfile
from components.spec.sizing import Precision


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """`bits` of a product's inputs.

    `share` of the narrow products' sustained rate; bytes an element for casts, weights, gradients.
    """

    bits: int
    peak_tflops: float
    share: float  # of the rate that whole-tensor scaling sustains
    cast_forward: float  # bytes read and written per input element to narrow it, scales included
    cast_backward: float
    weight_bytes: float
    gradient_bytes: float
    dispatch_bytes: float  # of an element that is sent to its expert
    kept: float  # share of a layer's products that stay in 16 bits
    source: str

    @property
    def narrow(self) -> bool:
        return self.bits < 16


def recipe_of(precision: Precision, card: CardProfile) -> Recipe:
    """The recipe on a card; without narrow arithmetic the products run in 16 bits."""
    eight = card.fp8_tflops or card.tflops
    return _recipe(precision, card.tflops, eight, card.fp4_tflops or eight)


# What each recipe costs and keeps; the rate is filled in for the card.
_RECIPES: Mapping[str, Recipe] = MappingProxyType(
    {
        "fp8": Recipe(
            bits=8,
            peak_tflops=0.0,
            share=1.0,
            cast_forward=3.0,
            cast_backward=4.0,
            weight_bytes=2.0,
            gradient_bytes=2.0,
            dispatch_bytes=2.0,
            kept=0.0,
            source="Transformer Engine: one scale a tensor, weight and transpose kept",
        ),
        # DeepSeek-V3 section 3.3: tiles of 1 x 128 and 128 x 128, partial sums promoted to 32 bits every 128
        # products; dispatch in 8 bits.
        "fp8-block": Recipe(
            bits=8,
            peak_tflops=0.0,
            share=0.85,
            cast_forward=3.2,
            cast_backward=6.4,
            weight_bytes=2.0,
            gradient_bytes=4.0,
            dispatch_bytes=1.5,
            kept=0.0,
            source="DeepSeek-V3 section 3.3; DeepGEMM",
        ),
        "fp8-mx": Recipe(
            bits=8,
            peak_tflops=0.0,
            share=0.97,
            cast_forward=4.1,
            cast_backward=8.2,
            weight_bytes=2.0,
            gradient_bytes=2.0,
            dispatch_bytes=2.0,
            kept=0.0,
            source="OCP microscaling: a scale for 32 elements, both directions cast",
        ),
        # NVIDIA 2025 (arXiv 2509.25149): about 15 % of the linear layers stay in 16 bits, gradients pass a
        # Hadamard transform.
        "nvfp4": Recipe(
            bits=4,
            peak_tflops=0.0,
            share=0.85,
            cast_forward=4.0,
            cast_backward=9.0,
            weight_bytes=2.0,
            gradient_bytes=2.0,
            dispatch_bytes=2.0,
            kept=0.15,
            source="NVIDIA, Pretraining LLMs with NVFP4, 2025",
        ),
    }
)
_SIXTEEN_BITS = Recipe(
    bits=16,
    peak_tflops=0.0,
    share=1.0,
    cast_forward=0.0,
    cast_backward=0.0,
    weight_bytes=2.0,
    gradient_bytes=4.0,
    dispatch_bytes=2.0,
    kept=1.0,
    source="16-bit products, 32-bit sums",
)


@lru_cache(maxsize=256)
def _recipe(precision: Precision, plain: float, eight: float, four: float) -> Recipe:
    found = _RECIPES.get(precision, _SIXTEEN_BITS)
    return replace(found, peak_tflops={16: plain, 8: eight, 4: four}[found.bits])
