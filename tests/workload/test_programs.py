"""Every workload program runs on the Python that old images have, with the standard library alone."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.workload.conftest import ROOT, Run, pythons

WORKLOAD = ROOT / "workload"
PROGRAMS = (
    "checkpoints/checkpoint",
    "data/preprocess/tokenize",
    "data/sample_order",
    "data/stage",
    "heartbeat",
    "health/quarantine",
    "launch/__main__",
    "preflight/gate",
    "preflight/storage_benchmark",
)
NEED_TORCH = {
    *(f"trainer/{name}.py" for name in ("model", "parallel", "state", "steps", "train")),
    *(f"checkpoints/{name}.py" for name in ("dcp", "keeper", "local_reader", "resuming")),
}
OPTIONAL = {"boto3", "crc32c", "google_crc32c", "awscrt"}  # looked for by name, never imported at the top


def files() -> list[Path]:
    return sorted(WORKLOAD.rglob("*.py"))


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(WORKLOAD)))
def test_each_file_is_python_3_9(path: Path) -> None:
    ast.parse(path.read_text(), feature_version=(3, 9))


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(WORKLOAD)))
def test_each_file_imports_the_standard_library_and_its_neighbours_only(path: Path) -> None:
    allowed = (
        set(sys.stdlib_module_names)
        | {"workload"}
        | ({"torch"} if str(path.relative_to(WORKLOAD)) in NEED_TORCH else set())
    )
    for node in ast.walk(ast.parse(path.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        assert not {name.split(".")[0] for name in names} - allowed


@pytest.mark.parametrize("python", pythons())
@pytest.mark.parametrize("program", PROGRAMS)
def test_help_tells_the_exit_codes(program: str, python: str, run: Run) -> None:
    done = run(program, "--help", python=python)
    assert done.returncode == 0
    name = program.replace("/__main__", "").rpartition("/")[2]
    assert done.stdout.startswith(f"usage: {name} ")
    assert "exit codes:" in done.stdout


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_used_wrongly_ends_with_2(program: str, run: Run) -> None:
    done = run(program, "--no-such-option")
    assert done.returncode == 2
    assert done.stdout == ""


@pytest.mark.parametrize("python", pythons())
def test_a_program_also_runs_as_a_module(python: str) -> None:
    done = subprocess.run(
        [python, "-m", "workload.preflight.gate", "--help"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout[:12]) == (0, "usage: gate ")
