"""Rules of a bucket's content: how it is encrypted, what keeps it, and who hears of reads."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

from policies.declared.resources import Resource, Stack, refers
from policies.declared.types import (
    BUCKET,
    BUCKET_ENCRYPTION,
    BUCKET_LOGGING,
    BUCKET_VERSIONING,
    DELIVERY_CHANNEL,
    FLOW_LOG,
    KEY,
    TRAIL,
)
from policies.declared.values import Node
from policies.packs.policy_rule import Finding, Outcome, Settings, each, each_resource, missing, rule
from policies.security.rules.buckets import of_bucket

RECEIVERS = {
    BUCKET_LOGGING: "targetBucket",
    TRAIL: "s3BucketName",
    FLOW_LOG: "logDestination",
    DELIVERY_CHANNEL: "s3BucketName",
}
# Each type that carries a resource policy, and the key under which it has it; keys of KMS have a rule of their own.


@rule(
    "buckets-encrypted-with-key",
    types=(BUCKET, BUCKET_ENCRYPTION, BUCKET_LOGGING),
    scope="stack",
    severity="medium",
    level="mandatory",
    ids=("S3.17", "CKV_AWS_19", "CKV_AWS_145"),
    says="Every bucket encrypts with a KMS key and a bucket key; one that receives access logs may use S3's own.",
    fix=(
        "add an aws.s3.BucketServerSideEncryptionConfiguration with sseAlgorithm aws:kms, a kmsMasterKeyId and"
        " bucketKeyEnabled"
    ),
)
def buckets_encrypted_with_key(stack: Stack, _: Settings) -> Iterator[Outcome]:
    def check(bucket: Resource) -> Iterator[Outcome]:
        found = of_bucket(stack, bucket, BUCKET_ENCRYPTION)
        if not found:
            yield Finding(missing("encryption"), "a BucketServerSideEncryptionConfiguration with aws:kms")
        # AWS's sources contradict each other about KMS keys where access logs go; S3's own key always works.
        for_logs = _receives_logs(stack, bucket)
        for encryption in found:
            rules = encryption.at("rules")
            if not rules.elements():
                yield Finding(rules, "a rule with aws:kms", encryption.urn)
            yield from each(
                rules.elements(),
                lambda node, owner=encryption, logs=for_logs: _by_key(node, owner, logs),
                urn=encryption.urn,
            )

    yield from each_resource(stack.of(BUCKET), check)


def _receives_logs(stack: Stack, bucket: Resource) -> bool:
    """Whether another bucket's access logs go there."""
    return any(refers(logging, "targetBucket", bucket, "bucket") for logging in stack.of(BUCKET_LOGGING))


def _by_key(applied: Node, encryption: Resource, for_logs: bool) -> Iterator[Outcome]:
    default = applied.at("applyServerSideEncryptionByDefault")
    algorithm = default.at("sseAlgorithm")
    if for_logs and algorithm.text() == "AES256":
        return
    if not (algorithm.text() or "").startswith("aws:kms"):
        yield Finding(algorithm, '"aws:kms"', encryption.urn)
        return
    key = default.at("kmsMasterKeyId")
    if not encryption.holds("rules", KEY, node=key):
        yield Finding(key, "a KMS key of the account", encryption.urn)
    if not (once := applied.at("bucketKeyEnabled")).boolean():
        yield Finding(once, "true: without it every object costs a KMS request", encryption.urn)


@rule(
    "buckets-versioned",
    types=(BUCKET, BUCKET_VERSIONING),
    scope="stack",
    severity="medium",
    level="mandatory",
    ids=("S3.14", "CKV_AWS_21"),
    says="Every bucket keeps earlier versions, so that a wrong delete can be undone.",
    fix='add an aws.s3.BucketVersioning with status "Enabled"; what is rebuilt anyway may be listed under except_names',
    parameters={
        "except_names": {
            "type": "array",
            "items": {"type": "string"},
            "default": [],
            "description": "patterns of logical names",
        }
    },
)
def buckets_versioned(stack: Stack, settings: Settings) -> Iterator[Outcome]:
    def check(bucket: Resource) -> Iterator[Outcome]:
        if any(fnmatchcase(bucket.name, pattern) for pattern in settings["except_names"]):
            return
        found = of_bucket(stack, bucket, BUCKET_VERSIONING)
        if not found:
            yield Finding(missing("versioning"), 'a BucketVersioning with status "Enabled"')
        for versioning in found:
            status = versioning.at("versioningConfiguration", "status")
            if status.text() != "Enabled":
                yield Finding(status, '"Enabled"', versioning.urn)

    yield from each_resource(stack.of(BUCKET), check)


@rule(
    "buckets-log-access",
    types=(BUCKET, *RECEIVERS),
    scope="stack",
    severity="low",
    ids=("S3.9", "CKV_AWS_18"),
    says="Every bucket writes access logs, except those that receive logs themselves.",
    fix="add an aws.s3.BucketLogging with a targetBucket",
    parameters={"except_names": {"type": "array", "items": {"type": "string"}, "default": []}},
)
def buckets_log_access(stack: Stack, settings: Settings) -> Iterator[Outcome]:
    def check(bucket: Resource) -> Iterator[Outcome]:
        if any(fnmatchcase(bucket.name, pattern) for pattern in settings["except_names"]):
            return
        if any(refers(other, key, bucket, "bucket") for type_, key in RECEIVERS.items() for other in stack.of(type_)):
            return
        if not of_bucket(stack, bucket, BUCKET_LOGGING):
            yield Finding(missing("access logging"), "a BucketLogging of this bucket")

    yield from each_resource(stack.of(BUCKET), check)


def _keep(inputs: dict[str, Any]) -> bool:
    if inputs.get("forceDestroy") is not True:
        return False
    inputs["forceDestroy"] = False
    return True


@rule(
    "buckets-kept",
    types=(BUCKET,),
    severity="high",
    says="A bucket with content can't be destroyed by a wrong command.",
    fix="set forceDestroy to false and give the resource the option protect",
    parameters={
        "protect": {
            "type": "boolean",
            "default": True,
            "description": "whether the resource option protect is asked for too",
        }
    },
    remedy=_keep,
)
def buckets_kept(bucket: Resource, settings: Settings) -> Iterator[Outcome]:
    if (force := bucket.at("forceDestroy")).boolean():
        yield Finding(force, "false")
    if settings["protect"] and not bucket.protect:
        yield Finding(missing("option protect"), "true")
