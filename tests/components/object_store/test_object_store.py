"""The object store as declared: closed, encrypted, versioned buckets that age, and a copy of the checkpoints in a
second region.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from components.object_store import ObjectStore, ObjectStoreArgs
from components.spec.storage import StorageSpec
from tests.declared import Record, named, of_type, record

TAGS = {"owner": "ml-platform", "cost-center": "4711"}
TOPIC = "arn:aws:sns:us-west-2:111122223333:alerts"
AWAY = "arn:aws:sns:us-east-2:111122223333:alerts"
COPIED = {"replicate_to": "us-east-2"}
BUCKETS = ("store-checkpoints", "store-datasets", "store-logs")


@cache
def _declared(spec: str, known: bool, protect: bool) -> tuple[Record, ...]:
    args = ObjectStoreArgs(
        spec=StorageSpec.model_validate_json(spec),
        region="us-west-2",
        account_id="111122223333",
        protect=protect,
        force_destroy=not protect,
        label="trainshed-prod",
        alarm_actions=[TOPIC],
        copy_alarm_actions=[AWAY],
        copy_subscriptions={"oncall@example.com": ("email", "oncall@example.com")},
        tags=TAGS,
    )

    def program() -> None:
        ObjectStore("store", args)

    return tuple(record(program, known=known))


def declared(*, known: bool = True, protect: bool = True, **spec: Any) -> tuple[Record, ...]:
    return _declared(json.dumps(spec), known, protect)


def policy_of(records: tuple[Record, ...], name: str, kind: str = "BucketPolicy") -> dict[str, dict[str, Any]]:
    [found] = [each for each in of_type(records, kind) if each.name == name]
    return {each["Sid"]: each for each in json.loads(found.inputs["policy"])["Statement"]}


def rules_of(records: tuple[Record, ...], name: str) -> list[dict[str, Any]]:
    [found] = [each for each in of_type(records, "BucketLifecycleConfiguration") if each.name == name]
    rules: list[dict[str, Any]] = found.inputs["rules"]
    return rules


def of_bucket(records: tuple[Record, ...], kind: str, name: str) -> Mapping[str, Any]:
    [found] = [each.inputs for each in of_type(records, kind) if each.name == name]
    return found


def test_a_first_preview_declares_what_an_update_declares() -> None:
    first, later = declared(known=False, checkpoints=COPIED), declared(known=True, checkpoints=COPIED)
    assert sorted((each.type, each.name) for each in first) == sorted((each.type, each.name) for each in later)


def test_three_buckets_are_declared_and_a_copy_only_where_one_is_asked_for() -> None:
    assert sorted(each.name for each in of_type(declared(), "Bucket")) == list(BUCKETS)
    copied = declared(checkpoints=COPIED)
    assert sorted(each.name for each in of_type(copied, "Bucket")) == sorted([*BUCKETS, "store-checkpoints-copy"])
    assert len(declared()) == 25


@pytest.mark.parametrize("name", BUCKETS)
def test_every_bucket_is_closed_to_the_public(name: str) -> None:
    closed = of_bucket(declared(), "BucketPublicAccessBlock", name)
    assert {key for key, value in closed.items() if value is True} == {
        "blockPublicAcls",
        "blockPublicPolicy",
        "ignorePublicAcls",
        "restrictPublicBuckets",
    }
    assert of_bucket(declared(), "BucketOwnershipControls", name)["rule"] == {"objectOwnership": "BucketOwnerEnforced"}


@pytest.mark.parametrize("name", BUCKETS)
def test_every_bucket_is_versioned_and_encrypted_by_one_key_with_few_requests(name: str) -> None:
    assert of_bucket(declared(), "BucketVersioning", name)["versioningConfiguration"] == {"status": "Enabled"}
    [rule] = of_bucket(declared(), "BucketServerSideEncryptionConfiguration", name)["rules"]
    assert rule["bucketKeyEnabled"] is True
    by_default = rule["applyServerSideEncryptionByDefault"]
    assert by_default == {"sseAlgorithm": "aws:kms", "kmsMasterKeyId": "arn:aws:kms:us-west-2:111122223333:store-key"}


@pytest.mark.parametrize("name", BUCKETS)
def test_requests_without_tls_are_denied(name: str) -> None:
    tls = policy_of(declared(), name)["TlsOnly"]
    assert tls["Effect"] == "Deny"
    assert tls["Action"] == ["s3:*"]
    assert tls["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    arn = f"arn:aws:s3:us-west-2:111122223333:{name}"
    assert tls["Resource"] == [arn, f"{arn}/*"]


@pytest.mark.parametrize("name", BUCKETS)
def test_no_policy_takes_the_right_to_mend_it_from_the_operator(name: str) -> None:
    closed = policy_of(declared(), name)["OwnPrincipalsOnly"]
    assert closed["Effect"] == "Deny"
    assert all(
        action.startswith(("s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:ListBucket", "s3:Abort"))
        for action in closed["Action"]
    )
    assert not any("Policy" in action for action in closed["Action"])
    assert closed["Condition"] == {
        "StringNotEqualsIfExists": {"aws:PrincipalAccount": "111122223333"},
        "BoolIfExists": {"aws:PrincipalIsAWSService": "false"},
    }


def test_an_organisation_that_is_named_is_who_reaches_objects() -> None:
    closed = policy_of(declared(organisation="o-a1b2c3d4e5"), "store-datasets")["OwnPrincipalsOnly"]
    assert closed["Condition"]["StringNotEqualsIfExists"] == {"aws:PrincipalOrgID": "o-a1b2c3d4e5"}


def test_broken_uploads_end_within_a_week_and_old_versions_in_time() -> None:
    records = declared(datasets={"old_versions_days": 14}, checkpoints={"old_versions_days": 3})
    for name, days in (("store-datasets", 14), ("store-checkpoints", 3), ("store-logs", 7)):
        age = rules_of(records, name)[0]
        assert age["abortIncompleteMultipartUpload"] == {"daysAfterInitiation": 7}
        assert age["noncurrentVersionExpiration"] == {"noncurrentDays": days}
        assert age["filter"] == {"prefix": ""}


def test_datasets_stay_and_move_to_intelligent_tiering() -> None:
    age, markers = rules_of(declared(datasets={"tier_after_days": 45}), "store-datasets")
    assert age["transitions"] == [{"days": 45, "storageClass": "INTELLIGENT_TIERING"}]
    assert "expiration" not in age
    assert markers["expiration"] == {"expiredObjectDeleteMarker": True}


def test_no_lifecycle_rule_takes_a_checkpoint_that_nobody_condemned() -> None:
    """Age alone would take the newest checkpoint of a run that stands still."""
    records = declared(checkpoints={"expire_days": 14, "keep_last": 50, "replicate_to": "us-east-2"})
    for name in ("store-checkpoints", "store-checkpoints-copy"):
        taking = [each for each in rules_of(records, name) if "days" in each.get("expiration", {})]
        assert [each["filter"] for each in taking] == [{"tag": {"key": "trainshed-condemned", "value": "true"}}], name
        assert [each["expiration"] for each in taking] == [{"days": 14}]


def test_checkpoints_move_only_when_they_stay_long_enough() -> None:
    short = rules_of(declared(checkpoints={"expire_days": 30}), "store-checkpoints")[0]
    assert "transitions" not in short
    long = rules_of(declared(checkpoints={"expire_days": 90}), "store-checkpoints")[0]
    assert long["transitions"] == [{"days": 30, "storageClass": "STANDARD_IA"}]


def test_the_copy_learns_what_was_condemned() -> None:
    [role] = [
        each
        for each in of_type(declared(checkpoints=COPIED), "RolePolicy")
        if "s3:ReplicateTags" in each.inputs["policy"]
    ]
    assert "s3:GetObjectVersionTagging" in role.inputs["policy"]


def test_access_of_every_bucket_is_logged_but_not_that_of_the_log_bucket() -> None:
    logged = of_type(declared(), "BucketLogging")
    assert {each.name: each.inputs["targetPrefix"] for each in logged} == {
        "store-checkpoints": "checkpoints/",
        "store-datasets": "datasets/",
    }
    delivery = policy_of(declared(), "store-logs")["AccessLogsDelivery"]
    assert delivery["Principal"] == {"Service": "logging.s3.amazonaws.com"}
    assert delivery["Condition"] == {"StringEquals": {"aws:SourceAccount": "111122223333"}}


def test_the_key_rotates_and_serves_file_systems_and_log_delivery() -> None:
    key = named(declared(), "store-key")
    assert key.inputs["enableKeyRotation"] is True
    statements = {each["Sid"]: each for each in json.loads(key.inputs["policy"])["Statement"]}
    assert set(statements) == {"AccountAdministers", "LustreReadsAndWrites", "AccessLogsWrite"}
    assert statements["LustreReadsAndWrites"]["Condition"] == {
        "StringEquals": {"kms:CallerAccount": "111122223333", "kms:ViaService": "s3.us-west-2.amazonaws.com"},
        "ArnLike": {
            "aws:PrincipalArn": (
                "arn:aws:iam::111122223333:role/aws-service-role/s3.data-source.lustre.fsx.amazonaws.com/"
                "AWSServiceRoleForFSxS3Access_*"
            )
        },
    }


def test_everything_of_the_copy_lies_in_the_second_region() -> None:
    records = declared(checkpoints=COPIED)
    placed = {f"{each.type.split(':')[-1]} {each.name}": each.inputs.get("region") for each in records}
    away = {name for name, region in placed.items() if region == "us-east-2"}
    assert away == {
        "Bucket store-checkpoints-copy",
        "BucketLifecycleConfiguration store-checkpoints-copy",
        "BucketOwnershipControls store-checkpoints-copy",
        "BucketPolicy store-checkpoints-copy",
        "BucketPublicAccessBlock store-checkpoints-copy",
        "BucketServerSideEncryptionConfiguration store-checkpoints-copy",
        "BucketVersioning store-checkpoints-copy",
        "Key store-key-copy",
        "MetricAlarm store-copy-lag",
        "Topic store-copy-alerts",
        "TopicSubscription store-copy-alert-oncall@example.com",
    }
    assert {region for name, region in placed.items() if name not in away} == {None}


def test_checkpoints_are_copied_under_the_copys_own_key_and_deletions_are_not() -> None:
    records = declared(checkpoints=COPIED)
    [replication] = of_type(records, "BucketReplicationConfig")
    [rule] = replication.inputs["rules"]
    assert rule["sourceSelectionCriteria"] == {"sseKmsEncryptedObjects": {"status": "Enabled"}}
    assert rule["deleteMarkerReplication"] == {"status": "Disabled"}
    assert rule["destination"]["encryptionConfiguration"] == {
        "replicaKmsKeyId": "arn:aws:kms:us-west-2:111122223333:store-key-copy"
    }
    assert rule["destination"]["metrics"] == {"status": "Enabled"}
    waits = {each.rsplit("::", 1)[1] for each in replication.depends_on}
    assert {"store-checkpoints", "store-checkpoints-copy", "store-replication"} <= waits
    assert rules_of(records, "store-checkpoints-copy")[1]["expiration"] == {"days": 30}


def test_the_replication_role_reads_one_bucket_and_writes_the_other() -> None:
    statements = policy_of(declared(checkpoints=COPIED), "store-replication", "RolePolicy")
    assert statements["ReadObjects"]["Resource"] == ["arn:aws:s3:us-west-2:111122223333:store-checkpoints/*"]
    assert statements["WriteCopies"]["Resource"] == ["arn:aws:s3:us-west-2:111122223333:store-checkpoints-copy/*"]
    assert statements["Decrypt"]["Condition"] == {"StringLike": {"kms:ViaService": "s3.us-west-2.amazonaws.com"}}
    assert statements["Encrypt"]["Condition"] == {"StringLike": {"kms:ViaService": "s3.us-east-2.amazonaws.com"}}


def test_a_copy_that_lags_or_fails_raises_an_alarm_where_its_metric_is() -> None:
    records = declared(checkpoints={**COPIED, "lag_minutes": 45})
    lag, failed = named(records, "store-copy-lag").inputs, named(records, "store-copy-failed").inputs
    topic = named(records, "store-copy-alerts")
    made = f"arn:aws:sns:us-west-2:111122223333:{topic.name}"  # the stand-in's own word for it
    assert (lag["metricName"], lag["threshold"], lag["region"], lag["alarmActions"]) == (
        "ReplicationLatency",
        2700,
        "us-east-2",
        [AWAY, made],
    )
    assert topic.inputs["kmsMasterKeyId"] == "arn:aws:kms:us-west-2:111122223333:store-key-copy"
    assert policy_of(records, "store-key-copy", "Key")["AlarmsPublish"]["Principal"] == {
        "Service": "cloudwatch.amazonaws.com"
    }
    assert (failed["metricName"], failed["threshold"], failed["alarmActions"]) == (
        "OperationsFailedReplication",
        0,
        [TOPIC],
    )
    assert lag["dimensions"] == failed["dimensions"]
    assert lag["name"] == "trainshed-prod-store-copy-lag"


def test_buckets_and_keys_are_each_protected_themselves() -> None:
    kept = declared(checkpoints=COPIED, protect=True)
    assert {each.name for each in kept if each.protect} == {
        *BUCKETS,
        "store-checkpoints-copy",
        "store-key",
        "store-key-copy",
    }
    assert {each.inputs["forceDestroy"] for each in of_type(kept, "Bucket")} == {False}
    loose = declared(checkpoints=COPIED, protect=False)
    assert not any(each.protect for each in loose)
    assert {each.inputs["forceDestroy"] for each in of_type(loose, "Bucket")} == {True}


def test_every_resource_that_takes_tags_has_them() -> None:
    for each in declared(checkpoints=COPIED):
        kind = each.type.split(":")[-1]
        if kind in ("Bucket", "Key", "Role", "MetricAlarm"):
            assert each.inputs["tags"]["owner"] == "ml-platform", each.name
            assert each.inputs["tags"]["Name"] == each.name


def test_bucket_names_leave_room_for_what_the_provider_adds() -> None:
    for each in of_type(declared(checkpoints=COPIED), "Bucket"):
        assert "bucket" not in each.inputs
        assert len(each.name) + 8 <= 63


def test_service_accounts_read_a_bucket_or_write_it_and_never_delete() -> None:
    found: dict[str, set[str]] = {}

    def program() -> None:
        store = ObjectStore("store", ObjectStoreArgs(spec=StorageSpec(), region="us-west-2", account_id="111122223333"))
        for word, statements in (("reads", store.reads("datasets")), ("writes", store.writes("checkpoints"))):
            found[word] = {action for each in statements for action in each.actions}

    record(program)
    assert found["reads"] == {"s3:ListBucket", "s3:GetBucketLocation", "s3:GetObject", "kms:Decrypt"}
    assert found["writes"] - found["reads"] == {
        "s3:PutObject",
        "s3:PutObjectTagging",
        "s3:GetObjectTagging",
        "s3:AbortMultipartUpload",
        "kms:GenerateDataKey",
    }
