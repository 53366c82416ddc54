"""Memory agrees with published figures and with what each kind of sharding shares."""

from __future__ import annotations

from dataclasses import replace

import pytest

from components.sizing.calibration import rows as calibration
from components.sizing.layout.layout import Job, Layout
from components.sizing.layout.stages import stage_loads
from components.sizing.memory import activations, memory
from tests.components.sizing.asked import gpt, job, planned

PLAIN = Layout(
    tensor=8, pipeline=8, virtual=3, micro_batch=1, sequence_parallel=False, recompute="none", fused_attention=False
)


def first_stage(found: Job, layout: Layout) -> float:
    return activations.rank_activations(found, layout, 0, stage_loads(found.shape, layout)[0])


@pytest.mark.parametrize("held", calibration.memories(), ids=lambda held: held.id)
def test_activations_and_states_are_within_ten_percent_of_the_published_figures(held: calibration.Held) -> None:
    assert held.planned_activations == pytest.approx(held.activations, rel=0.05)
    assert held.planned_state == pytest.approx(held.state, rel=0.10)


def test_a_plain_layer_keeps_thirty_four_bytes_a_token_and_width_and_five_a_score() -> None:
    found, tokens = gpt(96, 12288, 96), 2048
    alone = Layout(sequence_parallel=True, fused_attention=False)
    assert activations.layer_activations(job(found), alone) == tokens * 12288 * (34 + 5 * 96 * 2048 / 12288)
    assert activations.layer_activations(job(found), replace(alone, recompute="selective")) == tokens * 12288 * 34
    assert activations.layer_activations(job(found), replace(alone, recompute="full")) == tokens * 12288 * 2


def test_tensor_ranks_share_all_but_ten_bytes_without_sequence_parallelism_and_everything_with_it() -> None:
    found, width = gpt(96, 12288, 96), 2048 * 12288
    whole = Layout(tensor=8, sequence_parallel=False, recompute="selective", fused_attention=False)
    assert activations.layer_activations(job(found), whole) == width * (10 + 24 / 8)
    assert activations.layer_activations(job(found), replace(whole, sequence_parallel=True)) == width * 34 / 8
    assert (
        activations.layer_activations(job(found), replace(whole, sequence_parallel=True, context=2)) == width * 34 / 16
    )


def test_a_gated_grouped_query_layer_agrees_with_megatron_s_generalisation() -> None:
    made = planned(
        "model: {layers: 126, hidden: 16384, heads: 128, kv_heads: 8, ffn: 53248, vocab: 128256, sequence: 8192}\n"
        "training: {tokens: 1T, global_batch: 2048, recompute: none, sharding: zero2}\n"
        "hardware: {accelerator: h100, nodes: 1024}\n"
        "parallelism: {tensor: 8, pipeline: 16, micro_batch: 1}\n"
    )
    megatron = 8192 * 16384 * (18 + 4 * 53248 / 16384) / 8
    assert activations.layer_activations(made.best.job, made.best.layout) == pytest.approx(megatron, rel=0.03)


def test_each_sharding_shares_one_state_more_over_the_data_ranks() -> None:
    found = gpt(24, 2304, 24)
    layout = Layout(data=8, sequence_parallel=True, recompute="selective")
    held = {
        kind: memory.of(job(found, precision="bf16"), replace(layout, sharding=kind))
        for kind in ("ddp", "zero1", "zero2", "zero3")
    }
    weights = 2 * memory_parameters(found) / memory.GIB
    assert held["ddp"].weights == pytest.approx(weights, rel=1e-5)
    assert (held["ddp"].gradients, held["ddp"].optimizer) == (
        pytest.approx(2 * weights, rel=1e-5),
        pytest.approx(6 * weights, rel=1e-5),
    )
    assert (held["zero1"].gradients, held["zero1"].optimizer) == (
        held["ddp"].gradients,
        pytest.approx(6 * weights / 8, rel=1e-5),
    )
    assert (held["zero2"].gradients, held["zero2"].weights) == (
        pytest.approx(2 * weights / 8, rel=1e-5),
        held["ddp"].weights,
    )
    assert held["zero3"].weights < held["zero2"].weights / 3


def memory_parameters(found: object) -> int:
    from components.sizing.model.shape import Shape

    assert isinstance(found, Shape)
    # The final norm lies outside the layers and is left out of a stage's count.
    return found.total - found.hidden


def test_interleaving_keeps_more_micro_batches_in_flight() -> None:
    found = job(gpt(96, 12288, 96))
    plain = first_stage(found, replace(PLAIN, virtual=1))
    assert first_stage(found, PLAIN) == pytest.approx(plain * (1 + 7 / 24))


def test_few_micro_batches_never_fill_the_pipeline() -> None:
    few, many = job(gpt(96, 12288, 96), batch=2), job(gpt(96, 12288, 96), batch=64)
    assert first_stage(few, replace(PLAIN, virtual=1)) == pytest.approx(
        first_stage(many, replace(PLAIN, virtual=1)) / 4
    )


def test_frozen_weights_need_no_gradient_and_no_optimizer_state() -> None:
    full = planned(
        "model: {layers: 32, hidden: 4096, heads: 32, kv_heads: 8, ffn: 14336, vocab: 128256, sequence: 8192}\n"
        "training: {tokens: 1B, global_batch: 64}\nhardware: {nodes: 1}\n"
    )
    lora = planned(
        "model: {layers: 32, hidden: 4096, heads: 32, kv_heads: 8, ffn: 14336, vocab: 128256, sequence: 8192}\n"
        "training: {tokens: 1B, global_batch: 64, method: lora, rank: 16}\nhardware: {nodes: 1}\n"
    )
    assert lora.memory.optimizer < full.memory.optimizer / 50
    assert lora.checkpoint.bytes == 14 * 41_943_040  # r (inputs + outputs) of seven matrices in 32 layers
