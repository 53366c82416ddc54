"""The reference trainer with real torch and gloo: a stop of any kind leaves no trace in the curve of the loss, on any
number of ranks and any layout.
"""

from __future__ import annotations

import json
import random
import signal
import time
from array import array
from pathlib import Path
from typing import Any

import pytest

from tests.workload.conftest import ROOT, Run, TorchProcess, TorchServer
from workload import contract, heartbeat
from workload.checkpoints import checkpoint
from workload.telemetry import figures

pytestmark = [pytest.mark.torch, pytest.mark.xdist_group("torch")]

SEQUENCE = 16
STEPS = 8
BATCH = 12
TRAIN = str(ROOT / "workload/trainer/train.py")
# Ranks add up in another order: equal but for rounding.
TOLERANCE = 2e-5


class Job:
    """One dataset, and runs over it; each run has its own folder."""

    def __init__(self, folder: Path, server: TorchServer) -> None:
        self.folder, self._server = folder, server
        self.data, self.manifest = folder / "data", folder / "m.jsonl"

    def start(self, name: str, ranks: int, *more: object, **environment: object) -> list[TorchProcess]:
        fixed: dict[str, object] = {
            "--manifest": self.manifest,
            "--data": self.data,
            "--checkpoints": self.folder / name / "checkpoints",
            "--metrics": self.folder / name / "metrics.jsonl",
            "--steps": STEPS,
            "--global-batch": BATCH,
            "--sequence": SEQUENCE,
            "--checkpoint-every": 3,
        }
        (self.folder / name).mkdir(exist_ok=True)
        words = [word for pair in fixed.items() for word in pair]
        reported = {
            "TRAINSHED_IMAGE": "sha256:1",
            "TRAINSHED_CODE": "git:2",
            "TRAINSHED_DATA": "corpus-3",
            **environment,
        }
        return self._server.ranks(ranks, TRAIN, *words, *more, **reported)

    def train(self, name: str, ranks: int = 1, *more: object, **environment: object) -> tuple[set[int], str]:
        """Run to the end; gives the exit codes and what was said."""
        ended = [process.wait() for process in self.start(name, ranks, *more, **environment)]
        return {code for code, _ in ended}, "".join(said for _, said in ended)

    def events(self, name: str, event: str) -> list[dict[str, Any]]:
        file = self.folder / name / "metrics.jsonl"
        lines = file.read_text().splitlines() if file.exists() else []
        return [value for value in map(json.loads, lines) if value["event"] == event]

    def losses(self, name: str) -> list[float]:
        """By step; a step that was repeated after a restart counts as it came out last."""
        by_step = {value["step"]: value["loss"] for value in self.events(name, "step")}
        assert sorted(by_step) == list(range(1, len(by_step) + 1))
        return [by_step[step] for step in sorted(by_step)]

    def wait_for_step(self, name: str, step: int, processes: list[TorchProcess]) -> None:
        while not [value for value in self.events(name, "step") if value["step"] >= step]:
            assert all(process.running for process in processes), [process.wait() for process in processes]
            time.sleep(0.01)


def make_data(job: Job, run: Run) -> None:
    """Sequences that count upwards: a small model learns them in a few steps."""
    generator = random.Random(3)
    job.data.mkdir()
    for number, count in enumerate((40, 1, 15)):
        tokens = array("H")
        for _ in range(count):
            start, stride = generator.randrange(64), generator.randrange(1, 4)
            tokens.extend((start + stride * place) % 64 for place in range(SEQUENCE + 1))
        (job.data / f"shard-{number}.bin").write_bytes(tokens.tobytes())
    done = run("data/stage", "manifest", job.data, "--output", job.manifest, "--sample-bytes", 2 * (SEQUENCE + 1))
    assert done.returncode == 0


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory, run: Run, torch_server: TorchServer) -> Job:
    """With the curves of two runs that nothing disturbed; `whole` has dropout, so that random states matter."""
    made = Job(tmp_path_factory.mktemp("train"), torch_server)
    make_data(made, run)
    assert made.train("still") == ({0}, "")
    assert made.train("whole", 2, "--dropout", "0.1") == ({0}, "")
    return made


