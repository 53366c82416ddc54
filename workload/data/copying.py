"""Copies of a dataset's files onto local disks.

It hides how a copy stays honest: bytes are hashed as they pass, the name appears only after the checksum and the flush,
and what an earlier run finished is checked and kept.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Callable

from workload import checksums
from workload.atomic_files import CHUNK_BYTES, open_partial, partial_path, sync_folder, write_all
from workload.data import faults, worker_threads
from workload.data.dataset import Entry
from workload.data.faults import BAD_DATA, FAILED, Fault, Faults
from workload.progress import Progress

Say = Callable[[str], None]


class Interrupted(Exception):
    """The run was told to stop in the middle of a file."""


class Copies:
    """One run of copies from `source` to `destination`."""

    def __init__(
        self, source: Path, destination: Path, progress: Progress, found: Faults, say: Say, trust_existing: bool = False
    ) -> None:
        self.source, self.destination = source, destination
        self.progress, self.found, self.say, self.trust_existing = progress, found, say, trust_existing
        self.stop = threading.Event()
        self._lock = threading.Lock()
        self._folders: set[Path] = set()

    def run(self, entries: Iterator[Entry], workers: int) -> None:
        worker_threads.run(entries, self._one, workers, self.stop)
        # One flush a folder, at the end: a name lost to a power cut before it is only copied again.
        for folder in sorted(self._folders):
            sync_folder(folder)

    def _one(self, entry: Entry) -> None:
        fault = self._stage(entry)
        if fault is None:
            return
        self.progress.done("failed", entry.size)
        self.found.add(fault)
        if fault.code == faults.NO_SPACE:
            self.stop.set()

    def _stage(self, entry: Entry) -> Fault | None:
        target = self.destination / entry.path
        try:
            self._open_folder(target.parent)
            kept = self._kept(entry, target)
        except OSError as error:
            return faults.of_destination(entry.path, error)
        if isinstance(kept, Fault):
            return kept
        if kept:
            self.progress.done("kept", entry.size)
            return None
        return self._copy(entry, target)

    def _open_folder(self, folder: Path) -> None:
        with self._lock:
            if folder in self._folders:
                return
        folder.mkdir(parents=True, exist_ok=True)
        # A link inside the destination must not lead a copy somewhere else.
        if not folder.resolve().is_relative_to(self.destination.resolve()):
            raise OSError(0, f"{folder} leads out of {self.destination}")
        with self._lock:
            while folder not in self._folders:
                self._folders.add(folder)
                if folder == self.destination:
                    break
                folder = folder.parent

    def _kept(self, entry: Entry, target: Path) -> bool | Fault:
        """True when an earlier run left a good copy. A bad one is named and copied anew."""
        try:
            status = target.lstat()
        except FileNotFoundError:
            return False
        if not stat.S_ISREG(status.st_mode):
            return Fault(FAILED, entry.path, f"{target} is there and is not a plain file; move it away first")
        if status.st_size != entry.size:
            self.say(f"replacing {target}: {status.st_size} bytes instead of {entry.size}")
            return False
        if self.trust_existing:
            return True
        _, checksum = checksums.of_file(target, entry.kind)
        if checksum != entry.checksum:
            self.say(f"replacing {target}: {entry.kind} is {checksum} instead of {entry.checksum}")
            return False
        return True

    def _copy(self, entry: Entry, target: Path) -> Fault | None:
        try:
            source = os.open(self.source / entry.path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            return faults.of_source(entry.path, error)
        try:
            try:
                descriptor = open_partial(target)
            except OSError as error:
                return faults.of_destination(entry.path, error)
            try:
                fault = self._pour(entry, source, descriptor)
            finally:
                os.close(descriptor)
        finally:
            os.close(source)
        if fault is not None:
            self.say(f"removing the partial copy {partial_path(target)}")
            partial_path(target).unlink()
            return fault
        try:
            os.replace(partial_path(target), target)
        except OSError as error:
            return faults.of_destination(entry.path, error)
        self.progress.done("copied", entry.size)
        return None

    def _pour(self, entry: Entry, source: int, descriptor: int) -> Fault | None:
        checksum, size = checksums.new(entry.kind), 0
        buffer = bytearray(min(CHUNK_BYTES, entry.size + 1))
        view = memoryview(buffer)
        while True:
            if self.stop.is_set():
                raise Interrupted(entry.path)
            try:
                count = os.readv(source, [buffer])
            except OSError as error:
                return faults.of_source(entry.path, error)
            if not count:
                break
            size += count
            if size > entry.size:
                break
            checksum.update(view[:count])
            try:
                write_all(descriptor, view[:count])
            except OSError as error:
                return faults.of_destination(entry.path, error)
            self.progress.moved(count)
        if size != entry.size:
            found = f"more than {entry.size}" if size > entry.size else str(size)
            return Fault(BAD_DATA, entry.path, f"the source has {found} bytes, the manifest says {entry.size}")
        if checksum.hexdigest() != entry.checksum:
            return Fault(
                BAD_DATA,
                entry.path,
                f"{entry.kind} of the source is {checksum.hexdigest()}, the manifest says {entry.checksum}",
            )
        try:
            os.fsync(descriptor)
        except OSError as error:
            return faults.of_destination(entry.path, error)
        return None


def verify(
    root: Path, entries: Iterator[Entry], progress: Progress, found: Faults, workers: int, stop: threading.Event
) -> None:
    """Read every file below `root` and compare it with the manifest."""

    def one(entry: Entry) -> None:
        try:
            size, checksum = checksums.of_file(root / entry.path, entry.kind)
        except OSError as error:
            fault: Fault | None = faults.of_source(entry.path, error)
        else:
            fault = None
            if size != entry.size:
                fault = Fault(BAD_DATA, entry.path, f"{size} bytes, the manifest says {entry.size}")
            elif checksum != entry.checksum:
                fault = Fault(BAD_DATA, entry.path, f"{entry.kind} is {checksum}, the manifest says {entry.checksum}")
        if fault is not None:
            found.add(fault)
        progress.moved(entry.size)
        progress.done("failed" if fault else "verified", entry.size)

    worker_threads.run(entries, one, workers, stop)
