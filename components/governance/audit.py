"""The account's audit services: the audit trail with its bucket, GuardDuty for EKS, AWS Config with its rules.

The policies let each service write where it must and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping

import pulumi
import pulumi_aws as aws

from components.identity import policy_documents
from components.naming import fit

# AWS Config's managed rules on what this project declares (AWS Config Developer Guide, list of managed rules).
CONFIG_RULES = (
    "CLOUD_TRAIL_LOG_FILE_VALIDATION_ENABLED",
    "EC2_IMDSV2_CHECK",
    "EKS_ENDPOINT_NO_PUBLIC_ACCESS",
    "EKS_SECRETS_ENCRYPTED",
    "ENCRYPTED_VOLUMES",
    "INCOMING_SSH_DISABLED",
    "S3_BUCKET_PUBLIC_READ_PROHIBITED",
    "S3_BUCKET_SSL_REQUESTS_ONLY",
    "VPC_DEFAULT_SECURITY_GROUP_CLOSED",
    "VPC_FLOW_LOGS_ENABLED",
)


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
    kept = pulumi.ResourceOptions(parent=parent, protect=protect)
    label = fit(f"trainshed-{stack}", 128)
    # The trail's ARN is written out: the bucket and the key must trust it before it exists.
    arn = pulumi.Output.concat(
        "arn:", policy_documents.partition(region), f":cloudtrail:{region}:", account, f":trail/{label}"
    )
    from_trail = {"StringEquals": {"aws:SourceArn": arn}}
    service = {"Service": ("cloudtrail.amazonaws.com",)}
    key = aws.kms.Key(
        f"{name}-trail",
        description="Audit trail",
        enable_key_rotation=True,
        deletion_window_in_days=30,
        policy=policy_documents.document(
            policy_documents.key_administration(region, account),
            policy_documents.Statement(
                sid="TrailEncrypts", actions=("kms:GenerateDataKey*",), principals=service, conditions=from_trail
            ),
            policy_documents.Statement(
                sid="TrailDescribes", actions=("kms:DescribeKey",), principals=service, conditions=from_trail
            ),
        ),
        tags={**tags, "Name": f"{name}-trail"},
        opts=kept,
    )
    bucket, guards = _private_bucket(f"{name}-trail", key=key.arn, days=days, tags=tags, kept=kept, parent=parent)
    policy = aws.s3.BucketPolicy(
        f"{name}-trail",
        bucket=bucket.bucket,
        policy=policy_documents.document(
            _tls_only(bucket.arn),
            policy_documents.Statement(
                sid="TrailChecks",
                actions=("s3:GetBucketAcl",),
                resources=(bucket.arn,),
                principals=service,
                conditions=from_trail,
            ),
            policy_documents.Statement(
                sid="TrailWrites",
                actions=("s3:PutObject",),
                resources=(pulumi.Output.concat(bucket.arn, "/AWSLogs/", account, "/*"),),
                principals=service,
                conditions={"StringEquals": {"aws:SourceArn": arn, "s3:x-amz-acl": "bucket-owner-full-control"}},
            ),
        ),
        opts=pulumi.ResourceOptions(parent=parent, depends_on=guards),
    )
    aws.cloudtrail.Trail(
        f"{name}-trail",
        name=label,
        s3_bucket_name=bucket.bucket,
        is_multi_region_trail=True,
        include_global_service_events=True,
        enable_log_file_validation=True,
        enable_logging=True,
        kms_key_id=key.arn,
        tags={**tags, "Name": f"{name}-trail"},
        opts=pulumi.ResourceOptions(parent=parent, depends_on=[policy]),
    )
    return bucket.bucket


def _tls_only(bucket_arn: pulumi.Output[str]) -> policy_documents.Statement:
    return policy_documents.Statement(
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
    aws.s3.BucketServerSideEncryptionConfiguration(
        name,
        bucket=bucket.bucket,
        rules=[
            {
                "apply_server_side_encryption_by_default": {"sse_algorithm": "aws:kms", "kms_master_key_id": key},
                "bucket_key_enabled": True,
            }
        ],
        opts=children,
    )
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
        opts=pulumi.ResourceOptions(parent=parent, depends_on=[versions]),
    )
    return bucket, [block]


def threat_detection(name: str, *, tags: Mapping[str, str], children: pulumi.ResourceOptions) -> None:
    """GuardDuty over the cluster's audit log and the runtime of its nodes. An account has one detector a region."""
    detector = aws.guardduty.Detector(
        f"{name}-guardduty", enable=True, tags={**tags, "Name": f"{name}-guardduty"}, opts=children
    )
    aws.guardduty.DetectorFeature(
        f"{name}-guardduty-audit-logs", detector_id=detector.id, name="EKS_AUDIT_LOGS", status="ENABLED", opts=children
    )
    aws.guardduty.DetectorFeature(
        f"{name}-guardduty-runtime",
        detector_id=detector.id,
        name="RUNTIME_MONITORING",
        status="ENABLED",
        additional_configurations=[{"name": "EKS_ADDON_MANAGEMENT", "status": "ENABLED"}],
        opts=children,
    )


