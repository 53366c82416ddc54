"""The copy of the checkpoints in a second region: its bucket and key, the rule that fills it, and the alarms on its
lag.

S3 publishes the lag in the copy's region, and failed operations in the original's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pulumi
import pulumi_aws as aws

from components.identity import policy_documents
from components.identity.policy_documents import Statement
from components.object_store import bucket as object_store_bucket
from components.object_store.bucket import Bucket, Guards

RULE = "checkpoints"


@dataclass(frozen=True, kw_only=True)
class Alarms:
    """`label` begins the alarms' names. An alarm only reaches topics of its own region: `home` are the original's,
    `away` the copy's.

    `subscriptions` (protocol and endpoint by key) hear of alarms in the copy's region through a topic that is made
    there.
    """

    label: str
    lag_minutes: int
    home: Sequence[pulumi.Input[str]] = ()
    away: Sequence[pulumi.Input[str]] = ()
    subscriptions: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])


def declare(
    name: str,
    *,
    source: Bucket,
    source_guards: Guards,
    region: str,
    lifecycle: Sequence[object_store_bucket.LifecycleRule],
    alarms: Alarms,
) -> Bucket:
    """The bucket that holds the copy."""
    guards = _guards(name, source_guards, region)
    copy = object_store_bucket.declare(f"{name}-checkpoints-copy", "checkpoints-copy", guards, lifecycle=lifecycle)
    role, permissions = _role(name, source, source_guards, copy, guards)
    child = pulumi.ResourceOptions(parent=source_guards.parent)
    aws.s3.BucketReplicationConfig(
        f"{name}-checkpoints",
        bucket=source.bucket.bucket,
        role=role.arn,
        rules=[
            {
                "id": RULE,
                "status": "Enabled",
                "priority": 0,
                "filter": {"prefix": ""},
                # A deletion here, by mistake or by force, must not reach the copy, which ages by its own rules.
                "delete_marker_replication": {"status": "Disabled"},
                "source_selection_criteria": {"sse_kms_encrypted_objects": {"status": "Enabled"}},
                "destination": {
                    "bucket": copy.bucket.arn,
                    "storage_class": "STANDARD_IA",
                    "encryption_configuration": {"replica_kms_key_id": guards.key.arn},
                    "metrics": {"status": "Enabled"},
                },
            }
        ],
        opts=pulumi.ResourceOptions(
            parent=source_guards.parent, depends_on=[source.versioned, copy.versioned, copy.policy, permissions]
        ),
    )
    if alarms.subscriptions:
        alarms = replace(alarms, away=[*alarms.away, _topic(name, guards, alarms)])
    _alarms(name, source, copy, region, alarms, source_guards.tags, child)
    return copy


def _topic(name: str, guards: Guards, alarms: Alarms) -> pulumi.Output[str]:
    """The ARN of the topic in the copy's region."""
    child = pulumi.ResourceOptions(parent=guards.parent)
    topic = aws.sns.Topic(
        f"{name}-copy-alerts",
        region=guards.region,
        display_name="Trainshed alerts",
        kms_master_key_id=guards.key.arn,
        tags={**guards.tags, "Name": f"{name}-copy-alerts"},
        opts=child,
    )
    for key, (protocol, endpoint) in sorted(alarms.subscriptions.items()):
        shown = pulumi.Output.secret(endpoint) if protocol == "https" else endpoint
        aws.sns.TopicSubscription(
            f"{name}-copy-alert-{key}",
            region=guards.region,
            topic=topic.arn,
            protocol=protocol,
            endpoint=shown,
            opts=child,
        )
    return topic.arn


def _guards(name: str, source: Guards, region: str) -> Guards:
    key = aws.kms.Key(
        f"{name}-key-copy",
        region=region,
        description="The copy of the checkpoints",
        enable_key_rotation=True,
        deletion_window_in_days=30,
        policy=policy_documents.document(
            policy_documents.key_administration(region, source.account_id),
            policy_documents.alarms_use_key(source.account_id),
        ),
        tags={**source.tags, "Name": f"{name}-key-copy"},
        opts=pulumi.ResourceOptions(parent=source.parent, protect=source.protect),
    )
    return Guards(
        region=region,
        home=source.home,
        account_id=source.account_id,
        key=key,
        organisation=source.organisation,
        protect=source.protect,
        force_destroy=source.force_destroy,
        tags=source.tags,
        parent=source.parent,
    )


