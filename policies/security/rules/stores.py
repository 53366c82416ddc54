"""Rules of image repositories, parallel file systems and audit trails: what is kept, and that it can't be
changed under one's feet.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from policies.resources import Resource, Stack
from policies.rules import Finding, Outcome, Settings, each, each_resource, rule
from policies.types import (
    DATA_REPOSITORY,
    DETECTOR,
    DETECTOR_FEATURE,
    KEY,
    LUSTRE,
    REGISTRY_SCANNING,
    REPOSITORY,
    TRAIL,
)
from policies.values import Node


def _immutable(inputs: dict[str, Any]) -> bool:
    if str(inputs.get("imageTagMutability") or "").startswith("IMMUTABLE"):
        return False
    inputs["imageTagMutability"] = "IMMUTABLE"
    return True


@rule(
    "registry-tags-immutable",
    types=(REPOSITORY,),
    severity="medium",
    level="mandatory",
    ids=("ECR.2", "CKV_AWS_51"),
    says="A tag of an image always means the same image.",
    fix='set imageTagMutability to "IMMUTABLE"',
    remedy=_immutable,
)
def registry_tags_immutable(repository: Resource, _: Settings) -> Iterator[Outcome]:
    mutability = repository.at("imageTagMutability")
    if not (mutability.text() or "MUTABLE").startswith("IMMUTABLE"):
        yield Finding(mutability, '"IMMUTABLE"')


@rule(
    "registry-images-scanned",
    types=(REPOSITORY, REGISTRY_SCANNING),
    scope="stack",
    severity="high",
    ids=("ECR.1", "CIS-EKS 5.1.1", "CKV_AWS_163"),
    says="Images are scanned when they are pushed.",
    fix="set imageScanningConfiguration.scanOnPush to true, or scan the whole registry",
)
def registry_images_scanned(stack: Stack, _: Settings) -> Iterator[Outcome]:
    if any(rules.at("rules").elements() for rules in stack.of(REGISTRY_SCANNING)):
        return

    def judge(repository: Resource) -> Iterator[Outcome]:
        scan = repository.at("imageScanningConfiguration", "scanOnPush")
        if not scan.boolean():
            yield Finding(scan, "true")

    yield from each_resource(stack.of(REPOSITORY), judge)


@rule(
    "lustre-backed-up",
    types=(LUSTRE,),
    severity="medium",
    says="A persistent file system that no bucket stands behind keeps a week of backups.",
    fix="set automaticBackupRetentionDays, or link the file system's data to a bucket",
    scope="stack",
    parameters={"days": {"type": "integer", "default": 7, "minimum": 0, "maximum": 90}},
)
def lustre_backed_up(stack: Stack, settings: Settings) -> Iterator[Outcome]:
    def judge(lustre: Resource) -> Iterator[Outcome]:
        if (lustre.at("deploymentType").text() or "SCRATCH_1").startswith("SCRATCH") or stack.companions(
            lustre, DATA_REPOSITORY, "fileSystemId"
        ):
            # FSx refuses automatic backups where data is linked to S3: there the bucket is the copy.
            return
        retention = lustre.at("automaticBackupRetentionDays")
        if (retention.number() or 0) < settings["days"]:
            yield Finding(retention, f"at least {settings['days']}")

    yield from each_resource(stack.of(LUSTRE), judge)


@rule(
    "lustre-scratch-linked",
    types=(LUSTRE, DATA_REPOSITORY),
    scope="stack",
    severity="medium",
    level="mandatory",
    says="A scratch file system, which a failed disk ends, has its data in a bucket or a tag that says it may go.",
    fix="add an aws.fsx.DataRepositoryAssociation, choose PERSISTENT_2, or tag it expendable: true",
)
def lustre_scratch_linked(stack: Stack, _: Settings) -> Iterator[Outcome]:
    def judge(lustre: Resource) -> Iterator[Outcome]:
        kind = lustre.at("deploymentType")
        if not (kind.text() or "SCRATCH_1").startswith("SCRATCH") or lustre.at("importPath").text():
            return
        if lustre.at("tags", "expendable").text() != "true" and not stack.companions(
            lustre, DATA_REPOSITORY, "fileSystemId"
        ):
            yield Finding(kind, "a persistent type, or an association with a bucket")

    yield from each_resource(stack.of(LUSTRE), judge)


def _copy_tags(inputs: dict[str, Any]) -> bool:
    if inputs.get("copyTagsToBackups") is True:
        return False
    inputs["copyTagsToBackups"] = True
    return True


@rule(
    "lustre-copies-tags",
    types=(LUSTRE,),
    severity="low",
    ids=("FSx.2",),
    says="Backups carry the tags of their file system.",
    fix="set copyTagsToBackups to true",
    remedy=_copy_tags,
)
def lustre_copies_tags(lustre: Resource, _: Settings) -> Iterator[Outcome]:
    if (lustre.at("deploymentType").text() or "SCRATCH_1").startswith("SCRATCH"):
        return
    if not (copied := lustre.at("copyTagsToBackups")).boolean():
        yield Finding(copied, "true")


@rule(
    "trail-complete",
    types=(TRAIL,),
    severity="high",
    ids=("CloudTrail.1", "CloudTrail.2", "CloudTrail.4", "CKV_AWS_35", "CKV_AWS_36", "CKV_AWS_67", "CKV_AWS_251"),
    says="The audit trail covers all regions, proves its files whole, and is encrypted with a key of the account.",
    fix="set isMultiRegionTrail and enableLogFileValidation to true, kmsKeyId to a key, and leave enableLogging on",
)
def trail_complete(trail: Resource, _: Settings) -> Iterator[Outcome]:
    def on(node: Node) -> Iterator[Outcome]:
        if not node.boolean():
            yield Finding(node, "true")

    def not_off(node: Node) -> Iterator[Outcome]:
        if node.boolean() is False:
            yield Finding(node, "true")

    def key(node: Node) -> Iterator[Outcome]:
        if not trail.holds("kmsKeyId", KEY):
            yield Finding(node, "a KMS key")

    yield from each([trail.at("isMultiRegionTrail"), trail.at("enableLogFileValidation")], on)
    yield from each([trail.at("enableLogging"), trail.at("includeGlobalServiceEvents")], not_off)
    yield from each([trail.at("kmsKeyId")], key)


@rule(
    "guardduty-watches-the-cluster",
    types=(DETECTOR, DETECTOR_FEATURE),
    severity="medium",
    ids=("GuardDuty.1", "GuardDuty.5", "GuardDuty.7", "CKV_AWS_238"),
    says="A threat detector that is declared is switched on.",
    fix='set enable to true (a detector) or status to "ENABLED" (a feature)',
)
def guardduty_watches_the_cluster(detector: Resource, _: Settings) -> Iterator[Outcome]:
    if detector.type == DETECTOR:
        if (enabled := detector.at("enable")).boolean() is False:
            yield Finding(enabled, "true")
    elif (status := detector.at("status")).text() != "ENABLED":
        yield Finding(status, '"ENABLED"')
