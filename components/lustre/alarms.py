"""The alarms of a file system, declared from what its adapter says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
import pulumi_aws as aws

from components.file_systems import Alarm, AlarmMetric

_NAMESPACE = "AWS/FSx"


def declare(
    name: str,
    alarms: Sequence[Alarm],
    *,
    label: str,
    file_system_id: pulumi.Input[str],
    actions: Sequence[pulumi.Input[str]],
    tags: Mapping[str, str],
    children: pulumi.ResourceOptions,
) -> list[aws.cloudwatch.MetricAlarm]:
    """One alarm for each value; their names begin with `label`."""
    return [
        aws.cloudwatch.MetricAlarm(
            f"{name}-{each.role}",
            name=f"{label}-{name}-{each.role}",
            alarm_description=each.description,
            comparison_operator=each.comparison,
            threshold=each.threshold,
            evaluation_periods=each.evaluation_periods,
            treat_missing_data=each.missing,
            alarm_actions=list(actions),
            ok_actions=list(actions),
            tags={**tags, "Name": f"{name}-{each.role}"},
            opts=children,
            **_measured(each, file_system_id),
        )
        for each in alarms
    ]


def _measured(alarm: Alarm, file_system_id: pulumi.Input[str]) -> dict[str, Any]:
    if alarm.expression is None:
        (metric,) = alarm.metrics.values()
        return {
            "namespace": _NAMESPACE,
            "metric_name": metric.name,
            "dimensions": {"FileSystemId": file_system_id, **metric.dimensions},
            "statistic": metric.statistic,
            "period": metric.period_seconds,
        }
    share: aws.cloudwatch.MetricAlarmMetricQueryArgsDict = {
        "id": "share",
        "label": alarm.label,
        "expression": alarm.expression,
        "return_data": True,
    }
    return {"metric_queries": [share, *(_query(key, each, file_system_id) for key, each in alarm.metrics.items())]}


def _query(
    key: str, metric: AlarmMetric, file_system_id: pulumi.Input[str]
) -> aws.cloudwatch.MetricAlarmMetricQueryArgsDict:
    return {
        "id": key,
        "metric": {
            "namespace": _NAMESPACE,
            "metric_name": metric.name,
            "dimensions": {"FileSystemId": file_system_id, **metric.dimensions},
            "period": metric.period_seconds,
            "stat": metric.statistic,
        },
    }
