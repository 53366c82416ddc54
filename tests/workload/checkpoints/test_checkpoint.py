"""Checkpoints: what is in one, when it is complete, which is the newest, and what may go."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from tests.workload.checkpoints.checkpoint_killer import VERSIONS
from tests.workload.conftest import Run
from workload.checkpoints import checkpoint, checkpoint_folder
from workload.checkpoints.checkpoint import REQUIRED, NotSealed, Writer


def written(root: Path, step: int, attempt: str = "a", ranks: int = 1) -> Path:
    writers = [
        Writer(root, step=step, attempt=attempt, versions=VERSIONS, rank=rank, world_size=ranks)
        for rank in range(ranks)
    ]
    for rank, writer in reversed(list(enumerate(writers))):
        for holds in REQUIRED if rank == 0 else ("random_state",):
            with writer.part(holds) as file:
                file.write(f"{holds} {rank} {step}".encode() * 10)
        writer.finish()
    writers[0].seal(timeout=0)
    return writers[0].folder


def flip(path: Path, place: int = 3) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


def test_the_manifest_says_what_a_checkpoint_is_made_of(tmp_path: Path) -> None:
    folder = written(tmp_path, 250, "first", ranks=3)
    manifest = checkpoint.read_manifest(folder)
    assert folder.name == "step-000000000250-first"
    assert (manifest.step, manifest.world_size, manifest.attempt, manifest.versions) == (250, 3, "first", VERSIONS)
    assert [(part.name, part.rank, part.size) for part in manifest.holding("random_state")] == [
        ("random_state-000000.bin", 0, 180),
        ("random_state-000001.bin", 1, 180),
        ("random_state-000002.bin", 2, 180),
    ]
    assert {part.holds for part in manifest.parts} == set(REQUIRED)
    assert list(checkpoint.faults(folder)) == []


@pytest.mark.parametrize("left_out", REQUIRED)
def test_a_checkpoint_without_a_required_part_is_not_sealed(left_out: str, tmp_path: Path) -> None:
    writer = Writer(tmp_path, step=1, attempt="a", versions=VERSIONS)
    for holds in REQUIRED:
        if holds != left_out:
            with writer.part(holds) as file:
                file.write(b"x")
    writer.finish()
    with pytest.raises(NotSealed) as raised:
        writer.seal(timeout=0)
    assert str(raised.value) == f"{writer.folder}: nothing holds {left_out}"
    assert checkpoint.latest(tmp_path) == (None, [])


@pytest.mark.parametrize("missing", ["image", "code", "data"])
def test_a_checkpoint_records_all_three_versions(missing: str, tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=f"^a checkpoint records the versions of image, code and data; missing: {missing}$"
    ):
        Writer(tmp_path, step=1, attempt="a", versions={**VERSIONS, missing: ""})


def test_rank_0_waits_for_the_others_and_names_the_one_that_never_came(tmp_path: Path) -> None:
    first, second = (
        Writer(tmp_path, step=1, attempt="a", versions=VERSIONS, rank=rank, world_size=2) for rank in (0, 1)
    )
    for holds in REQUIRED:
        with first.part(holds) as file:
            file.write(b"x")
    first.finish()
    with pytest.raises(NotSealed) as raised:
        first.seal(timeout=0.05, poll=0.01)
    assert str(raised.value) == f"{first.folder}: rank 1 of 2 left no record within 0.05 s"
    late = threading.Timer(0.1, second.finish)
    late.start()
    assert first.seal(timeout=30, poll=0.01).world_size == 2
    late.join()


def test_only_rank_0_seals_and_only_once(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^rank 1 seals nothing; rank 0 does$"):
        Writer(tmp_path, step=1, attempt="b", versions=VERSIONS, rank=1, world_size=2).seal()
    folder = written(tmp_path, 1)
    with pytest.raises(FileExistsError) as raised:
        Writer(tmp_path, step=1, attempt="a", versions=VERSIONS)
    assert str(raised.value) == f"{folder} is complete; a checkpoint is never written twice"


def test_a_part_damaged_after_writing_is_not_sealed(tmp_path: Path) -> None:
    writer = Writer(tmp_path, step=1, attempt="a", versions=VERSIONS)
    for holds in REQUIRED:
        with writer.part(holds) as file:
            file.write(b"abcdef")
    flip(writer.folder / "weights-000000.bin")
    with pytest.raises(NotSealed, match=r"read back after writing: .*weights-000000\.bin: sha256 is "):
        writer.finish()
    flip(writer.folder / "weights-000000.bin")
    writer.finish()
    (writer.folder / "optimizer-000000.bin").write_bytes(b"abc")
    with pytest.raises(NotSealed, match=r"optimizer-000000\.bin: 3 bytes, the manifest says 6"):
        writer.seal(timeout=0)


def test_a_part_whose_writing_failed_has_no_name(tmp_path: Path) -> None:
    writer = Writer(tmp_path, step=1, attempt="a", versions=VERSIONS)
    with pytest.raises(RuntimeError, match="out of memory"), writer.part("weights") as file:
        file.write(b"half")
        raise RuntimeError("out of memory")
    assert [path.name for path in writer.folder.iterdir()] == [".weights-000000.bin.partial"]


def test_parts_of_a_killed_try_are_not_mixed_into_the_next(tmp_path: Path) -> None:
    dead = Writer(tmp_path, step=5, attempt="dead", versions=VERSIONS, rank=1, world_size=2)
    with dead.part("random_state") as file:
        file.write(b"stale")
    dead.finish()
    alive = Writer(tmp_path, step=5, attempt="alive", versions=VERSIONS, rank=0, world_size=2)
    for holds in REQUIRED:
        with alive.part(holds) as file:
            file.write(b"x")
    alive.finish()
    with pytest.raises(NotSealed, match="rank 1 of 2 left no record"):
        alive.seal(timeout=0)


def test_each_flipped_byte_and_lost_file_is_named(tmp_path: Path, run: Run) -> None:
    folder = written(tmp_path, 1)
    assert run("checkpoints/checkpoint", "verify", folder).stdout == f"{folder}: step 1, 5 parts, 700 B, verified\n"
    flip(folder / "weights-000000.bin")
    (folder / "scheduler-000000.bin").unlink()
    (folder / "optimizer-000000.bin").write_bytes(b"")
    done = run("checkpoints/checkpoint", "verify", folder)
    assert (done.returncode, done.stdout) == (1, "")
    said = done.stderr.splitlines()
    assert said[0].startswith(f"{folder}/weights-000000.bin: sha256 is ")
    assert said[1:] == [
        f"{folder}/optimizer-000000.bin: 0 bytes, the manifest says 130",
        f"{folder}/scheduler-000000.bin: is missing",
    ]
    assert run("checkpoints/checkpoint", "verify", "--sizes-only", folder).stderr.splitlines() == said[1:]


def test_every_flipped_byte_of_a_manifest_is_found(tmp_path: Path) -> None:
    folder = written(tmp_path, 1)
    file = folder / "manifest.json"
    good = file.read_bytes()
    for place in range(0, len(good) - 1, 7):
        file.write_bytes(good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :])
        assert list(checkpoint.faults(folder)), place
    file.write_bytes(good)
    assert list(checkpoint.faults(folder)) == []


def test_a_manifest_that_points_out_of_its_folder_is_refused(tmp_path: Path) -> None:
    folder = written(tmp_path, 1)
    file = folder / "manifest.json"
    value = json.loads(file.read_bytes())
    del value["checksum"]
    value["parts"][0]["name"] = "../../etc/passwd"
    file.write_bytes(checkpoint_folder.signed(value))
    assert list(checkpoint.faults(folder)) == [f"{file}: part '../../etc/passwd' is no plain file name"]


def test_latest_passes_over_what_is_incomplete_or_damaged(tmp_path: Path, run: Run) -> None:
    good, damaged = written(tmp_path, 100), written(tmp_path, 200)
    flip(damaged / "weights-000000.bin")
    Writer(tmp_path, step=300, attempt="a", versions=VERSIONS)
    done = run("checkpoints/checkpoint", "latest", tmp_path)
    assert (done.returncode, done.stdout) == (0, f"{good}\n")
    assert done.stderr.startswith(f"passed over: {damaged}/weights-000000.bin: sha256 is ")
    flip(good / "weights-000000.bin")
    done = run("checkpoints/checkpoint", "latest", tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith(f"{tmp_path}: no complete checkpoint verifies\n")


def test_of_two_tries_at_one_step_the_later_is_the_newest(tmp_path: Path) -> None:
    written(tmp_path, 100, "z")
    later = written(tmp_path, 100, "b")
    assert checkpoint.latest(tmp_path)[0] == later


def test_prune_lists_what_goes_before_it_goes(tmp_path: Path, run: Run) -> None:
    folders = {step: written(tmp_path, step) for step in (10, 20, 30, 40)}
    Writer(tmp_path, step=15, attempt="a", versions=VERSIONS)  # a killed try
    Writer(tmp_path, step=50, attempt="a", versions=VERSIONS)  # perhaps still being written
    (tmp_path / "notes.txt").write_text("mine")
    expected = [
        "keep step-000000000040-a: the newest that verifies",
        f"delete {folders[20]} (2.0 KiB; complete, older than the last 2)",
        f"delete {tmp_path}/step-000000000015-a (0 B; never completed, and a later step is)",
        f"delete {folders[10]} (2.0 KiB; complete, older than the last 2)",
    ]
    dry = run("checkpoints/checkpoint", "prune", tmp_path, "--keep-last", 2, "--dry-run")
    sizeless = [line.split(" (")[0] for line in expected]
    assert [line.split(" (")[0] for line in dry.stdout.splitlines()] == [*sizeless, "dry run: 3 would be deleted"]
    assert len(list(tmp_path.iterdir())) == 7
    done = run("checkpoints/checkpoint", "prune", tmp_path, "--keep-last", 2)
    assert [line.split("; ")[-1] for line in done.stdout.splitlines()[1:-1]] == [
        line.split("; ")[-1] for line in expected[1:]
    ]
    assert done.stdout.endswith("deleted 3\n")
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["notes.txt", "step-000000000030-a", "step-000000000040-a", "step-000000000050-a"]


def test_prune_keeps_the_newest_good_one_even_when_newer_ones_are_damaged(tmp_path: Path, run: Run) -> None:
    good, *damaged = [written(tmp_path, step) for step in (10, 20, 30)]
    for folder in damaged:
        flip(folder / "weights-000000.bin")
    done = run("checkpoints/checkpoint", "prune", tmp_path, "--keep-last", 1)
    assert done.returncode == 0
    assert checkpoint.latest(tmp_path)[0] == good


def test_prune_deletes_nothing_when_nothing_verifies(tmp_path: Path, run: Run) -> None:
    flip(written(tmp_path, 10) / "weights-000000.bin")
    written(tmp_path, 20).joinpath("weights-000000.bin").unlink()
    done = run("checkpoints/checkpoint", "prune", tmp_path, "--keep-last", 1)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"{tmp_path}: no checkpoint verifies, so nothing is deleted\n")
    assert len(list(tmp_path.iterdir())) == 2


def test_prune_keeps_at_least_one(tmp_path: Path, run: Run) -> None:
    done = run("checkpoints/checkpoint", "prune", tmp_path, "--keep-last", 0)
    assert done.returncode == 2
    assert done.stderr.endswith("checkpoint: error: --keep-last 0: at least 1 is kept\n")


def test_list_tells_complete_from_damaged_from_incomplete(tmp_path: Path, run: Run) -> None:
    written(tmp_path, 10, ranks=2)
    written(tmp_path, 20).joinpath("weights-000000.bin").unlink()
    Writer(tmp_path, step=30, attempt="a", versions=VERSIONS)
    done = run("checkpoints/checkpoint", "list", tmp_path, "--json")
    rows = json.loads(done.stdout)["checkpoints"]
    assert [(row["step"], row["state"], row.get("world_size")) for row in rows] == [
        (30, "incomplete", None),
        (20, "damaged", 1),
        (10, "complete", 2),
    ]
    assert rows[2]["versions"] == VERSIONS
    table = run("checkpoints/checkpoint", "list", tmp_path).stdout
    assert f"    {tmp_path}/step-000000000020-a/weights-000000.bin: is missing\n" in table


def test_a_folder_that_is_not_there_is_said_plainly(tmp_path: Path, run: Run) -> None:
    for verb in ("latest", "list"):
        done = run("checkpoints/checkpoint", verb, tmp_path / "none")
        assert (done.returncode, done.stderr) == (1, f"{tmp_path}/none: No such file or directory\n")
