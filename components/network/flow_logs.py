"""The record of accepted and refused connections of a network.

It goes to a retained log group, encrypted with a key of the network's own and written by a role that can do nothing
else.
"""

from __future__ import annotations

from collections.abc import Mapping

import pulumi
import pulumi_aws as aws

from components.catalog.limits import log_retention
from components.identity import policy_documents


def declare(
    name: str, *, region: str, vpc: aws.ec2.Vpc, days: int, tags: Mapping[str, str], children: pulumi.ResourceOptions
) -> aws.ec2.FlowLog:
    key = aws.kms.Key(
        f"{name}-logs",
        description="Flow logs of the network",
        enable_key_rotation=True,
        deletion_window_in_days=30,
        policy=policy_documents.document(
            policy_documents.key_administration(region, vpc.owner_id),
            policy_documents.logs_use_key(region, vpc.owner_id),
        ),
        tags={**tags, "Name": f"{name}-logs"},
        opts=children,
    )
    group = aws.cloudwatch.LogGroup(
        f"{name}-flow-logs",
        retention_in_days=log_retention(days),
        kms_key_id=key.arn,
        tags={**tags, "Name": f"{name}-flow-logs"},
        opts=children,
    )
    # Without the condition any account's flow log could have this service take the role.
    role = aws.iam.Role(
        f"{name}-flow-logs",
        description="Writes flow logs",
        assume_role_policy=policy_documents.trust(
            "vpc-flow-logs.amazonaws.com", conditions={"StringEquals": {"aws:SourceAccount": vpc.owner_id}}
        ),
        tags={**tags, "Name": f"{name}-flow-logs"},
        opts=children,
    )
    policy = aws.iam.RolePolicy(
        f"{name}-flow-logs",
        role=role.name,
        policy=policy_documents.document(
            policy_documents.Statement(
                sid="Write",
                actions=("logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"),
                resources=(group.arn, pulumi.Output.concat(group.arn, ":*")),
            )
        ),
        opts=children,
    )
    return aws.ec2.FlowLog(
        f"{name}-flow-logs",
        vpc_id=vpc.id,
        traffic_type="ALL",
        log_destination_type="cloud-watch-logs",
        log_destination=group.arn,
        iam_role_arn=role.arn,
        max_aggregation_interval=600,
        tags={**tags, "Name": f"{name}-flow-logs"},
        opts=pulumi.ResourceOptions.merge(children, pulumi.ResourceOptions(depends_on=[policy])),
    )
