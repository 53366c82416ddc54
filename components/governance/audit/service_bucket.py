"""The bucket that an audit service writes to: with a key of its own, private, and with objects that expire.

Only the statements given here are allowed, over TLS alone. Whoever writes must wait for `policy`, which waits until the
bucket is closed to the public.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components.identity import policy_documents
from components.identity.policy_documents import Statement


@dataclass(frozen=True, kw_only=True)
class ServiceBucket:
    """A bucket with the key that encrypts it and the policy that opens it to its service."""

    bucket: aws.s3.Bucket
    key: aws.kms.Key
    policy: aws.s3.BucketPolicy


def declare(
    name: str,
    *,
    description: str,
    region: str,
    account: pulumi.Input[str],
    on_key: Sequence[Statement],
    on_bucket: Callable[[pulumi.Output[str]], Sequence[Statement]],
    days: int,
    protect: bool,
    tags: Mapping[str, str],
    parent: pulumi.Resource,
) -> ServiceBucket:
    """`on_key` is what the service may do with the key, `on_bucket` what it may do with the bucket of an ARN. Objects
    expire after `days`.
    """
    kept = pulumi.ResourceOptions(parent=parent, protect=protect)
    key = aws.kms.Key(
        name,
        description=description,
        enable_key_rotation=True,
        deletion_window_in_days=30,
        policy=policy_documents.document(policy_documents.key_administration(region, account), *on_key),
        tags={**tags, "Name": name},
        opts=kept,
    )
    bucket, guards = _private_bucket(name, key=key.arn, days=days, tags=tags, kept=kept, parent=parent)
    policy = aws.s3.BucketPolicy(
        name,
        bucket=bucket.bucket,
        policy=policy_documents.document(_tls_only(bucket.arn), *on_bucket(bucket.arn)),
        opts=pulumi.ResourceOptions(parent=parent, depends_on=guards),
    )
    return ServiceBucket(bucket=bucket, key=key, policy=policy)


def _tls_only(bucket_arn: pulumi.Output[str]) -> Statement:
    return Statement(
        sid="TlsOnly",
        effect="Deny",
        actions=("s3:*",),
        resources=(bucket_arn, pulumi.Output.concat(bucket_arn, "/*")),
        principals={"AWS": ("*",)},
        conditions={"Bool": {"aws:SecureTransport": "false"}},
    )


def _private_bucket(
    name: str,
    *,
    key: pulumi.Output[str],
    days: int,
    tags: Mapping[str, str],
    kept: pulumi.ResourceOptions,
    parent: pulumi.Resource,
) -> tuple[aws.s3.Bucket, list[pulumi.Resource]]:
    """A bucket that one service writes to; the policy waits for its guards."""
    children = pulumi.ResourceOptions(parent=parent)
    bucket = aws.s3.Bucket(name, force_destroy=False, tags={**tags, "Name": name}, opts=kept)
    block = aws.s3.BucketPublicAccessBlock(
        name,
        bucket=bucket.bucket,
        block_public_acls=True,
        block_public_policy=True,
        ignore_public_acls=True,
        restrict_public_buckets=True,
        opts=children,
    )
    versions = aws.s3.BucketVersioning(
        name, bucket=bucket.bucket, versioning_configuration={"status": "Enabled"}, opts=children
    )
    _encrypted(name, bucket, key, children)
    _aged(name, bucket, days, pulumi.ResourceOptions(parent=parent, depends_on=[versions]))
    return bucket, [block]


def _encrypted(name: str, bucket: aws.s3.Bucket, key: pulumi.Output[str], opts: pulumi.ResourceOptions) -> None:
    aws.s3.BucketServerSideEncryptionConfiguration(
        name,
        bucket=bucket.bucket,
        rules=[
            {
                "apply_server_side_encryption_by_default": {"sse_algorithm": "aws:kms", "kms_master_key_id": key},
                "bucket_key_enabled": True,
            }
        ],
        opts=opts,
    )


def _aged(name: str, bucket: aws.s3.Bucket, days: int, opts: pulumi.ResourceOptions) -> None:
    aws.s3.BucketLifecycleConfiguration(
        name,
        bucket=bucket.bucket,
        rules=[
            {
                "id": "age",
                "status": "Enabled",
                "filter": {"prefix": ""},
                "expiration": {"days": days},
                "noncurrent_version_expiration": {"noncurrent_days": 30},
                "abort_incomplete_multipart_upload": {"days_after_initiation": 7},
            }
        ],
        opts=opts,
    )
