"""Cost rules of disks, file systems, buckets and logs: the cheaper kind, a largest size, and an end for what is
kept.
"""

from __future__ import annotations

from collections.abc import Iterator

from policies.declared.resources import Resource, Stack
from policies.declared.types import (
    BUCKET,
    BUCKET_LIFECYCLE,
    BUCKET_VERSIONING,
    INSTANCE,
    KARPENTER_CLASS,
    LAUNCH_CONFIGURATION,
    LAUNCH_TEMPLATE,
    LUSTRE,
    REPOSITORY,
    REPOSITORY_LIFECYCLE,
    SPOT_REQUEST,
    STORAGE_CLASS,
    VOLUME,
)
from policies.declared.values import Node
from policies.packs.policy_rule import Finding, Outcome, Settings, each, each_resource, missing, rule

DISKS = (LAUNCH_TEMPLATE, VOLUME, INSTANCE, SPOT_REQUEST, LAUNCH_CONFIGURATION, KARPENTER_CLASS, STORAGE_CLASS)


def disks(resource: Resource) -> list[Node]:
    """The EBS volumes that a resource declares."""
    if resource.type == VOLUME:
        return [resource.node]
    if resource.type == LAUNCH_TEMPLATE:
        return [node.at("ebs") for node in resource.at("blockDeviceMappings").elements() if not node.at("ebs").absent]
    if resource.type.endswith(":EC2NodeClass"):
        return [node.at("ebs") for node in resource.at("spec", "blockDeviceMappings").elements()]
    if resource.type.endswith(":StorageClass"):
        return [resource.at("parameters")] if resource.at("provisioner").text() == "ebs.csi.aws.com" else []
    root = resource.at("rootBlockDevice")
    return [*([] if root.absent else [root]), *resource.at("ebsBlockDevices").elements()]


@rule(
    "disks-gp3",
    types=DISKS,
    severity="medium",
    level="mandatory",
    says="Volumes are of type gp3, which costs a fifth less than gp2 and scales its speed apart from its size.",
    fix='set the volume type to "gp3"',
    parameters={"types": {"type": "array", "items": {"type": "string"}, "default": ["gp3"]}},
)
def disks_gp3(resource: Resource, settings: Settings) -> Iterator[Outcome]:
    def check(disk: Node) -> Iterator[Outcome]:
        kind = (
            disk.at("type")
            if resource.type == VOLUME or resource.type.endswith(":StorageClass")
            else disk.at("volumeType")
        )
        if kind.text() not in settings["types"]:
            yield Finding(kind, f"one of {', '.join(settings['types'])}")

    yield from each(disks(resource), check)


@rule(
    "disks-within-limits",
    types=DISKS,
    severity="medium",
    level="mandatory",
    says="Volumes stay within the environment's size and speed.",
    fix="use a smaller volume; local disks and Lustre are for data",
    parameters={
        "gib": {"type": "integer", "default": 2048},
        "iops": {"type": "integer", "default": 16000},
        "mbps": {"type": "integer", "default": 1000},
    },
)
def disks_within_limits(resource: Resource, settings: Settings) -> Iterator[Outcome]:
    def check(disk: Node) -> Iterator[Outcome]:
        size = disk.at("size" if resource.type == VOLUME else "volumeSize")
        yield from each([(size, "gib"), (disk.at("iops"), "iops"), (disk.at("throughput"), "mbps")], bounded)

    def bounded(pair: tuple[Node, str]) -> Iterator[Outcome]:
        node, limit = pair
        if isinstance(node.value, str) and not node.opaque and (digits := node.value.removesuffix("Gi")).isdigit():
            node = Node(int(digits), node.path, node.secret)
        if (node.number() or 0) > settings[limit]:
            yield Finding(node, f"at most {settings[limit]}")

    yield from each(disks(resource), check)


