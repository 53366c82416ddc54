"""The audit trail: CloudTrail over all regions, with the key and the bucket that it writes to."""

from __future__ import annotations

from collections.abc import Mapping

import pulumi
import pulumi_aws as aws

from components.governance.audit import service_bucket
from components.identity import policy_documents
from components.identity.policy_documents import Statement
from components.naming import fit

_SERVICE = {"Service": ("cloudtrail.amazonaws.com",)}


def trail(
    name: str,
    *,
    stack: str,
    region: str,
    account: pulumi.Input[str],
    days: int,
    protect: bool,
    tags: Mapping[str, str],
    parent: pulumi.Resource,
) -> pulumi.Output[str]:
    """A validated, encrypted trail over all regions; returns its bucket's name."""
    label = fit(f"trainshed-{stack}", 128)
    # The trail's ARN is written out: the bucket and the key must trust it before it exists.
    arn = pulumi.Output.concat(
        "arn:", policy_documents.partition(region), f":cloudtrail:{region}:", account, f":trail/{label}"
    )
    store = service_bucket.declare(
        f"{name}-trail",
        description="Audit trail",
        region=region,
        account=account,
        on_key=_on_key(arn),
        on_bucket=lambda bucket: _on_bucket(bucket, arn, account),
        days=days,
        protect=protect,
        tags=tags,
        parent=parent,
    )
    aws.cloudtrail.Trail(
        f"{name}-trail",
        name=label,
        s3_bucket_name=store.bucket.bucket,
        is_multi_region_trail=True,
        include_global_service_events=True,
        enable_log_file_validation=True,
        enable_logging=True,
        kms_key_id=store.key.arn,
        tags={**tags, "Name": f"{name}-trail"},
        opts=pulumi.ResourceOptions(parent=parent, depends_on=[store.policy]),
    )
    return store.bucket.bucket


def _on_key(trail_arn: pulumi.Output[str]) -> tuple[Statement, ...]:
    ours = {"StringEquals": {"aws:SourceArn": trail_arn}}
    return (
        Statement(sid="TrailEncrypts", actions=("kms:GenerateDataKey*",), principals=_SERVICE, conditions=ours),
        Statement(sid="TrailDescribes", actions=("kms:DescribeKey",), principals=_SERVICE, conditions=ours),
    )


def _on_bucket(
    bucket_arn: pulumi.Output[str], trail_arn: pulumi.Output[str], account: pulumi.Input[str]
) -> tuple[Statement, ...]:
    return (
        Statement(
            sid="TrailChecks",
            actions=("s3:GetBucketAcl",),
            resources=(bucket_arn,),
            principals=_SERVICE,
            conditions={"StringEquals": {"aws:SourceArn": trail_arn}},
        ),
        Statement(
            sid="TrailWrites",
            actions=("s3:PutObject",),
            resources=(pulumi.Output.concat(bucket_arn, "/AWSLogs/", account, "/*"),),
            principals=_SERVICE,
            conditions={"StringEquals": {"aws:SourceArn": trail_arn, "s3:x-amz-acl": "bucket-owner-full-control"}},
        ),
    )
