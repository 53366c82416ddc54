"""Checkpoints of torch.distributed.checkpoint that are sealed as all of ours are, and read without running anything.

Every rank hashes what it writes, flushes it and reads it back from the disk; the coordinator writes `.metadata`, then
`manifest.json`. So the folder is a checkpoint for every reader of torch's format, and complete for ours only when every
byte was seen on the disk. Works with `dcp.save` and `dcp.async_save`; loads on any world size.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable

import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.filesystem import FileSystem
from torch.distributed.checkpoint.storage import WriteResult

from workload.atomic_files import open_partial, partial_path, sync_folder, write_all, write_file
from workload.checkpoints import checkpoint_folder, foreign
from workload.checkpoints.checkpoint_folder import MANIFEST, REQUIRED, VERSIONS, Manifest, Part, Worked
from workload.checkpoints.writer import NotSealed

WRITE_BYTES = 4 << 20


class _Stream(io.RawIOBase):
    """A file that hashes what is written; `torch.save` calls it with pieces of any size."""

    def __init__(self, descriptor: int, worked: Worked | None, failed: Callable[[OSError], None]) -> None:
        super().__init__()
        self._descriptor, self._worked, self._failed = descriptor, worked, failed
        self._digest = hashlib.sha256()
        self.size = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        for start in range(0, len(view), WRITE_BYTES):
            piece = view[start : start + WRITE_BYTES]
            try:
                write_all(self._descriptor, piece)
            except OSError as error:
                self._failed(error)
                raise
            self._digest.update(piece)
            if self._worked is not None:
                self._worked(len(piece))
        self.size += len(view)
        return len(view)

    def tell(self) -> int:
        return self.size

    def fileno(self) -> int:
        return self._descriptor

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()


class _Files(FileSystem):
    """Files under their partial name until they are whole and flushed; remembers each one's checksum."""

    def __init__(self, worked: Worked | None) -> None:
        super().__init__()
        self._worked = worked
        self.written: dict[str, tuple[int, str]] = {}
        self.fault: OSError | None = None

    @contextmanager
    def create_stream(self, path: str | os.PathLike[str], mode: str) -> Generator[Any]:
        path = Path(path)
        if "w" not in mode:
            with path.open(mode) as file:
                yield file
            return
        descriptor = open_partial(path)
        try:
            stream = _Stream(descriptor, self._worked, self._failed)
            yield stream
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(partial_path(path), path)
        self.written[path.name] = (stream.size, stream.sha256)

    def _failed(self, error: OSError) -> None:
        self.fault = error


@dataclass(frozen=True)
class _Sealed(WriteResult):
    """Carries a rank's parts to the coordinator with its other results."""

    parts: tuple[Part, ...] = field(default=())


