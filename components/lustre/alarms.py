"""Alarms of a Lustre file system: space, the metadata target that holds the inodes, and throughput.

Hides CloudWatch's names. FSx publishes no count of free inodes: they lie on the metadata target, whose share in use
stands for them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pulumi
import pulumi_aws as aws

_FREE_SPACE_PERCENT = 15
_METADATA_PERCENT = 80
_THROUGHPUT_PERCENT = 90
_GIB = 1024**3


def declare(
    name: str,
    *,
    label: str,
    file_system_id: pulumi.Input[str],
    capacity_gib: int | None,
    total_mbps: float,
    actions: Sequence[pulumi.Input[str]],
    tags: Mapping[str, str],
    children: pulumi.ResourceOptions,
) -> list[aws.cloudwatch.MetricAlarm]:
    """The alarms, whose names begin with `label`; a file system without a capacity of its own has none on space."""
    system = {"FileSystemId": file_system_id}

    def alarm_tags(role: str) -> dict[str, str]:
        return {**tags, "Name": f"{name}-{role}"}

    alarms = [
        aws.cloudwatch.MetricAlarm(
            f"{name}-inodes",
            name=f"{label}-{name}-inodes",
            alarm_description=(
                f"More than {_METADATA_PERCENT} % of the metadata target is in use: without inodes no file can be made"
            ),
            namespace="AWS/FSx",
            metric_name="StorageCapacityUtilization",
            dimensions={**system, "StorageTargetId": "MDT0000"},
            statistic="Maximum",
            period=300,
            evaluation_periods=3,
            comparison_operator="GreaterThanThreshold",
            threshold=_METADATA_PERCENT,
            treat_missing_data="notBreaching",
            alarm_actions=list(actions),
            ok_actions=list(actions),
            tags=alarm_tags("inodes"),
            opts=children,
        ),
        aws.cloudwatch.MetricAlarm(
            f"{name}-throughput",
            name=f"{label}-{name}-throughput",
            alarm_description=(
                f"More than {_THROUGHPUT_PERCENT} % of the {total_mbps:,.0f} MB/s bought are in use: cards may wait for"
                " data"
            ),
            metric_queries=[
                {
                    "id": "share",
                    "label": "Throughput in use (%)",
                    "expression": f"100 * (reads + writes) / PERIOD(reads) / {total_mbps * 1e6:.0f}",
                    "return_data": True,
                },
                *(
                    {
                        "id": word,
                        "metric": {
                            "namespace": "AWS/FSx",
                            "metric_name": metric,
                            "dimensions": system,
                            "period": 300,
                            "stat": "Sum",
                        },
                    }
                    for word, metric in (("reads", "DataReadBytes"), ("writes", "DataWriteBytes"))
                ),
            ],
            evaluation_periods=3,
            comparison_operator="GreaterThanThreshold",
            threshold=_THROUGHPUT_PERCENT,
            treat_missing_data="notBreaching",
            alarm_actions=list(actions),
            ok_actions=list(actions),
            tags=alarm_tags("throughput"),
            opts=children,
        ),
    ]
    if capacity_gib is not None:
        alarms.append(
            aws.cloudwatch.MetricAlarm(
                f"{name}-space",
                name=f"{label}-{name}-space",
                alarm_description=(
                    f"Less than {_FREE_SPACE_PERCENT} % of the {capacity_gib:,} GiB are free: checkpoints will soon"
                    " fail"
                ),
                namespace="AWS/FSx",
                metric_name="FreeDataStorageCapacity",
                dimensions=system,
                statistic="Sum",  # over all storage targets
                period=300,
                evaluation_periods=3,
                comparison_operator="LessThanThreshold",
                threshold=capacity_gib * _GIB * _FREE_SPACE_PERCENT / 100,
                treat_missing_data="missing",
                alarm_actions=list(actions),
                ok_actions=list(actions),
                tags=alarm_tags("space"),
                opts=children,
            )
        )
    return alarms
