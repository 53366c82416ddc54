"""Two gangs, copies and prunes on the same folder of checkpoints."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.workload.checkpoints.test_checkpoint import written
from workload.checkpoints import checkpoint, lease, prune
from workload.checkpoints.lease import Held, Lease
from workload.checkpoints.places import Folder


def test_a_later_attempt_of_the_same_run_takes_over_at_once_and_the_earlier_one_seals_nothing(tmp_path: Path) -> None:
    first = Lease(tmp_path, "run-1", 0, "node-a", free_after=60)
    first.take()
    second = Lease(tmp_path, "run-1", 1, "node-b", free_after=60)
    started = time.monotonic()
    second.take()
    assert time.monotonic() - started < 1
    with pytest.raises(Held, match="run run-1, attempt 1, on node node-b has taken over"):
        first.check()
    second.check()


def test_another_run_waits_and_is_refused_while_the_holder_lives(tmp_path: Path) -> None:
    holder = Lease(tmp_path, "run-1", 0, "node-a")
    holder.take()
    ended = threading.Event()

    def live() -> None:
        while not ended.wait(0.02):
            holder._write()  # pyright: ignore[reportPrivateUsage] - a renewal without its pause

    thread = threading.Thread(target=live)
    thread.start()
    try:
        with pytest.raises(Held, match="checkpoints are written by run run-1, attempt 0, on node node-a"):
            Lease(tmp_path, "run-2", 0, "node-b", free_after=5, poll=0.1).take()
    finally:
        ended.set()
        thread.join()


def test_a_lease_that_nobody_renews_is_free_whatever_the_clocks_say(tmp_path: Path) -> None:
    Lease(tmp_path, "run-1", 5, "node-a").take()
    os.utime(tmp_path / lease.FILE, (time.time() + 86400, time.time() + 86400))
    other = Lease(tmp_path, "run-2", 0, "node-b", free_after=0.2, poll=0.05)
    other.take()
    assert other.mine()


def test_a_folder_that_is_being_copied_is_not_pruned(tmp_path: Path) -> None:
    for step in (10, 20, 30):
        written(tmp_path, step)
    oldest = tmp_path / "step-000000000010-a"
    with lease.copying(oldest):
        assert [one.folder.name for one in checkpoint.plan(tmp_path, 1)[1]] == ["step-000000000020-a"]
    assert len(checkpoint.plan(tmp_path, 1)[1]) == 2


def test_the_mark_of_a_copy_that_was_killed_runs_out(tmp_path: Path) -> None:
    folder = written(tmp_path, 10)
    mark = folder / f"{lease.COPYING}dead"
    mark.touch()
    assert lease.being_copied(folder)
    old = time.time() - lease.COPY_VALID_SECONDS - 1
    os.utime(mark, (old, old))
    assert not lease.being_copied(folder)


class Racing(Folder):
    """A target where, in the middle of the copy, somebody does something."""

    def __init__(self, path: Path, then: str, root: Path) -> None:
        super().__init__(path)
        self._then, self._root = then, root

    def put(self, file: str, chunks: Iterator[bytes], origin: Path | None) -> None:
        super().put(file, chunks, origin)
        if file.startswith("weights") and self._then == "prune the target":
            written(self._root, 99)
            _, condemned = checkpoint.plan(self._root, 1)
            for one in condemned:
                checkpoint.delete(one)
        elif file == "manifest.json" and self._then == "take a part":
            (self.path / "weights-000000.bin").unlink()


def test_a_later_checkpoint_sealed_and_pruned_at_the_target_leaves_the_copy_alone(tmp_path: Path) -> None:
    source = written(tmp_path / "one", 10)
    target = tmp_path / "two" / source.name
    assert checkpoint.copy(Folder(source), Racing(target, "prune the target", tmp_path / "two")) == (5, 0)
    assert list(checkpoint.faults(target)) == []


def test_a_part_taken_away_during_the_copy_is_seen_after_the_manifest_and_the_copy_is_not_complete(
    tmp_path: Path,
) -> None:
    source = written(tmp_path / "one", 10)
    target = tmp_path / "two" / source.name
    with pytest.raises(checkpoint.CopyFailed, match=r"weights-000000.bin: something took it away during the copy"):
        checkpoint.copy(Folder(source), Racing(target, "take a part", tmp_path / "two"))
    assert checkpoint.latest(tmp_path / "two") == (None, [])


def test_what_a_killed_gang_left_is_cleared_before_anything_is_written(tmp_path: Path) -> None:
    """Also of the newest step: otherwise each restart leaves another one, until the disk is full for ever."""
    written(tmp_path, 10)
    for attempt in ("b", "c"):
        checkpoint.Writer(tmp_path, step=20, attempt=attempt, versions={"image": "1", "code": "2", "data": "3"})
    found = prune.abandoned(tmp_path)
    assert sorted(one.folder.name for one in found) == ["step-000000000020-b", "step-000000000020-c"]
    for one in found:
        checkpoint.delete(one)
    assert [path.name for path in tmp_path.iterdir()] == ["step-000000000010-a"]