def test_the_loss_falls_and_each_step_tells_what_the_monitor_wants(job: Job) -> None:
    losses = job.losses("still")
    assert losses[-1] < losses[0] - 0.2
    step = job.events("still", "step")[-1]
    assert step["samples"] == STEPS * BATCH
    assert step["epoch"] == 1  # 56 samples an epoch
    assert min(step[name] for name in ("tokens_per_second", "step_seconds", "gradient_norm")) > 0


def test_a_checkpoint_is_sealed_and_holds_all_that_a_run_needs(job: Job) -> None:
    folder, _ = checkpoint.latest(job.folder / "whole/checkpoints")
    assert folder is not None
    manifest = checkpoint.read_manifest(folder)
    assert (manifest.step, manifest.world_size) == (STEPS, 2)
    assert manifest.versions == {"image": "sha256:1", "code": "git:2", "data": "corpus-3"}
    assert manifest.contents == ("data_position", "optimizer", "random_state", "scheduler", "weights")
    assert {part.rank for part in manifest.parts} == {0, 1}
    assert list(checkpoint.faults(folder)) == []


def test_a_run_killed_and_resumed_has_bit_for_bit_the_loss_of_one_that_never_stopped(job: Job) -> None:
    processes = job.start("killed", 2, "--dropout", "0.1")
    # The checkpoint of step 3 is complete before that of step 6 begins.
    job.wait_for_step("killed", 7, processes)
    for process in processes:
        process.send(signal.SIGKILL)
        process.wait()
    assert job.train("killed", 2, "--dropout", "0.1", RESTART_ATTEMPT=1) == ({0}, "")
    assert job.events("killed", "start")[-1]["resumed_from"].startswith("step-00000000000")
    assert job.losses("killed") == job.losses("whole")


def test_a_run_stopped_and_resumed_on_other_numbers_of_ranks_goes_on_with_the_same_data_and_loss(job: Job) -> None:
    for attempt, (ranks, step) in enumerate(((1, 2), (3, 5))):
        processes = job.start("changed", ranks, "--checkpoint-every", "1000", RESTART_ATTEMPT=attempt)
        job.wait_for_step("changed", step, processes)
        processes[-1].send(signal.SIGTERM)  # one rank is enough: all agree at the end of the step
        assert {process.wait()[0] for process in processes} == {contract.STOPPED}
        stopped = job.events("changed", "stopped")[-1]["step"]
        assert stopped == job.events("changed", "checkpoint")[-1]["step"]
    assert job.train("changed", 2, RESTART_ATTEMPT=2) == ({0}, "")
    assert [value["world_size"] for value in job.events("changed", "start")] == [1, 3, 2]
    assert job.losses("changed") == pytest.approx(job.losses("still"), abs=TOLERANCE)
    samples = [value["samples"] for value in job.events("changed", "step")]
    assert samples == [BATCH * step for step in range(1, STEPS + 1)]


@pytest.mark.parametrize(
    ("name", "ranks", "more"),
    [
        ("tensor and data", 4, ("--tensor", "2")),
        ("pipeline and data", 4, ("--pipeline", "2", "--micro-batch", "3")),
        ("accumulated", 2, ("--micro-batch", "2")),
    ],
)
def test_every_layout_has_the_same_curve(name: str, ranks: int, more: tuple[str, ...], job: Job) -> None:
    assert job.train(name, ranks, "--checkpoint-every", "1000", *more) == ({0}, "")
    assert job.losses(name) == pytest.approx(job.losses("still"), abs=TOLERANCE)
    norms = [[value["gradient_norm"] for value in job.events(one, "step")] for one in (name, "still")]
    assert norms[0] == pytest.approx(norms[1], rel=1e-4)


def test_a_checkpoint_of_one_layout_goes_on_in_another(job: Job) -> None:
    processes = job.start("relaid", 4, "--tensor", "2", "--pipeline", "2", "--checkpoint-every", "1000")
    job.wait_for_step("relaid", 4, processes)
    processes[0].send(signal.SIGTERM)
    assert {process.wait()[0] for process in processes} == {contract.STOPPED}
    assert job.train("relaid", 2, RESTART_ATTEMPT=1) == ({0}, "")
    assert job.losses("relaid") == pytest.approx(job.losses("still"), abs=TOLERANCE)


