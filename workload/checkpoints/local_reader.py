"""Reads a checkpoint whose files lie on the disks of the nodes that wrote them: a rank reads what its own node has, and
gets the few files that it lacks (what was alike on all ranks was written by one) from a rank that has them.
"""

from __future__ import annotations

import io
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.checkpoint.filesystem import FileSystem

from workload.checkpoints.checkpoint_folder import Worked
from workload.checkpoints.dcp import SafeReader

PIECE_BYTES = 16 << 20


class _Borrowed(FileSystem):
    """Files of the disk, and those that other ranks sent."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: dict[str, bytes] = {}

    @contextmanager
    def create_stream(self, path: Any, mode: str) -> Generator[Any]:
        if Path(path).name in self.sent:
            yield io.BytesIO(self.sent[Path(path).name])
            return
        with Path(path).open(mode) as file:
            yield file


class LocalReader(SafeReader):
    """All ranks read at the same time: each call is a meeting of the whole group."""

    def __init__(self, folder: Path, group: Any, worked: Worked | None = None) -> None:
        super().__init__(folder, worked)
        self.fs = self._borrowed = _Borrowed()
        self._group = group

    def read_data(self, plan: Any, planner: Any) -> Any:
        needed = {self.storage_data[item.storage_index].relative_path for item in plan.items}
        lacking = sorted(name for name in needed if not (self._folder / name).is_file())
        wanted: list[Any] = [None] * dist.get_world_size(self._group)
        dist.all_gather_object(wanted, lacking, group=self._group)
        for name in sorted({name for names in wanted for name in names}):
            self._meet(name, name in lacking)
        return super().read_data(plan, planner)

    def _meet(self, name: str, keep: bool) -> None:
        """The lowest rank that has the file sends it to all. Raises FileNotFoundError on every rank where none has."""
        path = self._folder / name
        sizes: list[Any] = [None] * dist.get_world_size(self._group)
        dist.all_gather_object(sizes, path.stat().st_size if path.is_file() else None, group=self._group)
        source = next((rank for rank, size in enumerate(sizes) if size is not None), None)
        if source is None:
            raise FileNotFoundError(f"{path}: no node has it")
        mine = dist.get_rank(self._group) == source
        kept = []
        with path.open("rb") if mine else io.BytesIO() as file:
            for start in range(0, sizes[source], PIECE_BYTES):
                length = min(PIECE_BYTES, sizes[source] - start)
                piece = torch.frombuffer(bytearray(file.read(length)), dtype=torch.uint8) if mine else None
                piece = torch.empty(length, dtype=torch.uint8) if piece is None else piece
                dist.broadcast(piece, group_src=source, group=self._group)
                if keep:
                    kept.append(piece.numpy().tobytes())
                if self._worked is not None:
                    self._worked(length)
        if keep:
            self._borrowed.sent[name] = b"".join(kept)
