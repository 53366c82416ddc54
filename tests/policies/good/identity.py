"""The identities of the good stack and the key of its data."""

from __future__ import annotations

from tests.policies.good.records import (
    ACCOUNT,
    KEY_ARN,
    ROOT,
    TAGS,
    Record,
    document,
    record,
    trust,
    urn,
)


def identity() -> list[Record]:
    """The nodes' role, a reader's policy, and the key."""
    role = urn("aws:iam/role:Role", "nodes")
    narrow = document(
        {
            "Effect": "Allow",
            "Action": ["s3:GetObject", "s3:ListBucket"],
            "Resource": ["arn:aws:s3:::acme-data", "arn:aws:s3:::acme-data/*"],
        },
        {"Effect": "Allow", "Action": "kms:Decrypt", "Resource": KEY_ARN},
    )
    return [
        record(
            "aws:iam/role:Role",
            "nodes",
            {
                "name": "nodes",
                "arn": f"arn:aws:iam::{ACCOUNT}:role/nodes",
                "assumeRolePolicy": trust("ec2.amazonaws.com"),
            },
        ),
        record(
            "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
            "nodes-worker",
            {"role": "nodes", "policyArn": "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"},
            after=[role],
        ),
        record("aws:iam/policy:Policy", "reader", {"policy": narrow}),
        record("aws:iam/rolePolicy:RolePolicy", "reader", {"role": "pods", "policy": narrow}),
        record(
            "aws:kms/key:Key",
            "data",
            {
                "arn": KEY_ARN,
                "enableKeyRotation": True,
                "deletionWindowInDays": 30,
                "policy": document({"Effect": "Allow", "Principal": {"AWS": ROOT}, "Action": "kms:*", "Resource": "*"}),
                "tags": TAGS,
            },
            protect=True,
        ),
    ]
