"""The reference trainer with real torch and gloo: a stop of any kind leaves no trace in the curve of the loss."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import time
from array import array
from pathlib import Path
from typing import Any

import pytest

from tests.left_out import torch_python
from tests.workload.conftest import ROOT, Run
from workload.checkpoints import checkpoint

pytestmark = pytest.mark.torch

SEQUENCE = 16
STEPS = 12


class Job:
    """One dataset, and runs over it; each run has its own folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data, self.manifest = folder / "data", folder / "m.jsonl"

    def words(self, name: str, *more: object) -> list[str]:
        fixed: dict[str, object] = {
            "--manifest": self.manifest,
            "--data": self.data,
            "--checkpoints": self.folder / name / "checkpoints",
            "--metrics": self.folder / name / "metrics.jsonl",
            "--steps": STEPS,
            "--global-batch": 12,
            "--sequence": SEQUENCE,
            "--checkpoint-every": 4,
            "--image-version": "sha256:1",
            "--code-version": "git:2",
            "--data-version": "corpus-3",
        }
        (self.folder / name).mkdir(exist_ok=True)
        return [
            str(torch_python()),
            str(ROOT / "workload/trainer/train.py"),
            *(str(word) for pair in fixed.items() for word in pair),
            *map(str, more),
        ]

    def start(self, name: str, ranks: int, *more: object) -> list[subprocess.Popen[str]]:
        """One process a rank."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        processes = []
        for rank in range(ranks):
            # One thread each: sums are then in one order, and equal runs are equal to the last bit.
            environment = {
                **os.environ,
                "OMP_NUM_THREADS": "1",
                "NODE_NAME": f"node-{rank}",
                "GLOO_SOCKET_IFNAME": "lo",
            }
            if ranks > 1:
                environment |= {
                    "RANK": str(rank),
                    "WORLD_SIZE": str(ranks),
                    "MASTER_ADDR": "127.0.0.1",
                    "MASTER_PORT": str(port),
                }
            words = self.words(name, *more)
            processes.append(
                subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)
            )
        return processes

    def train(self, name: str, ranks: int = 1, *more: object) -> tuple[set[int], str]:
        """Run to the end; gives the exit codes and what was said."""
        processes = self.start(name, ranks, *more)
        said = "".join(process.communicate()[1] for process in processes)
        return {process.returncode for process in processes}, said

    def events(self, name: str, event: str) -> list[dict[str, Any]]:
        file = self.folder / name / "metrics.jsonl"
        lines = file.read_text().splitlines() if file.exists() else []
        return [value for value in map(json.loads, lines) if value["event"] == event]

    def losses(self, name: str) -> list[float]:
        """By step; a step that was repeated after a restart counts as it came out last."""
        by_step = {value["step"]: value["loss"] for value in self.events(name, "step")}
        assert sorted(by_step) == list(range(1, len(by_step) + 1))
        return [by_step[step] for step in sorted(by_step)]


def make_data(job: Job, run: Run) -> None:
    """Sequences that count upwards: a small model learns them in a few steps."""
    generator = random.Random(3)
    job.data.mkdir()
    for number, count in enumerate((40, 1, 55)):
        tokens = array("H")
        for _ in range(count):
            start, stride = generator.randrange(64), generator.randrange(1, 4)
            tokens.extend((start + stride * place) % 64 for place in range(SEQUENCE + 1))
        (job.data / f"shard-{number}.bin").write_bytes(tokens.tobytes())
    done = run("data/stage", "manifest", job.data, "--output", job.manifest, "--sample-bytes", 2 * (SEQUENCE + 1))
    assert done.returncode == 0


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory, run: Run) -> Job:
    """With the curve of a run that nothing disturbed, as `whole`: dropout on, so that random states matter."""
    made = Job(tmp_path_factory.mktemp("train"))
    make_data(made, run)
    assert made.train("whole", 1, "--dropout", "0.1") == ({0}, "")
    assert made.train("whole-2", 2, "--dropout", "0.1") == ({0}, "")
    assert made.train("still", 1) == ({0}, "")
    return made


def test_the_loss_falls_and_each_step_tells_what_the_monitor_wants(job: Job) -> None:
    losses = job.losses("still")
    assert losses[-1] < losses[0] - 0.4
    step = job.events("still", "step")[-1]
    assert step["samples"] == STEPS * 12
    assert step["epoch"] == 1  # 96 samples an epoch
    assert step["tokens_per_second"] > 0
    assert step["step_seconds"] > 0
    assert step["gradient_norm"] > 0
    assert step["memory_used"] > 1 << 20


def test_a_checkpoint_holds_all_that_a_run_needs(job: Job) -> None:
    folder, _ = checkpoint.latest(job.folder / "whole-2/checkpoints")
    assert folder is not None
    manifest = checkpoint.read_manifest(folder)
    assert (manifest.step, manifest.world_size) == (STEPS, 2)
    assert manifest.versions == {"image": "sha256:1", "code": "git:2", "data": "corpus-3"}
    held = sorted((part.holds, part.rank) for part in manifest.parts)
    assert held == [
        ("data_position", 0),
        ("optimizer", 0),
        ("random_state", 0),
        ("random_state", 1),
        ("scheduler", 0),
        ("weights", 0),
    ]


@pytest.mark.parametrize(("name", "ranks"), [("whole", 1), ("whole-2", 2)])
def test_a_run_killed_and_resumed_has_the_loss_of_one_that_never_stopped(name: str, ranks: int, job: Job) -> None:
    again = f"killed-{ranks}"
    processes = job.start(again, ranks, "--dropout", "0.1")
    while not [value for value in job.events(again, "step") if value["step"] >= 6]:
        assert all(process.poll() is None for process in processes)
        time.sleep(0.01)
    for process in processes:
        process.kill()
    for process in processes:
        process.communicate()
    assert job.train(again, ranks, "--dropout", "0.1") == ({0}, "")
    assert job.events(again, "start")[-1]["resumed_from"].startswith("step-00000000000")
    assert job.losses(again) == job.losses(name)


def test_a_run_resumed_on_another_number_of_ranks_goes_on_with_the_same_data_and_loss(job: Job) -> None:
    for ranks, steps in ((1, 4), (3, 8), (2, STEPS)):
        # The learning rate follows the steps of the whole run, so the run is stopped and not shortened.
        stop_after(job, "changed", ranks, steps)
    assert [value["world_size"] for value in job.events("changed", "start")] == [1, 3, 2]
    for step, loss in enumerate(job.losses("still"), 1):
        # Ranks add up in another order: equal but for rounding.
        assert job.losses("changed")[step - 1] == pytest.approx(loss, abs=2e-5)
    assert [value["samples"] for value in job.events("changed", "step")] == [12 * step for step in range(1, STEPS + 1)]


def stop_after(job: Job, name: str, ranks: int, steps: int) -> None:
    """Run until `steps`, with a SIGTERM if the run is longer: its checkpoint is the one of the step it stopped at."""
    if steps == STEPS:
        assert job.train(name, ranks) == ({0}, "")
        return
    processes = job.start(name, ranks, "--checkpoint-every", "1000")
    while not job.events(name, "step") or job.events(name, "step")[-1]["step"] < steps - 1:
        assert all(process.poll() is None for process in processes)
        time.sleep(0.005)
    processes[-1].send_signal(signal.SIGTERM)  # one rank is enough: all agree at the end of the step
    for process in processes:
        process.communicate()
    assert {process.returncode for process in processes} == {143}


def test_sigterm_leaves_a_checkpoint_of_the_step_and_a_code_that_asks_for_a_restart(job: Job) -> None:
    stop_after(job, "stopped", 1, 3)
    (stopped,) = job.events("stopped", "stopped")
    folder, _ = checkpoint.latest(job.folder / "stopped/checkpoints")
    assert folder is not None
    assert checkpoint.read_manifest(folder).step == stopped["step"] == job.events("stopped", "step")[-1]["step"]


def test_only_the_last_checkpoints_are_kept(job: Job) -> None:
    assert job.train("kept", 1, "--checkpoint-every", "2", "--keep-last", "2") == ({0}, "")
    steps = [manifest.step for _, manifest in checkpoint.complete(job.folder / "kept/checkpoints")]
    assert steps == [STEPS, STEPS - 2]


def test_a_damaged_newest_checkpoint_is_passed_over(job: Job) -> None:
    job.train("damaged", 1, "--dropout", "0.1")
    newest, _ = checkpoint.latest(job.folder / "damaged/checkpoints")
    assert newest is not None
    weights = newest / "weights-000000.pt"
    data = bytearray(weights.read_bytes())
    data[len(data) // 2] ^= 1
    weights.write_bytes(data)
    codes, said = job.train("damaged", 1, "--dropout", "0.1")
    assert codes == {0}
    assert said.startswith(f"passed over: {weights}: sha256 is ")
    assert job.events("damaged", "start")[-1]["step"] == 8
    assert job.losses("damaged") == job.losses("whole")


def test_every_rank_leaves_heartbeats_with_its_node(job: Job) -> None:
    beats = job.folder / "beats"
    assert job.train("beating", 2, "--heartbeats", beats) == ({0}, "")
    values = [json.loads(path.read_text()) for path in sorted(beats.iterdir())]
    assert [(value["rank"], value["host"]) for value in values] == [(0, "node-0"), (1, "node-1")]


def test_a_loss_that_is_no_number_ends_the_run_and_writes_no_checkpoint(job: Job) -> None:
    codes, said = job.train("wild", 1, "--learning-rate", "1e30", "--warmup", "1")
    assert codes == {4}
    assert said.startswith("train: step ")
    assert ": loss nan, gradient norm nan; samples of rank 0: [" in said
    assert checkpoint.complete(job.folder / "wild/checkpoints") == []


def test_another_dataset_is_refused_after_a_restart(job: Job, run: Run) -> None:
    other = Job(job.folder / "other")
    other.folder.mkdir()
    make_data(other, run)
    with other.manifest.open() as lines:
        entries = lines.readlines()
    assert other.train("run", 1, "--steps", "2") == ({0}, "")
    other.manifest.write_text("".join(reversed(entries)))
    codes, said = other.train("run", 1)
    assert codes == {5}
    assert said.startswith("train: the checkpoint's data position has data '")


def test_a_shard_shorter_than_its_manifest_is_named(job: Job, run: Run) -> None:
    cut = Job(job.folder / "cut")
    cut.folder.mkdir()
    make_data(cut, run)
    shard = cut.data / "shard-2.bin"
    shard.write_bytes(shard.read_bytes()[: 2 * (SEQUENCE + 1) * 30])
    codes, said = cut.train("run")
    assert codes == {5}
    assert "train: shard-2.bin: sample " in said
    assert said.endswith(f" has 0 bytes of {2 * (SEQUENCE + 1)}: the shard is shorter than its manifest says\n")


def test_help_and_wrong_use(job: Job) -> None:
    program = [str(torch_python()), str(ROOT / "workload/trainer/train.py")]
    done = subprocess.run([*program, "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "exit codes:" in done.stdout
    done = subprocess.run([*job.words("wrong"), "--steps", "0"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (2, "train: error: --steps starts at 1")
