"""Sweeps ask the same question with one thing changed."""

from __future__ import annotations

import pytest

from components.sizing.plan import reading, what_if
from components.sizing.plan.plan import Plan
from tests.components.sizing.asked import CAT, LLAMA_3_8B

TEXT = (
    LLAMA_3_8B
    + "training: {tokens: 1T, global_batch: 512}\nhardware: {instance_type: p5.48xlarge, nodes: 8}\ngoal: {days: 30}\n"
)
DATA = reading.read_text(TEXT, "task.yaml", CAT).data


def test_more_nodes_take_fewer_days() -> None:
    swept = what_if.sweep(DATA, *what_if.parse("nodes=4,8,16"), CAT)
    days = [row.days.expected for _, row in swept.rows if isinstance(row, Plan)]
    assert len(days) == 3 and days == sorted(days, reverse=True)
    assert [label for label, _ in swept.rows] == ["4", "8", "16"]


def test_a_type_that_is_not_there_says_so_in_its_own_row() -> None:
    swept = what_if.sweep(DATA, *what_if.parse("instance_type=p5en.48xlarge,p5.48xlarg"), CAT)
    assert isinstance(swept.rows[0][1], Plan)
    assert swept.rows[1][1] == 'hardware.instance_type: "p5.48xlarg" is not in the catalog; did you mean "p5.48xlarge"?'


def test_eight_bits_are_faster_where_cards_have_them() -> None:
    swept = what_if.sweep(DATA, *what_if.parse("precision=bf16,fp8"), CAT)
    slow, fast = (row for _, row in swept.rows)
    assert isinstance(slow, Plan) and isinstance(fast, Plan) and fast.step_seconds < 0.8 * slow.step_seconds


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("nodes", '--what-if "nodes" is not of the form key=value,value'),
        ("nodes=", '--what-if "nodes=" is not of the form key=value,value'),
        ("node=4", '--what-if can\'t change "node"; did you mean "nodes"?'),
    ],
)
def test_a_sweep_that_makes_no_sense_is_refused(words: str, said: str) -> None:
    with pytest.raises(ValueError) as error:
        what_if.parse(words)
    assert str(error.value) == said
