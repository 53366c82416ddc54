"""Alarms of a Lustre file system: the fullest disk, the metadata targets, and the throughput that was bought.

FSx publishes one sample a minute for each storage target (FSx for Lustre User Guide, "Amazon FSx for Lustre metrics
and dimensions"): Sum adds the targets up, Minimum is the fullest one's, SampleCount counts them, and each is right only
over periods of one minute. Writes fail when one target is full, however much room the others have. Free inodes have no
metric: they lie on the metadata targets, whose used share is watched instead.
"""

from __future__ import annotations

from typing import Final

from components.catalog import Catalog
from components.file_systems.file_system import Alarm, AlarmMetric
from components.file_systems.lustre.plan import LustrePlan

FREE_SPACE_PERCENT: Final = 15
METADATA_PERCENT: Final = 80
THROUGHPUT_PERCENT: Final = 90
SAMPLE_SECONDS: Final = 60
# One metadata target serves so many IOPS (FSx for Lustre User Guide, "Metadata performance"; unverified).
IOPS_PER_METADATA_TARGET: Final = 12000
_GIB: Final = 1024**3


def of_plan(plan: LustrePlan, cat: Catalog) -> list[Alarm]:
    """The alarms of a file system; one without a capacity of its own has none on space."""
    found = [_inodes(target) for target in range(_metadata_targets(plan, cat))]
    found.append(_throughput(plan.total_mbps))
    if plan.capacity_gib is not None:
        found.append(_space(plan.capacity_gib))
    return found


def _metadata_targets(plan: LustrePlan, cat: Catalog) -> int:
    automatic = cat.lustre.automatic_metadata_iops(plan.capacity_gib) if plan.capacity_gib else 0
    iops = plan.metadata_iops or (automatic if plan.metadata_mode else 0)
    return max(1, iops // IOPS_PER_METADATA_TARGET)


def _inodes(target: int) -> Alarm:
    return Alarm(
        role="inodes" if target == 0 else f"inodes-{target}",
        description=(
            f"More than {METADATA_PERCENT} % of the metadata target MDT{target:04x} are in use: without inodes no file"
            " can be made"
        ),
        metrics={
            "used": AlarmMetric(
                name="StorageCapacityUtilization",
                statistic="Maximum",
                period_seconds=300,
                dimensions={"StorageTargetId": f"MDT{target:04x}"},
            )
        },
        comparison="GreaterThanThreshold",
        threshold=METADATA_PERCENT,
        evaluation_periods=3,
        missing="notBreaching",
    )


def _throughput(total_mbps: float) -> Alarm:
    return Alarm(
        role="throughput",
        description=(
            f"More than {THROUGHPUT_PERCENT} % of the {total_mbps:,.0f} MB/s bought are in use: cards may wait for data"
        ),
        metrics={
            "reads": AlarmMetric(name="DataReadBytes", statistic="Sum", period_seconds=300),
            "writes": AlarmMetric(name="DataWriteBytes", statistic="Sum", period_seconds=300),
        },
        expression=f"100 * (reads + writes) / PERIOD(reads) / {total_mbps * 1e6:.0f}",
        label="Throughput in use (%)",
        comparison="GreaterThanThreshold",
        threshold=THROUGHPUT_PERCENT,
        evaluation_periods=3,
        missing="notBreaching",
    )


def _space(capacity_gib: int) -> Alarm:
    return Alarm(
        role="space",
        description=(
            f"Less than {FREE_SPACE_PERCENT} % of the fullest disk are free, of {capacity_gib:,} GiB in all: files that"
            " lie on it can't grow, and checkpoints will soon fail"
        ),
        metrics={
            "least": AlarmMetric(name="FreeDataStorageCapacity", statistic="Minimum", period_seconds=SAMPLE_SECONDS),
            "targets": AlarmMetric(
                name="FreeDataStorageCapacity", statistic="SampleCount", period_seconds=SAMPLE_SECONDS
            ),
        },
        expression=f"100 * least * targets / {capacity_gib * _GIB}",
        label="Free on the fullest disk (%)",
        comparison="LessThanThreshold",
        threshold=FREE_SPACE_PERCENT,
        evaluation_periods=15,
        missing="missing",
    )
