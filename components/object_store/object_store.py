"""The object store: buckets of datasets, checkpoints and access logs under one key, and the copy of the checkpoints in
a second region.

How long objects are kept, and where they move with age, is decided here; the guards of a single bucket are in `bucket`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pulumi
import pulumi_aws as aws

from components.identity import policy_documents
from components.identity.policy_documents import Statement
from components.object_store import bucket as object_store_bucket
from components.object_store import keys, replica
from components.object_store.bucket import Bucket, Guards, LifecycleRule
from components.planning import alone
from components.refused import refuse
from components.spec.storage import CheckpointsSpec, StorageSpec

_IA_MINIMUM_DAYS = 30  # STANDARD_IA takes nothing younger, and charges thirty days of what leaves earlier


@dataclass(frozen=True, kw_only=True)
class ObjectStoreArgs:
    """`protect` guards buckets and keys from deletion, `force_destroy` lets a bucket go with what it holds.

    `label` is the first word of the alarms' names. `alarm_actions` are topics in `region`. An alarm only reaches topics
    beside it, so those of the copy's region are `copy_alarm_actions`, and one is made there for `copy_subscriptions`
    (protocol and endpoint by key).
    """

    spec: StorageSpec
    region: str
    account_id: pulumi.Input[str]
    protect: bool = False
    force_destroy: bool = False
    label: str = "trainshed"
    alarm_actions: Sequence[pulumi.Input[str]] = ()
    copy_alarm_actions: Sequence[pulumi.Input[str]] = ()
    copy_subscriptions: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    tags: Mapping[str, str] = field(default_factory=dict[str, str])


class ObjectStore(pulumi.ComponentResource):
    """Attributes: `bucket_names` and `bucket_arns` by role (`datasets`, `checkpoints`, `logs`, and `checkpoints-copy`
    where there is one), `key_arn`, `ready` (what links and writers wait for).
    """

    def __init__(self, name: str, args: ObjectStoreArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        refuse("ObjectStore", name, alone.of_store(args.spec, args.region))
        recorded = args.spec.model_dump(mode="json", include={"datasets", "checkpoints", "logs", "organisation"})
        super().__init__("trainshed:storage:ObjectStore", name, recorded, opts)
        spec, guards = args.spec, self._guards(name, args)
        logs = object_store_bucket.declare(
            f"{name}-logs",
            "logs",
            guards,
            lifecycle=object_store_bucket.lifecycle(old_versions_days=7, expire_days=spec.logs.expire_days),
            statements=lambda arn: [_delivery(arn, args.account_id)],
        )
        datasets = object_store_bucket.declare(
            f"{name}-datasets",
            "datasets",
            guards,
            lifecycle=object_store_bucket.lifecycle(
                old_versions_days=spec.datasets.old_versions_days,
                # Without retrieval fees: a dataset that is read again after months is no surprise on the bill.
                transitions=[(spec.datasets.tier_after_days, "INTELLIGENT_TIERING")],
            ),
        )
        checkpoints = object_store_bucket.declare(
            f"{name}-checkpoints", "checkpoints", guards, lifecycle=checkpoint_lifecycle(spec.checkpoints)
        )
        buckets = {"datasets": datasets, "checkpoints": checkpoints, "logs": logs}
        written = self._log_access(name, args, logs, {"datasets": datasets, "checkpoints": checkpoints})
        if spec.checkpoints.replicate_to:
            buckets["checkpoints-copy"] = replica.declare(
                name,
                source=checkpoints,
                source_guards=guards,
                region=spec.checkpoints.replicate_to,
                lifecycle=checkpoint_lifecycle(spec.checkpoints, copied=True),
                alarms=replica.Alarms(
                    label=args.label,
                    lag_minutes=spec.checkpoints.lag_minutes,
                    home=args.alarm_actions,
                    away=args.copy_alarm_actions,
                    subscriptions=args.copy_subscriptions,
                ),
            )

        self.bucket_names: Mapping[str, pulumi.Output[str]] = {
            role: each.bucket.bucket for role, each in buckets.items()
        }
        self.bucket_arns: Mapping[str, pulumi.Output[str]] = {role: each.bucket.arn for role, each in buckets.items()}
        self.key_arn = guards.key.arn
        self.ready: list[pulumi.Resource] = [resource for each in buckets.values() for resource in each.ready] + written
        self.register_outputs(
            {"bucket_names": dict(self.bucket_names), "bucket_arns": dict(self.bucket_arns), "key_arn": self.key_arn}
        )

    def _guards(self, name: str, args: ObjectStoreArgs) -> Guards:
        region, account = args.region, args.account_id
        key = aws.kms.Key(
            f"{name}-key",
            description="Datasets, checkpoints and access logs",
            enable_key_rotation=True,
            deletion_window_in_days=30,
            policy=policy_documents.document(
                policy_documents.key_administration(region, account),
                keys.lustre_uses_key(region, account),
                keys.access_logs_use_key(account),
            ),
            tags={**args.tags, "Name": f"{name}-key"},
            opts=pulumi.ResourceOptions(parent=self, protect=args.protect),
        )
        return Guards(
            region=region,
            home=region,
            account_id=account,
            key=key,
            organisation=args.spec.organisation,
            protect=args.protect,
            force_destroy=args.force_destroy,
            tags=args.tags,
            parent=self,
        )

    def _log_access(
        self, name: str, args: ObjectStoreArgs, logs: Bucket, logged: Mapping[str, Bucket]
    ) -> list[pulumi.Resource]:
        """Access logs of every bucket but the one that receives them; logs of its own writing would never end."""
        return [
            aws.s3.BucketLogging(
                f"{name}-{role}",
                bucket=bucket.bucket.bucket,
                target_bucket=logs.bucket.bucket,
                target_prefix=f"{role}/",
                opts=pulumi.ResourceOptions(parent=self, depends_on=[logs.policy]),
            )
            for role, bucket in sorted(logged.items())
        ]

    def reads(self, role: str) -> tuple[Statement, ...]:
        """What a service account needs to read a bucket's objects."""
        arn = self.bucket_arns[role]
        return (
            Statement(sid="List", actions=("s3:ListBucket", "s3:GetBucketLocation"), resources=(arn,)),
            Statement(sid="Read", actions=("s3:GetObject",), resources=(pulumi.Output.concat(arn, "/*"),)),
            Statement(sid="Decrypt", actions=("kms:Decrypt",), resources=(self.key_arn,)),
        )

    def of_queue(self, *, read: Sequence[str], written: Sequence[str]) -> tuple[Statement, ...]:
        """What the jobs of a queue need: prefixes of the datasets to read (all of them when none is named), and
        prefixes of the checkpoints' bucket to read and write. They delete nothing.
        """
        datasets, checkpoints = self.bucket_arns["datasets"], self.bucket_arns["checkpoints"]
        listed = {"StringLike": {"s3:prefix": [f"{prefix}*" for prefix in written]}}
        some = {"StringLike": {"s3:prefix": [f"{prefix}*" for prefix in read]}} if read else {}
        return (
            Statement(sid="ListDatasets", actions=("s3:ListBucket",), resources=(datasets,), conditions=some),
            Statement(sid="ReadDatasets", actions=("s3:GetObject",), resources=_under(datasets, read or [""])),
            Statement(sid="ListOwn", actions=("s3:ListBucket",), resources=(checkpoints,), conditions=listed),
            Statement(
                sid="WriteOwn",
                actions=("s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload"),
                resources=_under(checkpoints, written),
            ),
            Statement(sid="UseKey", actions=("kms:Decrypt", "kms:GenerateDataKey"), resources=(self.key_arn,)),
        )

    def writes(self, role: str) -> tuple[Statement, ...]:
        """What a service account needs to write a bucket's objects, and to condemn a checkpoint. Deleting is left to
        the
        lifecycle rule on what is condemned.
        """
        arn = self.bucket_arns[role]
        return (
            *self.reads(role),
            Statement(
                sid="Write",
                actions=("s3:PutObject", "s3:PutObjectTagging", "s3:GetObjectTagging", "s3:AbortMultipartUpload"),
                resources=(pulumi.Output.concat(arn, "/*"),),
            ),
            Statement(sid="Encrypt", actions=("kms:GenerateDataKey",), resources=(self.key_arn,)),
        )


