"""Rules of object storage: who may read a bucket, and that nobody is locked out."""

from __future__ import annotations

from collections.abc import Iterator

from policies.declared.documents import Statement, statements
from policies.declared.resources import Resource, Stack
from policies.declared.types import (
    ACCESS_POINT,
    ACCESS_POINT_POLICY,
    BUCKET,
    BUCKET_ACL,
    BUCKET_OBJECT,
    BUCKET_OBJECT_2,
    BUCKET_POLICY,
    BUCKET_PUBLIC_ACCESS,
    EVENT_BUS_POLICY,
    FILE_SYSTEM_POLICY,
    LOG_RESOURCE_POLICY,
    OBJECT_COPY,
    QUEUE,
    QUEUE_POLICY,
    REGISTRY_POLICY,
    REPOSITORY_POLICY,
    SECRET,
    SECRET_POLICY,
    TOPIC,
    TOPIC_POLICY,
    VAULT_POLICY,
)
from policies.declared.values import Node
from policies.packs.policy_rule import Finding, Outcome, Settings, each, each_resource, missing, rule

# What writes logs into a bucket, and the key under which each names it.
DOCUMENTS = {
    **dict.fromkeys((BUCKET_POLICY, BUCKET, ACCESS_POINT, ACCESS_POINT_POLICY), "policy"),
    **dict.fromkeys((REPOSITORY_POLICY, REGISTRY_POLICY, TOPIC, TOPIC_POLICY, QUEUE, QUEUE_POLICY), "policy"),
    **dict.fromkeys((SECRET, SECRET_POLICY), "policy"),
    FILE_SYSTEM_POLICY: "policy",
    EVENT_BUS_POLICY: "policy",
    LOG_RESOURCE_POLICY: "policyDocument",
    VAULT_POLICY: "policy",
}
FLAGS = ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets")


def of_bucket(stack: Stack, bucket: Resource, type_: str) -> list[Resource]:
    return stack.companions(bucket, type_, "bucket", "bucket", "bucketName")


@rule(
    "buckets-block-public-access",
    types=(BUCKET, BUCKET_PUBLIC_ACCESS),
    scope="stack",
    severity="critical",
    ids=("S3.8", "CKV_AWS_53", "CKV_AWS_54", "CKV_AWS_55", "CKV_AWS_56", "CKV2_AWS_6"),
    says="Every bucket blocks public access in all four ways.",
    fix=f"add an aws.s3.BucketPublicAccessBlock with {', '.join(FLAGS)} true",
)
def buckets_block_public_access(stack: Stack, _: Settings) -> Iterator[Outcome]:
    def check(bucket: Resource) -> Iterator[Outcome]:
        blocks = of_bucket(stack, bucket, BUCKET_PUBLIC_ACCESS)
        if not blocks:
            yield Finding(missing("public access block"), "a BucketPublicAccessBlock of this bucket")
        for block in blocks:
            yield from each([block.at(flag) for flag in FLAGS], _true, urn=block.urn)

    yield from each_resource(stack.of(BUCKET), check)


def _true(node: Node) -> Iterator[Outcome]:
    if not node.boolean():
        yield Finding(node, "true")


@rule(
    "buckets-no-public-acl",
    types=(BUCKET, BUCKET_ACL, BUCKET_OBJECT, BUCKET_OBJECT_2, OBJECT_COPY),
    severity="critical",
    ids=("S3.2", "S3.3", "CKV_AWS_20", "CKV_AWS_57", "CKV_AWS_375"),
    says="No access list opens a bucket or an object.",
    fix='drop the access list, or set it to "private"',
)
def buckets_no_public_acl(bucket: Resource, _: Settings) -> Iterator[Outcome]:
    acl = bucket.at("acl")
    if (acl.text() or "private") in ("public-read", "public-read-write", "authenticated-read"):
        yield Finding(acl, '"private"')
    for grants in (bucket.at("grants"), bucket.at("accessControlPolicy", "grants")):
        yield from each(grants.elements(), _to_group)


