"""Copies of a dataset's files onto local disks.

Bytes are hashed as they pass, a name appears only after the checksum and the flush, and what an earlier run finished is
checked and kept. Small files are flushed together, one call for a batch: a flush each takes longer than the copy.
"""

from __future__ import annotations

import ctypes
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
BATCH_FILES = 256
BATCH_BYTES = 32 << 20
_LIBC = ctypes.CDLL(None, use_errno=True)


def batches(entries: Iterator[Entry]) -> Iterator[list[Entry]]:
    """Files in order, many small ones or a large one at a time."""
    batch: list[Entry] = []
    size = 0
    for entry in entries:
        if batch and (len(batch) >= BATCH_FILES or size + entry.size > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += entry.size
    if batch:
        yield batch


def sync_file_system(path: Path) -> bool:
    """Flush all that was written to the file system of `path`; False where the system has no such call. Since Linux 5.8
    it also tells of bytes that could not be written. Raises OSError.
    """
    if not hasattr(_LIBC, "syncfs"):
        return False
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if _LIBC.syncfs(descriptor):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
    finally:
        os.close(descriptor)
    return True


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
        worker_threads.run(batches(entries), self._batch, workers, self.stop)
        # One flush a folder, at the end: a name lost to a power cut before it is only copied again.
        for folder in sorted(self._folders):
            sync_folder(folder)

    def _batch(self, batch: list[Entry]) -> None:
        """Write every file of the batch under its partial name, flush them all, then give them their names."""
        written: list[Entry] = []
        interrupted: Interrupted | None = None
        for entry in batch:
            if self.stop.is_set():
                break
            try:
                outcome = self._stage(entry)
            except Interrupted as error:
                interrupted = error
                break
            if isinstance(outcome, Fault):
                self._failed(entry, outcome)
            elif outcome:
                written.append(entry)
        try:
            self._flush(written)
        except OSError as error:
            for entry in written:
                self._failed(entry, faults.of_destination(entry.path, error))
            return
        for entry in written:
            target = self.destination / entry.path
            try:
                os.replace(partial_path(target), target)
            except OSError as error:
                self._failed(entry, faults.of_destination(entry.path, error))
            else:
                self.progress.done("copied", entry.size)
        if interrupted is not None:
            raise interrupted

    def _flush(self, written: list[Entry]) -> None:
        if not written:
            return
        first = partial_path(self.destination / written[0].path)
        if len(written) > 1 and sync_file_system(first):
            return
        for entry in written:
            descriptor = os.open(partial_path(self.destination / entry.path), os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def _failed(self, entry: Entry, fault: Fault) -> None:
        self.progress.done("failed", entry.size)
        self.found.add(fault)
        if fault.code == faults.NO_SPACE:
            self.stop.set()

    def _stage(self, entry: Entry) -> Fault | bool:
        """True when the file's bytes lie under its partial name, False when a good copy was there."""
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
            return False
        return self._copy(entry, target) or True

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
        """True when an earlier run left a good copy. A bad one is reported and copied again."""
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
