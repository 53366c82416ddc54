"""What follows from a failure: the processes start again in place, or the gang ends. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from workload import contract
from workload.heartbeat import Beat, Stale, stale

# What peers of a failed rank end with, moments later: a broken connection or the collective library's watchdog.
_CONSEQUENCES = (contract.FAILED, contract.ABORTED)


@dataclass(frozen=True)
class Failure:
    """The first failure of a round, as far as it is known."""

    code: int
    reason: str
    rank: int | None = None
    local_rank: int | None = None
    node: str | None = None
    lines: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return next((key for key, value in vars(contract).items() if value == self.code and key.isupper()), "FAILED")

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "name": self.name, "lines": list(self.lines)}

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Failure:
        fields = {key: value[key] for key in ("code", "reason", "rank", "local_rank", "node")}
        return Failure(**fields, lines=tuple(value["lines"]))

    def __str__(self) -> str:
        where = (
            f"rank {self.rank} (local rank {self.local_rank}) on node {self.node}: " if self.rank is not None else ""
        )
        return f"{where}{self.reason}"


def of_process(code: int, rank: int, local_rank: int, node: str, lines: Sequence[str]) -> Failure:
    meaning = contract.EXIT_MEANINGS.get(code, "a code of no known meaning")
    return Failure(code, f"ended with {code}: {meaning}", rank, local_rank, node, tuple(lines))


def first(failures: Sequence[Failure]) -> Failure:
    """The cause among failures in the order they were heard of: one that tells its reason before one that may only be a
    peer's consequence.
    """
    return min(enumerate(failures), key=lambda pair: (pair[1].code in _CONSEQUENCES, pair[0]))[1]


def again(failure: Failure, attempt: int, restarts: int) -> bool:
    """Whether the processes start again in place after round `attempt` (0, 1 ...)."""
    return failure.code in contract.IN_PLACE and attempt < restarts


def hung(
    beats: Mapping[int, Beat], silent: Mapping[int, float], world_size: int, waited: float, timeout: float
) -> list[Stale]:
    """The silent ranks, the first to stop on top; empty while no rank that ever beat is silent for too long.

    A program that never beats is not judged: it may know nothing of heartbeats.
    """
    if not any(silent.get(rank, 0.0) > timeout for rank in beats):
        return []
    return stale(beats, silent, range(world_size), waited, timeout)


def hang_table(found: Sequence[Stale], most: int = 16) -> list[str]:
    lines = [f"hang: {len(found)} ranks are silent; the first to stop comes first"]
    lines += [f"  {one}" for one in found[:most]]
    return [*lines, f"  and {len(found) - most} more"] if len(found) > most else lines