def _under(arn: pulumi.Output[str], prefixes: Sequence[str]) -> list[pulumi.Output[str]]:
    return [pulumi.Output.concat(arn, f"/{prefix}*") for prefix in prefixes]


def _delivery(arn: pulumi.Output[str], account: pulumi.Input[str]) -> Statement:
    return Statement(
        sid="AccessLogsDelivery",
        actions=("s3:PutObject",),
        resources=(pulumi.Output.concat(arn, "/*"),),
        principals={"Service": ("logging.s3.amazonaws.com",)},
        conditions={"StringEquals": {"aws:SourceAccount": account}},
    )


def checkpoint_lifecycle(spec: CheckpointsSpec, *, copied: bool = False) -> list[LifecycleRule]:
    """Age takes only what the pruner has tagged: S3 can't tell which checkpoints are the newest, and a run that stands
    still for a month must find its last one.

    What has gone stays a while as an old version. Checkpoints move to STANDARD_IA, where a copy begins at once.
    """
    moves = not copied and spec.expire_days >= 2 * _IA_MINIMUM_DAYS
    return object_store_bucket.lifecycle(
        old_versions_days=spec.old_versions_days,
        condemned_days=spec.expire_days,
        transitions=[(_IA_MINIMUM_DAYS, "STANDARD_IA")] if moves else [],
    )
