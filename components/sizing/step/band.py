"""How far a plan may be off, from the spread of the calibration rows that it resembles.

Four in five published steps lie inside the band; it is wider where no published run was fitted.
"""

from __future__ import annotations

from dataclasses import dataclass

from components.sizing.layout.layout import Job, Layout
from components.sizing.step.measured import Measured
from components.spec.sizing import ParallelismSpec

# Half-widths in the logarithm of the step time; bench/planner.py prints how many held-out rows each covers.
DENSE = 0.15
SHARDED = 0.25  # frameworks that shard weights differ more in their kernels
EXPERTS = 0.25
NO_ROWS = 0.40  # generations without a large published run among the fitted rows
LONG_SEQUENCE = 0.42  # attention kernels differ more between frameworks than products do
DAYS_MORE = 0.14  # the campaign: evaluations, rewinds and waiting differ from run to run
_FITTED_GENERATIONS = ("ampere", "hopper", "blackwell")
_LONG = 16384


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """Factors on the expected value."""

    low: float
    high: float
    why: str


def of_step(job: Job, layout: Layout, asked: ParallelismSpec | None = None, measured: Measured | None = None) -> Band:
    """The band of a step time; `asked` tells whether the split is fixed, as a chosen one may meet obstacles."""
    width, why = DENSE, "spread of held-out dense runs"
    if layout.sharding in ("zero2", "zero3"):
        width, why = SHARDED, "spread of held-out runs with sharded weights"
    if job.machine.card.generation not in _FITTED_GENERATIONS:
        width, why = NO_ROWS, "no published run of this card was fitted"
    if job.shape.sequence >= _LONG and width < LONG_SEQUENCE:
        width, why = LONG_SEQUENCE, "long sequences: attention kernels differ"
    if job.shape.experts and width < EXPERTS:
        width, why = EXPERTS, "spread of held-out expert models"
    if asked is not None and asked.tensor is None:
        width, why = width + 0.02, why + "; the split is the planner's own"
    if measured is not None:
        own = measured.width(-(-layout.cards // job.machine.cards))
        if own < width:
            width, why = own, f"spread of the team's own {measured.runs} runs"
    factor = 1 + width
    return Band(low=1 / factor, high=factor, why=why)


def of_days(step: Band) -> Band:
    """The step's band and the campaign's, as independent causes."""
    width = ((step.high - 1) ** 2 + DAYS_MORE**2) ** 0.5
    return Band(low=1 / (1 + width), high=1 + width, why=step.why + "; campaigns differ")
