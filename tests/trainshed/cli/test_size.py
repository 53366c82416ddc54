"""`trainshed size` as a person and a program call it."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.components.sizing.asked import LLAMA_3_8B
from trainshed.cli.size import Asked, size, stack_text

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
    assert size(str(task), Asked(json_output=True, what_if=("nodes=4,8",), explain=True)) == 0
    out = json.loads(capsys.readouterr().out)
    assert out["cards"] == 64 and out["parameters"]["total"] == 8_030_261_248
    assert [row["value"] for row in out["what_if"][0]["rows"]] == ["4", "8"]
    assert {line["part"] for line in out["explain"]} == {"model", "memory", "step", "run", "storage"}
    assert out["terms"]["goodput"]


def test_tables_say_the_same(task: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert size(str(task), Asked(what_if=("precision=bf16,fp8",), explain=True)) == 0
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
    assert size(str(path), Asked(json_output=True)) == 1
    reported = capsys.readouterr()
    assert json.loads(reported.out)["problems"][0]["id"] == "heads-divide"
    assert reported.err.startswith(
        f"{path}:2:42 model.heads: hidden 4096 does not divide by 31 heads; give model.head_dim\n"
    )


def test_a_missing_task_is_1_and_a_misused_sweep_is_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "llama.yaml").write_text(TASK)
    missing = tmp_path / "lama.yaml"
    assert size(str(missing), Asked()) == 1
    assert capsys.readouterr().err == f'there is no task file {missing}; did you mean "llama.yaml"?\n1 error\n'
    assert size(str(tmp_path / "llama.yaml"), Asked(what_if=("node=3",))) == 2
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
    assert size(str(task), Asked(json_output=True, what_if=("nodes=4,8,16",), report=page)) == 0
    text = page.read_text()
    tags = _Tags()
    tags.feed(text)
    assert (tags.open, tags.wrong) == ([], [])
    assert tags.seen["svg"] == 5 and tags.seen["polyline"] == 3
    assert "<b>small</b>" not in text and "&lt;b&gt;small&lt;/b&gt;" in text
    assert "http" not in text and "<script" not in text


def test_a_page_that_can_t_be_written_is_2(task: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "nowhere" / "plan.html"
    assert size(str(task), Asked(json_output=True, report=page)) == 2
    assert capsys.readouterr().err == f"the report {page} can't be written: No such file or directory\n"


def test_machines_outside_the_catalog_have_no_sections_to_paste() -> None:
    from tests.components.sizing.asked import planned

    assert stack_text(planned(LLAMA_3_8B + "training: {tokens: 1T}\nhardware: {accelerator: h100, nodes: 4}\n")) == ""


def test_a_bare_name_means_a_task_of_the_project_as_for_job(capsys: pytest.CaptureFixture[str]) -> None:
    assert size("llama-405b", Asked(json_output=True, advice=False)) == 0
    out = json.loads(capsys.readouterr().out)
    assert out["task"] == "llama-405b" and out["advice"] == [] and "frontier" not in out


def test_a_stack_gives_its_pool_s_machines_region_and_purchase(capsys: pytest.CaptureFixture[str]) -> None:
    assert size("finetune-8b", Asked(json_output=True, stack="prod")) == 0
    out = json.loads(capsys.readouterr().out)
    assert (out["machine"]["name"], out["cost"]["capacity"]) == ("p5en.48xlarge", "block")
    pool = out["stack"]["pools"][0]
    assert (pool["name"], pool["purpose"], pool["zone"]) == ("finetune", "finetuning", "usw2-az3")
    assert pool["capacity"]["id"] == "cr-3a1b2c3d4e5f60718"
    assert any("machines of pool finetune: p5en.48xlarge" in words for words in out["filled_in"])


def test_a_pool_that_the_stack_lacks_is_told_with_the_nearest(task: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task.write_text(TASK + "resources: {pool: pretrian, nodes: 8}\n")
    assert size(str(task), Asked(stack="prod")) == 1
    assert 'resources.pool: "pretrian" is no pool of the stack; did you mean "pretrain"?' in capsys.readouterr().err


def test_the_pasted_sections_make_a_stack_that_reads(task: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from components.sizing.plan import reading
    from components.sizing.plan.plan import plan
    from components.spec.reading.reader import read_text
    from tests.components.sizing.asked import CAT

    task.write_text(TASK + "resources: {pool: finetune, nodes: 8}\n")
    read = reading.read(task, CAT)
    assert read.request is not None
    made, _ = plan(read.request, CAT)
    assert made is not None
    head = "config:\n  aws:region: us-west-2\n  trainshed:environment: dev\n  trainshed:form: {kind: cloud}\n"
    found = read_text(head + "  trainshed:network: {zones: [usw2-az3]}\n" + stack_text(made), "Pulumi.dev.yaml")
    assert [problem.said for problem in found.problems if problem.severity == "error"] == []
    assert found.stack is not None and found.stack.pools[0].name == "finetune"
    assert found.stack.pools[0].purpose == "finetuning"


def test_own_runs_move_the_answer_and_say_by_how_much(
    task: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert size(str(task), Asked(json_output=True, advice=False)) == 0
    plain = json.loads(capsys.readouterr().out)
    split = {key: plain["parallelism"][key] for key in ("tensor", "pipeline", "context", "expert", "data")}
    line = {
        "task": "small",
        "instance_type": "p5.48xlarge",
        "nodes": 8,
        "cards": 64,
        "split": split,
        "micro_batch": plain["parallelism"]["micro_batch"],
        "global_batch": 512,
        "sequence_length": 8192,
        "precision": "bf16",
        "tokens_per_second": 0.8 * plain["tokens_per_second_per_card"] * 64,
        "time": "2026-11-30T12:00:00Z",
    }
    ledger = tmp_path / "ledger.jsonl"
    ledger.write_text("".join(json.dumps(line) + "\n" for _ in range(4)) + '{"task": "other"}\nnot json\n')
    assert size(str(task), Asked(json_output=True, advice=False, ledger=ledger)) == 0
    out = json.loads(capsys.readouterr().out)
    found = out["calibration"]
    assert len(found["stages"]) == 4 and found["factor"] == pytest.approx(1.25, rel=0.02)
    assert found["days_after"] > found["days_before"] and out["days"]["expected"] == found["days_after"]
    assert sum(out["step_seconds"]["split"].values()) == pytest.approx(out["step_seconds"]["expected"], rel=1e-4)
    assert found["band_after"][1] < found["band_before"][1]
    assert [(each["path"], each["id"]) for each in out["problems"]] == [
        ("line 5", "ledger-line"),
        ("line 6", "ledger-line"),
    ]
