"""Layouts as frameworks run them: stages as written, schedules, shard groups, and what a framework can't do."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.sizing.layout import frameworks, pipeline_text
from components.sizing.layout.layout import Layout
from components.sizing.layout.stages import StageLoad, chunks_of, holdings, stage_loads
from components.sizing.machine import profiles
from components.sizing.machine.links import path
from components.sizing.memory import memory
from components.sizing.model.shape import Experts
from components.sizing.step.products import ProductPart
from components.sizing.step.schedule import fill, group_size, in_flight
from components.sizing.step.step import Clock
from components.sizing.step.traffic import data_traffic
from components.sizing.tuning.constants import DEFAULT
from components.spec.sizing import Framework, Precision
from tests.components.sizing.asked import LLAMA_3_8B, gpt, job, planned, refused

DEEPSEEK = (
    "model: {layers: 61, hidden: 7168, heads: 128, head_dim: 128, ffn: 18432, vocab: 129280, sequence: 4096, "
    "experts: {count: 256, active: 8, shared: 1, ffn: 2048, dense_layers: 3}, "
    "latent_attention: {kv_rank: 512, q_rank: 1536, rope_dim: 64}, prediction_modules: 1}\n"
)


@pytest.mark.parametrize(
    ("text", "layers", "predictions"),
    [
        ("Et*3|(tt|)*29m|L", (3, *(2,) * 29, 0, 0), 1),
        ("E|t*4|t*4|L", (0, 4, 4, 0), 0),
        ("Ettt|ttt|tttL", (3, 3, 3), 0),
        ("E t*2 | (t|t|)*2 L", (2, 1, 1, 1, 1, 0), 0),
    ],
)
def test_megatron_s_letters_become_layers_of_each_stage(text: str, layers: tuple[int, ...], predictions: int) -> None:
    assert pipeline_text.layers(text) == layers and pipeline_text.predictions(text) == predictions


@pytest.mark.parametrize(
    ("text", "said"), [("Ex|L", '"x" at place 2'), ("(t|*3", '"(" at place 1'), ("t*99999999", "more than")]
)
def test_letters_that_are_none_are_told_with_their_place(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("(", r"\(")):
        pipeline_text.layers(text)


def test_a_layout_in_letters_is_planned_and_a_wrong_one_says_why() -> None:
    text = LLAMA_3_8B + "training: {tokens: 1T, global_batch: 256}\nhardware: {nodes: 4}\n"
    made = planned(text + 'parallelism: {tensor: 2, pipeline: 4, pipeline_layout: "Et*7|t*9|t*9|t*7L"}\n')
    assert [load.layers for load in stage_loads(made.request.shape, made.best.layout)] == [7, 9, 9, 7]
    wrong = refused(text + 'parallelism: {tensor: 2, pipeline: 4, pipeline_layout: "Et*7|t*9|t*9|tL"}\n')
    assert wrong[0].endswith("it places 26 layers, the model has 32; write one t for each layer")


def test_stages_as_numbers_hold_every_layer_once_or_are_refused() -> None:
    text = LLAMA_3_8B + "training: {tokens: 1T, global_batch: 256}\nhardware: {nodes: 4}\n"
    made = planned(text + "parallelism: {tensor: 2, pipeline: 4, stages: [5, 9, 9, 9]}\n")
    assert [load.layers for load in stage_loads(made.request.shape, made.best.layout)] == [5, 9, 9, 9]
    assert refused(text + "parallelism: {tensor: 2, pipeline: 4, stages: [8, 8, 8, 9]}\n")[0].endswith(
        "the stages hold 33 layers, the model has 32; let them add up"
    )


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 130), st.integers(1, 64), st.integers(1, 6))
def test_every_layer_is_dealt_exactly_once(layers: int, pipeline: int, virtual: int) -> None:
    counts = chunks_of(layers, pipeline * virtual, ())
    assert sum(counts) == layers and max(counts) - min(counts) <= 1


def test_experts_lie_behind_the_first_dense_layers_and_the_last_stage_predicts() -> None:
    text = "training: {tokens: 1T, global_batch: 2048}\nhardware: {accelerator: h100, nodes: 128}\n"
    made = planned(DEEPSEEK + text + "parallelism: {tensor: 1, pipeline: 16, virtual_stages: 1, expert: 64}\n")
    loads = stage_loads(made.request.shape, made.best.layout)
    assert loads[0] == StageLoad(dense=3, sparse=0, embedding=True, head=False)
    assert (loads[-1].head, loads[-1].predictions) == (True, 1)
    assert sum(load.dense for load in loads) == 3 and sum(load.sparse for load in loads) == 58


def test_a_v_gives_the_first_rank_both_ends() -> None:
    loads = stage_loads(gpt(16, 4096, 32), Layout(pipeline=4, virtual=2, schedule="zbv"))
    assert (loads[0].embedding, loads[0].head, loads[3].head) == (True, True, False)


def test_dualpipe_keeps_two_stages_in_memory_and_fills_faster() -> None:
    shape = gpt(16, 4096, 32)
    both = Layout(pipeline=8, schedule="dualpipe")
    assert [load.layers for _, load in holdings(shape, both)] == [4, 4, 4, 4][: len(holdings(shape, both))]
    part = ProductPart(1.0, 1.0, 1.0)
    assert fill(Layout(pipeline=8), part, 32) == pytest.approx(21.0)
    assert fill(Layout(pipeline=8, schedule="zero-bubble"), part, 32) == pytest.approx(7.0)
    assert fill(both, part, 32) == pytest.approx(6.0)


@pytest.mark.parametrize(("micro", "size"), [(8, 8), (16, 8), (11, 11), (21, 11), (33, 11), (77, 11), (3, 8)])
def test_interleaving_takes_any_number_of_micro_batches_without_a_short_group(micro: int, size: int) -> None:
    found = group_size(8, micro)
    assert found == size
    assert micro < 8 or micro % found == 0 or micro % found >= 8


def test_interleaving_divides_the_bubble_for_ragged_batches_too() -> None:
    part = ProductPart(1.0, 1.0, 1.0)
    assert fill(Layout(pipeline=8, virtual=4), part, 77) == pytest.approx(21.0 / 4)
    assert fill(Layout(pipeline=8, virtual=4), part, 4) > fill(Layout(pipeline=8, virtual=4), part, 8)


def test_larger_groups_hold_more_micro_batches() -> None:
    layout = Layout(pipeline=8, virtual=4, schedule="interleaved")
    assert in_flight(layout, 0, 80) == pytest.approx((14 + 3 * 8 + 1) / 4)
    assert in_flight(layout, 0, 77) > in_flight(layout, 0, 80)


def test_a_shard_group_inside_the_node_gathers_over_fast_links_and_holds_more() -> None:
    found = job(gpt(32, 4096, 32), "h100", "bf16", batch=512)
    wide = Layout(data=64, sharding="zero3")
    near = replace(wide, shard=8)
    assert data_traffic(found, near, DEFAULT, 0.0, 8).seconds < data_traffic(found, wide, DEFAULT, 0.0, 8).seconds
    assert memory.of(found, near).optimizer == pytest.approx(8 * memory.of(found, wide).optimizer)


def test_expert_groups_fold_over_tensor_and_data_ranks() -> None:
    shape = replace(
        gpt(24, 2048, 16, gated_mlp=True), experts=Experts(count=64, active=6, shared=0, ffn=1408, dense_layers=0)
    )
    folded = Layout(tensor=2, data=4, expert=8)
    assert folded.expert_ranks == 1
    found = job(shape, "h100", "bf16")
    apart = memory.of(found, replace(folded, expert=4))
    assert apart.weights > memory.of(found, folded).weights


def test_tokens_cross_the_network_once_a_node_and_less_with_limited_routing() -> None:
    from components.sizing.step.exchange import exchange, visited

    shape = replace(
        gpt(24, 2048, 16, gated_mlp=True), experts=Experts(count=64, active=8, shared=0, ffn=1408, dense_layers=0)
    )
    found = job(shape, "h100", "bf16")
    inside, across = Layout(data=8, expert=8), Layout(data=64, expert=64)
    assert exchange(found, inside, DEFAULT).wire == 0.0
    node, card = exchange(found, across, DEFAULT), exchange(found, replace(across, dispatcher="alltoall"), DEFAULT)
    assert node.wire == pytest.approx(visited(8, 8) * 7 / 8) and card.wire > node.wire
    experts = shape.experts
    assert experts is not None
    limited = job(replace(shape, experts=replace(experts, most_nodes=4)), "h100", "bf16")
    assert exchange(limited, across, DEFAULT).wire == pytest.approx(4 * 7 / 8)
    rack = job(shape, "gb200", "bf16")
    assert exchange(rack, across, DEFAULT).wire == 0.0  # seventy-two cards lie in one fast domain


def test_the_ways_to_share_a_sequence_cost_what_they_move() -> None:
    found = job(gpt(32, 4096, 32, sequence=65536, kv_heads=8), "h100", "bf16", batch=32)
    layout = Layout(context=8, data=1)
    times = {
        way: Clock(found).step(replace(layout, context_method=way)).context for way in ("ring", "allgather", "alltoall")
    }
    assert times["ring"] < times["allgather"] and times["alltoall"] > 0


def test_what_goes_to_the_host_frees_memory_and_costs_time() -> None:
    found = job(gpt(32, 4096, 32), "h100", "bf16", batch=64)
    layout = Layout(data=8)
    from components.sizing.memory.activations import micro_batch_bytes

    clock = Clock(found, kept=micro_batch_bytes)
    for what in ("activations", "optimizer"):
        away = replace(layout, pipeline=4, offload=(what,))
        here = replace(layout, pipeline=4)
        assert memory.of(found, away).total < memory.of(found, here).total
        assert clock.step(away).total > clock.step(here).total


def test_parts_that_are_computed_again_cost_less_and_free_less_than_the_whole() -> None:
    text = "training: {tokens: 1T, global_batch: 2048, TRAIN}\nhardware: {accelerator: h100, nodes: 128}\n"
    split = "parallelism: {tensor: 1, pipeline: 16, virtual_stages: 1, micro_batch: 1, expert: 64}\n"

    def made(words: str) -> tuple[float, float]:
        found = planned(DEEPSEEK + text.replace("TRAIN", words) + split)
        return found.step_seconds, found.memory.activations

    ups = made("recompute: selective, recompute_modules: [mla_up_proj]")
    more = made("recompute: selective, recompute_modules: [mla_up_proj, moe_act, layernorm]")
    some, whole = made("recompute: full, recompute_layers: 2"), made("recompute: full")
    assert ups[0] < more[0] < whole[0] and ups[1] > more[1] > whole[1]
    assert some[0] < whole[0] and some[1] > whole[1]


@pytest.mark.parametrize(
    ("framework", "layout", "said"),
    [
        ("megatron", Layout(pipeline=4, schedule="zbv", virtual=2), "has no zbv schedule"),
        ("deepspeed", Layout(pipeline=4, sharding="zero3"), "joins a pipeline with zero1 at most, not zero3"),
        (
            "torchtitan",
            Layout(pipeline=4, virtual=2, schedule="interleaved", data=3),
            "cuts 22 micro-batches into 5 rounds",
        ),
        ("neuron", Layout(sharding="zero3"), "shards the optimizer state only (zero1), not zero3"),
    ],
)
def test_what_a_framework_can_t_run_is_said(framework: Framework, layout: Layout, said: str) -> None:
    found = job(gpt(32, 4096, 32), "h100", "bf16", batch=64 if layout.data == 1 else 66)
    assert any(reason.startswith(said) for reason in frameworks.cannot(framework, found, layout))


def test_a_framework_that_can_t_run_a_fixed_split_is_a_warning_and_a_free_one_is_chosen_for_it() -> None:
    text = LLAMA_3_8B + "training: {tokens: 1T, global_batch: 256, framework: deepspeed}\nhardware: {nodes: 4}\n"
    fixed = planned(text + "parallelism: {tensor: 2, pipeline: 4, virtual_stages: 2}\n")
    assert fixed.problems[0].said.startswith("DeepSpeed can't run this split: it has no interleaved schedule")
    free = planned(text)
    assert free.best.layout.schedule == "1f1b" and not free.problems


@pytest.mark.parametrize(
    ("card", "order"),
    [("b200", ("bf16", "fp8", "fp8-mx", "nvfp4")), ("h100", ("bf16", "fp8-block", "fp8"))],
)
def test_narrower_recipes_are_faster_and_what_stays_in_bf16_slows_them(card: str, order: tuple[Precision, ...]) -> None:
    shape = gpt(48, 12288, 96)
    times = {p: Clock(job(shape, card, p, 64)).step(Layout(tensor=8)).total for p in order}
    assert all(times[order[0]] > times[name] for name in order[1:])
    if "nvfp4" in order:
        assert times["nvfp4"] < min(times["fp8"], times["fp8-mx"])
    kept = replace(job(shape, card, "fp8", 64), bf16_layers=12)
    assert times["fp8"] < Clock(kept).step(Layout(tensor=8)).total < times["bf16"]


def test_small_blocks_want_cards_that_scale_them() -> None:
    said = refused(LLAMA_3_8B + "training: {tokens: 1T, precision: nvfp4}\nhardware: {accelerator: h100, nodes: 4}\n")
    assert "nvfp4 is asked for, but h100's cards don't scale small blocks; use fp8, or cards that do: b200" in said[0]


def test_a_ring_of_a_torus_uses_half_of_its_links() -> None:
    card = profiles.card_named("trainium")
    assert card is not None
    assert path(profiles.of_accelerator(card, None, None), DEFAULT, 1, 16).bytes_per_s == 96e9 * DEFAULT.link_efficiency
