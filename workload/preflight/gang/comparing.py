"""Versions compared over a gang, and clocks against the first worker's: pure values in, names out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

NOTHING = "nothing"


@dataclass(frozen=True)
class Odd:
    """A worker that differs from the others; `said` names both values."""

    rank: int
    said: str


def versions(by_rank: Mapping[int, Mapping[str, str]]) -> tuple[list[Odd], list[str]]:
    """Who differs from more than half of the gang, and differences where no half is right."""
    odd: list[Odd] = []
    torn: list[str] = []
    for name in sorted({name for values in by_rank.values() for name in values}):
        values = {rank: found.get(name, NOTHING) for rank, found in by_rank.items()}
        counts = Counter(values.values())
        if len(counts) == 1:
            continue
        common, count = counts.most_common(1)[0]
        if 2 * count <= len(values):
            shares = ", ".join(f"{value} on {times} nodes" for value, times in sorted(counts.items()))
            torn.append(f"{name} differs and no version is on more than half of the nodes: {shares}")
            continue
        for rank, value in sorted(values.items()):
            if value != common:
                odd.append(Odd(rank, f"{name} is {value}, the other {count} nodes have {common}"))
    return odd, torn


@dataclass(frozen=True)
class Reading:
    """One exchange with a worker: own clock before and after, the worker's in between; seconds since 1970."""

    before: float
    after: float
    theirs: float

    @property
    def offset(self) -> float:
        return self.theirs - (self.before + self.after) / 2

    @property
    def least(self) -> float:
        """What the worker's clock is off by at least, however the way there and back shared the time."""
        return max(abs(self.offset) - (self.after - self.before) / 2, 0.0)


def clocks(readings: Mapping[int, Sequence[Reading]], most: float) -> tuple[list[Odd], list[str]]:
    """Whose clock is off by more than `most` seconds. If most clocks differ from the first worker's, it is the first
    worker's that is off.
    """
    best = {
        rank: min(each, key=lambda reading: reading.after - reading.before) for rank, each in readings.items() if each
    }
    far = {rank: reading for rank, reading in best.items() if reading.least > most}
    others = [rank for rank in best if rank != 0]
    if len(others) > 1 and 2 * len([rank for rank in far if rank != 0]) > len(others):
        offset = sorted(reading.offset for rank, reading in best.items() if rank != 0)[len(others) // 2]
        first = [Odd(0, f"its clock is {-offset:+.1f} s off the others'; at most {most:g} s are allowed")]
        shifted = {rank: reading for rank, reading in best.items() if rank and abs(reading.offset - offset) > 2 * most}
        return first + [_off(rank, reading.offset - offset, most) for rank, reading in sorted(shifted.items())], []
    if len(others) == 1 and far:
        offset = best[others[0]].offset
        return [], [f"the clocks of both nodes differ by {abs(offset):.1f} s; at most {most:g} s are allowed"]
    return [_off(rank, reading.offset, most) for rank, reading in sorted(far.items())], []


def _off(rank: int, offset: float, most: float) -> Odd:
    return Odd(
        rank, f"its clock is {offset:+.1f} s off the others'; at most {most:g} s are allowed; see chrony on the node"
    )
