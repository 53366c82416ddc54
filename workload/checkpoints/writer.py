"""The writing of one checkpoint by many ranks.

The order makes a kill harmless: every rank flushes and reads back its parts, then leaves its record; rank 0 waits for
all records, flushes the folder, and only then gives the manifest its name.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from workload.atomic_files import open_partial, partial_path, sync_folder, write_all, write_file
from workload.checkpoints import checkpoint_folder
from workload.checkpoints.checkpoint_folder import (
    MANIFEST,
    PART_NAME,
    REQUIRED,
    VERSIONS,
    Manifest,
    NotACheckpoint,
    Part,
    Worked,
)


class NotSealed(RuntimeError):
    """The checkpoint is not complete and was left so; the text says what is missing."""


class PartFile:
    """A file to write to, as `torch.save` or `pickle.dump` want one; hashed as it is written."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._sha256 = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes | memoryview) -> int:
        view = memoryview(data).cast("B")
        write_all(self._descriptor, view)
        self._sha256.update(view)
        self.size += len(view)
        return len(view)

    def flush(self) -> None:
        """Nothing is held back here."""

    @property
    def sha256(self) -> str:
        return self._sha256.hexdigest()


def record_name(rank: int) -> str:
    return f"rank-{rank:06d}.json"


class Writer:
    """One rank's share of a checkpoint. All ranks of one save pass the same `root`, `step`, `world_size` and `attempt`.

    `attempt` must differ between two tries at one step (a fresh random name that rank 0 hands to the others): parts
    left by a killed try then lie in another folder and can't be mixed in.
    """

    def __init__(
        self,
        root: Path,
        *,
        step: int,
        attempt: str,
        versions: Mapping[str, str],
        rank: int = 0,
        world_size: int = 1,
        worked: Worked | None = None,
    ) -> None:
        missing = [name for name in VERSIONS if not versions.get(name)]
        if missing:
            raise ValueError(
                f"a checkpoint records the versions of image, code and data; missing: {', '.join(missing)}"
            )
        if world_size < 1 or not 0 <= rank < world_size:
            raise ValueError(f"rank {rank} of {world_size}: ranks run from 0 to {world_size - 1}")
        self.root, self.step, self.attempt = root, step, attempt
        self.rank, self.world_size, self.versions = rank, world_size, dict(versions)
        self.folder = root / checkpoint_folder.folder_name(step, attempt)
        self._parts: list[Part] = []
        self._worked = worked
        self.folder.mkdir(parents=True, exist_ok=True)
        if (self.folder / MANIFEST).exists():
            raise FileExistsError(f"{self.folder} is complete; a checkpoint is never written twice")

    @contextmanager
    def part(self, holds: str, suffix: str = "bin") -> Generator[PartFile]:
        """A new part of this rank. It has its name only after the block has ended well."""
        name = f"{holds}-{self.rank:06d}.{suffix}"
        if not PART_NAME.match(name) or any(part.name == name for part in self._parts):
            raise ValueError(f"part {name!r} is no plain file name, or is written already")
        path = self.folder / name
        descriptor = open_partial(path)
        try:
            file = PartFile(descriptor)
            yield file
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(partial_path(path), path)
        self._parts.append(Part(name, self.rank, holds, file.size, file.sha256))

    def finish(self) -> None:
        """This rank is done: its parts are read back from the disk, its record is written."""
        for part in self._parts:
            fault = checkpoint_folder.part_fault(self.folder, part, deep=True, worked=self._worked)
            if fault:
                raise NotSealed(f"read back after writing: {fault}")
        record = {"rank": self.rank, "world_size": self.world_size, "parts": [asdict(part) for part in self._parts]}
        # write_file flushes the folder after the record has its name, and with it the names of the parts.
        write_file(self.folder / record_name(self.rank), checkpoint_folder.signed(record))

    def seal(
        self, timeout: float = 600.0, poll: float = 0.2, deep: bool = False, *, contents: Sequence[str] = ()
    ) -> Manifest:
        """Rank 0: wait for every rank's record, check all parts, then make the checkpoint complete.

        `contents` names what is inside parts that hold several things. Each rank has read its own parts back; `deep`
        reads them all once more here. Raises NotSealed, and leaves the folder incomplete.
        """
        if self.rank != 0:
            raise ValueError(f"rank {self.rank} seals nothing; rank 0 does")
        parts: list[Part] = []
        for rank in range(self.world_size):
            parts += self._record(rank, time.monotonic() + timeout, timeout, poll)
        held = {part.holds for part in parts} | set(contents)
        missing = [name for name in REQUIRED if name not in held]
        if missing:
            raise NotSealed(f"{self.folder}: nothing holds {', '.join(missing)}")
        for part in parts:
            fault = checkpoint_folder.part_fault(self.folder, part, deep, self._worked)
            if fault:
                raise NotSealed(fault)
            if self._worked is not None:
                self._worked(0)
        identity = (self.step, self.attempt, self.world_size, time.time(), self.versions)
        manifest = Manifest(*identity, tuple(parts), tuple(contents))
        sync_folder(self.folder)
        sync_folder(self.root)
        write_file(self.folder / MANIFEST, manifest.as_bytes())
        return manifest

    def _record(self, rank: int, deadline: float, timeout: float, poll: float) -> list[Part]:
        path = self.folder / record_name(rank)
        while not path.exists():
            if time.monotonic() >= deadline:
                raise NotSealed(f"{self.folder}: rank {rank} of {self.world_size} left no record within {timeout:g} s")
            time.sleep(poll)
        try:
            record = checkpoint_folder.unsigned(path.read_bytes(), str(path))
        except NotACheckpoint as error:
            raise NotSealed(str(error)) from None
        if record["rank"] != rank or record["world_size"] != self.world_size:
            said = f"is of rank {record['rank']} of {record['world_size']}, expected rank {rank} of {self.world_size}"
            raise NotSealed(f"{path}: {said}")
        return [Part(**part) for part in record["parts"]]