def _to_group(grant: Node) -> Iterator[Outcome]:
    for uri in (grant.at("uri"), grant.at("grantee", "uri")):
        if (uri.text() or "").endswith(("/AllUsers", "/AuthenticatedUsers")):
            yield Finding(uri, "a grant to named accounts")


@rule(
    "bucket-policies-name-principals",
    types=tuple(DOCUMENTS),
    severity="critical",
    ids=("S3.2", "S3.3", "S3.6", "SNS.4", "SQS.3", "CKV_AWS_70", "CKV_AWS_32", "CKV_AWS_168", "CKV_AWS_169"),
    says="No policy on a bucket, registry, topic, queue, secret, file system, event bus or vault allows everybody.",
    fix=(
        "name the account or role in Principal, or add a Condition on aws:PrincipalOrgID, aws:SourceVpce or"
        " aws:SourceAccount"
    ),
)
def bucket_policies_name_principals(policy: Resource, _: Settings) -> Iterator[Outcome]:
    def check(statement: Statement) -> Iterator[Outcome]:
        if statement.allows and not statement.bound:
            for anyone in statement.anyone():
                yield Finding(anyone, "named principals in a statement that allows")

    yield from each(statements(policy.at(DOCUMENTS[policy.type])), check)


@rule(
    "buckets-require-tls",
    types=(BUCKET, BUCKET_POLICY),
    scope="stack",
    severity="medium",
    level="mandatory",
    ids=("S3.5", "CKV_AWS_379"),
    says="Every bucket refuses requests without TLS.",
    fix='add a statement that denies s3:* to "*" on the bucket and its objects when aws:SecureTransport is "false"',
)
def buckets_require_tls(stack: Stack, _: Settings) -> Iterator[Outcome]:
    def check(bucket: Resource) -> Iterator[Outcome]:
        policies = of_bucket(stack, bucket, BUCKET_POLICY)
        documents = [policy.at("policy") for policy in policies] or [bucket.at("policy")]
        if not any(_denies_plain(statement) for document in documents for statement in statements(document)):
            yield Finding(missing("statement for TLS"), "a bucket policy that denies requests without TLS")

    yield from each_resource(stack.of(BUCKET), check)


def _denies_plain(statement: Statement) -> bool:
    if statement.node.at("Effect").text() != "Deny" or not any(statement.anyone()):
        return False
    covers = statement.allowing("s3:GetObject") is not None and statement.allowing("s3:PutObject") is not None
    compared = statement.conditions.get("Bool", {})
    values = {key.lower(): value for key, value in compared.items()}
    transport = values.get("aws:securetransport")
    return (
        covers and transport is not None and any(str(node.value).lower() == "false" for node in transport.one_or_many())
    )


@rule(
    "bucket-policies-lock-nobody-out",
    types=(BUCKET_POLICY, BUCKET),
    severity="high",
    ids=("CKV_AWS_93",),
    says="No policy denies everybody the right to repair it.",
    fix=(
        "leave s3:PutBucketPolicy and s3:DeleteBucketPolicy out of the denied actions, or except the deploying roles by"
        " aws:PrincipalArn"
    ),
)
def bucket_policies_lock_nobody_out(policy: Resource, _: Settings) -> Iterator[Outcome]:
    def check(statement: Statement) -> Iterator[Outcome]:
        if statement.allows or not any(statement.anyone()):
            return
        denied = statement.allowing("s3:PutBucketPolicy")
        keys = {key.lower() for values in statement.conditions.values() for key in values}
        # Conditions on the transport, or ones that except principals, leave the operator in.
        if denied is not None and not keys & {
            "aws:securetransport",
            "aws:principalarn",
            "aws:principalaccount",
            "aws:viaawsservice",
            "s3:tlsversion",
        }:
            yield Finding(denied, "actions without s3:PutBucketPolicy, or an exception for the roles that deploy")

    yield from each(statements(policy.at("policy")), check)
