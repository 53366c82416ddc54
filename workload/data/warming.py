"""Files of a Lustre file system fetched from the bucket behind it before anyone waits for them.

`lfs hsm_restore` only queues a request, so each batch is asked about with `lfs hsm_state` until none of
its files is `released`. Batches are few and bounded: a file system restores a limited number of files at once, and one
long queue would hide a fault until its end.
"""

from __future__ import annotations

import re
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from workload import checksums
from workload.data import faults, worker_threads
from workload.data.dataset import Entry
from workload.data.faults import BAD_DATA, FAILED, LOST_SOURCE, NO_SPACE, Fault, Faults
from workload.progress import Progress

STATE_LINE = re.compile(r"^(?P<path>.*): \((?P<bits>0x[0-9a-fA-F]+)\)(?P<words>.*)$")
LOST_WORDS = (
    "No such file",
    "Input/output error",
    "Cannot send after transport endpoint shutdown",
    "No data available",
    "Stale file handle",
)
SPACE_WORDS = ("No space left", "Disk quota exceeded")


def batches(entries: Iterable[Entry], size: int) -> Iterator[list[Entry]]:
    batch: list[Entry] = []
    for entry in entries:
        batch.append(entry)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def parse_states(text: str) -> dict[str, set[str]]:
    """Path -> flags (`released`, `exists`, `archived`, `lost` ...) from the output of `lfs hsm_state`."""
    states = {}
    for line in text.splitlines():
        match = STATE_LINE.match(line)
        if match:
            states[match["path"]] = set(match["words"].split(",")[0].split())
    return states


class LfsFailed(Exception):
    """`lfs` ended with an error; the text is what it said."""


class Warming:
    """One run of restores below `root`."""

    def __init__(
        self, root: Path, lfs: str, progress: Progress, found: Faults, *, timeout: float, poll: float, check: bool
    ) -> None:
        self.root, self.lfs, self.progress, self.found = root, lfs, progress, found
        self.timeout, self.poll, self.check = timeout, poll, check
        self.stop = threading.Event()

    def run(self, entries: Iterator[Entry], batch_files: int, in_flight: int) -> None:
        worker_threads.run(batches(entries, batch_files), self._batch, in_flight, self.stop)

    def _lfs(self, verb: str, paths: Sequence[str]) -> str:
        done = subprocess.run([self.lfs, verb, *paths], capture_output=True, text=True, check=False)
        if done.returncode:
            raise LfsFailed((done.stderr or done.stdout).strip() or f"`lfs {verb}` ended with {done.returncode}")
        return done.stdout

    def _fail(self, entry: Entry, code: int, said: str) -> None:
        self.found.add(Fault(code, entry.path, said))
        self.progress.done("failed", entry.size)
        if code == NO_SPACE:
            self.stop.set()

    def _batch(self, batch: list[Entry]) -> None:
        present = [entry for entry in batch if self._present(entry)]
        if not present:
            return
        try:
            cold = self._released(present)
            restored = self._restore(cold) if cold else []
        except LfsFailed as error:
            for entry in present:
                self._fail(entry, _code_of(str(error)), str(error))
            return
        asked = {entry.path for entry in cold}
        for entry in [entry for entry in present if entry.path not in asked]:
            self._finish(entry, "kept")
        for entry in restored:
            self._finish(entry, "warmed")

    def _present(self, entry: Entry) -> bool:
        try:
            size = (self.root / entry.path).stat().st_size
        except OSError as error:
            fault = faults.of_source(entry.path, error)
            self._fail(entry, fault.code, fault.said)
            return False
        if size != entry.size:
            self._fail(entry, BAD_DATA, f"{size} bytes, the manifest says {entry.size}")
            return False
        return True

    def _released(self, entries: Sequence[Entry]) -> list[Entry]:
        """Those still only in the bucket. One that `lfs` calls lost will never come."""
        states = parse_states(self._lfs("hsm_state", [str(self.root / entry.path) for entry in entries]))
        cold = []
        for entry in entries:
            flags = states.get(str(self.root / entry.path))
            if flags is None:
                raise LfsFailed(f"`lfs hsm_state` said nothing about {self.root / entry.path}")
            if "released" in flags:
                cold.append(entry)
        return cold

    def _restore(self, cold: list[Entry]) -> list[Entry]:
        self._lfs("hsm_restore", [str(self.root / entry.path) for entry in cold])
        deadline = time.monotonic() + self.timeout
        waiting = list(cold)
        done: list[Entry] = []
        while waiting and not self.stop.is_set():
            left = {entry.path for entry in self._released(waiting)}
            done += [entry for entry in waiting if entry.path not in left]
            waiting = [entry for entry in waiting if entry.path in left]
            if waiting and time.monotonic() >= deadline:
                for entry in waiting:
                    self._fail(entry, LOST_SOURCE, f"still not restored after {self.timeout:g} s")
                return done
            if waiting:
                self.stop.wait(self.poll)
        return done

    def _finish(self, entry: Entry, outcome: str) -> None:
        if self.check:
            try:
                _, checksum = checksums.of_file(self.root / entry.path, entry.kind)
            except OSError as error:
                fault = faults.of_source(entry.path, error)
                self._fail(entry, fault.code, fault.said)
                return
            if checksum != entry.checksum:
                self._fail(entry, BAD_DATA, f"{entry.kind} is {checksum}, the manifest says {entry.checksum}")
                return
        self.progress.moved(entry.size)
        self.progress.done(outcome, entry.size)


def _code_of(said: str) -> int:
    if any(word in said for word in SPACE_WORDS):
        return NO_SPACE
    return LOST_SOURCE if any(word in said for word in LOST_WORDS) else FAILED
