"""AWS Config: the recorder of the account's configuration, where it delivers, and AWS's managed rules.

The recorder starts once it can deliver, and the rules come once it runs.
"""

from __future__ import annotations

from collections.abc import Mapping

import pulumi
import pulumi_aws as aws

from components.governance.audit import service_bucket
from components.governance.audit.service_bucket import ServiceBucket
from components.identity import policy_documents
from components.identity.policy_documents import Statement

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
_SERVICE = {"Service": ("config.amazonaws.com",)}
_ENCRYPTS = ("kms:Decrypt", "kms:GenerateDataKey")


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
    ours = {"StringEquals": {"aws:SourceAccount": account}}
    store = service_bucket.declare(
        f"{name}-config",
        description="Recorded configuration",
        region=region,
        account=account,
        on_key=(Statement(sid="ConfigEncrypts", actions=_ENCRYPTS, principals=_SERVICE, conditions=ours),),
        on_bucket=lambda bucket: _on_bucket(bucket, account),
        days=365,
        protect=protect,
        tags=tags,
        parent=parent,
    )
    role = aws.iam.Role(
        f"{name}-config",
        description="Records the configuration of resources",
        assume_role_policy=policy_documents.trust("config.amazonaws.com", conditions=ours),
        tags={**tags, "Name": f"{name}-config"},
        opts=pulumi.ResourceOptions(parent=parent),
    )
    rights = _rights(name, role, store, region=region, account=account, parent=parent)
    running = _running(name, role, store, rights, parent=parent)
    for identifier in CONFIG_RULES:
        aws.cfg.Rule(
            f"{name}-config-{identifier.lower().replace('_', '-')}",
            source={"owner": "AWS", "source_identifier": identifier},
            tags={**tags, "Name": f"{name}-{identifier.lower()}"},
            opts=pulumi.ResourceOptions(parent=parent, depends_on=[running]),
        )


def _on_bucket(bucket_arn: pulumi.Output[str], account: pulumi.Input[str]) -> tuple[Statement, ...]:
    ours = {"StringEquals": {"aws:SourceAccount": account}}
    return (
        Statement(
            sid="ConfigChecks",
            actions=("s3:GetBucketAcl", "s3:ListBucket"),
            resources=(bucket_arn,),
            principals=_SERVICE,
            conditions=ours,
        ),
        Statement(
            sid="ConfigWrites",
            actions=("s3:PutObject",),
            resources=(_deliveries(bucket_arn, account),),
            principals=_SERVICE,
            conditions=ours,
        ),
    )


def _deliveries(bucket_arn: pulumi.Output[str], account: pulumi.Input[str]) -> pulumi.Output[str]:
    return pulumi.Output.concat(bucket_arn, "/AWSLogs/", account, "/Config/*")


def _rights(
    name: str,
    role: aws.iam.Role,
    store: ServiceBucket,
    *,
    region: str,
    account: pulumi.Input[str],
    parent: pulumi.Resource,
) -> list[pulumi.Resource]:
    """What the recorder's role may do: read configuration, and deliver it to its bucket."""
    children = pulumi.ResourceOptions(parent=parent)
    reads = aws.iam.RolePolicyAttachment(
        f"{name}-config",
        role=role.name,
        policy_arn=policy_documents.managed(region, "service-role/AWS_ConfigRole"),
        opts=children,
    )
    delivers = aws.iam.RolePolicy(
        f"{name}-config",
        role=role.name,
        policy=policy_documents.document(
            Statement(sid="Check", actions=("s3:GetBucketAcl",), resources=(store.bucket.arn,)),
            Statement(sid="Deliver", actions=("s3:PutObject",), resources=(_deliveries(store.bucket.arn, account),)),
            Statement(sid="Encrypt", actions=_ENCRYPTS, resources=(store.key.arn,)),
        ),
        opts=children,
    )
    return [reads, delivers]


def _running(
    name: str,
    role: aws.iam.Role,
    store: ServiceBucket,
    rights: list[pulumi.Resource],
    *,
    parent: pulumi.Resource,
) -> aws.cfg.RecorderStatus:
    """The recorder, its channel to the bucket, and the switch that starts it."""
    recorder = aws.cfg.Recorder(
        f"{name}-config",
        role_arn=role.arn,
        recording_group={"all_supported": True, "include_global_resource_types": True},
        opts=pulumi.ResourceOptions(parent=parent, depends_on=rights),
    )
    channel = aws.cfg.DeliveryChannel(
        f"{name}-config",
        s3_bucket_name=store.bucket.bucket,
        s3_kms_key_arn=store.key.arn,
        opts=pulumi.ResourceOptions(parent=parent, depends_on=[store.policy, recorder]),
    )
    return aws.cfg.RecorderStatus(
        f"{name}-config",
        name=recorder.name,
        is_enabled=True,
        opts=pulumi.ResourceOptions(parent=parent, depends_on=[channel]),
    )
