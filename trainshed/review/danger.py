"""Data that a change would destroy, and protection that it would take away.

It knows which resource types hold what can't be made again, and what prevents the loss on a deletion: the engine's
protection, a backup, a bucket that can't be deleted while it is full.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from components.record import Record
from trainshed.review.differences import Change
from trainshed.review.values import ABSENT, Difference, at, differences

REPLACES, DELETES = "review-replaces", "review-deletes"
Kind = Literal["review-replaces", "review-deletes"]

# What is lost with each, in the words of the person who would miss it.
STATEFUL: Mapping[str, tuple[str, str]] = {
    "aws:fsx/lustreFileSystem:LustreFileSystem": ("file system", "every file that no linked bucket holds"),
    "aws:efs/fileSystem:FileSystem": ("file system", "every file on it"),
    "aws:s3/bucket:Bucket": ("bucket", "every object in it"),
    "aws:kms/key:Key": ("key", "whatever was encrypted with it, snapshots and backups included"),
    "aws:kms/replicaKey:ReplicaKey": ("key", "whatever was encrypted with it in that region"),
    "aws:eks/cluster:Cluster": ("cluster", "every object in it: queues, jobs, secrets, claims"),
    "aws:ebs/volume:Volume": ("volume", "the volume's data"),
    "aws:ecr/repository:Repository": ("registry", "every image in it, those that running jobs name by digest included"),
    "aws:cloudtrail/trail:Trail": ("audit trail", "the record of who did what from then on"),
    "aws:rds/instance:Instance": ("database", "its data"),
    "aws:dynamodb/table:Table": ("table", "its items"),
    "kubernetes:core/v1:Namespace": ("namespace", "every object in it, jobs and claims included"),
    "kubernetes:core/v1:PersistentVolumeClaim": ("volume claim", "the data of its volume, unless that is retained"),
    "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition": ("resource definition", "every object of its kind"),
}


@dataclass(frozen=True, kw_only=True)
class Danger:
    """One stateful resource that would be replaced or deleted."""

    kind: Kind
    urn: str
    type: str
    name: str
    noun: str
    lost: str
    reasons: tuple[Difference, ...]
    protected: bool
    retained: bool
    keeps: tuple[str, ...]
    acknowledged: str = ""

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.kind,
            "path": self.name,
            "urn": self.urn,
            "type": self.type,
            "noun": self.noun,
            "lost": self.lost,
            "reasons": [each.as_json() for each in self.reasons],
            "protected": self.protected,
            "retained": self.retained,
            "keeps": list(self.keeps),
            "acknowledged": self.acknowledged,
        }


@dataclass(frozen=True, kw_only=True)
class Acknowledgement:
    """What the stack file says was read and accepted; `old` when it stood there before this change."""

    id: str
    path: str
    reason: str
    old: bool = False

    def as_json(self) -> dict[str, Any]:
        return {"id": self.id, "path": self.path, "reason": self.reason, "stood_before": self.old}


def dangers(changes: Iterable[Change], accepted: Sequence[Acknowledgement]) -> tuple[Danger, ...]:
    """Unacknowledged ones first, the most precious first among them."""
    reasons = {(each.id, each.path): each.reason for each in accepted}
    found = [_danger(each, reasons) for each in changes if each.op in ("replace", "delete") and _holds_data(each)]
    return tuple(
        sorted(found, key=lambda each: (bool(each.acknowledged), each.retained, *precious(each.type, each.name)))
    )


# What can't be made again before what can be, by type; within one, names that say what lies there.
_PRECIOUS = (
    "aws:s3/bucket:Bucket",
    "aws:fsx/lustreFileSystem:LustreFileSystem",
    "aws:efs/fileSystem:FileSystem",
    "aws:kms/key:Key",
    "aws:kms/replicaKey:ReplicaKey",
    "aws:rds/instance:Instance",
    "aws:dynamodb/table:Table",
    "aws:ebs/volume:Volume",
    "kubernetes:core/v1:PersistentVolumeClaim",
    "aws:eks/cluster:Cluster",
    "kubernetes:core/v1:Namespace",
    "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition",
    "aws:cloudtrail/trail:Trail",
    "aws:ecr/repository:Repository",
)
_NAMED = ("checkpoints", "datasets")


def precious(type_: str, name: str) -> tuple[int, int, int, str]:
    """A rank: checkpoints, datasets, file systems, keys, clusters; logs late, and images that others publish last."""
    mirrored = type_.endswith(":Repository") and "/" in name
    place = _PRECIOUS.index(type_) if type_ in _PRECIOUS else len(_PRECIOUS)
    said = next((at for at, each in enumerate(_NAMED) if each in name), len(_NAMED))
    # A bucket of logs or of the trail is no bucket of checkpoints.
    logs = type_.endswith(":Bucket") and said == len(_NAMED)
    return (mirrored, _PRECIOUS.index("aws:eks/cluster:Cluster") if logs else place, said, name)


def _holds_data(change: Change) -> bool:
    """A claim that names its volume holds nothing itself: the volume's data lies on a file system that is declared
    elsewhere.
    """
    named = at((change.old or change.either).inputs, "spec.volumeName")
    return change.type in STATEFUL and not (change.type.endswith(":PersistentVolumeClaim") and named != ABSENT)


def _danger(change: Change, accepted: Mapping[tuple[str, str], str]) -> Danger:
    old = change.old or change.either
    noun, lost = STATEFUL[change.type]
    kind: Kind = REPLACES if change.op == "replace" else DELETES
    return Danger(
        kind=kind,
        urn=change.urn,
        type=change.type,
        name=change.name,
        noun=noun,
        lost=lost,
        reasons=change.reasons,
        protected=old.protect,
        retained=old.retain_on_delete,
        keeps=tuple(_keeps(change.type, old.inputs)),
        acknowledged=accepted.get((kind, change.name), ""),
    )


def _keeps(type_: str, inputs: Mapping[str, Any]) -> Iterable[str]:
    """What softens the loss, and what makes it certain."""

    def said(path: str) -> Any:
        found = at(inputs, path)
        return None if found == ABSENT else found

    if type_.startswith("aws:fsx/"):
        days = said("automaticBackupRetentionDays")
        if said("deploymentType") and str(said("deploymentType")).startswith("SCRATCH"):
            yield "scratch storage has no backups"
        elif days:
            yield f"automatic backups are kept {days} days, and go with the file system"
        else:
            yield "it has no automatic backups"
        yield (
            "no final backup is made"
            if said("skipFinalBackup") in (None, True, "true")
            else "a final backup is made first"
        )
    elif type_.startswith("aws:s3/"):
        forced = said("forceDestroy") in (True, "true")
        yield "forceDestroy empties it first" if forced else "AWS refuses while it holds objects"
    elif type_.startswith("aws:ecr/"):
        yield (
            "forceDelete deletes its images with it"
            if said("forceDelete") in (True, "true")
            else "AWS refuses while it holds images"
        )
    elif type_.startswith("aws:kms/"):
        yield f"it can be saved for {said('deletionWindowInDays') or 30} days: cancel its deletion"
    elif type_ == "aws:eks/cluster:Cluster" and said("deletionProtection") in (True, "true"):
        yield "EKS refuses while its deletion protection is on"
    elif type_.startswith("aws:ebs/"):
        yield "a final snapshot is made" if said("finalSnapshot") in (True, "true") else "no final snapshot is made"


@dataclass(frozen=True, kw_only=True)
class Weaker:
    """Protection that the change takes away, or data that it lets go sooner."""

    name: str
    type: str
    difference: Difference
    means: str

    def as_json(self) -> dict[str, Any]:
        return {"name": self.name, "type": self.type, **self.difference.as_json(), "means": self.means}


# Type, property, whether it got weaker, and what that means.
_FLAGS: tuple[tuple[str, str, object, str], ...] = (
    ("aws:s3/bucket:Bucket", "forceDestroy", True, "a deletion would take every object with it"),
    ("aws:ecr/repository:Repository", "forceDelete", True, "a deletion would take every image with it"),
    ("aws:eks/cluster:Cluster", "deletionProtection", False, "EKS would let the cluster be deleted"),
    ("aws:fsx/lustreFileSystem:LustreFileSystem", "skipFinalBackup", True, "a deletion would leave no backup"),
    (
        "aws:s3/bucketVersioning:BucketVersioning",
        "versioningConfiguration.status",
        "Suspended",
        "overwritten objects are gone at once",
    ),
    ("aws:kms/key:Key", "isEnabled", False, "nothing encrypted with it can be read"),
)
_FIGURES: tuple[tuple[str, str, str], ...] = (
    ("aws:fsx/lustreFileSystem:LustreFileSystem", "automaticBackupRetentionDays", "older backups go"),
    ("aws:kms/key:Key", "deletionWindowInDays", "less time to save the key"),
    ("aws:cloudwatch/logGroup:LogGroup", "retentionInDays", "older logs go"),
)
_EXPIRY = (
    "expiration.days",
    "noncurrentVersionExpiration.noncurrentDays",
    "noncurrentVersionExpiration.newerNoncurrentVersions",
)


def weaker(changes: Iterable[Change]) -> tuple[Weaker, ...]:
    """Resources that stay, less safely than before."""
    return tuple(found for each in changes if each.old and each.new for found in _weaker(each, each.old, each.new))


def _weaker(change: Change, old: Record, new: Record) -> Iterable[Weaker]:
    def reported(path: str, before: object, after: object, means: str) -> Weaker:
        return Weaker(
            name=change.name, type=change.type, difference=Difference(path=path, old=before, new=after), means=means
        )

    holds_data = change.type in STATEFUL or change.type == "aws:eks/nodeGroup:NodeGroup"
    if holds_data and old.protect and not new.protect:
        yield reported("option protect", True, False, "the engine would no longer refuse to delete it")
    if holds_data and old.retain_on_delete and not new.retain_on_delete:
        yield reported("option retainOnDelete", True, False, "a deletion reaches the account")
    before, after = old.inputs, new.inputs
    for type_, path, bad, means in _FLAGS:
        was, now = at(before, path), at(after, path)
        if change.type == type_ and _same(now, bad) and not _same(was, bad):
            yield reported(path, was, now, means)
    for type_, path, means in _FIGURES:
        was, now = at(before, path), at(after, path)
        if change.type == type_ and _fewer(path, was, now):
            yield reported(path, was, now, means)
    if change.type.endswith(":BucketLifecycleConfiguration"):
        yield from _sooner(change, before, after)


def _fewer(path: str, was: object, now: object) -> bool:
    """Fewer days than before; none at all means no backups, but for logs it means for ever."""
    if not isinstance(was, int | float):
        return False
    if path == "automaticBackupRetentionDays" and now in (0, ABSENT):
        return was > 0
    return isinstance(now, int | float) and 0 < now < was


def _sooner(change: Change, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterable[Weaker]:
    """Objects that a lifecycle rule deletes earlier than before, or that now have a rule that deletes them."""
    rules = {str(rule.get("id")): rule for rule in before.get("rules") or () if isinstance(rule, Mapping)}
    for rule in after.get("rules") or ():
        former = rules.get(str(rule.get("id")), {})
        for path in _EXPIRY:
            was, now = at(former, path), at(rule, path)
            shorter = isinstance(now, int) and (was == ABSENT or (isinstance(was, int) and now < was))
            if shorter and any(True for _ in differences(was, now)):
                found = Difference(path=f"rules[{rule.get('id')}].{path}", old=was, new=now)
                yield Weaker(
                    name=change.name,
                    type=change.type,
                    difference=found,
                    means="older objects are deleted for good soon after",
                )


def _same(value: object, wanted: object) -> bool:
    return value == wanted or (isinstance(wanted, bool) and value == str(wanted).lower())


def unused(accepted: Sequence[Acknowledgement], found: Sequence[Danger]) -> tuple[Acknowledgement, ...]:
    """Acknowledgements that no danger answers to: left standing, they would let the next one pass."""
    met = {(each.kind, each.name) for each in found}
    return tuple(each for each in accepted if (each.id, each.path) not in met)
