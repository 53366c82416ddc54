"""One private bucket with everything that guards it.

S3 keeps a bucket's settings apart from the bucket, and some of them must be there before others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pulumi
import pulumi_aws as aws

from components.catalog.contract import CONDEMNED_TAG
from components.identity import policy_documents
from components.identity.policy_documents import Statement

UPLOAD_DAYS = 7

LifecycleRule = aws.s3.BucketLifecycleConfigurationRuleArgsDict
DATA_ACTIONS = ("s3:GetObject*", "s3:PutObject*", "s3:DeleteObject*", "s3:ListBucket*", "s3:AbortMultipartUpload")


@dataclass(frozen=True, kw_only=True)
class Guards:
    """What all buckets of a store share. `region` is where the bucket lies, `home` the provider's own region.

    `organisation` narrows who reaches objects from the account to the organisation it is in.
    """

    region: str
    home: str
    account_id: pulumi.Input[str]
    key: aws.kms.Key
    organisation: str | None
    protect: bool
    force_destroy: bool
    tags: Mapping[str, str]
    parent: pulumi.Resource

    @property
    def elsewhere(self) -> str | None:
        """The region to name on each resource; None in the provider's own."""
        return self.region if self.region != self.home else None


@dataclass(frozen=True, kw_only=True)
class Bucket:
    """`versioned` and `policy` are what replication and links wait for."""

    bucket: aws.s3.Bucket
    versioned: aws.s3.BucketVersioning
    policy: aws.s3.BucketPolicy
    ready: list[pulumi.Resource] = field(default_factory=list[pulumi.Resource])


def declare(
    name: str,
    role: str,
    guards: Guards,
    *,
    lifecycle: Sequence[LifecycleRule],
    statements: Callable[[pulumi.Output[str]], Sequence[Statement]] = lambda arn: (),
) -> Bucket:
    """`name` is the logical name; S3's own name is that and random characters. `statements` of its policy are made from
    its ARN.
    """
    child = pulumi.ResourceOptions(parent=guards.parent)
    region = guards.elsewhere
    bucket = aws.s3.Bucket(
        name,
        region=region,
        force_destroy=guards.force_destroy,
        tags={**guards.tags, "Name": name, "trainshed.io/bucket": role},
        opts=pulumi.ResourceOptions(parent=guards.parent, protect=guards.protect),
    )
    closed = aws.s3.BucketPublicAccessBlock(
        name,
        bucket=bucket.bucket,
        region=region,
        block_public_acls=True,
        block_public_policy=True,
        ignore_public_acls=True,
        restrict_public_buckets=True,
        opts=child,
    )
    owned = aws.s3.BucketOwnershipControls(
        name, bucket=bucket.bucket, region=region, rule={"object_ownership": "BucketOwnerEnforced"}, opts=child
    )
    versioned = aws.s3.BucketVersioning(
        name, bucket=bucket.bucket, region=region, versioning_configuration={"status": "Enabled"}, opts=child
    )
    encrypted = _encryption(name, bucket, guards)
    aws.s3.BucketLifecycleConfiguration(
        name,
        bucket=bucket.bucket,
        region=region,
        rules=list(lifecycle),
        opts=pulumi.ResourceOptions(parent=guards.parent, depends_on=[versioned]),
    )
    policy = aws.s3.BucketPolicy(
        name,
        bucket=bucket.bucket,
        region=region,
        policy=policy_documents.document(*_closed_to_others(bucket.arn, guards), *statements(bucket.arn)),
        opts=pulumi.ResourceOptions(parent=guards.parent, depends_on=[closed]),
    )
    return Bucket(bucket=bucket, versioned=versioned, policy=policy, ready=[policy, owned, versioned, encrypted])


def _encryption(name: str, bucket: aws.s3.Bucket, guards: Guards) -> aws.s3.BucketServerSideEncryptionConfiguration:
    return aws.s3.BucketServerSideEncryptionConfiguration(
        name,
        bucket=bucket.bucket,
        region=guards.elsewhere,
        rules=[
            {
                "apply_server_side_encryption_by_default": {
                    "sse_algorithm": "aws:kms",
                    "kms_master_key_id": guards.key.arn,
                },
                "bucket_key_enabled": True,  # one request to KMS for many objects
            }
        ],
        opts=pulumi.ResourceOptions(parent=guards.parent),
    )


def _closed_to_others(arn: pulumi.Output[str], guards: Guards) -> tuple[Statement, Statement]:
    """No request without TLS, and no principal from outside; neither stands in the way of mending the policy.

    The second denies actions on objects alone: nobody, the operator above all, loses the right to repair this very
    policy. AWS services that act for the account (log delivery) come without the account's principal and are let by.
    """
    everything = (arn, pulumi.Output.concat(arn, "/*"))
    outside = (
        {"aws:PrincipalOrgID": guards.organisation}
        if guards.organisation
        else {"aws:PrincipalAccount": guards.account_id}
    )
    return (
        Statement(
            sid="TlsOnly",
            effect="Deny",
            actions=("s3:*",),
            resources=everything,
            principals={"AWS": ("*",)},
            conditions={"Bool": {"aws:SecureTransport": "false"}},
        ),
        Statement(
            sid="OwnPrincipalsOnly",
            effect="Deny",
            actions=DATA_ACTIONS,
            resources=everything,
            principals={"AWS": ("*",)},
            conditions={"StringNotEqualsIfExists": outside, "BoolIfExists": {"aws:PrincipalIsAWSService": "false"}},
        ),
    )


def lifecycle(
    *,
    old_versions_days: int,
    expire_days: int | None = None,
    condemned_days: int | None = None,
    transitions: Sequence[tuple[int, str]] = (),
) -> list[LifecycleRule]:
    """Rules of a whole bucket: broken uploads end, replaced versions go, and objects move and go by age.

    With `condemned_days` age takes only objects that carry the tag of whoever prunes them.
    """
    rule: LifecycleRule = {
        "id": "age",
        "status": "Enabled",
        "filter": {"prefix": ""},
        "abort_incomplete_multipart_upload": {"days_after_initiation": UPLOAD_DAYS},
        "noncurrent_version_expiration": {"noncurrent_days": old_versions_days},
    }
    if expire_days is not None:
        rule["expiration"] = {"days": expire_days}
    if transitions:
        rule["transitions"] = [{"days": days, "storage_class": kind} for days, kind in sorted(transitions)]
    rules = [rule]
    if condemned_days is not None:
        condemned: LifecycleRule = {
            "id": "condemned",
            "status": "Enabled",
            "filter": {"tag": {"key": CONDEMNED_TAG.key, "value": CONDEMNED_TAG.value}},
            "expiration": {"days": condemned_days},
        }
        rules.append(condemned)
    if expire_days is None:
        # Deleted objects leave a marker that costs every listing; it can't stand in a rule that expires by age.
        rules.append(
            {
                "id": "markers",
                "status": "Enabled",
                "filter": {"prefix": ""},
                "expiration": {"expired_object_delete_marker": True},
            }
        )
    return rules
