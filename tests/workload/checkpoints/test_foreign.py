"""Checkpoints of other writers: found, verified by size, pruned and copied, and never run."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from tests.left_out import torch_python
from tests.workload.conftest import ROOT, Run
from workload.checkpoints import checkpoint, foreign

# What torchtitan, Megatron-LM and NeMo do under their own folder names.
SAVE = """
import sys, torch, torch.distributed.checkpoint as dcp
for folder in sys.argv[1:]:
    state = {"model": {"weight": torch.arange(1000.0), "bias": torch.ones(3, dtype=torch.bfloat16)}, "step": 7}
    dcp.save(state, storage_writer=dcp.FileSystemWriter(folder, thread_count=2), no_dist=True)
"""


class Trap:
    """A pickle that would leave a file when loaded."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def __reduce__(self) -> tuple[object, ...]:
        return (os.system, (f"touch {self._file}",))  # pyright: ignore[reportDeprecated] - what such files do


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("foreign")
    names = ("iter_0001000", "iter_0002000", "iter_0003000")
    command = [str(torch_python()), "-W", "ignore", "-c", SAVE, *(str(root / name) for name in names)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return root


@pytest.fixture
def root(saved: Path, tmp_path: Path) -> Path:
    import shutil

    return Path(shutil.copytree(saved, tmp_path / "root"))


pytestmark = pytest.mark.torch


def test_the_tools_take_another_writers_folder(root: Path, run: Run) -> None:
    done = run("checkpoints/checkpoint", "list", root, "--json")
    rows = json.loads(done.stdout)["checkpoints"]
    assert [(row["step"], row["state"], row["sealed"]) for row in rows] == [
        (3000, "complete", False),
        (2000, "complete", False),
        (1000, "complete", False),
    ]
    done = run("checkpoints/checkpoint", "verify", root / "iter_0003000")
    assert done.returncode == 0
    assert done.stdout.endswith("sizes verified, no checksums were written\n")
    assert run("checkpoints/checkpoint", "latest", root).stdout == f"{root}/iter_0003000\n"


def test_a_file_cut_short_or_gone_is_named_and_the_one_before_is_the_latest(root: Path, run: Run) -> None:
    file = next((root / "iter_0003000").glob("*.distcp"))
    file.write_bytes(file.read_bytes()[:-100])
    done = run("checkpoints/checkpoint", "verify", root / "iter_0003000")
    assert done.returncode == 1
    assert ".metadata says at least" in done.stderr
    assert run("checkpoints/checkpoint", "latest", root).stdout == f"{root}/iter_0002000\n"
    next((root / "iter_0002000").glob("*.distcp")).unlink()
    assert run("checkpoints/checkpoint", "latest", root).stdout == f"{root}/iter_0001000\n"


def test_a_folder_without_its_metadata_is_incomplete_and_pruned_once_a_later_one_is_there(root: Path, run: Run) -> None:
    (root / "iter_0002000/.metadata").unlink()
    done = run("checkpoints/checkpoint", "prune", root, "--keep-last", 1)
    assert done.returncode == 0
    assert [path.name for path in root.iterdir()] == ["iter_0003000"]


def test_a_copy_carries_every_file_and_the_metadata_last(root: Path, tmp_path: Path, run: Run) -> None:
    source = root / "iter_0003000"
    (source / "common.pt").write_bytes(b"Megatron's own")
    done = run("checkpoints/checkpoint", "copy", source, tmp_path / "two")
    assert (done.returncode, done.stderr) == (0, "")
    copied = tmp_path / "two/iter_0003000"
    assert {path.name: path.read_bytes() for path in copied.iterdir()} == {
        path.name: path.read_bytes() for path in source.iterdir()
    }
    assert max(copied.iterdir(), key=lambda path: path.stat().st_mtime_ns).name == ".metadata"


def test_reading_metadata_runs_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "step-5"
    folder.mkdir()
    trap = tmp_path / "sprung"
    (folder / ".metadata").write_bytes(pickle.dumps({"storage_data": Trap(trap)}))
    assert list(checkpoint.faults(folder)) != []
    assert not trap.exists()


def test_a_metadata_that_names_files_outside_its_folder_is_refused(tmp_path: Path) -> None:
    class Entry:
        def __init__(self, path: str) -> None:
            self.relative_path, self.offset, self.length = path, 0, 10

    class Holder:
        def __init__(self, path: str) -> None:
            self.storage_data = {"a": Entry(path)}

    # Pickled by name alone: the reader makes its own stand-ins.
    sys.modules[__name__].__dict__.update(Entry=Entry, Holder=Holder)
    Entry.__qualname__, Holder.__qualname__ = "Entry", "Holder"
    for path in ("../../etc/passwd", "/etc/passwd"):
        with pytest.raises(foreign.Unreadable, match="names a file outside its folder"):
            foreign.least_sizes(pickle.dumps(Holder(path)), "here")
    assert foreign.least_sizes(pickle.dumps(Holder("a.distcp")), "here") == {"a.distcp": 10}
