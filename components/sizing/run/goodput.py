"""How much of the time a run makes progress: failures, restarts, checkpoints, and the spare nodes that cover repairs.

The checkpoint interval follows Young and Daly, and the number of spares follows from the tail of a Poisson
distribution.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from components.sizing.tuning.constants import Constant

FAILURE_RATE = Constant(
    name="failures_per_node_day",
    value=0.0042,
    low=0.0015,
    high=0.0080,
    unit="failures a node and day",
    source="Llama 3: 419 in 54 days on 2,048 nodes, 0.0038; Meta RSC-1: 0.0065 (HPCA 2025)",
)
SPOT_RATE = Constant(
    name="spot_interruptions",
    value=0.004,
    low=0.001,
    high=0.01,
    unit="interruptions a node and day, on spot machines",
    source="EC2 spot advisor: under 5 % to over 20 % of instances a month",
)
DETECTION = Constant(
    name="detection",
    value=180.0,
    low=30.0,
    high=1800.0,
    unit="s",
    source="a crash shows at once, a hang after its timeout; Meta, ByteRobust",
)
RESTART = Constant(
    name="restart",
    value=420.0,
    low=180.0,
    high=1800.0,
    unit="s",
    source="placement, images, collectives and loading; MegaScale: under 15 minutes",
)
CAMPAIGN = Constant(
    name="campaign",
    value=0.85,
    low=0.65,
    high=0.97,
    unit="of the time left by failures",
    source=(
        "evaluations, rewinds, planned stops and slow days in published "
        "card-hours; from the whole runs in data/calibration.json"
    ),
)
CHECKPOINT_TARGET = Constant(
    name="checkpoint_write",
    value=60.0,
    low=10.0,
    high=300.0,
    unit="s",
    source="planning choice: a checkpoint is safe within a minute",
)
HOST_COPY = Constant(
    name="host_copy",
    value=10.0,
    low=4.0,
    high=25.0,
    unit="GB/s a card",
    source="PCIe 4/5 x16 shared by two cards, pinned memory",
)
REPAIR_DAYS = Constant(
    name="repair_days",
    value=1.0,
    low=0.25,
    high=3.0,
    unit="days",
    source="replacing a node; 6 hours where hot spares are swapped in",
)
COVER = 0.99
BYTES_PER_PARAMETER = Constant(
    name="checkpoint_bytes",
    value=14.0,
    low=12.0,
    high=16.0,
    unit="bytes a parameter",
    source="BLOOM 2.3 TB (14), Llama 3 70B on Neuron 850 GB (12)",
)
_DAY = 86400.0
_LEAST_CHECKPOINTS = 4  # of a short run


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """Bytes of one checkpoint and when one is due."""

    bytes: float
    interval_seconds: float
    interval_steps: int
    write_seconds: float
    stall_seconds: float
    bandwidth_needed: float  # bytes/s


@dataclass(frozen=True, slots=True, kw_only=True)
class Goodput:
    """Shares of the wall clock; `fraction` is what makes progress."""

    fraction: float
    failures_per_node_day: float
    failures_per_day: float
    mtbf_seconds: float
    detection_seconds: float
    restart_seconds: float
    lost_seconds: float
    checkpoint_share: float
    failure_share: float
    campaign: float


def young(cost: float, between_failures: float) -> float:
    """Seconds between checkpoints that lose least: Young's first order."""
    return math.sqrt(2 * cost * between_failures)


def daly(cost: float, between_failures: float) -> float:
    """Daly's higher order of the same."""
    if cost >= 2 * between_failures:
        return between_failures
    share = cost / (2 * between_failures)
    return young(cost, between_failures) * (1 + math.sqrt(share) / 3 + share / 9) - cost


def checkpoint(
    parameters: float,
    trainable: float,
    nodes: int,
    cards: int,
    step_seconds: float,
    steps: int,
    rate: float = FAILURE_RATE.value,
) -> Checkpoint:
    """A full checkpoint holds weights and optimizer state; with frozen weights only the additions change."""
    size = BYTES_PER_PARAMETER.value * trainable if trainable < parameters else BYTES_PER_PARAMETER.value * parameters
    mtbf = mean_time_between_failures(nodes, rate)
    write = min(
        CHECKPOINT_TARGET.value, max(1.0, float(math.ceil(size / 1e9)))
    )  # small ones need no minute: 1 GB/s serves
    interval = max(daly(write, mtbf), write, step_seconds)
    due = max(1, min(round(interval / step_seconds), max(1, steps // _LEAST_CHECKPOINTS)))
    return Checkpoint(
        bytes=size,
        interval_seconds=due * step_seconds,
        interval_steps=due,
        write_seconds=write,
        stall_seconds=size / cards / (HOST_COPY.value * 1e9),
        bandwidth_needed=size / write,
    )


def mean_time_between_failures(nodes: int, rate: float = FAILURE_RATE.value) -> float:
    return _DAY / (nodes * rate)


def goodput(nodes: int, saved: Checkpoint, rate: float = FAILURE_RATE.value) -> Goodput:
    """Progress after failures, checkpoints and the campaign's own stops (the expected-training-time ratio of
    Meta's HPCA 2025 paper).
    """
    mtbf = mean_time_between_failures(nodes, rate)
    lost = DETECTION.value + RESTART.value + saved.interval_seconds / 2
    failing = min(0.9, lost / mtbf)
    stall = saved.stall_seconds / saved.interval_seconds
    return Goodput(
        fraction=(1 - failing) / (1 + stall) * CAMPAIGN.value,
        failures_per_node_day=rate,
        failures_per_day=nodes * rate,
        mtbf_seconds=mtbf,
        detection_seconds=DETECTION.value,
        restart_seconds=RESTART.value,
        lost_seconds=saved.interval_seconds / 2,
        checkpoint_share=stall / (1 + stall),
        failure_share=failing,
        campaign=CAMPAIGN.value,
    )


def spares(
    nodes: int, rate: float = FAILURE_RATE.value, repair_days: float = REPAIR_DAYS.value, cover: float = COVER
) -> int:
    """The fewest spare nodes that suffice with probability `cover` while others are repaired."""
    mean = nodes * rate * repair_days
    term = total = math.exp(-mean)
    count = 0
    while total < cover:
        count += 1
        term *= mean / count
        total += term
        if count > 10 * mean + 100:
            break
    return count


CONSTANTS = (
    FAILURE_RATE,
    SPOT_RATE,
    DETECTION,
    RESTART,
    CAMPAIGN,
    CHECKPOINT_TARGET,
    HOST_COPY,
    REPAIR_DAYS,
    BYTES_PER_PARAMETER,
)
