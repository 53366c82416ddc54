"""Checkpoints under SIGKILL at every change to the disk: the newest complete one always verifies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.workload.checkpoints.checkpoint_killer import write
from tests.workload.conftest import ROOT

STEP_5, STEP_10, STEP_20 = (f"step-{step:012d}" for step in (5, 10, 20))


def kills(scene: str, folder: Path) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "tests.workload.checkpoints.checkpoint_killer", scene, str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


def nothing(line: str) -> None:
    """Nobody listens."""


def killed_calls(rows: list[dict[str, Any]]) -> set[str]:
    return {line.split()[-1] for row in rows for line in row["told"] if line.startswith("killed")}


def test_a_kill_at_any_step_of_writing_leaves_the_newest_complete_checkpoint_good(scratch: Path) -> None:
    write(scratch / "prepared", 5, nothing)
    rows = kills("write", scratch)
    assert len(rows) > 60
    assert killed_calls(rows) == {"mkdir", "open", "write", "fsync", "replace"}
    assert [row["killed"] for row in rows] == [True] * (len(rows) - 1) + [False]
    order = [STEP_5, STEP_10, STEP_20]
    for row in rows:
        sealed = 1 + sum(line.startswith("sealed") for line in row["told"])
        # Once `seal` has returned the checkpoint is there for good; a kill inside it may come after the rename.
        assert row["latest"] in order[sealed - 1 : sealed + 1]
        assert row["skipped"] == []
        # The run that follows repeats the steps and seals them.
        assert (row["again"], row["after"]) == (0, STEP_20)
        assert (
            row["told_again"] == row["told"] if not row["killed"] else row["told_again"] == ["sealed 10", "sealed 20"]
        )


def test_a_kill_at_any_step_of_pruning_leaves_no_half_deleted_checkpoint_that_looks_complete(scratch: Path) -> None:
    for step in (5, 10, 20):
        write(scratch / "prepared", step, nothing)
    rows = kills("prune", scratch)
    assert len(rows) > 15
    assert killed_calls(rows) == {"unlink", "fsync", "rmdir"}
    for row in rows:
        assert (row["latest"], row["skipped"]) == (STEP_20, [])
        assert (row["again"], row["after"]) == (0, STEP_20)
    assert rows[-1]["complete"] == [STEP_20]


def test_a_kill_at_any_step_of_copying_leaves_no_half_copy_that_looks_complete(scratch: Path) -> None:
    write(scratch / "source", 20, nothing)
    (scratch / "prepared").mkdir()
    rows = kills("copy", scratch)
    assert len(rows) > 25
    assert killed_calls(rows) == {"mkdir", "open", "write", "fsync", "replace", "unlink"}
    for row in rows:
        assert row["latest"] in (None, STEP_20)
        assert row["skipped"] == []
        assert (row["again"], row["after"]) == (0, STEP_20)
    assert [row["latest"] for row in rows].count(STEP_20) <= 6  # only after the manifest's rename


def test_the_manifest_is_named_only_after_everything_else_is_on_the_disk(tmp_path: Path) -> None:
    """A power cut takes what was not flushed: so the order of flushes and renames is part of the promise."""
    source = """
import os, sys
from pathlib import Path
calls, names = [], {}
def spy(name):
    real = getattr(os, name)
    def call(*words, **named):
        result = real(*words, **named)
        if name == "open":
            names[result] = os.fspath(words[0])
        elif name == "fsync":
            calls.append(("fsync", names[words[0]]))
        else:
            calls.append(("replace", os.fspath(words[1])))
        return result
    setattr(os, name, call)
for name in ("open", "fsync", "replace"):
    spy(name)
from tests.workload.checkpoints.checkpoint_killer import write
root = Path(sys.argv[1])
write(root, 7, lambda line: None)
for kind, path in calls:
    print(kind, os.path.relpath(path, root))
"""
    command = [sys.executable, "-c", source, str(tmp_path)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    calls = [tuple(line.split(" ", 1)) for line in done.stdout.splitlines()]
    (folder,) = (path.name for path in tmp_path.iterdir())
    # From the last record on: the folder (its names); folder and root again by rank 0; the manifest's bytes, name, the
    # folder again.
    assert calls[-7:] == [
        ("replace", f"{folder}/rank-000000.json"),
        ("fsync", folder),
        ("fsync", folder),
        ("fsync", "."),
        ("fsync", f"{folder}/.manifest.json.partial"),
        ("replace", f"{folder}/manifest.json"),
        ("fsync", folder),
    ]
    for place, (kind, path) in enumerate(calls):
        if kind == "replace":
            before = Path(path).with_name(f".{Path(path).name}.partial").as_posix()
            assert calls[place - 1] == ("fsync", before)