@rule(
    "lustre-within-limits",
    types=(LUSTRE,),
    severity="high",
    says=(
        "Lustre file systems stay within the environment's size, throughput and metadata speed, and are of an allowed"
        " kind."
    ),
    fix="size the file system at twice the dataset, or have the environment's limit raised",
    parameters={
        "gib": {"type": "integer", "default": 100800},
        "mbps_per_tib": {"type": "integer", "default": 500},
        "metadata_iops": {"type": "integer", "default": 24000},
        "throughput_mbps": {"type": "integer", "default": 64000, "description": "of intelligent-tiering file systems"},
        "kinds": {"type": "array", "items": {"type": "string"}, "default": ["PERSISTENT_2", "SCRATCH_2"]},
    },
)
def lustre_within_limits(lustre: Resource, settings: Settings) -> Iterator[Outcome]:
    def bounded(pair: tuple[Node, str]) -> Iterator[Outcome]:
        node, limit = pair
        if (node.number() or 0) > settings[limit]:
            yield Finding(node, f"at most {settings[limit]}")

    def kind(node: Node) -> Iterator[Outcome]:
        # Left out, FSx makes SCRATCH_1.
        if (node.text() or "SCRATCH_1") not in settings["kinds"]:
            yield Finding(node, f"one of {', '.join(settings['kinds'])}")

    limits = [
        (lustre.at("storageCapacity"), "gib"),
        (lustre.at("perUnitStorageThroughput"), "mbps_per_tib"),
        (lustre.at("metadataConfiguration", "iops"), "metadata_iops"),
        (lustre.at("throughputCapacity"), "throughput_mbps"),
    ]
    yield from each(limits, bounded)
    yield from each([lustre.at("deploymentType")], kind)
    if lustre.at("storageType").value != "INTELLIGENT_TIERING" and (size := lustre.at("storageCapacity")).absent:
        yield Finding(size, "a size; one that isn't written can't be held to a limit")


@rule(
    "buckets-have-an-end",
    types=(BUCKET, BUCKET_LIFECYCLE, BUCKET_VERSIONING),
    scope="stack",
    severity="medium",
    level="mandatory",
    ids=("S3.13", "CKV2_AWS_61", "CKV_AWS_300"),
    says="Every bucket ends broken uploads within a week, and old versions where it keeps versions.",
    fix=(
        "add an aws.s3.BucketLifecycleConfiguration with abortIncompleteMultipartUpload and noncurrentVersionExpiration"
    ),
    parameters={"upload_days": {"type": "integer", "default": 7, "minimum": 1}},
)
def buckets_have_an_end(stack: Stack, settings: Settings) -> Iterator[Outcome]:
    def check(bucket: Resource) -> Iterator[Outcome]:
        found = stack.companions(bucket, BUCKET_LIFECYCLE, "bucket", "bucket")
        if not found:
            yield Finding(missing("lifecycle"), "a BucketLifecycleConfiguration of this bucket")
            return
        rules = [
            node
            for lifecycle in found
            for node in lifecycle.at("rules").elements()
            if node.at("status").text() != "Disabled"
        ]
        days = [
            value
            for node in rules
            if (value := node.at("abortIncompleteMultipartUpload", "daysAfterInitiation").number())
        ]
        if not days or min(days) > settings["upload_days"]:
            node = (
                Node(min(days), "abortIncompleteMultipartUpload.daysAfterInitiation")
                if days
                else missing("abortIncompleteMultipartUpload")
            )
            yield Finding(node, f"at most {settings['upload_days']} days in an enabled rule", found[0].urn)
        versioned = stack.companions(bucket, BUCKET_VERSIONING, "bucket", "bucket")
        kept = any(item.at("versioningConfiguration", "status").text() == "Enabled" for item in versioned)
        if kept and not any(node.at("noncurrentVersionExpiration", "noncurrentDays").number() for node in rules):
            yield Finding(
                missing("noncurrentVersionExpiration.noncurrentDays"),
                "an end for versions that were replaced",
                found[0].urn,
            )

    yield from each_resource(stack.of(BUCKET), check)


@rule(
    "registry-has-an-end",
    types=(REPOSITORY, REPOSITORY_LIFECYCLE),
    scope="stack",
    severity="medium",
    level="mandatory",
    ids=("ECR.3",),
    says="Image repositories drop what nobody uses.",
    fix="add an aws.ecr.LifecyclePolicy that expires untagged images and keeps the last few tagged ones",
)
def registry_has_an_end(stack: Stack, _: Settings) -> Iterator[Outcome]:
    def check(repository: Resource) -> Iterator[Outcome]:
        policies = stack.companions(repository, REPOSITORY_LIFECYCLE, "repository", "name")
        if not any(policy.at("policy").unknown or policy.at("policy").text() for policy in policies):
            yield Finding(missing("lifecycle policy"), "a LifecyclePolicy of this repository")

    yield from each_resource(stack.of(REPOSITORY), check)
