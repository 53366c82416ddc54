"""Who may write to a folder of checkpoints, and which checkpoints are being copied.

The run's lease keeps two gangs apart. A later attempt of the same run takes it over at once, since the job starts an
attempt only after ending the one before; a stranger watches whether it changes, by its own clock. Who lost the lease
must not make a checkpoint complete.

The copy lease keeps a folder from being deleted while it is copied. Its age is the difference of two times of the file
system's own clock, so clocks of nodes don't matter.
"""

from __future__ import annotations

import json
import os
import secrets
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from workload.atomic_files import write_json

FILE = "lease.json"
RENEW_SECONDS = 10.0
FREE_AFTER_SECONDS = 30.0
COPYING = ".copying-"
COPY_RENEW_SECONDS = 10.0
COPY_VALID_SECONDS = 60.0


class Held(RuntimeError):
    """Another gang writes here; the text names it."""


@dataclass(frozen=True)
class Holder:
    """A gang: `run` is one submission of a task, `attempt` counts its restarts."""

    run: str
    attempt: int
    token: str  # tells two gangs apart that claim the same attempt
    node: str = ""
    renewed: int = 0

    def __str__(self) -> str:
        return f"run {self.run}, attempt {self.attempt}, on node {self.node}"


def read(root: Path) -> Holder | None:
    try:
        return Holder(**json.loads((root / FILE).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


class Lease:
    """Held from `take` on; `mine` tells whether it still is."""

    def __init__(
        self, root: Path, run: str, attempt: int, node: str, free_after: float = FREE_AFTER_SECONDS, poll: float = 1.0
    ) -> None:
        self._root, self._free_after, self._poll = root, free_after, poll
        self._mine = Holder(run, attempt, secrets.token_hex(8), node)
        self._renewed_at = 0.0

    def take(self) -> None:
        """Raises Held, after having watched another run's lease change."""
        self._root.mkdir(parents=True, exist_ok=True)
        seen = read(self._root)
        if seen is not None and not self._may_follow(seen):
            deadline = time.monotonic() + self._free_after
            while time.monotonic() < deadline:
                time.sleep(min(self._poll, self._free_after / 4))
                now = read(self._root)
                if now is not None and now != seen:
                    raise Held(f"{self._root}: checkpoints are written by {now}")
        self._write()

    def _may_follow(self, other: Holder) -> bool:
        return other.run == self._mine.run and other.attempt <= self._mine.attempt

    def _write(self) -> None:
        self._mine = replace(self._mine, renewed=self._mine.renewed + 1)
        write_json(self._root / FILE, asdict(self._mine))
        self._renewed_at = time.monotonic()

    def mine(self) -> bool:
        found = read(self._root)
        return found is not None and found.token == self._mine.token

    def renew(self) -> None:
        """Call it at every step: it writes only now and then. Raises Held where somebody else took over."""
        if time.monotonic() - self._renewed_at < RENEW_SECONDS:
            return
        self.check()
        self._write()

    def check(self) -> None:
        """Raises Held unless the lease is still this gang's."""
        if not self.mine():
            raise Held(f"{self._root}: {read(self._root) or 'somebody'} has taken over the checkpoints")

    def give_back(self) -> None:
        if self.mine():
            with suppress(OSError):
                (self._root / FILE).unlink()


@contextmanager
def copying(folder: Path) -> Generator[None]:
    """While the block runs, no prune or resume deletes the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    mark = folder / f"{COPYING}{secrets.token_hex(6)}"
    mark.touch()
    ended = threading.Event()

    def renew() -> None:
        while not ended.wait(COPY_RENEW_SECONDS):
            with suppress(OSError):
                os.utime(mark)

    thread = threading.Thread(target=renew, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        with suppress(OSError):
            mark.unlink()


def being_copied(folder: Path) -> bool:
    """Whether a copy from or to the folder is under way."""
    marks = list(folder.glob(f"{COPYING}*"))
    if not marks:
        return False
    probe = folder.parent / f".clock-{secrets.token_hex(6)}"
    try:
        probe.touch()
        now = probe.stat().st_mtime
    finally:
        with suppress(OSError):
            probe.unlink()
    for mark in marks:
        with suppress(OSError):
            if now - mark.stat().st_mtime < COPY_VALID_SECONDS:
                return True
    return False