def _role(
    name: str, source: Bucket, source_guards: Guards, copy: Bucket, guards: Guards
) -> tuple[aws.iam.Role, aws.iam.RolePolicy]:
    child = pulumi.ResourceOptions(parent=guards.parent)
    role = aws.iam.Role(
        f"{name}-replication",
        description="Copies checkpoints to the second region",
        assume_role_policy=policy_documents.trust("s3.amazonaws.com"),
        tags={**guards.tags, "Name": f"{name}-replication"},
        opts=child,
    )
    objects, copies = pulumi.Output.concat(source.bucket.arn, "/*"), pulumi.Output.concat(copy.bucket.arn, "/*")
    policy = aws.iam.RolePolicy(
        f"{name}-replication",
        role=role.name,
        policy=policy_documents.document(
            Statement(
                sid="ReadRules",
                actions=("s3:GetReplicationConfiguration", "s3:ListBucket"),
                resources=(source.bucket.arn,),
            ),
            Statement(
                sid="ReadObjects",
                actions=("s3:GetObjectVersionForReplication", "s3:GetObjectVersionAcl", "s3:GetObjectVersionTagging"),
                resources=(objects,),
            ),
            Statement(sid="WriteCopies", actions=("s3:ReplicateObject", "s3:ReplicateTags"), resources=(copies,)),
            Statement(
                sid="Decrypt",
                actions=("kms:Decrypt",),
                resources=(source_guards.key.arn,),
                conditions={"StringLike": {"kms:ViaService": policy_documents.s3_host(source_guards.region)}},
            ),
            Statement(
                sid="Encrypt",
                actions=("kms:Encrypt", "kms:GenerateDataKey"),
                resources=(guards.key.arn,),
                conditions={"StringLike": {"kms:ViaService": policy_documents.s3_host(guards.region)}},
            ),
        ),
        opts=child,
    )
    return role, policy


def _alarms(
    name: str,
    source: Bucket,
    copy: Bucket,
    region: str,
    alarms: Alarms,
    tags: Mapping[str, str],
    child: pulumi.ResourceOptions,
) -> None:
    dimensions = {"SourceBucket": source.bucket.bucket, "DestinationBucket": copy.bucket.bucket, "RuleId": RULE}
    aws.cloudwatch.MetricAlarm(
        f"{name}-copy-lag",
        name=f"{alarms.label}-{name}-copy-lag",
        region=region,
        alarm_description=f"The copy of the checkpoints lies more than {alarms.lag_minutes} minutes behind",
        namespace="AWS/S3",
        metric_name="ReplicationLatency",
        dimensions=dimensions,
        statistic="Maximum",
        period=300,
        evaluation_periods=3,
        comparison_operator="GreaterThanThreshold",
        threshold=alarms.lag_minutes * 60,
        treat_missing_data="notBreaching",  # nothing is published while nothing is written
        alarm_actions=list(alarms.away),
        ok_actions=list(alarms.away),
        tags={**tags, "Name": f"{name}-copy-lag"},
        opts=child,
    )
    aws.cloudwatch.MetricAlarm(
        f"{name}-copy-failed",
        name=f"{alarms.label}-{name}-copy-failed",
        alarm_description="Objects of the checkpoint bucket could not be copied to the second region",
        namespace="AWS/S3",
        metric_name="OperationsFailedReplication",
        dimensions=dimensions,
        statistic="Sum",
        period=300,
        evaluation_periods=1,
        comparison_operator="GreaterThanThreshold",
        threshold=0,
        treat_missing_data="notBreaching",
        alarm_actions=list(alarms.home),
        ok_actions=list(alarms.home),
        tags={**tags, "Name": f"{name}-copy-failed"},
        opts=child,
    )
