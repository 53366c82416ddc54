"""Parameters and FLOPs follow from a model's shape."""

from __future__ import annotations

from typing import Any

import pytest

from components.sizing.model import shape
from components.spec.sizing import ModelSpec

LLAMA_2: dict[str, Any] = {"vocab": 32000, "sequence": 4096}
LLAMA_3: dict[str, Any] = {"vocab": 128256, "sequence": 8192, "kv_heads": 8}
PUBLISHED: list[tuple[int, dict[str, Any]]] = [
    (6_738_417_664, LLAMA_2 | {"layers": 32, "hidden": 4096, "heads": 32, "ffn": 11008}),
    (13_015_866_880, LLAMA_2 | {"layers": 40, "hidden": 5120, "heads": 40, "ffn": 13824}),
    (68_976_653_312, LLAMA_2 | {"layers": 80, "hidden": 8192, "heads": 64, "kv_heads": 8, "ffn": 28672}),
    (8_030_261_248, LLAMA_3 | {"layers": 32, "hidden": 4096, "heads": 32, "ffn": 14336}),
    (70_553_706_496, LLAMA_3 | {"layers": 80, "hidden": 8192, "heads": 64, "ffn": 28672}),
    (405_853_388_800, LLAMA_3 | {"layers": 126, "hidden": 16384, "heads": 128, "ffn": 53248}),
]
DEEPSEEK_V3: dict[str, Any] = {
    "layers": 61,
    "hidden": 7168,
    "heads": 128,
    "head_dim": 128,
    "ffn": 18432,
    "vocab": 129280,
    "sequence": 4096,
    "experts": {"count": 256, "active": 8, "shared": 1, "ffn": 2048, "dense_layers": 3},
    "latent_attention": {"kv_rank": 512, "q_rank": 1536, "rope_dim": 64},
}


@pytest.mark.parametrize(("published", "words"), PUBLISHED)
def test_the_llama_shapes_have_their_published_parameters(published: int, words: dict[str, Any]) -> None:
    assert shape.of(ModelSpec(**words)).total == pytest.approx(published, rel=1e-6)


def test_latent_attention_and_experts_give_deepseek_v3_its_671_billion_parameters_of_which_37_are_active() -> None:
    found = shape.of(ModelSpec(**DEEPSEEK_V3))
    assert round(found.total / 1e9, 2) == 671.03
    assert round(found.active / 1e9, 1) == 37.6


def test_a_plain_block_has_two_matrices_with_biases_and_tied_embeddings_count_once() -> None:
    bloom = shape.of(
        ModelSpec(
            layers=70, hidden=14336, heads=112, vocab=250880, sequence=2048, gated_mlp=False, tied_embeddings=True
        )
    )
    # The published 176,247,271,424 with the norm after BLOOM's embedding (2 h) left out.
    assert bloom.total == 176_247_271_424 - 2 * 14336
    assert bloom.ffn == 4 * 14336


def test_megatron_s_own_formula_agrees_on_gpt_3() -> None:
    layers, hidden, vocab, sequence = 96, 12288, 51200, 2048
    found = shape.of(
        ModelSpec(
            layers=layers,
            hidden=hidden,
            heads=96,
            vocab=vocab,
            sequence=sequence,
            gated_mlp=False,
            tied_embeddings=True,
        )
    )
    megatron = 12 * layers * hidden**2 * (1 + 13 / (12 * hidden) + (vocab + sequence) / (12 * layers * hidden))
    assert found.total == pytest.approx(megatron, rel=2e-4)
    flops = 72 * layers * hidden**2 * (1 + sequence / (6 * hidden) + vocab / (12 * layers * hidden))
    assert found.flops_per_token == pytest.approx(flops, rel=2e-3)


def test_flops_a_token_are_six_a_parameter_that_multiplies_and_the_full_square_of_attention() -> None:
    found = shape.of(ModelSpec.model_validate(PUBLISHED[5][1]))
    assert found.multiplied == found.total - 128256 * 16384
    assert found.flops_per_token == 6 * found.multiplied + 12 * 126 * 16384 * 8192


def test_a_gated_block_left_open_is_eight_thirds_of_the_width_in_steps_of_256() -> None:
    assert shape.of(ModelSpec(layers=32, hidden=4096, heads=32, vocab=32000, sequence=4096)).ffn == 11008
