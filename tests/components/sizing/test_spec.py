"""Numbers as people write them, and the names of the planner's keys."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.sizing.plan import reading
from components.spec.reading import document
from components.spec.sizing import SizingSpec, TrainingSpec
from tests.components.sizing.asked import CAT, LLAMA_3_8B


@pytest.mark.parametrize(
    "written", ["15.6e12", "15_600_000_000_000", "15.6T", "15.6 T", "15600B", "15600000000000", "1.56e+13", "'15.6e12'"]
)
def test_fifteen_point_six_trillion_tokens_are_one_number_however_written(written: str) -> None:
    read = reading.read_text(
        f"{LLAMA_3_8B}training: {{tokens: {written}}}\nhardware: {{nodes: 16}}\n", "task.yaml", CAT
    )
    assert read.problems == ()
    assert read.request is not None and read.request.spec.training.tokens == 15.6e12


@given(st.integers(min_value=1, max_value=10**15))
def test_whole_numbers_of_tokens_read_back_with_and_without_underscores(tokens: int) -> None:
    as_text = TrainingSpec.model_validate({"tokens": f"{tokens:_}"})
    assert TrainingSpec(tokens=tokens).tokens == as_text.tokens == float(tokens)


def test_json_is_a_task_file_too() -> None:
    model = '{"layers": 32, "hidden": 4096, "heads": 32, "vocab": 32000, "sequence": 4096}'
    text = f'{{"model": {model}, "training": {{"tokens": "1T"}}, "hardware": {{"nodes": 8}}}}'
    read = reading.read_text(text, "task.json", CAT)
    assert read.problems == () and read.request is not None and read.request.spec.training.tokens == 1e12


def test_the_sections_of_the_job_are_left_to_the_job() -> None:
    text = (
        f"task: own\nimage: x\ncommand: [a]\nmonitor: {{metrics: []}}\n{LLAMA_3_8B}training: "
        f"{{tokens: 1T}}\nhardware: {{nodes: 8}}\n"
    )
    read = reading.read_text(text, "task.yaml", CAT)
    assert read.problems == () and read.request is not None and read.request.name == "own"


def test_the_nodes_of_the_job_are_those_of_the_plan_when_hardware_leaves_them_out() -> None:
    read = reading.read_text(
        f"resources: {{pool: a, nodes: 12}}\n{LLAMA_3_8B}training: {{tokens: 1T}}\n", "task.yaml", CAT
    )
    assert read.request is not None and read.request.nodes == 12
    assert read.request.filled == (
        "hardware is left out: p5.48xlarge",
        "hardware.nodes is left out: resources.nodes, 12",
    )


@pytest.mark.parametrize("name", ["latent_attention", "mla", "latent"])
def test_latent_attention_goes_by_three_names(name: str) -> None:
    data = document.read(
        "model: {layers: 4, hidden: 512, heads: 8, vocab: 1000, sequence: 512, "
        + name
        + ": {kv_rank: 64, q_rank: 128, rope_dim: 16}}\n"
        "training: {tokens: 1B}\n",
        "task.yaml",
    ).data
    latent = SizingSpec.model_validate(data).model.latent_attention
    assert latent is not None and latent.kv_rank == 64