def test_bfloat16_gated_and_with_grouped_queries_learns_too(job: Job) -> None:
    more = ("--precision", "bf16", "--gated-mlp", "--kv-heads", "2", "--ffn", "48")
    assert job.train("small numbers", 2, *more) == ({0}, "")
    assert job.losses("small numbers")[-1] < job.losses("small numbers")[0] - 0.2


def test_fine_tuning_begins_with_the_weights_of_another_run_and_nothing_else_of_it(job: Job) -> None:
    folder, _ = checkpoint.latest(job.folder / "still/checkpoints")
    assert job.train("tuned", 2, "--weights", folder, "--steps", "2", "--seed", "7") == ({0}, "")
    assert job.events("tuned", "start")[0]["step"] == 0
    assert job.losses("tuned")[0] < job.losses("still")[0] - 0.2
    codes, said = job.train("untuned", 1, "--weights", job.folder / "none")
    assert codes == {contract.BAD_DATA}
    assert "none: has no manifest.json: the checkpoint is not complete" in said


def test_only_the_last_checkpoints_are_kept(job: Job) -> None:
    assert job.train("kept", 1, "--checkpoint-every", "2", "--keep-last", "2") == ({0}, "")
    steps = [manifest.step for _, manifest in checkpoint.complete(job.folder / "kept/checkpoints")]
    assert steps == [STEPS, STEPS - 2]


def test_a_damaged_newest_checkpoint_is_passed_over_and_a_run_with_none_good_does_not_begin_anew(job: Job) -> None:
    job.train("damaged", 2, "--dropout", "0.1")
    root = job.folder / "damaged/checkpoints"
    newest = checkpoint.complete(root)[0][0]
    flip(newest)
    assert job.train("damaged", 2, "--dropout", "0.1", RESTART_ATTEMPT=1) == ({0}, "")
    (passed,) = job.events("damaged", "passed over")
    assert passed["checkpoint"] == newest.name
    assert ": sha256 is " in passed["fault"]
    assert job.events("damaged", "start")[-1]["step"] == 6
    assert job.losses("damaged") == job.losses("whole")
    for folder, _ in checkpoint.complete(root):
        if not any(checkpoint.faults(folder)):
            flip(folder)
    codes, said = job.train("damaged", 2, RESTART_ATTEMPT=2)
    assert codes == {contract.BAD_DATA}
    assert "train: checkpoints are there, and none is good:" in said


def flip(folder: Path) -> None:
    file = max(folder.glob("*.distcp"), key=lambda path: path.stat().st_size)
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def test_every_rank_leaves_heartbeats_and_figures(job: Job) -> None:
    beats = job.folder / "beats"
    reported = {"HEARTBEAT_FOLDER": beats, "NODE_NAME": "node-a", "CARD_PEAK_TFLOPS": 0.001}
    assert job.train("beating", 2, **reported) == ({0}, "")
    assert {rank: beat.host for rank, beat in heartbeat.read(beats).items()} == {0: "node-a", 1: "node-a"}
    for one in figures.read(beats):
        assert one.values["loss"] == pytest.approx(job.losses("beating")[-1])
        assert one.values["mfu"] > 0
        assert one.values["checkpoint_stall"] <= one.values["checkpoint_seconds"]
        assert "checkpoint_age" in one.since


def test_a_loss_that_is_no_number_ends_the_run_and_writes_no_checkpoint(job: Job) -> None:
    codes, said = job.train("wild", 2, "--learning-rate", "1e30", "--warmup", "1")
    assert codes == {contract.NOT_FINITE}
    assert ": loss nan, gradient norm nan; samples of data rank 0: [" in said
    assert checkpoint.complete(job.folder / "wild/checkpoints") == []


def test_a_rank_whose_peer_is_gone_ends_after_sigterm(job: Job) -> None:
    """It waits in a collective, in native code, and would do so for ten minutes."""
    processes = job.start("stuck", 2, "--steps", "100000", STOP_STEP_SECONDS=1)
    job.wait_for_step("stuck", 2, processes)
    processes[1].send(signal.SIGSTOP)
    time.sleep(0.3)
    processes[0].send(signal.SIGTERM)
    code, said = processes[0].wait()
    processes[1].send(signal.SIGKILL)
    processes[1].wait()
    assert code == contract.STOPPED
    assert "stop: no step ended for " in said


