"""File systems, buckets, volumes and images."""

from __future__ import annotations

from typing import Any

import pytest

from components.record import Record
from tests.components.planning.cost.cost_records import lines, priced, record
from tests.given import stack_of

LUSTRE = "aws:fsx/lustreFileSystem:LustreFileSystem"
BUCKET = "aws:s3/bucket:Bucket"
POOL = "[{name: train, purpose: training, instance_type: g6e.48xlarge, zone: usw2-az3, nodes: 1}]"


def lustre(**inputs: Any) -> Record:
    return record(
        LUSTRE,
        "lustre",
        {"deploymentType": "PERSISTENT_2", "storageCapacity": 4800, "perUnitStorageThroughput": 500, **inputs},
    )


def with_data(gib: int) -> Any:
    return stack_of(pools=POOL, rest=f"  trainshed:storage: {{datasets: {{size_gib: {gib}}}}}\n")


@pytest.mark.parametrize(
    ("inputs", "usd"),
    [
        ({}, 4800 * 0.34),  # a GB of AWS is a GiB of the stack file
        ({"perUnitStorageThroughput": 125}, 4800 * 0.145),
        ({"perUnitStorageThroughput": 1000}, 4800 * 0.6),
        ({"deploymentType": "SCRATCH_2"}, 4800 * 0.14),
        ({"deploymentType": "PERSISTENT_1", "perUnitStorageThroughput": 200}, 4800 * 0.29),
        ({"deploymentType": "PERSISTENT_1", "storageType": "HDD", "perUnitStorageThroughput": 12}, 4800 * 0.025),
    ],
)
def test_a_file_system_costs_its_capacity_at_the_price_of_its_throughput(inputs: dict[str, Any], usd: float) -> None:
    assert lines(lustre(**inputs)) == {"lustre: file system": (pytest.approx(usd),) * 3}


def test_metadata_beyond_what_comes_with_the_capacity_is_paid() -> None:
    found = lines(lustre(metadataConfiguration={"mode": "USER_PROVISIONED", "iops": 24000}))
    assert found["lustre: metadata IOPS"] == (pytest.approx((24000 - 6000) * 0.055),) * 3
    for free in ({"mode": "USER_PROVISIONED", "iops": 6000}, {"mode": "AUTOMATIC"}):
        assert "lustre: metadata IOPS" not in lines(lustre(metadataConfiguration=free))


def test_backups_are_a_range_of_what_is_stored() -> None:
    found = lines(lustre(automaticBackupRetentionDays=7))["lustre: backups"]
    assert found == (
        pytest.approx(4800 * 0.05 * 0.05),
        pytest.approx(4800 * 0.5 * 0.05),
        pytest.approx(4800 * 1.5 * 0.05),
    )
    assert "lustre: backups" not in lines(lustre(automaticBackupRetentionDays=0))


def test_a_file_system_of_unknown_size_or_throughput_is_unpriced() -> None:
    assert priced(lustre(storageCapacity="<unknown>"))["unpriced"] == ["lustre: file system: its capacity is not known"]
    odd = priced(lustre(perUnitStorageThroughput=300))
    assert odd["unpriced"] == ["lustre: file system: no price of lustre-persistent-2-ssd-300 is known in us-west-2"]
    assert odd["monthly"]["high"] == 0


def test_a_drive_cache_has_no_known_price() -> None:
    hdd = {
        "deploymentType": "PERSISTENT_1",
        "storageType": "HDD",
        "perUnitStorageThroughput": 12,
        "driveCacheType": "READ",
    }
    assert priced(lustre(**hdd))["unpriced"] == [
        "lustre: drive cache: no price of an HDD file system's SSD cache is known"
    ]


