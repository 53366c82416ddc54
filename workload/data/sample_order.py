#!/usr/bin/env python3
"""The order in which a training run sees its samples, and where each sample lies.

The order belongs to the run and not to its ranks: samples stand in one endless line, epoch after epoch,
each epoch its own keyed permutation; a step takes the next `global_batch` of them and the ranks split that slice. So a
cursor is one number, and a run that goes on with another number of ranks, or another batch, sees the same line from the
same place: none twice, none missed.
"""

from __future__ import annotations

import argparse
import bisect
import json
import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b, sha256
from math import isqrt
from pathlib import Path
from typing import Any

if not __package__:  # run as a file: the folder above holds the package
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from workload.data import dataset

MASK = (1 << 64) - 1
ROUNDS = 8


def mix(value: int) -> int:
    """64 bits in, 64 well-mixed bits out (the finaliser of splitmix64, Steele, Lea, Flood 2014)."""
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK
    return value ^ (value >> 31)


class Permutation:
    """A keyed permutation of `range(size)` in constant memory: a Feistel network over a rectangle that just holds the
    range.

    Positions outside the range are walked on until they fall inside (cycle walking); the rectangle is at most one row
    too large, so that is rare.
    """

    def __init__(self, size: int, seed: int, epoch: int) -> None:
        if size < 1:
            raise ValueError(f"a permutation of {size} samples: at least 1 is needed")
        self.size = size
        self._rows = isqrt(size - 1) + 1
        self._columns = -(-size // self._rows)
        digest = blake2b(f"{seed}/{epoch}/{size}".encode(), digest_size=64).digest()
        self._keys = [int.from_bytes(digest[8 * number : 8 * number + 8], "little") for number in range(ROUNDS)]

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, position: int) -> int:
        if not 0 <= position < self.size:
            raise IndexError(f"position {position} is outside 0..{self.size - 1}")
        while True:
            position = self._step(position)
            if position < self.size:
                return position

    def _step(self, position: int) -> int:
        rows, columns, keys = self._rows, self._columns, self._keys
        row, column = divmod(position, columns)
        for number in range(0, ROUNDS, 2):
            row = (row + mix(column ^ keys[number])) % rows
            column = (column + mix(row ^ keys[number + 1])) % columns
        return row * columns + column


