"""The alarms of the checkpoints' copy, evaluated as CloudWatch would on samples as S3 publishes them.

S3 publishes a bucket's replication metrics each minute that something is copied, and nothing in between (S3 User Guide,
replication metrics: the latency with Maximum, the failed operations with Sum).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from components.object_store import ObjectStore, ObjectStoreArgs
from components.spec.storage import StorageSpec
from tests.declared import Record, of_type, record
from tests.infra.test_stacks import declared
from tests.whole import NAMES

STATISTICS: Mapping[str, Callable[[Sequence[float]], float]] = {"Maximum": max, "Sum": sum, "Minimum": min}
QUIET: list[float] = []
EVALUATED = {("AWS/S3", "ReplicationLatency"), ("AWS/S3", "OperationsFailedReplication")}


def state(alarm: Mapping[str, Any], minutes: Sequence[Sequence[float]]) -> str:
    """ALARM, OK or INSUFFICIENT_DATA after these minutes' samples, every period of the evaluation breaching."""
    step = int(alarm["period"]) // 60
    periods = [
        [value for minute in minutes[at : at + step] for value in minute] for at in range(0, len(minutes), step)
    ][-int(alarm["evaluationPeriods"]) :]
    assert len(periods) == alarm["evaluationPeriods"]
    reported = [STATISTICS[alarm["statistic"]](each) > alarm["threshold"] if each else None for each in periods]
    if all(each is None for each in reported) and alarm["treatMissingData"] == "missing":
        return "INSUFFICIENT_DATA"
    missing = alarm["treatMissingData"] == "breaching"
    return "ALARM" if all(missing if each is None else each for each in reported) else "OK"


def alarms(lag_minutes: int = 45) -> dict[str, Record]:
    spec = StorageSpec.model_validate({"checkpoints": {"replicate_to": "us-east-2", "lag_minutes": lag_minutes}})
    args = ObjectStoreArgs(spec=spec, region="us-west-2", account_id="111122223333")
    found = record(lambda: ObjectStore("store", args))
    return {each.inputs["metricName"]: each for each in of_type(found, "MetricAlarm")}


@pytest.mark.parametrize(
    ("minutes", "expected"),
    [
        ([[44 * 60.0]] * 30, "OK"),
        ([[46 * 60.0]] * 30, "ALARM"),
        # One late object among many that are on time: an average would not see it.
        ([[5.0, 3.0, 46 * 60.0]] * 30, "ALARM"),
        # Late for five minutes only, as after a large checkpoint.
        ([*[[60.0]] * 25, *[[50 * 60.0]] * 5], "OK"),
        # Two late copies: in the period between them nothing waited.
        ([*[[50 * 60.0]] * 5, *[QUIET] * 5, *[[50 * 60.0]] * 5], "OK"),
        ([QUIET] * 30, "OK"),
    ],
)
def test_a_copy_that_lags_a_quarter_of_an_hour_alarms_and_a_quiet_one_does_not(
    minutes: list[list[float]], expected: str
) -> None:
    assert state(alarms()["ReplicationLatency"].inputs, minutes) == expected


@pytest.mark.parametrize(
    ("minutes", "expected"),
    [
        ([[0.0]] * 30, "OK"),
        ([QUIET] * 30, "OK"),
        ([*[[0.0]] * 29, [1.0]], "ALARM"),
        # What failed and was copied since is over after a period.
        ([*[[3.0]] * 25, *[[0.0]] * 5], "OK"),
    ],
)
def test_a_single_object_that_could_not_be_copied_alarms(minutes: list[list[float]], expected: str) -> None:
    assert state(alarms()["OperationsFailedReplication"].inputs, minutes) == expected


def test_alarms_watch_the_rule_and_the_buckets_of_the_copy() -> None:
    for each in alarms().values():
        assert set(each.inputs["dimensions"]) == {"SourceBucket", "DestinationBucket", "RuleId"}
        assert each.inputs["period"] % 60 == 0


@pytest.mark.parametrize("name", NAMES)
def test_every_alarm_that_a_stack_declares_is_evaluated_on_samples_in_a_test(name: str) -> None:
    """Those of file systems in `file_systems/test_lustre_alarms.py`, the others here."""
    found = [each for each in declared(name) if each.type == "aws:cloudwatch/metricAlarm:MetricAlarm"]
    others = {(each.inputs["namespace"], each.inputs["metricName"]) for each in found if "lustre" not in each.name}
    assert others <= EVALUATED