def test_intelligent_tiering_costs_throughput_cache_and_what_is_stored() -> None:
    cache = {"sizingMode": "USER_PROVISIONED", "size": 1000}
    tiered = record(
        LUSTRE,
        "lustre",
        {"storageType": "INTELLIGENT_TIERING", "throughputCapacity": 4000, "dataReadCacheConfiguration": cache},
    )
    found = lines(tiered, stack=with_data(10_000))
    assert found["lustre: throughput"] == (pytest.approx(4000 * 0.52),) * 3
    assert found["lustre: read cache"] == (pytest.approx(1000 * 0.109),) * 3
    assert found["lustre: stored data"] == (pytest.approx(40), pytest.approx(230), pytest.approx(460))
    assert (
        "lustre: stored data: it is charged by what is stored, which the stack file doesn't give"
        in priced(tiered)["unpriced"]
    )


def test_a_dataset_costs_its_size_and_its_requests() -> None:
    found = lines(record(BUCKET, "store-datasets"), stack=with_data(31_000))
    assert found["store-datasets: objects"][:2] == (pytest.approx(31_000 * 0.023), pytest.approx(31_000 * 0.023))
    thousands = 31_000 * 1024 / 8 / 1000
    assert found["store-datasets: reads, 0.1 to 10 passes over the data"][1] == pytest.approx(
        thousands * 0.0004, abs=0.01
    )


def test_large_datasets_are_priced_tier_by_tier() -> None:
    found = lines(record(BUCKET, "store-datasets"), stack=with_data(600_000))["store-datasets: objects"]
    assert found[1] == pytest.approx(51_200 * 0.023 + 460_800 * 0.022 + 88_000 * 0.021)


def test_intelligent_tiering_lowers_the_low_end_of_a_bucket() -> None:
    rules = [{"transitions": [{"storageClass": "INTELLIGENT_TIERING", "days": 30}]}]
    lifecycle = record(
        "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration",
        "age",
        {"rules": rules},
        after=["store-datasets"],
    )
    found = lines(record(BUCKET, "store-datasets"), lifecycle, stack=with_data(1000))["store-datasets: objects"]
    assert found == (pytest.approx(12.5), pytest.approx(23.0), pytest.approx(29.9))


def test_what_nobody_told_the_size_of_is_unpriced() -> None:
    assert priced(record(BUCKET, "store-datasets"))["unpriced"] == [
        "store-datasets: objects: storage.datasets.size_gib is not given"
    ]
    assert priced(record(BUCKET, "store-checkpoints"))["unpriced"] == [
        "store-checkpoints: objects: it follows the model's size: trainshed size tells the bytes of a checkpoint"
    ]


def test_a_copy_in_another_region_has_metrics_and_traffic_that_nobody_can_know() -> None:
    rules = [{"destination": {"metrics": {"status": "Enabled"}}}]
    cost = priced(record("aws:s3/bucketReplicationConfig:BucketReplicationConfig", "store", {"rules": rules}))
    assert [(each["what"], each["expected"]) for each in cost["lines"]] == [
        ("store: replication metrics", pytest.approx(1.2))
    ]
    assert cost["unpriced"] == [
        "store: replication: it follows the bytes of the checkpoints, at 0.02 USD a GB between regions"
    ]


def test_request_metrics_are_sixteen_custom_ones() -> None:
    assert lines(record("aws:s3/bucketMetric:BucketMetric", "store")) == {
        "store: request metrics": (pytest.approx(4.8),) * 3
    }


def test_volumes_of_gp3_are_priced_and_others_listed() -> None:
    volume = record("aws:ebs/volume:Volume", "data", {"type": "gp3", "size": 100, "iops": 4000, "throughput": 225})
    assert lines(volume) == {"data: volume": (8.0,) * 3, "data: iops": (5.0,) * 3, "data: throughput": (4.0,) * 3}
    assert priced(record("aws:ebs/volume:Volume", "old", {"size": 100}))["unpriced"] == [
        "old: volume: only gp3 volumes of a known size have a price here"
    ]


def test_own_images_grow_with_their_size_and_how_many_are_kept() -> None:
    stack = stack_of(
        pools=POOL, rest="  trainshed:storage: {registry: {repositories: [trainer], image_gib: 20, keep_images: 10}}\n"
    )
    found = lines(record("aws:ecr/repository:Repository", "registry-trainer", {"name": "trainer"}), stack=stack)
    assert found["registry-trainer: images"] == (pytest.approx(2.0), pytest.approx(8.0), pytest.approx(20.0))
