"""Heartbeats: a rank that stops is found, and the node of its last sign of life named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.workload.conftest import ROOT, Run
from workload import heartbeat
from workload.heartbeat import Beat, Heart, stale


def test_a_heartbeat_says_rank_step_time_and_host(tmp_path: Path) -> None:
    before = time.time()
    assert Heart(tmp_path, 7, host="node-3").beat(42)
    value = json.loads((tmp_path / "rank-000007.json").read_text())
    assert {name: value[name] for name in ("rank", "step", "host")} == {"rank": 7, "step": 42, "host": "node-3"}
    assert before <= value["time"] <= time.time()
    assert [path.name for path in tmp_path.iterdir()] == ["rank-000007.json"]


def test_the_node_comes_from_kubernetes_where_the_pod_says_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NODE_NAME", "ip-10-0-3-7.ec2.internal")
    assert heartbeat.node_name() == "ip-10-0-3-7.ec2.internal"
    monkeypatch.delenv("NODE_NAME")
    assert heartbeat.node_name() == os.uname().nodename


def test_beats_between_two_writes_cost_no_write(tmp_path: Path) -> None:
    heart = Heart(tmp_path, 0, every=3600)
    assert [heart.beat(1), heart.beat(2), heart.beat(3, now=True), heart.beat(4)] == [True, False, True, False]
    assert heartbeat.read(tmp_path)[0].step == 3


def test_the_rank_that_stopped_first_is_named_first() -> None:
    beats = {
        0: Beat(0, 120, 0, "node-a"),
        1: Beat(1, 119, 0, "node-b"),
        2: Beat(2, 120, 0, "node-c"),
        3: Beat(3, 121, 0, "node-a"),
    }
    found = stale(beats, {0: 700.0, 1: 705.0, 2: 710.0, 3: 5.0}, range(4), waited=900, timeout=600)
    assert [one.rank for one in found] == [1, 2, 0]
    assert str(found[0]) == "rank 1 on node node-b: last heartbeat 11m45s ago, at step 119"


def test_a_rank_that_never_beat_is_stale_once_the_timeout_has_passed() -> None:
    beats = {0: Beat(0, 1, 0, "node-a")}
    assert stale(beats, {0: 1.0}, range(2), waited=599, timeout=600) == []
    (found,) = stale(beats, {0: 1.0}, range(2), waited=601, timeout=600)
    assert str(found) == "rank 1: no heartbeat after 10m01s"


def test_clocks_that_differ_do_not_look_like_a_hang() -> None:
    watch = heartbeat.Watch()
    # An hour behind the watcher's clock, and an hour ahead: both just changed.
    silent = watch.look({0: Beat(0, 1, time.time() - 3600, "a"), 1: Beat(1, 1, time.time() + 3600, "b")})
    assert max(silent.values()) < 1


def test_watch_ends_with_1_and_names_the_node_when_a_rank_hangs(tmp_path: Path) -> None:
    hearts = [Heart(tmp_path, rank, every=0, host=f"node-{rank}") for rank in range(3)]
    for heart in hearts:
        heart.beat(10)
    words = ["watch", str(tmp_path), "--world-size", "3", "--hang-timeout", "1.0", "--interval", "0.02", "--json"]
    command = [sys.executable, str(ROOT / "workload/heartbeat.py"), *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    step = 10
    while process.poll() is None:  # rank 1 has stopped, the others go on
        step += 1
        hearts[0].beat(step)
        hearts[2].beat(step)
        time.sleep(0.02)
    said, _ = process.communicate()
    assert process.returncode == 1
    value = json.loads(said)
    assert (value["hang"], value["node"]) == (True, "node-1")
    assert [(one["rank"], one["node"], one["step"]) for one in value["stale"]] == [(1, "node-1", 10)]


def test_watch_ends_with_0_when_the_watched_process_has_ended(tmp_path: Path, run: Run) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    words = ("watch", tmp_path, "--world-size", 1, "--hang-timeout", 600, "--until-process-ends", ended.pid)
    assert run("heartbeat", *words).returncode == 0


def test_check_looks_once_for_a_probe(tmp_path: Path, run: Run) -> None:
    assert run("heartbeat", "beat", tmp_path / "beats", "--rank", 8, "--step", 5).returncode == 0
    words = ("check", tmp_path / "beats", "--first-rank", 8, "--world-size", 1, "--hang-timeout")
    assert run("heartbeat", *words, 600).returncode == 0
    file = tmp_path / "beats/rank-000008.json"
    value = json.loads(file.read_text())
    file.write_text(json.dumps({**value, "boottime": value["boottime"] - 1000, "host": "node-x"}))
    done = run("heartbeat", *words, 600)
    assert done.returncode == 1
    assert done.stdout.startswith(
        "hang: 1 ranks are silent; first to look at: rank 8 on node node-x: last heartbeat 16m4"
    )
    assert done.stdout.endswith("ago, at step 5\n")


def test_a_clock_set_back_or_forward_looks_neither_like_a_hang_nor_like_life(tmp_path: Path, run: Run) -> None:
    Heart(tmp_path, 0).beat(5)
    file = tmp_path / "rank-000000.json"
    value = json.loads(file.read_text())
    words = ("check", tmp_path, "--world-size", 1, "--hang-timeout", 600)
    file.write_text(json.dumps({**value, "time": value["time"] - 86400}))
    assert run("heartbeat", *words).returncode == 0
    file.write_text(json.dumps({**value, "time": value["time"] + 86400, "boottime": value["boottime"] - 601}))
    assert run("heartbeat", *words).returncode == 1


def test_a_beat_from_before_the_nodes_last_boot_is_no_sign_of_life(tmp_path: Path) -> None:
    Heart(tmp_path, 0).beat(5)
    beat = heartbeat.read(tmp_path)[0]
    assert beat.silent_seconds(now=beat.boottime + 1, boot=beat.boot) == pytest.approx(1)
    assert beat.silent_seconds(now=700, boot="another boot") == 700


def test_long_work_between_two_steps_is_a_sign_of_life_and_says_what_it_is(tmp_path: Path) -> None:
    heart = Heart(tmp_path, 0, every=0, host="node-a")
    heart.beat(7)
    heart.working("checkpoint")
    beat = heartbeat.read(tmp_path)[0]
    assert (beat.step, beat.working) == (7, "checkpoint")
    (found,) = stale({0: beat}, {0: 700.0}, [0], 700, 600)
    assert str(found) == "rank 0 on node node-a: last heartbeat 11m40s ago, at step 7 during checkpoint"


def test_started_is_true_from_the_first_heartbeat_on(tmp_path: Path, run: Run) -> None:
    (tmp_path / "metrics-000000.json").write_text("{}")
    assert run("heartbeat", "started", tmp_path).returncode == 1
    Heart(tmp_path, 0).beat(0)
    assert run("heartbeat", "started", tmp_path).returncode == 0


def test_a_heartbeat_folder_that_is_not_there_fails_the_probe(tmp_path: Path, run: Run) -> None:
    done = run("heartbeat", "check", tmp_path / "none", "--world-size", 1, "--hang-timeout", 5)
    assert (done.returncode, done.stdout) == (1, f"heartbeat: {tmp_path}/none is not there\n")


def test_a_torn_file_counts_as_no_heartbeat(tmp_path: Path) -> None:
    (tmp_path / "rank-000000.json").write_text('{"rank": 0, "st')
    (tmp_path / "rank-000001.json").write_text('{"rank": 1}')
    (tmp_path / "other.json").write_text("{}")
    assert heartbeat.read(tmp_path) == {}


def test_numbers_that_make_no_sense_are_refused(tmp_path: Path, run: Run) -> None:
    for words in (("--world-size", 0, "--hang-timeout", 5), ("--world-size", 1, "--hang-timeout", 0)):
        done = run("heartbeat", "watch", tmp_path, *words)
        assert done.returncode == 2
        assert done.stderr.endswith("--world-size starts at 1 and --hang-timeout is above 0\n")
