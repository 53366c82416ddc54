"""What the tests of the workload programs share: running one as a container would, under the oldest Python that this
machine has.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
Run = Callable[..., subprocess.CompletedProcess[str]]


def pythons() -> list[str]:
    """This interpreter, and a 3.9 where one is installed: the oldest that the programs promise."""
    found = [path for path in sorted(Path.home().glob(".pyenv/versions/3.9.*/bin/python")) if path.exists()]
    return [sys.executable, *(str(path) for path in found[:1])]


@pytest.fixture(scope="session")
def oldest_python() -> str:
    return pythons()[-1]


@pytest.fixture(scope="session")
def run() -> Run:
    """`run("data/stage", "copy", ...)` runs workload/data/stage.py as a file, from another folder."""

    def runs(
        program: str, *words: object, python: str = pythons()[-1], environment: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        command = [python, str(ROOT / "workload" / f"{program}.py"), *map(str, words)]
        variables = {**os.environ, **(environment or {})}
        return subprocess.run(command, capture_output=True, text=True, cwd="/", env=variables, check=False)

    return runs


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is room, for tests that flush thousands of times: what they look at doesn't depend
    on the disk.
    """
    memory = Path("/dev/shm")
    if not memory.is_dir() or shutil.disk_usage(memory).free < 1 << 30:
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory, prefix="trainshed-test-") as folder:
        yield Path(folder)
