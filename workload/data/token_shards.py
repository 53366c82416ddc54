"""Shards of tokens: files of fixed-size samples, 16 or 32 bits a token as the manifest says, little-endian.

A sample of `sequence` tokens takes one token more, since every place predicts the next. Samples of another size than
that are refused before the first is read: tokens read at the wrong width are tokens all the same, only others.
"""

from __future__ import annotations

import os
import sys
from array import array
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

from workload.data.dataset import BadManifest
from workload.data.sample_order import ShardIndex

OPEN_FILES = 64
CODES = {16: "H", 32: "I"}  # of `array`


def sample_bytes(sequence: int, token_bits: int = 16) -> int:
    return (sequence + 1) * token_bits // 8


def bits_for(vocabulary: int) -> int:
    """The width that tells `vocabulary` tokens apart."""
    return 16 if vocabulary <= 1 << 16 else 32


class TokenShards:
    """Reads samples by number. Keeps at most a few files open."""

    def __init__(
        self, root: Path, where: ShardIndex, sequence: int, *, locate: Callable[[str], Path] | None = None
    ) -> None:
        """`locate` gives the local file of a shard that is not below `root`: `ObjectCache.path` for one at s3://.
        Raises dataset.BadManifest when the manifest's samples have another size.
        """
        self._locate = locate or (lambda path: root / path)
        self.bits = where.token_bits
        self._where, self._size = where, sample_bytes(sequence, self.bits)
        if where.sample_bytes == 0:
            raise BadManifest("the manifest's files hold samples of different sizes: these are no shards of tokens")
        if where.sample_bytes is not None and where.sample_bytes != self._size:
            other = where.sample_bytes * 8 // self.bits - 1
            raise BadManifest(
                f"the manifest's samples have {where.sample_bytes} bytes, {sequence} tokens of {self.bits} bits and one"
                f" more take {self._size}; its own fit a sequence of {other}, or another token_bits"
            )
        self._open: OrderedDict[str, int] = OrderedDict()

    def _descriptor(self, path: str) -> int:
        if path in self._open:
            self._open.move_to_end(path)
            return self._open[path]
        self._open[path] = os.open(self._locate(path), os.O_RDONLY | os.O_CLOEXEC)
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
        tokens = array(CODES[self.bits])
        tokens.frombytes(data)
        if sys.byteorder == "big":
            tokens.byteswap()
        return tokens

    def close(self) -> None:
        while self._open:
            os.close(self._open.popitem()[1])
