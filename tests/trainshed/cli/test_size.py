"""`trainshed size` as a person and a program call it."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.components.sizing.asked import LLAMA_3_8B
from trainshed.cli.size import size, stack_text

TASK = (
    "task: small\n"
    + LLAMA_3_8B
    + "training: {tokens: 200B, global_batch: 512}\nhardware: {instance_type: p5.48xlarge, nodes: 8}\n"
)


@pytest.fixture
def task(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(TASK)
    return path


def test_json_is_one_object_and_nothing_else(task: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert size(task, json_output=True, what_if=["nodes=4,8"], explain=True, report=None) == 0
    out = json.loads(capsys.readouterr().out)
    assert out["cards"] == 64 and out["parameters"]["total"] == 8_030_261_248
    assert [row["value"] for row in out["what_if"][0]["rows"]] == ["4", "8"]
    assert {line["part"] for line in out["explain"]} == {"model", "memory", "step", "run", "storage"}


def test_tables_say_the_same(task: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert size(task, json_output=False, what_if=["precision=bf16,fp8"], explain=True, report=None) == 0
    out = capsys.readouterr().out
    for words in (
        "small: 200 B tokens on 64 cards in 8 nodes of p5.48xlarge",
        "8,030,261,248",
        "What if precision",
        "trainshed:pools:",
        "Assumptions",
    ):
        assert words in out


def test_a_wrong_task_is_1_and_tells_why_on_standard_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(TASK.replace("heads: 32", "heads: 31"))
    assert size(path, json_output=True, what_if=[], explain=False, report=None) == 1
    told = capsys.readouterr()
    assert json.loads(told.out)["problems"][0]["id"] == "heads-divide"
    assert told.err.startswith(
        f"{path}:2:42 model.heads: hidden 4096 does not divide by 31 heads; give model.head_dim\n"
    )


def test_a_missing_task_is_1_and_a_misused_sweep_is_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "llama.yaml").write_text(TASK)
    missing = tmp_path / "lama.yaml"
    assert size(missing, json_output=False, what_if=[], explain=False, report=None) == 1
    assert capsys.readouterr().err == f'there is no task file {missing}; did you mean "llama.yaml"?\n1 error\n'
    assert size(tmp_path / "llama.yaml", json_output=False, what_if=["node=3"], explain=False, report=None) == 2
    assert capsys.readouterr().err == '--what-if can\'t change "node"; did you mean "nodes"?\n'


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: dict[str, int] = {}
        self.wrong: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen[tag] = self.seen.get(tag, 0) + 1
        if tag not in ("meta", "rect", "line", "circle", "polyline") or tag in ("rect", "line", "circle"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen[tag] = self.seen.get(tag, 0) + 1

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


def test_the_page_is_whole_has_plots_and_loads_nothing(task: Path, tmp_path: Path) -> None:
    page = tmp_path / "plan.html"
    task.write_text(TASK.replace("task: small", "task: '<b>small</b>'"))
    assert size(task, json_output=True, what_if=["nodes=4,8,16"], explain=False, report=page) == 0
    text = page.read_text()
    tags = _Tags()
    tags.feed(text)
    assert (tags.open, tags.wrong) == ([], [])
    assert tags.seen["svg"] == 4 and tags.seen["polyline"] == 2
    assert "<b>small</b>" not in text and "&lt;b&gt;small&lt;/b&gt;" in text
    assert "http" not in text and "<script" not in text


def test_a_page_that_can_t_be_written_is_2(task: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "nowhere" / "plan.html"
    assert size(task, json_output=True, what_if=[], explain=False, report=page) == 2
    assert capsys.readouterr().err == f"the report {page} can't be written: No such file or directory\n"


def test_machines_outside_the_catalog_have_no_sections_to_paste() -> None:
    from tests.components.sizing.asked import planned

    assert stack_text(planned(LLAMA_3_8B + "training: {tokens: 1T}\nhardware: {accelerator: h100, nodes: 4}\n")) == ""
