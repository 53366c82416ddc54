"""Metrics of any trainer: three lines, served for a whole node, right at the moment of the scrape."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from components.catalog import contract as table
from tests.workload.conftest import ROOT
from workload import boot_clock, heartbeat
from workload.telemetry import Telemetry, figures, server
from workload.telemetry.figures import Figures

LABELS = {"task": "llama", "queue": "pretrain", "team": "research"}


def samples(text: str) -> dict[str, float]:
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines}


def test_a_step_is_a_heartbeat_and_a_set_of_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NODE_NAME", "node-a")
    run = Telemetry(rank=3, world_size=8, folder=tmp_path, flops_per_token=6e9, peak_flops=1e15, restarts=2)
    run.step(41, loss=2.5, tokens=4_000_000, seconds=10, gradient_norm=0.7, learning_rate=1e-4)
    assert heartbeat.read(tmp_path)[3].step == 41
    found = samples(server.text(tmp_path, LABELS))
    tail = 'task="llama",queue="pretrain",team="research",node="node-a",rank="3"'
    expected = {
        "training_step": 41,
        "training_loss": 2.5,
        "training_step_seconds": 10,
        "training_tokens_per_second": 400_000,
        "training_mfu_ratio": 400_000 * 6e9 / 8e15,
        "training_gradient_norm": 0.7,
        "training_learning_rate": 1e-4,
        "training_restarts_total": 2,
        "training_checkpoint_failures_total": 0,
    }
    assert {name: found[f"{name}{{{tail}}}"] for name in expected} == pytest.approx(expected)
    assert found[f"training_memory_used_bytes{{{tail}}}"] > 1 << 20
    assert found[f"training_memory_peak_bytes{{{tail}}}"] >= found[f"training_memory_used_bytes{{{tail}}}"] * 0.5


def test_every_metric_of_the_table_has_a_producer(tmp_path: Path) -> None:
    run = Telemetry(folder=tmp_path, flops_per_token=1, peak_flops=1, write_every=0)
    with run.waiting_for_data():
        pass
    run.step(1, loss=1.0, tokens=1, seconds=1, gradient_norm=1, learning_rate=1)
    with run.checkpointing(1):
        pass
    text = server.text(tmp_path, LABELS)
    assert {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")} == {
        one.name for one in table.METRICS
    }


@pytest.mark.promtool
def test_prometheus_own_tool_takes_the_text(tmp_path: Path) -> None:
    run = Telemetry(folder=tmp_path, write_every=0)
    run.step(1, loss=float("nan"), tokens=1, seconds=1, gradient_norm=float("inf"))
    text = server.text(tmp_path, {"task": 'a "b"\\'})
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "NaN" in text and "+Inf" in text


def test_ages_rise_while_a_rank_hangs(tmp_path: Path) -> None:
    figures.write(tmp_path, Figures(0, "a", {}, {"checkpoint_age": boot_clock.now() - 100}))
    heartbeat.Heart(tmp_path, 0, host="a").beat(5)
    file = tmp_path / heartbeat.file_name(0)
    file.write_text(json.dumps({**json.loads(file.read_text()), "boottime": boot_clock.now() - 50}))
    found = {name.partition("{")[0]: value for name, value in samples(server.text(tmp_path, LABELS)).items()}
    assert found["training_checkpoint_age_seconds"] == pytest.approx(100, abs=5)
    assert found["training_heartbeat_age_seconds"] == pytest.approx(50, abs=5)


def test_one_server_answers_for_all_ranks_of_the_node(tmp_path: Path) -> None:
    for rank in (0, 1):
        Telemetry(rank=rank, folder=tmp_path).step(7, loss=rank, tokens=1)
    (tmp_path / "metrics-000002.json").write_text('{"rank": 2, "no')
    served = server.serve(0, tmp_path, "127.0.0.1", {"TASK_NAME": "llama"})
    url = f"http://127.0.0.1:{served.server_port}"
    with urllib.request.urlopen(f"{url}/metrics", timeout=5) as answer:
        text = answer.read().decode()
        assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"{url}/else", timeout=5)
    served.shutdown()
    served.server_close()
    assert [value for name, value in samples(text).items() if name.startswith("training_loss")] == [0, 1]


def test_a_failed_checkpoint_is_counted_and_a_complete_one_has_an_age(tmp_path: Path) -> None:
    run = Telemetry(folder=tmp_path, write_every=0)
    run.step(1, loss=1, tokens=1)
    with pytest.raises(OSError, match="full"), run.checkpointing(1):
        raise OSError("full")
    (one,) = figures.read(tmp_path)
    assert (one.values["checkpoint_failures"], one.since) == (1, {})
    with run.checkpointing(1):
        pass
    (one,) = figures.read(tmp_path)
    assert "checkpoint_age" in one.since


def test_without_the_jobs_environment_the_three_lines_do_no_harm(tmp_path: Path) -> None:
    run = Telemetry.from_environment({})
    run.step(1, loss=1.0, tokens=10)
    run.working("loading")
    assert (run.rank, run.world_size, list(tmp_path.iterdir())) == (0, 1, [])


def test_a_full_disk_stops_no_training(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = Telemetry(folder=tmp_path, write_every=0)
    run.heart = None
    tmp_path.rmdir()
    run.step(1, loss=1.0, tokens=10)
    assert "telemetry: " in capsys.readouterr().err


def test_a_process_that_can_not_end_its_step_ends_itself_after_sigterm(tmp_path: Path) -> None:
    """The main thread is in native code, as in a collective with a dead peer."""
    program = (
        "import ctypes, os, signal\nfrom workload.stopping import Stop\nstop = Stop(limit=0.3)\n"
        "os.kill(os.getpid(), signal.SIGTERM)\nctypes.CDLL(None).sleep(30)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 143
    assert done.stderr.startswith("stop: no step ended for 0 s after the signal")


def test_a_process_that_makes_progress_has_the_time_it_needs() -> None:
    program = (
        "import os, signal, time\nfrom workload.stopping import Stop\nstop = Stop(limit=0.4)\n"
        "os.kill(os.getpid(), signal.SIGTERM)\n"
        "for _ in range(8): time.sleep(0.1); stop.progress()\nraise SystemExit(7 if stop.requested else 1)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (7, "")
