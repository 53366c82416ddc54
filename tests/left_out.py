"""A pytest plugin: tests whose real tool this machine lacks are left out and listed, or fail where nothing may be left
out.

`@pytest.mark.engine` and its like name what a test needs as a whole; the fixture `need` names one program more.
TRAINSHED_REQUIRE_LIVE=1 turns every omission into a failure: CI sets it.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NoReturn

import pytest

from trainshed.sandbox import tools

PROGRAMS = {
    "engine": ("pulumi",),
    "control_plane": ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok", "kueue", "jobset"),
    "promtool": ("promtool",),
    "browser": ("chromium",),
    "fio": ("fio",),
    "terraform": ("terraform",),
}

# No package of this machine's kind has it; a developer who has it runs these tests.
NEVER_REQUIRED = ("terraform",)

_left_out: Counter[str] = Counter()


def strict() -> bool:
    return os.environ.get("TRAINSHED_REQUIRE_LIVE") == "1"


# The oldest torch that the trainer was run on: the one of the images.
OLDEST_TORCH = (2, 8)


@cache
def torch_python() -> Path | None:
    """An interpreter that imports a current torch with gloo: this one, or the one that `make tools` installs."""
    probe = (
        "import torch, torch.distributed as d; version = tuple(map(int, torch.__version__.split('.')[:2]));"
        f"raise SystemExit(0 if version >= {OLDEST_TORCH} and d.is_gloo_available() else 1)"
    )
    if importlib.util.find_spec("torch") is not None:
        own = Path(sys.executable)
        if subprocess.run([own, "-c", probe], capture_output=True, check=False).returncode == 0:
            return own
    # The installer has tried it already; an import takes seconds.
    installed = sorted(mark.parent for mark in tools.cache().glob("torch-*/complete"))
    return installed[-1] / "bin" / "python" if installed else None


def checkov() -> Path | None:
    """checkov's own environment: on PATH, or where `make tools` puts it."""
    on_path = shutil.which("checkov")
    if on_path:
        return Path(on_path)
    installed = tools.cache() / "checkov" / "bin" / "checkov"
    return installed if installed.exists() else None


def why_left_out(mark: str) -> str | None:
    """What a mark's tests lack on this machine, and how it is had; None where they can run."""
    if mark == "torch":
        return None if torch_python() else "torch with gloo is missing: make tools"
    if mark == "checkov":
        return None if checkov() else "checkov missing: make tools (or put it on PATH, from an environment of its own)"
    missing = tools.missing(PROGRAMS.get(mark, ()))
    if not missing:
        return None
    remedies = sorted({tools.remedy(program) for program in missing})
    return f"{', '.join(missing)} missing: {'; '.join(remedies)}"


def leave_out(name: str, reason: str) -> NoReturn:
    """End the test as left out, which is listed at the end, or as failed where nothing may be left out."""
    if strict() and name not in NEVER_REQUIRED:
        pytest.fail(f"TRAINSHED_REQUIRE_LIVE=1, but {reason}", pytrace=False)
    _left_out[f"{name}: {reason}"] += 1
    pytest.skip(reason)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in (*PROGRAMS, "torch", "checkov"):
        if item.get_closest_marker(mark):
            reason = why_left_out(mark)
            if reason:
                leave_out(mark, reason)


@pytest.fixture(scope="session")
def need() -> Callable[[str], Path]:
    """`need("helm")` gives the program's path, or leaves the test out."""

    def look(program: str) -> Path:
        found = tools.find(program)
        if found is None:
            leave_out(program, f"{program} missing: {tools.remedy(program)}")
        assert found is not None
        return found

    return look


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    gathered = Counter(_left_out)
    for worker in getattr(terminalreporter.config, "_left_out_of_workers", []):
        gathered.update(worker)
    if gathered:
        terminalreporter.section("left out on this machine")
        for reason, count in sorted(gathered.items()):
            terminalreporter.line(f"{count} test{'s' if count != 1 else ''} left out, {reason}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["left_out"] = dict(_left_out)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    """A worker of pytest-xdist tells the main process what it left out."""
    output = getattr(node, "workeroutput", {})
    config = getattr(node, "config", None)
    if config is not None:
        held = config.__dict__.setdefault("_left_out_of_workers", [])
        held.append(output.get("left_out", {}))