class SealingWriter(dcp.FileSystemWriter):
    """One save's writer on one rank. All ranks of a save pass the same `root`, `step` and `attempt`.

    `attempt` must differ between two tries at one step. `before_sealing` runs on the coordinator last of all and may
    raise, as when the lease is lost. With `shared=False` each node has a `root` of its own: the coordinator then can't
    look at the parts of others, and `manifest` must be taken to the other nodes afterwards.
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
        required: Sequence[str] = REQUIRED,
        shared: bool = True,
        worked: Worked | None = None,
        before_sealing: Callable[[], None] | None = None,
        threads: int = 1,
    ) -> None:
        missing = [name for name in VERSIONS if not versions.get(name)]
        if missing:
            raise ValueError(
                f"a checkpoint records the versions of image, code and data; missing: {', '.join(missing)}"
            )
        self.folder = root / checkpoint_folder.folder_name(step, attempt)
        super().__init__(self.folder, thread_count=threads)
        self.fs = self._files = _Files(worked)
        self._root, self._step, self._attempt, self._versions = root, step, attempt, dict(versions)
        self._rank, self._world_size, self._required, self._shared = rank, world_size, tuple(required), shared
        self._worked, self._before_sealing = worked, before_sealing
        self.manifest: Manifest | None = None

    def prepare_local_plan(self, plan: Any) -> Any:
        if (self.folder / MANIFEST).exists():
            raise FileExistsError(f"{self.folder} is complete; a checkpoint is never written twice")
        return super().prepare_local_plan(plan)

    def write_data(self, plan: Any, planner: Any) -> Any:
        try:
            results = super().write_data(plan, planner).wait()
        except BaseException:
            # torch's own writer tells of a full disk as an unexpected position in its archive.
            if self._files.fault is not None:
                raise OSError(self._files.fault.errno, self._files.fault.strerror, str(self.folder)) from None
            raise
        parts = tuple(Part(name, self._rank, "state", *found) for name, found in sorted(self._files.written.items()))
        for part in parts:
            fault = checkpoint_folder.part_fault(self.folder, part, deep=True, worked=self._worked)
            if fault:
                raise NotSealed(f"read back after writing: {fault}")
        sync_folder(self.folder)
        if results:
            first = results[0]
            results[0] = _Sealed(first.index, first.size_in_bytes, first.storage_data, parts)
        else:
            for part in parts:  # an empty file that nothing names
                (self.folder / part.name).unlink()
        future: torch.futures.Future[list[WriteResult]] = torch.futures.Future()
        future.set_result(results)
        return future

    def finish(self, metadata: Any, results: list[list[Any]]) -> None:
        """On the coordinator: all ranks have written. Raises NotSealed, and leaves the folder incomplete."""
        parts = [part for found in results for one in found if isinstance(one, _Sealed) for part in one.parts]
        contents = tuple(sorted({name.split(".", 1)[0] for name in metadata.state_dict_metadata}))
        missing = [name for name in self._required if name not in contents]
        if missing:
            raise NotSealed(f"{self.folder}: nothing holds {', '.join(missing)}")
        super().finish(metadata, results)
        size, sha256 = self._files.written[f"{foreign.METADATA}.tmp"]
        parts.append(Part(foreign.METADATA, self._rank, "metadata", size, sha256))
        for part in parts if self._shared else ():
            fault = checkpoint_folder.part_fault(self.folder, part, deep=False)
            if fault:
                raise NotSealed(fault)
            if self._worked is not None:
                self._worked(0)
        if self._before_sealing is not None:
            self._before_sealing()
        identity = (self._step, self._attempt, self._world_size, time.time(), self._versions)
        self.manifest = Manifest(*identity, tuple(parts), contents)
        sync_folder(self.folder)
        sync_folder(self._root)
        write_file(self.folder / MANIFEST, self.manifest.as_bytes())


# What `.metadata` is made of; anything else in it is refused.
_MODULES = ("torch.distributed.checkpoint.metadata", "torch.distributed.checkpoint.filesystem")
_NAMES = {
    ("collections", "OrderedDict"),
    ("pathlib", "PosixPath"),
    ("pathlib", "PurePosixPath"),
    ("pathlib._local", "PosixPath"),
    ("torch", "Size"),
    ("torch.serialization", "_get_layout"),
}


class Unsafe(ValueError):
    """A checkpoint that would run code; the text says what it names."""


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        is_type = module == "torch" and isinstance(getattr(torch, name, None), (torch.dtype, torch.layout))
        if "." in name or not (module in _MODULES or (module, name) in _NAMES or is_type):
            raise Unsafe(f"its metadata names {module}.{name}, which no checkpoint needs")
        return super().find_class(module, name)


class SafeReader(dcp.FileSystemReader):
    """Reads a checkpoint that another job may have written: its metadata may name nothing but metadata's own types."""

    def __init__(self, folder: Path, worked: Worked | None = None) -> None:
        super().__init__(folder)
        self._folder, self._worked = folder, worked

    def read_metadata(self, *words: Any, **named: Any) -> Any:
        """Raises Unsafe."""
        data = (self._folder / foreign.METADATA).read_bytes()
        try:
            metadata = _Unpickler(io.BytesIO(data)).load()
        except Unsafe as error:
            raise Unsafe(f"{self._folder}: {error}") from None
        for entry in metadata.storage_data.values():
            if entry.relative_path.startswith("/") or ".." in Path(entry.relative_path).parts:
                raise Unsafe(f"{self._folder}: its metadata names a file outside: {entry.relative_path!r}")
        return metadata

    def read_data(self, plan: Any, planner: Any) -> Any:
        if self._worked is not None:
            self._worked(0)
        return super().read_data(plan, planner)


class SafePlanner(dcp.DefaultLoadPlanner):
    """Objects that are no tensors are loaded as plain values only."""

    def load_bytes(self, read_item: Any, value: io.BytesIO) -> None:
        # torch's own loads the bytes without that limit. They come to it again once they are known to be plain.
        plain = torch.load(value, weights_only=True, map_location="cpu")
        checked = io.BytesIO()
        torch.save(plain, checked)
        checked.seek(0)
        super().load_bytes(read_item, checked)


def load(state: dict[str, Any], folder: Path, *, group: Any = None, worked: Worked | None = None) -> None:
    """Fill `state` in place, whatever world size wrote the checkpoint. A key that it lacks is an error."""
    dcp.load(state, storage_reader=SafeReader(folder, worked), planner=SafePlanner(), process_group=group)
