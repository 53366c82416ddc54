"""Rules of Lustre file systems: what keeps their data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from policies.declared.resources import Resource, Stack
from policies.declared.types import DATA_REPOSITORY, LUSTRE
from policies.packs.policy_rule import Finding, Outcome, Settings, each_resource, rule


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
    def check(lustre: Resource) -> Iterator[Outcome]:
        if (lustre.at("deploymentType").text() or "SCRATCH_1").startswith("SCRATCH") or stack.companions(
            lustre, DATA_REPOSITORY, "fileSystemId"
        ):
            # FSx refuses automatic backups where data is linked to S3: there the bucket is the copy.
            return
        retention = lustre.at("automaticBackupRetentionDays")
        if (retention.number() or 0) < settings["days"]:
            yield Finding(retention, f"at least {settings['days']}")

    yield from each_resource(stack.of(LUSTRE), check)


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
    def check(lustre: Resource) -> Iterator[Outcome]:
        kind = lustre.at("deploymentType")
        if not (kind.text() or "SCRATCH_1").startswith("SCRATCH") or lustre.at("importPath").text():
            return
        if lustre.at("tags", "expendable").text() != "true" and not stack.companions(
            lustre, DATA_REPOSITORY, "fileSystemId"
        ):
            yield Finding(kind, "a persistent type, or an association with a bucket")

    yield from each_resource(stack.of(LUSTRE), check)


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