def configuration_rules(
    name: str,
    *,
    region: str,
    account: pulumi.Input[str],
    protect: bool,
    tags: Mapping[str, str],
    parent: pulumi.Resource,
) -> None:
    """AWS Config: a recorder, where it delivers, and AWS's managed rules. An account has one recorder a region."""
    children = pulumi.ResourceOptions(parent=parent)
    kept = pulumi.ResourceOptions(parent=parent, protect=protect)
    service = {"Service": ("config.amazonaws.com",)}
    ours = {"StringEquals": {"aws:SourceAccount": account}}
    encrypts = ("kms:Decrypt", "kms:GenerateDataKey")
    key = aws.kms.Key(
        f"{name}-config",
        description="Recorded configuration",
        enable_key_rotation=True,
        deletion_window_in_days=30,
        policy=policy_documents.document(
            policy_documents.key_administration(region, account),
            policy_documents.Statement(sid="ConfigEncrypts", actions=encrypts, principals=service, conditions=ours),
        ),
        tags={**tags, "Name": f"{name}-config"},
        opts=kept,
    )
    bucket, guards = _private_bucket(f"{name}-config", key=key.arn, days=365, tags=tags, kept=kept, parent=parent)
    policy = aws.s3.BucketPolicy(
        f"{name}-config",
        bucket=bucket.bucket,
        policy=policy_documents.document(
            _tls_only(bucket.arn),
            policy_documents.Statement(
                sid="ConfigChecks",
                actions=("s3:GetBucketAcl", "s3:ListBucket"),
                resources=(bucket.arn,),
                principals=service,
                conditions=ours,
            ),
            policy_documents.Statement(
                sid="ConfigWrites",
                actions=("s3:PutObject",),
                resources=(pulumi.Output.concat(bucket.arn, "/AWSLogs/", account, "/Config/*"),),
                principals=service,
                conditions=ours,
            ),
        ),
        opts=pulumi.ResourceOptions(parent=parent, depends_on=guards),
    )
    role = aws.iam.Role(
        f"{name}-config",
        description="Records the configuration of resources",
        assume_role_policy=policy_documents.trust("config.amazonaws.com", conditions=ours),
        tags={**tags, "Name": f"{name}-config"},
        opts=children,
    )
    attached = aws.iam.RolePolicyAttachment(
        f"{name}-config",
        role=role.name,
        policy_arn=policy_documents.managed(region, "service-role/AWS_ConfigRole"),
        opts=children,
    )
    delivers = aws.iam.RolePolicy(
        f"{name}-config",
        role=role.name,
        policy=policy_documents.document(
            policy_documents.Statement(sid="Check", actions=("s3:GetBucketAcl",), resources=(bucket.arn,)),
            policy_documents.Statement(
                sid="Deliver",
                actions=("s3:PutObject",),
                resources=(pulumi.Output.concat(bucket.arn, "/AWSLogs/", account, "/Config/*"),),
            ),
            policy_documents.Statement(sid="Encrypt", actions=encrypts, resources=(key.arn,)),
        ),
        opts=children,
    )
    recorder = aws.cfg.Recorder(
        f"{name}-config",
        role_arn=role.arn,
        recording_group={"all_supported": True, "include_global_resource_types": True},
        opts=pulumi.ResourceOptions(parent=parent, depends_on=[attached, delivers]),
    )
    channel = aws.cfg.DeliveryChannel(
        f"{name}-config",
        s3_bucket_name=bucket.bucket,
        s3_kms_key_arn=key.arn,
        opts=pulumi.ResourceOptions(parent=parent, depends_on=[policy, recorder]),
    )
    running = aws.cfg.RecorderStatus(
        f"{name}-config",
        name=recorder.name,
        is_enabled=True,
        opts=pulumi.ResourceOptions(parent=parent, depends_on=[channel]),
    )
    for identifier in CONFIG_RULES:
        aws.cfg.Rule(
            f"{name}-config-{identifier.lower().replace('_', '-')}",
            source={"owner": "AWS", "source_identifier": identifier},
            tags={**tags, "Name": f"{name}-{identifier.lower()}"},
            opts=pulumi.ResourceOptions(parent=parent, depends_on=[running]),
        )
