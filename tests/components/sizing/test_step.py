"""A step's time falls and rises with what it is made of."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.sizing.layout.layout import Layout
from components.sizing.layout.stages import even_chunks
from components.sizing.machine.links import path
from components.sizing.step.step import Clock, hardware_flops
from components.sizing.tuning.constants import DEFAULT, FITTED
from tests.components.sizing.asked import gpt, job

GPT_3 = gpt(96, 12288, 96)
LAYOUT = Layout(tensor=8, pipeline=8, data=4, micro_batch=1, recompute="none")


def seconds(layout: Layout, card: str = "a100-80", batch: int = 256) -> float:
    return Clock(job(GPT_3, card, "bf16", batch)).step(layout).total


def test_the_parts_of_a_step_add_up() -> None:
    step = Clock(job(GPT_3, batch=256)).step(LAYOUT)
    parts = [
        *(step.compute, step.tensor, step.bubble, step.pipeline, step.data, step.expert),
        *(step.context, step.optimizer, step.scale, step.host, step.offload),
    ]
    assert step.total == pytest.approx(sum(parts)) and min(parts) >= 0


def test_the_bubble_is_a_share_of_the_pipeline_s_depth_and_interleaving_divides_it() -> None:
    even = gpt(96, 12288, 96, vocab=512)  # next to no output layer, so that the stages are alike
    clock = Clock(job(even, batch=256))
    plain, chunked = clock.step(LAYOUT), clock.step(replace(LAYOUT, virtual=3))
    busy = plain.compute + plain.tensor
    assert plain.bubble == pytest.approx(busy * 7 / 64, rel=0.03)
    assert chunked.bubble == pytest.approx(plain.bubble / 3, rel=0.1)


def test_full_recomputation_costs_a_forward_pass() -> None:
    clock = Clock(job(GPT_3, batch=256))
    ratio = clock.step(replace(LAYOUT, recompute="full")).compute / clock.step(LAYOUT).compute
    assert 1.28 < ratio < 1.36
    flops = hardware_flops(job(GPT_3, batch=256), replace(LAYOUT, recompute="full", fused_attention=False))
    layers, hidden, sequence, vocab = 96, 12288, 2048, 51200
    megatron = (
        96 * 256 * sequence * layers * hidden**2 * (1 + sequence / (6 * hidden) + vocab / (16 * layers * hidden)) / 256
    )
    assert flops == pytest.approx(megatron, rel=0.005)


def test_a_slow_network_shows_in_data_traffic_and_a_fast_one_hides_it() -> None:
    fast = job(GPT_3, batch=256)
    slow = replace(fast, machine=replace(fast.machine, network_gbps=100))
    assert Clock(slow).step(LAYOUT).data > 4 * Clock(fast).step(LAYOUT).data


def test_a_tensor_group_inside_the_node_beats_one_across_nodes() -> None:
    machine = job(GPT_3).machine
    inside, across = path(machine, DEFAULT, 1, 8), path(machine, DEFAULT, 1, 16)
    assert inside.bytes_per_s == 300e9 * DEFAULT.link_efficiency
    assert across.bytes_per_s == 25e9 * 8 * DEFAULT.network_efficiency
    assert inside.gather(8e9) == pytest.approx(7e9 / inside.bytes_per_s + 7 * DEFAULT.link_latency)
    assert path(machine, DEFAULT, 1, 1).reduce(1e9) == 0.0


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([1, 2, 4, 8]),
    st.sampled_from([1, 2, 4, 8, 16]),
    st.sampled_from([1, 2, 4]),
    st.sampled_from(["h100", "h200", "b200", "mi300x"]),
)
def test_a_faster_card_is_never_slower_and_more_data_ranks_never_slow_a_step(
    tensor: int, pipeline: int, data: int, card: str
) -> None:
    layout = Layout(tensor=tensor, pipeline=pipeline, data=data)
    assert seconds(layout, card) < seconds(layout)
    assert seconds(replace(layout, data=2 * data)) < seconds(layout)


def test_every_fitted_constant_lies_in_its_range() -> None:
    assert [constant.name for constant in FITTED if not constant.low <= constant.value <= constant.high] == []


@pytest.mark.parametrize(
    ("layers", "chunks", "dealt"),
    [
        (96, 8, (12,) * 8),
        (126, 16, (7, *(8,) * 14, 7)),
        (70, 12, (5, *(6,) * 10, 5)),
        (61, 4, (15, 16, 15, 15)),
        (32, 3, (11, 11, 10)),
        (61, 32, (1, *(2,) * 29, 1, 1)),
        (3, 5, (0, 1, 1, 1, 0)),
    ],
)
def test_layers_are_dealt_as_evenly_as_can_be_with_lighter_ends(
    layers: int, chunks: int, dealt: tuple[int, ...]
) -> None:
    assert even_chunks(layers, chunks) == dealt and sum(dealt) == layers
