"""A folder on disk as a place."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from workload.atomic_files import CHUNK_BYTES, open_partial, partial_path, sync_folder, write_all


class Folder:
    """A folder on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def name(self, file: str) -> str:
        return str(self.path / file)

    def sizes(self) -> dict[str, int]:
        if not self.path.is_dir():
            return {}
        files = [path for path in self.path.rglob("*") if path.is_file() and not path.is_symlink()]
        return {str(path.relative_to(self.path)): path.stat().st_size for path in files}

    def read(self, file: str) -> Iterator[bytes]:
        with (self.path / file).open("rb") as source:
            while True:
                data = source.read(CHUNK_BYTES)
                if not data:
                    return
                yield data

    def put(self, file: str, chunks: Iterator[bytes], origin: Path | None) -> None:
        target = self.path / file
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor = open_partial(target)
        try:
            for data in chunks:
                write_all(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(partial_path(target), target)

    def remove(self, file: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self.path / file)

    def tag(self, file: str, key: str, value: str) -> None:
        raise NotImplementedError("files have no tags: they are deleted")

    def settle(self) -> None:
        sync_folder(self.path)
        sync_folder(self.path.parent)
