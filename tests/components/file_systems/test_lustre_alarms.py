"""The alarms of a Lustre file system, evaluated as CloudWatch would on samples as FSx publishes them."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pytest

from components import file_systems
from components.file_systems import Alarm, AlarmMetric
from components.spec.stack import StackSpec
from tests.given import CAT, stack_of

GIB = 1024**3
OST_GIB = 1200
TARGETS = 8
POOLS = "[{name: train, purpose: training, instance_type: p5.48xlarge, zone: usw2-az3, nodes: 2}]"


@dataclass(frozen=True)
class Series:
    """A metric's samples, a list of each minute's values: one of every storage target."""

    minutes: Sequence[Sequence[float]]

    def over(self, metric: AlarmMetric) -> list[float | None]:
        step = metric.period_seconds // 60
        periods = [
            [value for minute in self.minutes[start : start + step] for value in minute]
            for start in range(0, len(self.minutes), step)
        ]
        statistic = {
            "Sum": sum,
            "Minimum": min,
            "Maximum": max,
            "Average": statistics.fmean,
            "SampleCount": len,
        }[metric.statistic]
        return [float(statistic(each)) if each else None for each in periods]


def state(alarm: Alarm, published: Mapping[str, Series]) -> str:
    """ALARM, OK or INSUFFICIENT_DATA at the end of the series: CloudWatch's rule with every period breaching."""
    values = {key: published[metric.name].over(metric) for key, metric in alarm.metrics.items()}
    periods = {metric.period_seconds for metric in alarm.metrics.values()}
    assert len(periods) == 1
    recent: list[float | None] = []
    for row in zip(*values.values(), strict=True):
        if any(value is None for value in row):
            recent.append(None)
        elif alarm.expression is None:
            recent.append(row[0])
        else:
            expression = alarm.expression.replace("PERIOD(reads)", str(next(iter(periods))))
            recent.append(eval(expression, {}, dict(zip(values, row, strict=True))))
    last = recent[-alarm.evaluation_periods :]
    if all(value is None for value in last):
        return {"missing": "INSUFFICIENT_DATA", "notBreaching": "OK", "breaching": "ALARM"}[alarm.missing]
    breaches = [
        value is not None
        and (value > alarm.threshold if alarm.comparison == "GreaterThanThreshold" else value < alarm.threshold)
        for value in last
    ]
    return "ALARM" if len(last) == alarm.evaluation_periods and all(breaches) else "OK"


def stack() -> StackSpec:
    size = OST_GIB * TARGETS
    return stack_of(
        pools=POOLS,
        rest=(
            "  trainshed:storage: {lustre: [{name: train, zone: usw2-az3, throughput_mbps_per_tib: 500, capacity_gib:"
            f" {size}}}]}}\n"
        ),
    )


def alarm(role: str) -> Alarm:
    given = stack()
    [system] = file_systems.systems(given, CAT)
    found = {each.role: each for each in file_systems.KINDS[system.kind].alarms(system, given, CAT)}
    return found[role]


def free(percent: Sequence[float], minutes: int = 30) -> dict[str, Series]:
    """Free space of each target in percent, the same for so many minutes."""
    return {"FreeDataStorageCapacity": Series([[OST_GIB * GIB * each / 100 for each in percent]] * minutes)}


@pytest.mark.parametrize(
    ("percent", "expected"),
    [
        ([20.0] * TARGETS, "OK"),
        ([16.0] * TARGETS, "OK"),
        ([14.0] * TARGETS, "ALARM"),
        ([3.0] * TARGETS, "ALARM"),
        # One full target among empty ones: the sum would be far from any limit.
        ([1.0, *[90.0] * (TARGETS - 1)], "ALARM"),
        ([100.0] * TARGETS, "OK"),
    ],
)
def test_space_alarms_when_the_fullest_target_has_less_than_15_percent(percent: list[float], expected: str) -> None:
    assert state(alarm("space"), free(percent)) == expected


def test_a_file_system_that_publishes_nothing_has_no_verdict_on_space() -> None:
    assert state(alarm("space"), {"FreeDataStorageCapacity": Series([[]] * 30)}) == "INSUFFICIENT_DATA"


def test_space_waits_for_a_quarter_of_an_hour() -> None:
    short = Series(
        [
            *free([50.0] * TARGETS, 25)["FreeDataStorageCapacity"].minutes,
            *free([1.0] * TARGETS, 5)["FreeDataStorageCapacity"].minutes,
        ]
    )
    assert state(alarm("space"), {"FreeDataStorageCapacity": short}) == "OK"


@pytest.mark.parametrize(("share", "expected"), [(0.5, "OK"), (0.89, "OK"), (0.91, "ALARM"), (1.0, "ALARM")])
def test_throughput_alarms_above_90_percent_of_what_was_bought(share: float, expected: str) -> None:
    bought = OST_GIB * TARGETS / 1024 * 500 * 1e6 * 60
    half = [share * bought / 2 / TARGETS] * TARGETS
    published = {"DataReadBytes": Series([half] * 30), "DataWriteBytes": Series([half] * 30)}
    assert state(alarm("throughput"), published) == expected


@pytest.mark.parametrize(("used", "expected"), [(79.0, "OK"), (81.0, "ALARM")])
def test_inodes_alarm_when_a_metadata_target_fills(used: float, expected: str) -> None:
    assert state(alarm("inodes"), {"StorageCapacityUtilization": Series([[used]] * 30)}) == expected


def test_an_idle_file_system_is_no_alarm_on_throughput() -> None:
    published = {"DataReadBytes": Series([[]] * 30), "DataWriteBytes": Series([[]] * 30)}
    assert state(alarm("throughput"), published) == "OK"


def test_each_metadata_target_has_its_alarm() -> None:
    given = stack_of(
        pools=POOLS,
        rest=(
            "  trainshed:storage: {lustre: [{name: train, zone: usw2-az3, throughput_mbps_per_tib: 500, capacity_gib:"
            " 9600, metadata_iops: 36000}]}\n"
        ),
    )
    [system] = file_systems.systems(given, CAT)
    found = [each for each in file_systems.KINDS["lustre"].alarms(system, given, CAT) if "inodes" in each.role]
    watched = [each.metrics["used"].dimensions["StorageTargetId"] for each in found]
    assert watched == ["MDT0000", "MDT0001", "MDT0002"]
