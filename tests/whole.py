"""Every stack file of the project built whole, once in a run of the tests however many workers and modules ask."""

from __future__ import annotations

import fcntl
import os
import pickle
import shutil
import tempfile
from functools import cache
from pathlib import Path

from components.problems import errors, render
from infra.build import build
from infra.offline.recorder import Recording, run
from infra.settings import STACKS, from_file

NAMES = tuple(sorted(path.stem.removeprefix("Pulumi.") for path in STACKS.glob("Pulumi.*.yaml")))


def shared_folder() -> Path | None:
    """Where the workers of one run leave what they built; None outside pytest-xdist."""
    run_id = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    return Path(tempfile.gettempdir(), f"trainshed-whole-{os.getuid()}-{run_id}") if run_id else None


def clear(run_id: str) -> None:
    """Take a finished run's folder away."""
    shutil.rmtree(Path(tempfile.gettempdir(), f"trainshed-whole-{os.getuid()}-{run_id}"), ignore_errors=True)


@cache
def recording(name: str, *, known: bool = False) -> Recording:
    """What a stack declares in a first preview, or with every output `known`."""
    folder = shared_folder()
    if folder is None:
        return _build(name, known)
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / f"{name}-{'known' if known else 'first'}"
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            path.write_bytes(pickle.dumps(_build(name, known)))
        return pickle.loads(path.read_bytes())


def _build(name: str, known: bool) -> Recording:
    settings = from_file(name)
    assert not errors(settings.problems), [render(each) for each in settings.problems]
    return run(lambda: build(settings), stack=name, known=known)
