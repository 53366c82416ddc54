"""The clock of Capacity Blocks: sets each block's node group to its size after the start and to zero before the end.

EventBridge Scheduler does it by calling eks:UpdateNodegroupConfig.

Considered:
- Scheduled actions on the node group's auto-scaling group: EKS' guide names them for a start and makes one itself 40
  minutes before the end, but that group belongs to EKS; scheduled scaling of managed groups is still an open wish
  (aws/containers-roadmap#1943), and terraform-aws-eks took its support (#2504) out again in v21. A size set there is
  not the size that EKS believes in.
- A job in the cluster: needs a cluster that is up and an identity that may resize, just when nodes are about to go.
- The queue-driven autoscaler: brings nodes when work waits, but knows no end.
UpdateNodegroupConfig is the other means in EKS' guide (capacity-blocks-mng), it is EKS' own size, and the scheduler
retries it while another update of the group runs. EKS' own action 40 minutes before the end stays as a second net.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import pulumi
import pulumi_aws as aws

from components.naming import fit
from components.planning.blocks import Window


@dataclass(frozen=True, kw_only=True)
class BlockGroup:
    """A block's node group: its window, the sizes between which it then lives, and where it is."""

    key: str
    window: Window
    min_nodes: int
    node_group_name: pulumi.Input[str]
    node_group_arn: pulumi.Input[str]


@dataclass(frozen=True, kw_only=True)
class BlockCalendarArgs:
    """`tags` go on the role; schedules can't carry any."""

    cluster_name: pulumi.Input[str]
    groups: Sequence[BlockGroup]
    tags: Mapping[str, str]


class BlockCalendar(pulumi.ComponentResource):
    """A role that may resize just these node groups, and two schedules for each block."""

    def __init__(self, name: str, args: BlockCalendarArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        record = {"blocks": [group.window.as_plan() for group in args.groups]}
        super().__init__("trainshed:pool:BlockCalendar", name, record, opts)
        child = pulumi.ResourceOptions(parent=self)
        arns = pulumi.Output.all(*[group.node_group_arn for group in args.groups])
        role = aws.iam.Role(
            fit(f"{name}-scheduler", 55),
            description="Lets EventBridge Scheduler set the size of Capacity Block node groups",
            assume_role_policy=arns.apply(_trust),
            tags={**args.tags, "Name": f"{name}-scheduler"},
            opts=child,
        )
        policy = aws.iam.RolePolicy(f"{name}-resize", role=role.name, policy=arns.apply(_resize), opts=child)
        for group in args.groups:
            window = group.window
            # The scheduler checks at creation that it may take the role.
            ordered = pulumi.ResourceOptions(parent=self, depends_on=[policy])
            if not window.running:
                up = {"MinSize": group.min_nodes, "DesiredSize": window.nodes}
                self._schedule(fit(f"{name}-up-{group.key}", 55), args, group, window.nodes_come, up, role, ordered)
            self._schedule(
                fit(f"{name}-down-{group.key}", 55),
                args,
                group,
                window.nodes_gone,
                {"MinSize": 0, "DesiredSize": 0},
                role,
                ordered,
            )
        self.register_outputs({})

    @staticmethod
    def _schedule(
        name: str,
        args: BlockCalendarArgs,
        group: BlockGroup,
        moment: datetime,
        sizes: dict[str, int],
        role: aws.iam.Role,
        opts: pulumi.ResourceOptions,
    ) -> None:
        # Members are spelt as in the service's model, not as on its REST interface: the scheduler refuses
        # "clusterName".
        request = pulumi.Output.json_dumps(
            {"ClusterName": args.cluster_name, "NodegroupName": group.node_group_name, "ScalingConfig": sizes}
        )
        aws.scheduler.Schedule(
            name,
            description=f"{group.window.reservation}: {sizes['DesiredSize']} nodes",
            schedule_expression=f"at({moment:%Y-%m-%dT%H:%M:%S})",
            schedule_expression_timezone="UTC",
            flexible_time_window=aws.scheduler.ScheduleFlexibleTimeWindowArgs(mode="OFF"),
            target=aws.scheduler.ScheduleTargetArgs(
                arn=pulumi.Output.from_input(group.node_group_arn).apply(_target),
                role_arn=role.arn,
                input=request,
                # An update of the group that is under way answers "in use": ask again for a quarter of an hour, which
                # ends before EKS' own action.
                retry_policy=aws.scheduler.ScheduleTargetRetryPolicyArgs(
                    maximum_event_age_in_seconds=900, maximum_retry_attempts=30
                ),
            ),
            opts=opts,
        )


def _target(node_group_arn: str) -> str:
    """The scheduler's own name for the call, in the partition of the node group."""
    return f"{node_group_arn.split(':eks:')[0]}:scheduler:::aws-sdk:eks:updateNodegroupConfig"


def _trust(arns: Sequence[str]) -> str:
    """Only the scheduler, and only for schedules of the node groups' account and region."""
    place = arns[0].split(":nodegroup/")[0].replace(":eks:", ":scheduler:")
    condition = {"ArnLike": {"aws:SourceArn": f"{place}:*"}}
    statement = {
        "Effect": "Allow",
        "Principal": {"Service": "scheduler.amazonaws.com"},
        "Action": "sts:AssumeRole",
        "Condition": condition,
    }
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]}, sort_keys=True)


def _resize(arns: Sequence[str]) -> str:
    statement = {"Effect": "Allow", "Action": "eks:UpdateNodegroupConfig", "Resource": sorted(arns)}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]}, sort_keys=True)