def share(start: int, count: int, rank: int, ranks: int) -> range:
    """The rank's piece of the slice `start .. start + count`: consecutive, sizes differing by at most one, together the
    slice.
    """
    if ranks < 1 or not 0 <= rank < ranks:
        raise ValueError(f"rank {rank} of {ranks}: ranks run from 0 to {ranks - 1}")
    return range(start + count * rank // ranks, start + count * (rank + 1) // ranks)


class Order:
    """The endless line of samples of one dataset and seed."""

    def __init__(self, samples: int, seed: int) -> None:
        if samples < 1:
            raise ValueError(f"a dataset of {samples} samples: at least 1 is needed")
        self.samples, self.seed = samples, seed
        self._epoch = -1
        self._permutation: Permutation | None = None

    def __getitem__(self, position: int) -> int:
        """The sample at a place of the line; place 0 is the first of epoch 0."""
        epoch, within = divmod(position, self.samples)
        if self._permutation is None or epoch != self._epoch:
            self._epoch, self._permutation = epoch, Permutation(self.samples, self.seed, epoch)
        return self._permutation[within]

    def of_rank(self, start: int, global_batch: int, rank: int, ranks: int) -> list[int]:
        """The samples of one rank for the step that begins at place `start`."""
        if global_batch < 1:
            raise ValueError(f"a global batch of {global_batch}: at least 1 is needed")
        return [self[position] for position in share(start, global_batch, rank, ranks)]


def samples_of(
    samples: int, seed: int, epoch: int, step: int, rank: int, *, ranks: int, global_batch: int
) -> list[int]:
    """The samples of (seed, epoch, step, rank); `step` counts from the epoch's first sample; its last step runs on into
    the next.
    """
    return Order(samples, seed).of_rank(epoch * samples + step * global_batch, global_batch, rank, ranks)


class OtherData(ValueError):
    """A cursor that belongs to another dataset or seed: going on would repeat some samples and miss others."""


@dataclass(frozen=True)
class Cursor:
    """The data position of a run, as a checkpoint keeps it: `consumed` samples of the line of (`samples`, `seed`,
    `data`).
    """

    samples: int
    seed: int
    data: str = ""
    consumed: int = 0

    @property
    def epoch(self) -> int:
        return self.consumed // self.samples

    def advance(self, global_batch: int) -> Cursor:
        return replace(self, consumed=self.consumed + global_batch)

    def batch(self, global_batch: int, rank: int = 0, ranks: int = 1) -> list[int]:
        """The rank's samples of the next step."""
        return Order(self.samples, self.seed).of_rank(self.consumed, global_batch, rank, ranks)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def resume(self, kept: dict[str, Any]) -> Cursor:
        """This run's cursor, moved to the place that a checkpoint kept. Raises OtherData unless dataset, size and seed
        are the same.
        """
        for name in ("samples", "seed", "data"):
            if kept[name] != getattr(self, name):
                raise OtherData(
                    f"the checkpoint's data position has {name} {kept[name]!r}, this run has {getattr(self, name)!r}"
                )
        return replace(self, consumed=kept["consumed"])


class ShardIndex:
    """Where each sample lies: shards in the manifest's order, samples counted through them."""

    def __init__(
        self,
        paths: Sequence[str],
        counts: Iterable[int],
        fingerprint: str,
        *,
        token_bits: int = 16,
        sample_bytes: int | None = None,
        vocabulary: int | None = None,
    ) -> None:
        """`sample_bytes` is what the manifest's sizes make of one sample: 0 where samples differ, None where nobody
        knows.
        """
        self.paths = list(paths)
        self.token_bits, self.sample_bytes, self.vocabulary = token_bits, sample_bytes, vocabulary
        self.fingerprint = fingerprint
        self._ends = array("q")
        total = 0
        for count in counts:
            total += count
            self._ends.append(total)
        self.samples = total

    def locate(self, sample: int) -> tuple[str, int]:
        """Shard and number within it. An empty shard holds nothing and is passed over."""
        if not 0 <= sample < self.samples:
            raise IndexError(f"sample {sample} is outside 0..{self.samples - 1}")
        shard = bisect.bisect_right(self._ends, sample)
        return self.paths[shard], sample - (self._ends[shard - 1] if shard else 0)

    def __iter__(self) -> Iterator[tuple[str, int]]:
        begin = 0
        for path, end in zip(self.paths, self._ends):  # `strict` came with 3.10
            yield path, end - begin
            begin = end


def index(manifest: Path) -> ShardIndex:
    """The index of a dataset's manifest; the fingerprint covers paths, checksums and counts in order. Raises
    dataset.BadManifest, also where files differ in the width of a token or the size of a sample.
    """
    paths, counts, digest = [], [], sha256()
    bits: int | None = None
    size: int | None = None
    vocabulary: int | None = None
    for entry in dataset.read(manifest):
        if entry.samples is None:
            raise dataset.BadManifest(f"{manifest}: {entry.path}: has no count of samples")
        if paths and entry.token_bits != bits:
            raise dataset.BadManifest(
                f"{manifest}: {entry.path}: token_bits is {entry.token_bits}, the files before it have {bits}"
            )
        bits = entry.token_bits
        if entry.vocabulary is not None:
            vocabulary = max(vocabulary or 0, entry.vocabulary)
        if entry.samples:
            own, rest = divmod(entry.size, entry.samples)
            if (rest or own != (size or own)) and bits is None:
                own = 0
            elif rest or own != (size or own):
                raise dataset.BadManifest(
                    f"{manifest}: {entry.path}: {entry.size} bytes are no {entry.samples} samples"
                    + (f" of {size} bytes, as the files before it have" if size else "")
                )
            size = own if size != 0 else 0
        paths.append(entry.path)
        counts.append(entry.samples)
        digest.update(json.dumps([entry.path, entry.checksum, entry.samples]).encode())
    return ShardIndex(
        paths, counts, digest.hexdigest(), token_bits=bits or 16, sample_bytes=size, vocabulary=vocabulary
    )


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="sample_order",
        description="Print the samples of one step and rank, with the shard and the place in it, one a line.",
        epilog="exit codes: 0 printed, 2 used wrongly, 4 the manifest is malformed",
    )
    top.add_argument("--manifest", type=Path, required=True)
    top.add_argument("--seed", type=int, required=True)
    top.add_argument("--epoch", type=int, default=0)
    top.add_argument("--step", type=int, required=True, help="step within the epoch, from 0")
    top.add_argument("--rank", type=int, default=0, help="data-parallel rank")
    top.add_argument("--ranks", type=int, default=1, help="data-parallel ranks")
    top.add_argument("--global-batch", type=int, required=True, help="samples of one step over all ranks")
    return top


def main(words: list[str] | None = None) -> int:
    top = parser()
    arguments = top.parse_args(words)
    if arguments.epoch < 0 or arguments.step < 0:
        top.error("epoch and step start at 0")
    try:
        where = index(arguments.manifest)
        chosen = samples_of(
            where.samples,
            arguments.seed,
            arguments.epoch,
            arguments.step,
            arguments.rank,
            ranks=arguments.ranks,
            global_batch=arguments.global_batch,
        )
    except dataset.BadManifest as error:
        print(f"shards: {error}", file=sys.stderr)
        return 4
    except (ValueError, OSError) as error:
        print(f"shards: {error}", file=sys.stderr)
        return 2
    for sample in chosen:
        shard, place = where.locate(sample)
        print(f"{sample}\t{shard}\t{place}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
