"""The gate over eight real processes: a sound gang passes, a bad member is named, nobody else is, nothing waits on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.left_out import torch_python
from tests.workload.preflight.gang import planted
from workload.preflight import gate

SMALL = ("--transport", "sockets", "--mib", "0.25")


def test_a_sound_gang_passes_and_leaves_its_baseline(tmp_path: Path) -> None:
    words = (*SMALL, "--wire-gbps", "0.02", "--baselines", tmp_path / "baselines", "--instance-type", "p5.48xlarge")
    done = planted.run(tmp_path, more=words)
    assert set(done.codes.values()) == {0}, done.log
    figures = json.loads((tmp_path / "report.json").read_text())["figures"]
    kept = json.loads((tmp_path / "baselines/p5.48xlarge_tcp_8.json").read_text())["figures"]
    assert set(kept) == {"all_reduce_gb_per_s", "broadcast_gb_per_s", "pair_gb_per_s", "inside_gb_per_s"}
    assert kept["pair_gb_per_s"] == figures["pair_gb_per_s"] > 0


@pytest.mark.parametrize(
    ("fault", "bad", "stage"),
    [
        ("throttled", 5, "join"),
        ("version-skewed", 0, "join"),
        ("killed", 7, "collectives"),
        ("killed", 0, "pairs"),
        ("hung", 3, "nodes"),
    ],
)
def test_the_bad_member_of_eight_is_named_and_no_other(tmp_path: Path, fault: str, bad: int, stage: str) -> None:
    limits = {"--node-limit": 4, "--test-limit": 3, "--grace": 2, "--patience": 4}
    done = planted.run(tmp_path, fault=fault, bad=bad, stage=stage, more=(*SMALL, "--wire-gbps", "0.04"), limits=limits)
    assert [each["rank"] for each in done.named] == [bad], (done.named, done.log)
    assert all(code != 0 for code in done.codes.values())
    if fault in ("throttled", "version-skewed"):
        assert done.codes[bad] == (gate.SLOW if fault == "throttled" else gate.VERSIONS)
        assert {code for rank, code in done.codes.items() if rank != bad} == {gate.OTHERS}


def test_a_worker_that_never_comes_is_named_by_its_rank(tmp_path: Path) -> None:
    done = planted.run(
        tmp_path, members=3, fault="killed", bad=2, stage="join", more=SMALL, limits={"--join-limit": 2, "--grace": 1}
    )
    assert [each["rank"] for each in done.named] == [2]
    assert done.seconds < 30


def test_a_gang_below_its_baseline_without_a_culprit_is_closed_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "baselines").mkdir()
    figures = {"all_reduce_gb_per_s": 1e6, "pair_gb_per_s": 1e-6}
    (tmp_path / "baselines/unknown_tcp_2.json").write_text(json.dumps({"figures": figures}))
    done = planted.run(tmp_path, members=2, more=(*SMALL, "--baselines", tmp_path / "baselines"))
    assert set(done.codes.values()) == {gate.COLLECTIVE}
    assert done.named == []
    assert "of the baseline of 1000000.0; 80% are asked" in done.log


def test_without_the_collective_test_no_bytes_move_between_nodes(tmp_path: Path) -> None:
    done = planted.run(tmp_path, members=2, more=(*SMALL, "--no-collective-test"))
    assert set(done.codes.values()) == {0}
    assert "pairs" not in done.log
    assert "pair_gb_per_s" not in json.loads((tmp_path / "report.json").read_text())["figures"]


@pytest.mark.torch
def test_torch_carries_the_tests_and_a_killed_member_is_named(tmp_path: Path) -> None:
    words = ("--transport", "torch", "--python", torch_python(), "--backend", "gloo", "--mib", "0.25", "--cards", "1")
    limits = {"--join-limit": 30, "--node-limit": 60, "--test-limit": 8, "--grace": 4, "--patience": 40}
    sound = planted.run(tmp_path / "sound", members=2, more=words, limits=limits)
    assert set(sound.codes.values()) == {0}, sound.log
    assert json.loads((tmp_path / "sound/report.json").read_text())["figures"]["transport"] == "torch"
    done = planted.run(tmp_path / "bad", members=2, fault="killed", bad=1, stage="pairs", more=words, limits=limits)
    assert [each["rank"] for each in done.named] == [1], done.log
