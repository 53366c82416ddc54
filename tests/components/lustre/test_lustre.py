"""A Lustre file system as declared: its rules before it, its links after it one by one, and every deployment type in
its own words.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from components import catalog
from components.lustre import Client, Lustre, LustreArgs
from components.spec.storage import LustreSpec
from tests.declared import Record, named, of_type, one, record

TAGS: dict[str, Any] = {"owner": "ml-platform", "cost-center": "4711"}
TOPIC = "arn:aws:sns:us-west-2:111122223333:alerts"
LINKS = [
    {"path": "/datasets", "bucket": "datasets", "import": ["new", "changed", "deleted"]},
    {
        "path": "/checkpoints",
        "bucket": "checkpoints",
        "prefix": "/runs",
        "export": ["new", "changed", "deleted"],
        "batch_import": False,
    },
]
TRAIN: dict[str, Any] = {"capacity_gib": 76800, "throughput_mbps_per_tib": 500, "efa": True, "links": LINKS}
PLAIN: dict[str, Any] = {"capacity_gib": 2400, "throughput_mbps_per_tib": 250}


@cache
def _declared(spec: str, known: bool, protect: bool, dataset_gib: int | None) -> tuple[Record, ...]:
    args = LustreArgs(
        spec=LustreSpec.model_validate({"name": "train", "zone": "usw2-az3", **json.loads(spec)}),
        catalog=catalog.load(),
        region="us-west-2",
        account_id="111122223333",
        vpc_id="vpc-1",
        subnet_id="subnet-compute",
        clients=[
            Client(name="management", security_group_id="sg-management"),
            Client(name="compute", security_group_id="sg-compute", efa=True),
        ],
        buckets={"datasets": "data-0a1b2c3", "checkpoints": "saved-0a1b2c3"},
        dataset_gib=dataset_gib,
        logs_days=90,
        label="trainshed-prod",
        protect=protect,
        alarm_actions=[TOPIC],
        tags=TAGS,
    )

    def program() -> None:
        Lustre("lustre-train", args)

    return tuple(record(program, known=known))


def declared(known: bool = True, kept: bool = False, dataset_gib: int | None = None, **spec: Any) -> tuple[Record, ...]:
    return _declared(json.dumps(spec), known, kept, dataset_gib)


def system(**spec: Any) -> Mapping[str, Any]:
    return one(declared(**spec), "LustreFileSystem").inputs


def traffic(records: tuple[Record, ...], direction: str) -> set[tuple[str, str, str, Any, Any]]:
    """(whose rule, the other side, protocol, first port, last port)."""
    short = {"lustre-train-servers-id": "servers", "sg-compute": "compute", "sg-management": "management"}
    return {
        (
            short[each.inputs["securityGroupId"]],
            short[each.inputs["referencedSecurityGroupId"]],
            each.inputs["ipProtocol"],
            each.inputs.get("fromPort"),
            each.inputs.get("toPort"),
        )
        for each in of_type(records, f"SecurityGroup{direction}Rule")
    }


def test_a_first_preview_declares_what_an_update_declares() -> None:
    first, later = declared(known=False, **TRAIN), declared(**TRAIN)
    assert sorted((each.type, each.name) for each in first) == sorted((each.type, each.name) for each in later)


def test_lustre_ports_are_open_among_servers_and_both_ways_to_clients() -> None:
    ports = {("tcp", 988, 988), ("tcp", 1018, 1023)}
    pairs = {("servers", "servers")} | {
        (a, b) for name in ("compute", "management") for a, b in (("servers", name), (name, "servers"))
    }
    expected = {(*pair, *port) for pair in pairs for port in ports}
    records = declared(**PLAIN)
    assert traffic(records, "Ingress") == expected
    assert traffic(records, "Egress") == expected


def test_efa_clients_exchange_everything_and_others_keep_to_the_ports() -> None:
    found = traffic(declared(**TRAIN), "Ingress")
    assert {
        ("servers", "servers", "-1", None, None),
        ("servers", "compute", "-1", None, None),
        ("compute", "servers", "-1", None, None),
    } <= found
    assert {each[2:] for each in found if "management" in each[:2]} == {("tcp", 988, 988), ("tcp", 1018, 1023)}
    assert traffic(declared(**TRAIN), "Egress") == found


def test_every_rule_is_there_before_the_file_system() -> None:
    for spec in (TRAIN, PLAIN):
        records = declared(**spec)
        rules = {each.urn for each in records if each.type.endswith("gressRule")}
        assert rules
        assert rules <= set(one(records, "LustreFileSystem").depends_on)


def test_every_rule_says_what_it_is_for() -> None:
    said = {each.inputs["description"] for each in declared(**TRAIN) if each.type.endswith("gressRule")}
    assert said == {
        "EFA traffic, which is no IP, and Lustre: among the servers",
        "EFA traffic, which is no IP, and Lustre: compute clients call the servers",
        "EFA traffic, which is no IP, and Lustre: the servers call compute clients back",
        "Lustre: management clients call the servers",
        "Lustre: the servers call management clients back",
    }


def test_the_file_system_has_the_words_of_the_stack_file() -> None:
    inputs = system(**TRAIN)
    expected = {
        "deploymentType": "PERSISTENT_2",
        "storageType": "SSD",
        "storageCapacity": 76800,
        "perUnitStorageThroughput": 500,
        "efaEnabled": True,
        "metadataConfiguration": {"mode": "AUTOMATIC"},
        "dataCompressionType": "LZ4",
        "fileSystemTypeVersion": "2.15",
        "subnetIds": "subnet-compute",
        "securityGroupIds": ["lustre-train-servers-id"],
        "kmsKeyId": "arn:aws:kms:us-west-2:111122223333:lustre-train-key",
        "weeklyMaintenanceStartTime": "7:04:00",
        "automaticBackupRetentionDays": 0,
        "copyTagsToBackups": True,
        "skipFinalBackup": True,
    }
    assert {key: inputs[key] for key in expected} == expected


@pytest.mark.parametrize(
    ("spec", "expected", "absent"),
    [
        (
            {"deployment": "SCRATCH_1", "capacity_gib": 3600, "version": "2.12", "expendable": True},
            {"storageCapacity": 3600, "fileSystemTypeVersion": "2.12", "skipFinalBackup": True},
            (
                "perUnitStorageThroughput",
                "kmsKeyId",
                "metadataConfiguration",
                "automaticBackupRetentionDays",
                "copyTagsToBackups",
                "efaEnabled",
            ),
        ),
        (
            {"deployment": "SCRATCH_2", "capacity_gib": 1200, "expendable": True},
            {"deploymentType": "SCRATCH_2", "storageCapacity": 1200},
            ("perUnitStorageThroughput", "kmsKeyId", "metadataConfiguration", "driveCacheType"),
        ),
        (
            {"deployment": "PERSISTENT_1", "capacity_gib": 2400, "throughput_mbps_per_tib": 100, "backup_days": 7},
            {
                "perUnitStorageThroughput": 100,
                "automaticBackupRetentionDays": 7,
                "dailyAutomaticBackupStartTime": "04:00",
                "skipFinalBackup": False,
            },
            ("metadataConfiguration", "driveCacheType"),
        ),
        (
            {
                "deployment": "PERSISTENT_1",
                "storage": "HDD",
                "capacity_gib": 6000,
                "throughput_mbps_per_tib": 12,
                "drive_cache": True,
            },
            {"storageType": "HDD", "driveCacheType": "READ", "perUnitStorageThroughput": 12},
            ("metadataConfiguration",),
        ),
        (
            {"capacity_gib": 2400, "throughput_mbps_per_tib": 125, "metadata_iops": 6000},
            {"metadataConfiguration": {"mode": "USER_PROVISIONED", "iops": 6000}},
            ("driveCacheType", "throughputCapacity"),
        ),
        (
            {"storage": "INTELLIGENT_TIERING", "throughput_mbps": 4000},
            {
                "throughputCapacity": 4000,
                "dataReadCacheConfiguration": {"sizingMode": "PROPORTIONAL_TO_THROUGHPUT_CAPACITY"},
                "metadataConfiguration": {"mode": "USER_PROVISIONED", "iops": 6000},
            },
            ("storageCapacity", "perUnitStorageThroughput"),
        ),
        (
            {
                "storage": "INTELLIGENT_TIERING",
                "throughput_mbps": 8000,
                "read_cache": {"mode": "USER_PROVISIONED", "size_gib": 1000},
            },
            {"dataReadCacheConfiguration": {"sizingMode": "USER_PROVISIONED", "size": 1000}},
            ("storageCapacity",),
        ),
    ],
)
def test_each_type_is_declared_in_its_own_words(
    spec: dict[str, Any], expected: dict[str, Any], absent: tuple[str, ...]
) -> None:
    inputs = system(**spec)
    assert {key: inputs.get(key) for key in expected} == expected
    assert [key for key in absent if key in inputs] == []


def test_a_size_left_out_holds_the_dataset_twice() -> None:
    inputs = one(declared(dataset_gib=31000, throughput_mbps_per_tib=500, efa=True), "LustreFileSystem").inputs
    assert inputs["storageCapacity"] == 67200  # 7 x 9,600, the step above 62,000
    assert system(deployment="SCRATCH_2", expendable=True)["storageCapacity"] == 1200


def test_links_tie_folders_to_buckets_and_leave_files_when_they_go() -> None:
    data, saved = (
        named(declared(**TRAIN), "lustre-train-link/datasets").inputs,
        named(declared(**TRAIN), "lustre-train-link/checkpoints").inputs,
    )
    assert (data["fileSystemPath"], data["dataRepositoryPath"]) == ("/datasets", "s3://data-0a1b2c3/")
    assert data["s3"] == {"autoImportPolicy": {"events": ["CHANGED", "DELETED", "NEW"]}}
    assert (data["batchImportMetaDataOnCreate"], saved["batchImportMetaDataOnCreate"]) == (True, False)
    assert (saved["fileSystemPath"], saved["dataRepositoryPath"]) == ("/checkpoints", "s3://saved-0a1b2c3/runs/")
    assert saved["s3"] == {"autoExportPolicy": {"events": ["CHANGED", "DELETED", "NEW"]}}
    assert {data["deleteDataInFilesystem"], saved["deleteDataInFilesystem"]} == {False}


def test_links_are_made_one_after_another_whatever_their_order_in_the_file() -> None:
    for links in (LINKS, LINKS[::-1]):
        spec: dict[str, Any] = {**TRAIN, "links": links}
        records = declared(**spec)
        first, second = named(records, "lustre-train-link/checkpoints"), named(records, "lustre-train-link/datasets")
        assert first.urn in second.depends_on
        assert second.urn not in first.depends_on


def test_folders_of_like_names_make_links_of_their_own() -> None:
    links = [{"path": path, "bucket": "datasets", "prefix": path} for path in ("/a/b", "/a-b", "/a.b")]
    spec: dict[str, Any] = {**PLAIN, "links": links}
    records = declared(**spec)
    assert len(of_type(records, "DataRepositoryAssociation")) == 3


def test_logs_go_where_fsx_may_write_and_are_kept_for_a_while() -> None:
    group = one(declared(**TRAIN), "LogGroup").inputs
    assert group["namePrefix"] == "/aws/fsx/train-"
    assert group["retentionInDays"] == 90
    assert system(**TRAIN)["logConfiguration"]["level"] == "WARN_ERROR"


def test_alarms_watch_space_inodes_and_throughput() -> None:
    records = declared(**TRAIN)
    space, inodes, rate = (named(records, f"lustre-train-{word}").inputs for word in ("space", "inodes", "throughput"))
    assert [each["metric"]["stat"] for each in space["metricQueries"][1:]] == ["Minimum", "SampleCount"]
    assert {each["metric"]["period"] for each in space["metricQueries"][1:]} == {60}
    assert (space["threshold"], space["comparisonOperator"]) == (15, "LessThanThreshold")
    assert inodes["dimensions"] == {"FileSystemId": "lustre-train-system-id", "StorageTargetId": "MDT0000"}
    assert rate["metricQueries"][0]["expression"] == "100 * (reads + writes) / PERIOD(reads) / 37500000000"
    assert rate["threshold"] == 90
    assert {each["name"] for each in (space, inodes, rate)} == {
        f"trainshed-prod-lustre-train-{w}" for w in ("space", "inodes", "throughput")
    }
    assert all(each["alarmActions"] == [TOPIC] for each in (space, inodes, rate))


def test_a_file_system_without_a_size_has_no_alarm_on_space() -> None:
    records = declared(storage="INTELLIGENT_TIERING", throughput_mbps=4000)
    assert {each.name for each in of_type(records, "MetricAlarm")} == {"lustre-train-inodes", "lustre-train-throughput"}


def test_protection_covers_the_file_system_its_key_and_its_links() -> None:
    kept = {each.name for each in declared(kept=True, **TRAIN) if each.protect}
    assert kept == {
        "lustre-train-system",
        "lustre-train-key",
        "lustre-train-link/datasets",
        "lustre-train-link/checkpoints",
    }
    assert not any(each.protect for each in declared(kept=False, **TRAIN))


def test_the_stack_files_own_word_on_protection_wins() -> None:
    assert not any(each.protect for each in declared(kept=True, **{**PLAIN, "protect": False}))
    assert named(declared(kept=False, **{**PLAIN, "protect": True}), "lustre-train-system").protect


def test_deletion_leaves_a_backup_where_no_bucket_holds_the_data() -> None:
    assert system(**PLAIN)["skipFinalBackup"] is False
    assert system(**{**PLAIN, "final_backup": False})["skipFinalBackup"] is True
    assert system(**{**PLAIN, "links": LINKS})["skipFinalBackup"] is True


def test_every_resource_that_takes_tags_has_them() -> None:
    for each in declared(**TRAIN):
        if each.type.startswith("aws:"):
            assert each.inputs["tags"]["owner"] == "ml-platform", each.name
            assert each.inputs["tags"]["Name"] == each.name


def test_scratch_storage_that_may_be_lost_says_so_in_a_tag() -> None:
    assert system(deployment="SCRATCH_2", capacity_gib=1200, expendable=True)["tags"]["expendable"] == "true"
    exported = [each for each in TRAIN["links"] if each["path"] == "/checkpoints"]
    assert "expendable" not in system(deployment="SCRATCH_2", capacity_gib=1200, links=exported)["tags"]
