"""The search keeps to divisibility and to what is asked, and finds what large runs use."""

from __future__ import annotations

import pytest

from components.sizing.layout.stages import tidy
from components.sizing.plan.search import search, usual_batch
from components.spec.sizing import ParallelismSpec, TrainingSpec
from tests.components.sizing.asked import LLAMA_3_8B, gpt, job, planned

LLAMA_405B = "model: {layers: 126, hidden: 16384, heads: 128, kv_heads: 8, ffn: 53248, vocab: 128256, sequence: 8192}\n"


def test_the_split_of_llama_3_405b_is_found_on_8192_cards() -> None:
    made = planned(
        LLAMA_405B + "training: {tokens: 15.6T, global_batch: 2048}\nhardware: {accelerator: h100, nodes: 1024}\n"
    )
    layout = made.best.layout
    assert (layout.tensor, layout.context) == (8, 1) and layout.pipeline in (8, 16) and layout.virtual > 1
    assert made.memory.fits and made.idle_cards == 0


@pytest.mark.parametrize("nodes", [4, 24, 1280])
def test_every_split_divides_heads_layers_batch_and_cards_and_fits(nodes: int) -> None:
    found = gpt(96, 12288, 96)
    result = search(
        found,
        job(found).machine,
        nodes * 8,
        TrainingSpec(tokens=1e12, global_batch=1536, precision="fp16"),
        ParallelismSpec(),
    )
    for candidate in result.fitting:
        layout = candidate.layout
        assert 96 % layout.tensor == 0 and tidy(96, layout.pipeline)
        assert 1536 % (layout.data * layout.micro_batch) == 0
        assert layout.cards <= nodes * 8 and layout.tensor <= 8
        assert candidate.memory.fits
    assert [c.tokens_per_second for c in result.fitting] == sorted(
        (c.tokens_per_second for c in result.fitting), reverse=True
    )


def test_what_is_asked_stays_and_only_the_rest_is_chosen() -> None:
    made = planned(
        LLAMA_3_8B
        + (
            "training: {tokens: 1T, recompute: full}\nhardware: {nodes: "
            "4}\nparallelism: {tensor: 4, pipeline: 2, micro_batch: 2}\n"
        )
    )
    layout = made.best.layout
    assert (layout.tensor, layout.pipeline, layout.micro_batch, layout.recompute, layout.data) == (4, 2, 2, "full", 4)


def test_a_long_sequence_is_shared_by_a_context_group() -> None:
    made = planned(
        LLAMA_3_8B.replace("8192", "131072") + "training: {tokens: 10B, global_batch: 32}\nhardware: {nodes: 4}\n"
    )
    assert made.best.layout.context > 1 and made.memory.fits


def test_experts_are_shared_by_an_expert_group() -> None:
    made = planned(
        "model: {layers: 48, hidden: 2048, heads: 32, kv_heads: 4, head_dim: "
        "128, ffn: 768, vocab: 151936, sequence: 4096, "
        "experts: {count: 128, active: 8}}\ntraining: {tokens: 1T, global_batch: 1024}\nhardware: {nodes: 8}\n"
    )
    layout = made.best.layout
    assert layout.expert > 1 and 128 % layout.expert == 0 and (layout.data * layout.context) % layout.expert == 0


def test_a_batch_left_open_stays_near_the_usual_one() -> None:
    made = planned(LLAMA_3_8B + "training: {tokens: 1T}\nhardware: {nodes: 10}\n")
    assert usual_batch(made.request.shape) == 512
    assert 384 <= made.best.job.global_batch <= 768 and made.idle_cards == 0


def test_a_batch_that_leaves_cards_idle_says_how_many() -> None:
    made = planned(
        LLAMA_3_8B + "training: {tokens: 1T, global_batch: 512}\nhardware: {nodes: 7}\nparallelism: {pipeline: 1}\n"
    )
    assert (made.cards, made.nodes, made.idle_cards) == (32, 4, 24)
    assert made.problems[0].said == "24 of 56 cards stay idle: a batch of 512 sequences deals out over 32 of them"


def test_tensor_groups_reach_across_nodes_only_in_a_rack_of_fast_links() -> None:
    text = (
        "training: {tokens: 1T, global_batch: 256}\nhardware: {accelerator: ACC, "
        "nodes: 16, cards_per_node: 4}\nparallelism: {tensor: 8}\n"
    )
    assert planned(LLAMA_3_8B + text.replace("ACC", "gb200")).best.layout.tensor == 8


def test_a_torus_of_tpus_uses_no_pipeline() -> None:
    made = planned(
        LLAMA_3_8B + "training: {tokens: 1T, global_batch: 512}\nhardware: {accelerator: tpu-v4, nodes: 32}\n"
    )
    assert made.best.layout.pipeline == 1 and made.cards == 128
