"""What tells Karpenter that EC2 is about to take a machine: a queue, and the rules that fill it.

Source: aws/karpenter-provider-aws v1.13.0, the CloudFormation template of its getting-started guide.
"""

from __future__ import annotations

from collections.abc import Mapping

import pulumi
import pulumi_aws as aws

from components.identity import policy_documents
from components.identity.policy_documents import Statement

# Source and detail type of each event, by the name of its rule.
EVENTS: Mapping[str, tuple[str, str]] = {
    "health": ("aws.health", "AWS Health Event"),
    "spot": ("aws.ec2", "EC2 Spot Instance Interruption Warning"),
    "rebalance": ("aws.ec2", "EC2 Instance Rebalance Recommendation"),
    "state": ("aws.ec2", "EC2 Instance State-change Notification"),
    "reservation": ("aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning"),
}
# A warning is two minutes long; one that is older than this says nothing any more.
_RETENTION_SECONDS = 300


def declare(
    name: str, *, tags: Mapping[str, str], children: pulumi.ResourceOptions
) -> tuple[aws.sqs.Queue, list[pulumi.Resource]]:
    """The queue, and what must be there before anybody relies on it."""
    queue = aws.sqs.Queue(
        f"{name}-interruptions",
        message_retention_seconds=_RETENTION_SECONDS,
        sqs_managed_sse_enabled=True,
        tags={**tags, "Name": f"{name}-interruptions"},
        opts=children,
    )
    rules = {
        key: aws.cloudwatch.EventRule(
            f"{name}-{key}",
            description=f"{kind}, for Karpenter",
            event_pattern=pulumi.Output.json_dumps({"source": [source], "detail-type": [kind]}),
            tags={**tags, "Name": f"{name}-{key}"},
            opts=children,
        )
        for key, (source, kind) in EVENTS.items()
    }
    policy = aws.sqs.QueuePolicy(
        f"{name}-interruptions",
        queue_url=queue.url,
        policy=policy_documents.document(
            Statement(
                sid="RulesSend",
                actions=("sqs:SendMessage",),
                resources=(queue.arn,),
                principals={"Service": ("events.amazonaws.com",)},
                conditions={"ArnEquals": {"aws:SourceArn": [rule.arn for rule in rules.values()]}},
            ),
            Statement(
                sid="OnlyEncrypted",
                effect="Deny",
                actions=("sqs:*",),
                resources=(queue.arn,),
                principals={"AWS": ("*",)},
                conditions={"Bool": {"aws:SecureTransport": "false"}},
            ),
        ),
        opts=children,
    )
    targets = [
        aws.cloudwatch.EventTarget(f"{name}-{key}", rule=rule.name, arn=queue.arn, opts=children)
        for key, rule in rules.items()
    ]
    return queue, [policy, *targets]
