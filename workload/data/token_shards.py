"""Shards of tokens: files of fixed-size samples, 16 bits a token, little-endian.

It hides where a sample's bytes are; a sample of `sequence` tokens takes one token more, since every place predicts the
next.
"""

from __future__ import annotations

import os
from array import array
from collections import OrderedDict
from pathlib import Path

from workload.data.sample_order import ShardIndex

TOKEN_BYTES = 2
OPEN_FILES = 64


def sample_bytes(sequence: int) -> int:
    return (sequence + 1) * TOKEN_BYTES


class TokenShards:
    """Reads samples by number. Keeps at most a few files open."""

    def __init__(self, root: Path, where: ShardIndex, sequence: int) -> None:
        self._root, self._where, self._size = root, where, sample_bytes(sequence)
        self._open: OrderedDict[str, int] = OrderedDict()

    def _descriptor(self, path: str) -> int:
        if path in self._open:
            self._open.move_to_end(path)
            return self._open[path]
        self._open[path] = os.open(self._root / path, os.O_RDONLY | os.O_CLOEXEC)
        if len(self._open) > OPEN_FILES:
            _, oldest = self._open.popitem(last=False)
            os.close(oldest)
        return self._open[path]

    def __getitem__(self, sample: int) -> array[int]:
        path, place = self._where.locate(sample)
        data = os.pread(self._descriptor(path), self._size, place * self._size)
        if len(data) != self._size:
            raise EOFError(
                f"{path}: sample {place} has {len(data)} bytes of {self._size}: the shard is shorter than its manifest"
                " says"
            )
        tokens = array("H")
        tokens.frombytes(data)
        return tokens

    def close(self) -> None:
        while self._open:
            os.close(self._open.popitem()[1])
