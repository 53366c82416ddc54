"""Policy documents as values: statements in, JSON text out. Values that only the cloud knows stay outputs.

No other component writes policy JSON, or the partition at the head of an ARN, by hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pulumi

from components.catalog.regions import domain as domain
from components.catalog.regions import partition as partition

Conditions = Mapping[str, Mapping[str, "pulumi.Input[str] | Sequence[pulumi.Input[str]]"]]


@dataclass(frozen=True, kw_only=True)
class Statement:
    """One statement; `principals` maps a kind (`Service`, `AWS`) to members, `("*",)` under `AWS` being all whom the
    conditions leave.
    """

    sid: str
    actions: Sequence[str]
    resources: Sequence[pulumi.Input[str]] = ("*",)
    effect: Literal["Allow", "Deny"] = "Allow"
    principals: Mapping[str, Sequence[pulumi.Input[str]]] | None = None
    conditions: Conditions = field(default_factory=dict[str, Any])

    def plain(self) -> dict[str, Any]:
        out: dict[str, Any] = {"Sid": self.sid, "Effect": self.effect, "Action": list(self.actions)}
        if self.principals is not None:
            out["Principal"] = {kind: _one_or_many(members) for kind, members in self.principals.items()}
        if self.resources:
            out["Resource"] = list(self.resources)
        if self.conditions:
            out["Condition"] = {
                operator: {
                    key: list(value) if isinstance(value, list | tuple) else value for key, value in keys.items()
                }
                for operator, keys in self.conditions.items()
            }
        return out


def _one_or_many(members: Sequence[pulumi.Input[str]]) -> object:
    return members[0] if len(members) == 1 else list(members)


def document(*statements: Statement) -> pulumi.Output[str]:
    """The policy document as JSON."""
    return pulumi.Output.json_dumps({"Version": "2012-10-17", "Statement": [each.plain() for each in statements]})


def trust(
    service: str, *, actions: Sequence[str] = ("sts:AssumeRole",), conditions: Conditions | None = None
) -> pulumi.Output[str]:
    """The trust policy that lets an AWS service take a role."""
    return document(
        Statement(
            sid="Assume",
            actions=actions,
            resources=(),
            principals={"Service": (service,)},
            conditions=dict(conditions or {}),
        )
    )


def ec2_principal(region: str) -> str:
    """EC2 as whom machines take a role; China has a name of its own for it (IAM User Guide, service principals)."""
    return "ec2.amazonaws.com.cn" if partition(region) == "aws-cn" else "ec2.amazonaws.com"


def s3_host(region: str) -> str:
    """S3's name in conditions on `kms:ViaService`."""
    return f"s3.{region}.{domain(region)}"


def managed(region: str, policy: str) -> str:
    """The ARN of a policy that AWS maintains, by its path and name (`AmazonEKSClusterPolicy`)."""
    return f"arn:{partition(region)}:iam::aws:policy/{policy}"


def account_root(region: str, account: pulumi.Input[str]) -> pulumi.Output[str]:
    """The principal of the whole account; its IAM policies decide who in it may do what."""
    return pulumi.Output.concat("arn:", partition(region), ":iam::", account, ":root")


def key_administration(region: str, account: pulumi.Input[str]) -> Statement:
    """The first statement of every key policy: without it the account locks itself out of its own key."""
    return Statement(sid="AccountAdministers", actions=("kms:*",), principals={"AWS": (account_root(region, account),)})


def logs_use_key(region: str, account: pulumi.Input[str]) -> Statement:
    """CloudWatch Logs encrypts with the key, for log groups of this account and region only."""
    pattern = pulumi.Output.concat("arn:", partition(region), f":logs:{region}:", account, ":log-group:*")
    return Statement(
        sid="LogsEncrypt",
        actions=("kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:DescribeKey"),
        principals={"Service": (f"logs.{region}.{domain(region)}",)},
        conditions={"ArnLike": {"kms:EncryptionContext:aws:logs:arn": pattern}},
    )


def alarms_use_key(account: pulumi.Input[str]) -> Statement:
    """CloudWatch alarms publish to topics that the key encrypts; without it they fail in silence.

    SNS Developer Guide, event sources and encrypted topics: AWS' own key of SNS can't be given to alarms.
    """
    return Statement(
        sid="AlarmsPublish",
        actions=("kms:Decrypt", "kms:GenerateDataKey*"),
        principals={"Service": ("cloudwatch.amazonaws.com",)},
        conditions={"StringEquals": {"aws:SourceAccount": account}},
    )


def machines_use_key(region: str, account: pulumi.Input[str]) -> tuple[Statement, Statement]:
    """Volumes that the key encrypts are attached by EC2 Auto Scaling to node groups, and by EC2 to spot machines.

    Their service-linked roles are named in a condition: as principals they would have to exist already, and in an
    empty account they don't. Source: EC2 User Guide, service-linked role for Spot Instance requests.
    """
    roles = [
        pulumi.Output.concat("arn:", partition(region), ":iam::", account, f":role/aws-service-role/{role}")
        for role in (
            "autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling*",
            "spot.amazonaws.com/AWSServiceRoleForEC2Spot",
        )
    ]
    who = {"StringEquals": {"kms:CallerAccount": account}, "ArnLike": {"aws:PrincipalArn": roles}}
    return (
        Statement(
            sid="MachinesEncryptVolumes",
            actions=("kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:DescribeKey"),
            principals={"AWS": ("*",)},
            conditions=who,
        ),
        Statement(
            sid="MachinesGrantVolumes",
            actions=("kms:CreateGrant",),
            principals={"AWS": ("*",)},
            conditions={**who, "Bool": {"kms:GrantIsForAWSResource": "true"}},
        ),
    )


def volumes_use_key(key_arn: pulumi.Input[str]) -> tuple[Statement, Statement]:
    """What a role needs that makes volumes, or machines with volumes, encrypted with the key."""
    return (
        Statement(
            sid="EncryptVolumes",
            actions=(
                "kms:Decrypt",
                "kms:DescribeKey",
                "kms:GenerateDataKeyWithoutPlaintext",
                "kms:ReEncryptFrom",
                "kms:ReEncryptTo",
            ),
            resources=(key_arn,),
        ),
        Statement(
            sid="GrantVolumes",
            actions=("kms:CreateGrant",),
            resources=(key_arn,),
            conditions={"Bool": {"kms:GrantIsForAWSResource": "true"}},
        ),
    )
