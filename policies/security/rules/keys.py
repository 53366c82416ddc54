"""Rules of KMS keys, and of what should be encrypted with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from policies.declared.documents import Statement, statements
from policies.declared.resources import Resource
from policies.declared.types import (
    EBS_DEFAULT,
    EXTERNAL_KEY,
    EXTERNAL_REPLICA_KEY,
    FILE_SYSTEM,
    KEY,
    KEY_POLICY,
    LOG_GROUP,
    LUSTRE,
    QUEUE,
    REPLICA_KEY,
    REPOSITORY,
    TOPIC,
    VOLUME,
)
from policies.packs.policy_rule import Finding, Outcome, Settings, each, rule

OTHER_KEYS = (
    REPLICA_KEY,
    EXTERNAL_KEY,
    EXTERNAL_REPLICA_KEY,
)


def _rotate(inputs: dict[str, Any]) -> bool:
    if inputs.get("enableKeyRotation") is True:
        return False
    inputs["enableKeyRotation"] = True
    return True


@rule(
    "keys-rotate",
    types=(KEY,),
    severity="medium",
    level="mandatory",
    ids=("KMS.4", "CKV_AWS_7"),
    says="KMS keys rotate every year.",
    fix="set enableKeyRotation to true",
    remedy=_rotate,
)
def keys_rotate(key: Resource, _: Settings) -> Iterator[Outcome]:
    if (key.at("customerMasterKeySpec").text() or "SYMMETRIC_DEFAULT") != "SYMMETRIC_DEFAULT":
        # AWS rotates symmetric keys only.
        return
    if not (rotation := key.at("enableKeyRotation")).boolean():
        yield Finding(rotation, "true")


@rule(
    "keys-deleted-slowly",
    types=(KEY,),
    severity="medium",
    level="mandatory",
    ids=("KMS.3",),
    says="A key that was deleted by mistake can be had back for two weeks.",
    fix="raise deletionWindowInDays, or leave it out for 30 days",
    parameters={"days": {"type": "integer", "default": 14, "minimum": 7, "maximum": 30}},
)
def keys_deleted_slowly(key: Resource, settings: Settings) -> Iterator[Outcome]:
    window = key.at("deletionWindowInDays")
    days = window.number()
    if days is not None and days < settings["days"]:
        yield Finding(window, f"at least {settings['days']}")


@rule(
    "key-policies-name-principals",
    types=(KEY, KEY_POLICY, *OTHER_KEYS),
    severity="critical",
    ids=("KMS.5", "CKV_AWS_33"),
    says="No key policy allows everybody without a condition on who calls.",
    fix="name the account or the roles in Principal, or add a Condition on kms:CallerAccount or aws:PrincipalOrgID",
)
def key_policies_name_principals(key: Resource, _: Settings) -> Iterator[Outcome]:
    def check(statement: Statement) -> Iterator[Outcome]:
        if statement.allows and not statement.bound:
            for anyone in statement.anyone():
                yield Finding(anyone, "named principals, or a condition on who calls")

    yield from each(statements(key.at("policy")), check)


@rule(
    "logs-encrypted-with-key",
    types=(LOG_GROUP,),
    severity="low",
    ids=("CKV_AWS_158",),
    says="Log groups are encrypted with a key of the account.",
    fix="set kmsKeyId, and let the logs service use the key in its policy",
)
def logs_encrypted_with_key(group: Resource, _: Settings) -> Iterator[Outcome]:
    if not group.holds("kmsKeyId", KEY):
        yield Finding(group.at("kmsKeyId"), "the ARN of a KMS key")


@rule(
    "lustre-encrypted-with-key",
    types=(LUSTRE,),
    severity="medium",
    level="mandatory",
    ids=("CKV_AWS_190",),
    says="Lustre file systems are encrypted with a key of the account.",
    fix="set kmsKeyId at creation; it can't be changed later",
)
def lustre_encrypted_with_key(lustre: Resource, _: Settings) -> Iterator[Outcome]:
    if (lustre.at("deploymentType").text() or "").startswith("SCRATCH"):
        # Scratch file systems only know the service's own key.
        return
    if not lustre.holds("kmsKeyId", KEY):
        yield Finding(lustre.at("kmsKeyId"), "the ARN of a KMS key")


@rule(
    "registry-encrypted-with-key",
    types=(REPOSITORY,),
    severity="low",
    ids=("CKV_AWS_136",),
    says="Image repositories are encrypted with a key of the account.",
    fix="set encryptionConfigurations to KMS with a kmsKey at creation; it can't be changed later",
)
def registry_encrypted_with_key(repository: Resource, _: Settings) -> Iterator[Outcome]:
    configurations = repository.at("encryptionConfigurations")
    if not configurations.elements():
        yield Finding(configurations, "one of type KMS")
    for configuration in configurations.elements():
        if (kind := configuration.at("encryptionType")).text() not in ("KMS", "KMS_DSSE"):
            yield Finding(kind, '"KMS"')
        elif not repository.holds("encryptionConfigurations", KEY, node=configuration.at("kmsKey")):
            yield Finding(configuration.at("kmsKey"), "the ARN of a KMS key")


@rule(
    "volumes-encrypted",
    types=(VOLUME, FILE_SYSTEM, "aws:rds/cluster:Cluster", "aws:rds/instance:Instance"),
    severity="high",
    ids=("EC2.3", "EFS.1", "EFS.8", "RDS.3", "CKV_AWS_3", "CKV_AWS_42"),
    says="Volumes, shared file systems and databases are encrypted.",
    fix="set encrypted (for a database storageEncrypted) to true",
)
def volumes_encrypted(volume: Resource, _: Settings) -> Iterator[Outcome]:
    encrypted = volume.at("storageEncrypted" if volume.type.startswith("aws:rds/") else "encrypted")
    if not encrypted.boolean():
        yield Finding(encrypted, "true")


@rule(
    "volumes-encrypted-by-default",
    types=(EBS_DEFAULT,),
    severity="medium",
    level="mandatory",
    ids=("EC2.7", "CKV_AWS_106"),
    says="The account's default for new volumes stays encrypted.",
    fix="set enabled to true or leave it out",
)
def volumes_encrypted_by_default(default: Resource, _: Settings) -> Iterator[Outcome]:
    if (enabled := default.at("enabled")).boolean() is False:
        yield Finding(enabled, "true")


@rule(
    "messages-encrypted",
    types=(TOPIC, QUEUE),
    severity="medium",
    ids=("SQS.1", "CKV_AWS_26", "CKV_AWS_27"),
    says="Topics and queues are encrypted.",
    fix="set kmsMasterKeyId, for a queue at least sqsManagedSseEnabled",
)
def messages_encrypted(channel: Resource, _: Settings) -> Iterator[Outcome]:
    if channel.type == QUEUE and channel.at("sqsManagedSseEnabled").boolean():
        return
    if not channel.holds("kmsMasterKeyId", KEY, "aws:kms/alias:Alias"):
        yield Finding(channel.at("kmsMasterKeyId"), "a KMS key")
