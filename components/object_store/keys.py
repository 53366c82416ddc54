"""Who may use the keys of the object store besides the account's own principals.

They are AWS services: the roles that FSx makes for each linked file system, and the delivery of access logs.
"""

from __future__ import annotations

import pulumi

from components.identity import policy_documents
from components.identity.policy_documents import Statement

_USE = ("kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:DescribeKey")


def lustre_uses_key(region: str, account: pulumi.Input[str]) -> Statement:
    """File systems read and write linked objects.

    The role is made with the file system, so no policy can name it as a principal beforehand; the condition names its
    pattern (FSx for Lustre User Guide, server-side encrypted buckets).
    """
    role = pulumi.Output.concat(
        "arn:",
        policy_documents.partition(region),
        ":iam::",
        account,
        ":role/aws-service-role/s3.data-source.lustre.fsx.amazonaws.com/AWSServiceRoleForFSxS3Access_*",
    )
    return Statement(
        sid="LustreReadsAndWrites",
        actions=_USE,
        principals={"AWS": ("*",)},
        conditions={
            "StringEquals": {"kms:CallerAccount": account, "kms:ViaService": policy_documents.s3_host(region)},
            "ArnLike": {"aws:PrincipalArn": role},
        },
    )


def access_logs_use_key(account: pulumi.Input[str]) -> Statement:
    """S3 delivers access logs to an encrypted bucket.

    The user guide asks for SSE-S3 there; with a customer's key and this statement delivery works (aws/aws-cdk 25350
    tests it live).
    """
    return Statement(
        sid="AccessLogsWrite",
        actions=("kms:GenerateDataKey*", "kms:Decrypt"),
        principals={"Service": ("logging.s3.amazonaws.com",)},
        conditions={"StringEquals": {"aws:SourceAccount": account}},
    )