def test_what_does_not_fit_is_told_at_once_with_what_would(job: Job, torch_server: TorchServer) -> None:
    words = ("--data", job.data, "--checkpoints", job.folder, "--steps", 1)
    code, said = torch_server.start(TRAIN, *words, "--global-batch", 65, WORLD_SIZE=16).wait()
    assert code == contract.USAGE
    assert said == "train: error: a global batch of 65 can't be shared by 16 data-parallel ranks: use 64 or 80\n"
    more = ("--tensor", 3, "--heads", 5, "--global-batch", 16)
    code, said = torch_server.start(TRAIN, *words, *more, WORLD_SIZE=6, CONTEXT_PARALLEL=2).wait()
    assert code == contract.USAGE
    assert said.splitlines() == [
        f"train: error: {line}"
        for line in (
            "hidden 32 is no multiple of 5 heads: use 30 or 35",
            "heads 5 is no multiple of 3 tensor ranks: use 3 or 6",
            "kv heads 5 is no multiple of 3 tensor ranks: use 3 or 6",
            "ffn 128 is no multiple of 3 tensor ranks: use 126 or 129",
            "CONTEXT_PARALLEL is 2: this trainer splits by data, tensor and pipeline only",
        )
    ]
    code, said = torch_server.start(TRAIN).wait()
    assert (code, said.count("is missing, and neither the task nor the environment has it")) == (contract.USAGE, 3)


def test_a_task_and_the_jobs_environment_are_enough(job: Job, torch_server: TorchServer) -> None:
    """The trainer without an option, as a task names it."""
    model = {"layers": 1, "hidden": 32, "heads": 4, "kv_heads": 2, "ffn": 64, "vocab": 256, "sequence": SEQUENCE}
    training = {"tokens": 3 * 8 * SEQUENCE, "global_batch": 8, "precision": "bf16"}
    task = job.folder / "task.json"
    task.write_text(json.dumps({"task": "small", "model": {**model, "gated_mlp": True}, "training": training}))
    root = job.folder / "by task"
    reported = {"TASK_JSON": task, "DATASET_PATH": job.data, "CHECKPOINT_PATH": root, "CHECKPOINT_INTERVAL_STEPS": 2}
    # The dataset's manifest lies beside its shards.
    (job.data / "manifest.jsonl").write_bytes(job.manifest.read_bytes())
    assert torch_server.start(TRAIN, **reported).wait() == (0, "")
    assert [manifest.step for _, manifest in checkpoint.complete(root)] == [3, 2]
    task.write_text(json.dumps({"model": {**model, "experts": {"count": 8, "active": 2}}, "training": training}))
    code, said = torch_server.start(TRAIN, **reported).wait()
    assert (code, said) == (
        contract.USAGE,
        "train: error: model.experts: this trainer has no such model; use another trainer\n",
    )


def test_another_dataset_is_refused_after_a_restart(job: Job, run: Run, torch_server: TorchServer) -> None:
    other = Job(job.folder / "other", torch_server)
    other.folder.mkdir()
    make_data(other, run)
    assert other.train("run", 1, "--steps", "1") == ({0}, "")
    lines = other.manifest.read_text().splitlines(keepends=True)
    other.manifest.write_text("".join(reversed(lines)))
    codes, said = other.train("run", 1, RESTART_ATTEMPT=1)
    assert codes == {contract.BAD_DATA}
    assert "train: the checkpoint's data position has data '" in said


def test_a_shard_shorter_than_its_manifest_is_named(job: Job, run: Run, torch_server: TorchServer) -> None:
    cut = Job(job.folder / "cut", torch_server)
    cut.folder.mkdir()
    make_data(cut, run)
    shard = cut.data / "shard-2.bin"
    shard.write_bytes(shard.read_bytes()[: 2 * (SEQUENCE + 1) * 3])
    codes, said = cut.train("run")
    assert codes == {contract.BAD_DATA}
    assert "train: shard-2.bin: sample " in said
