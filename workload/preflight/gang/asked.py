"""What a run of the gate measures, what it compares with, and how long each part of it may take."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from workload.preflight.gang import baseline


@dataclass(frozen=True)
class Limits:
    """Seconds. `grace` is how late an answer may be, `whole` what the gate may take in all after everybody came."""

    join: float = 900.0
    node: float = 180.0
    test: float = 180.0
    grace: float = 10.0
    whole: float = 1800.0
    clock: float = 1.0


@dataclass(frozen=True)
class Asked:
    """What is tested and judged by. `wire_gb_per_s` is one node's rate in gigabytes a second, 0 when unknown."""

    task: str
    attempt: str
    key: baseline.Key
    baselines: Path | None
    record: bool
    minimum: float
    wire_gb_per_s: float
    collectives: bool
    size: int
    repeats: int
    cards: int
