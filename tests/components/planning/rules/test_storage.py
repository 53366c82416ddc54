"""What a stack file is told about its storage: every text whole, with its path, and what is right passes."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from components.planning.rules import lustre as rules_lustre
from components.planning.rules import storage as rules_storage
from components.planning.rules.registry import registered
from components.problems import render
from components.spec.reading.reader import read_text
from components.spec.stack import StackSpec
from tests.given import CAT

BASE: dict[str, Any] = {
    "aws:region": "us-west-2",
    "trainshed:environment": "prod",
    "trainshed:network": {"zones": ["usw2-az2", "usw2-az3"]},
    "trainshed:pools": [
        {"name": "train", "purpose": "training", "instance_type": "p5.48xlarge", "zone": "usw2-az3", "nodes": 2}
    ],
}
SAVED = {"path": "/checkpoints", "bucket": "checkpoints", "export": ["new", "changed"]}
# Warnings that many file systems below would have beside what they are about.
WITH_TESTS_OF_THEIR_OWN = ("lustre-unsaved", "file-system-unused")
DATA = {"path": "/datasets", "bucket": "datasets", "import": ["new"]}


def stack(storage: dict[str, Any], **rest: Any) -> StackSpec:
    config = BASE | {f"trainshed:{key}": value for key, value in rest.items()} | {"trainshed:storage": storage}
    reading = read_text(yaml.safe_dump({"config": config}), "stack.yaml")
    assert reading.stack is not None and not reading.problems, [render(each) for each in reading.problems]
    return reading.stack


def reported(storage: dict[str, Any], **rest: Any) -> list[str]:
    """What the rules of this module say, in the order of their names in the module."""
    spec = stack(storage, **rest)
    rules = [each for each in registered() if each.check.__module__ in (rules_lustre.__name__, rules_storage.__name__)]
    found = [problem for each in rules for problem in each.check(spec, CAT)]
    return [render(problem) for problem in found if problem.id not in WITH_TESTS_OF_THEIR_OWN]


def lustre(**words: Any) -> list[str]:
    return reported({"lustre": [{"name": "train", "zone": "usw2-az3", **words}]})


@pytest.mark.parametrize(
    "words",
    [
        {"capacity_gib": 1200, "throughput_mbps_per_tib": 125},
        {"capacity_gib": 2400, "throughput_mbps_per_tib": 250},
        {"capacity_gib": 4800, "throughput_mbps_per_tib": 500},
        {"capacity_gib": 2400, "throughput_mbps_per_tib": 1000},
        {"capacity_gib": 38400, "throughput_mbps_per_tib": 125, "efa": True},
        {"capacity_gib": 19200, "throughput_mbps_per_tib": 250, "efa": True},
        {"capacity_gib": 9600, "throughput_mbps_per_tib": 500, "efa": True},
        {"capacity_gib": 4800, "throughput_mbps_per_tib": 1000, "efa": True, "metadata_iops": 12000},
        {"deployment": "SCRATCH_1", "capacity_gib": 3600, "version": "2.12", "expendable": True},
        {"deployment": "SCRATCH_2", "capacity_gib": 1200, "links": [SAVED]},
        {
            "deployment": "PERSISTENT_1",
            "capacity_gib": 2400,
            "throughput_mbps_per_tib": 50,
            "backup_days": 90,
            "final_backup": True,
        },
        {
            "deployment": "PERSISTENT_1",
            "storage": "HDD",
            "capacity_gib": 1800,
            "throughput_mbps_per_tib": 40,
            "drive_cache": True,
        },
        {"deployment": "PERSISTENT_1", "storage": "HDD", "capacity_gib": 6000, "throughput_mbps_per_tib": 12},
        {"storage": "INTELLIGENT_TIERING", "throughput_mbps": 4000},
        {"storage": "INTELLIGENT_TIERING", "throughput_mbps": 8000, "efa": True},
        {"capacity_gib": 1200, "throughput_mbps_per_tib": 125, "version": "2.12"},
        {
            "storage": "INTELLIGENT_TIERING",
            "throughput_mbps": 8000,
            "read_cache": {"mode": "USER_PROVISIONED", "size_gib": 64},
        },
        {"throughput_mbps_per_tib": 500, "efa": True, "links": [DATA, SAVED]},
    ],
)
def test_what_fsx_offers_passes(words: dict[str, Any]) -> None:
    assert lustre(**words) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            {"capacity_gib": 5000, "throughput_mbps_per_tib": 500, "efa": True},
            (
                "storage.lustre[0].capacity_gib: 5000 does not fit PERSISTENT_2 SSD at 500 MB/s/TiB with EFA; the step"
                " is 9600: use 9600"
            ),
        ),
        (
            {"capacity_gib": 12000, "throughput_mbps_per_tib": 500, "efa": True},
            (
                "storage.lustre[0].capacity_gib: 12000 does not fit PERSISTENT_2 SSD at 500 MB/s/TiB with EFA; "
                "the step is 9600: use 9600 or 19200"
            ),
        ),
        (
            {"capacity_gib": 1200, "throughput_mbps_per_tib": 125, "efa": True},
            (
                "storage.lustre[0].capacity_gib: 1200 does not fit PERSISTENT_2 SSD at 125 MB/s/TiB with EFA; the step"
                " is 38400: use 38400"
            ),
        ),
        (
            {"capacity_gib": 1500, "throughput_mbps_per_tib": 125},
            (
                "storage.lustre[0].capacity_gib: 1500 does not fit PERSISTENT_2 SSD at 125 MB/s/TiB; "
                "the step is 2400 above 1200: use 1200 or 2400"
            ),
        ),
        (
            {"deployment": "SCRATCH_1", "capacity_gib": 4800, "expendable": True},
            (
                "storage.lustre[0].capacity_gib: 4800 does not fit SCRATCH_1; the step is 3600 above 1200 and 2400: use"
                " 3600 or 7200"
            ),
        ),
        (
            {"deployment": "PERSISTENT_1", "storage": "HDD", "capacity_gib": 7000, "throughput_mbps_per_tib": 12},
            (
                "storage.lustre[0].capacity_gib: 7000 does not fit PERSISTENT_1 HDD at 12 MB/s/TiB; the step is 6000:"
                " use 6000 or 12000"
            ),
        ),
        (
            {"deployment": "SCRATCH_2", "capacity_gib": 1200, "throughput_mbps_per_tib": 50, "expendable": True},
            (
                "storage.lustre[0].throughput_mbps_per_tib: SCRATCH_2 comes with 200 MB/s/TiB, which can't be chosen; "
                "take throughput_mbps_per_tib out"
            ),
        ),
        (
            {"capacity_gib": 1200},
            "storage.lustre[0].throughput_mbps_per_tib: PERSISTENT_2 SSD needs a throughput; use 125, 250, 500 or 1000",
        ),
        (
            {"capacity_gib": 1200, "throughput_mbps_per_tib": 200},
            (
                "storage.lustre[0].throughput_mbps_per_tib: 200 is not offered by PERSISTENT_2 SSD; use 125, 250, 500"
                " or 1000"
            ),
        ),
        (
            {"deployment": "PERSISTENT_1", "capacity_gib": 1200, "throughput_mbps_per_tib": 125},
            "storage.lustre[0].throughput_mbps_per_tib: 125 is not offered by PERSISTENT_1 SSD; use 50, 100 or 200",
        ),
        (
            {"capacity_gib": 1200, "throughput_mbps_per_tib": 125, "throughput_mbps": 4000},
            (
                "storage.lustre[0].throughput_mbps: throughput_mbps is intelligent tiering's;"
                " PERSISTENT_2 SSD is bought by the TiB; take it out"
            ),
        ),
        (
            {"deployment": "PERSISTENT_1", "capacity_gib": 1200, "throughput_mbps_per_tib": 100, "efa": True},
            (
                "storage.lustre[0].efa: PERSISTENT_1 SSD can't be reached over EFA; set efa: false, or"
                " use deployment: PERSISTENT_2, storage: SSD with throughput_mbps_per_tib: 125 and"
                " capacity_gib: 38400"
            ),
        ),
        (
            {"storage": "HDD", "capacity_gib": 6000, "throughput_mbps_per_tib": 12},
            (
                "storage.lustre[0].storage: PERSISTENT_2 has no HDD; use storage: SSD with"
                " throughput_mbps_per_tib: 125 and capacity_gib: 7200, or deployment: PERSISTENT_1"
            ),
        ),
        (
            {"deployment": "PERSISTENT_1", "storage": "INTELLIGENT_TIERING", "throughput_mbps": 4000},
            (
                "storage.lustre[0].storage: PERSISTENT_1 has no intelligent tiering; use deployment:"
                " PERSISTENT_2, or storage: SSD with throughput_mbps_per_tib: 50, without throughput_mbps"
            ),
        ),
        (
            {"capacity_gib": 1200, "throughput_mbps_per_tib": 125, "drive_cache": True},
            (
                "storage.lustre[0].drive_cache: a drive cache stands before HDD, and PERSISTENT_2 SSD"
                " has none; take it out"
            ),
        ),
        (
            {"capacity_gib": 1200, "throughput_mbps_per_tib": 125, "metadata_iops": 5000},
            "storage.lustre[0].metadata_iops: 5000 metadata IOPS are not offered by PERSISTENT_2 SSD; use 3000 or 6000",
        ),
        (
            {"storage": "INTELLIGENT_TIERING", "throughput_mbps": 4000, "metadata_iops": 24000},
            (
                "storage.lustre[0].metadata_iops: 24000 metadata IOPS are not offered by PERSISTENT_2 intelligent"
                " tiering; use 12000"
            ),
        ),
        (
            {"deployment": "PERSISTENT_1", "capacity_gib": 1200, "throughput_mbps_per_tib": 100, "metadata_iops": 1500},
            (
                "storage.lustre[0].metadata_iops: PERSISTENT_1 SSD has no metadata IOPS to choose; take"
                " metadata_iops out, or use deployment: PERSISTENT_2 with throughput_mbps_per_tib: 125"
            ),
        ),
        (
            {"storage": "INTELLIGENT_TIERING"},
            (
                "storage.lustre[0].throughput_mbps: intelligent tiering needs a throughput; use a multiple of 4,000"
                " MB/s, such as 4000"
            ),
        ),
        (
            {"storage": "INTELLIGENT_TIERING", "throughput_mbps": 5000},
            (
                "storage.lustre[0].throughput_mbps: 5000 MB/s is not offered by intelligent tiering; "
                "the step is 4000, the most 2000000: use 8000"
            ),
        ),
        (
            {"storage": "INTELLIGENT_TIERING", "throughput_mbps": 4000, "throughput_mbps_per_tib": 125},
            (
                "storage.lustre[0].throughput_mbps_per_tib: intelligent tiering has no size that a"
                " throughput per TiB could refer to; take it out"
            ),
        ),
        (
            {"storage": "INTELLIGENT_TIERING", "throughput_mbps": 4000, "capacity_gib": 4800},
            (
                "storage.lustre[0].capacity_gib: intelligent tiering grows with what it holds and has no size; take"
                " capacity_gib out"
            ),
        ),
        (
            {"storage": "INTELLIGENT_TIERING", "throughput_mbps": 4000, "read_cache": {"mode": "USER_PROVISIONED"}},
            (
                "storage.lustre[0].read_cache.size_gib: a cache of mode USER_PROVISIONED needs a size; use 32 to 131072"
                " GiB at 4000 MB/s"
            ),
        ),
        (
            {
                "storage": "INTELLIGENT_TIERING",
                "throughput_mbps": 4000,
                "read_cache": {"mode": "USER_PROVISIONED", "size_gib": 16},
            },
            "storage.lustre[0].read_cache.size_gib: a cache of 16 GiB does not fit 4000 MB/s; use 32 to 131072 GiB",
        ),
        (
            {
                "storage": "INTELLIGENT_TIERING",
                "throughput_mbps": 4000,
                "read_cache": {"mode": "NO_CACHE", "size_gib": 64},
            },
            (
                "storage.lustre[0].read_cache.size_gib: a cache of mode NO_CACHE has no size to choose; take size_gib"
                " out, or use mode USER_PROVISIONED"
            ),
        ),
        (
            {"capacity_gib": 1200, "throughput_mbps_per_tib": 125, "read_cache": {"mode": "NO_CACHE"}},
            (
                "storage.lustre[0].read_cache: a read cache stands before intelligent tiering, and PERSISTENT_2 SSD has"
                " none; take it out"
            ),
        ),
        (
            {"capacity_gib": 1200, "throughput_mbps_per_tib": 125, "version": "2.10"},
            'storage.lustre[0].version: PERSISTENT_2 does not run Lustre "2.10"; use "2.12" or "2.15"',
        ),
        (
            {"deployment": "SCRATCH_2", "capacity_gib": 1200, "version": "2.10", "links": [SAVED]},
            'storage.lustre[0].version: Lustre "2.10" takes no links to buckets; use "2.12" or "2.15"',
        ),
        (
            {"capacity_gib": 1200, "throughput_mbps_per_tib": 125, "backup_days": 7, "links": [DATA]},
            'storage.lustre[0].backup_days: "train" is linked to a bucket, so FSx backs nothing up; use 0',
        ),
        (
            {"deployment": "SCRATCH_2", "capacity_gib": 1200, "backup_days": 7, "expendable": True},
            "storage.lustre[0].backup_days: SCRATCH_2 is scratch storage, so FSx backs nothing up; use 0",
        ),
        (
            {"capacity_gib": 1200, "throughput_mbps_per_tib": 125, "backup_days": 91},
            (
                "storage.lustre[0].backup_days: 91 days of backups; FSx keeps them 90 days at most; use 1 to 90, or 0"
                " for none"
            ),
        ),
        (
            {"capacity_gib": 1200, "throughput_mbps_per_tib": 125, "final_backup": True, "links": [DATA]},
            (
                'storage.lustre[0].final_backup: "train" is linked to a bucket, so deletion can leave no backup; take'
                " final_backup out"
            ),
        ),
        (
            {"deployment": "SCRATCH_1", "capacity_gib": 1200, "links": [SAVED]},
            (
                "storage.lustre[0].links: SCRATCH_1 takes no links to buckets; use deployment:"
                " SCRATCH_2, or deployment: PERSISTENT_1 with throughput_mbps_per_tib: 50, or"
                " deployment: PERSISTENT_2 with throughput_mbps_per_tib: 125"
            ),
        ),
        (
            {"deployment": "SCRATCH_2", "capacity_gib": 1200, "links": [DATA]},
            (
                "storage.lustre[0].links: what is written to SCRATCH_2 is lost with a failed server, and"
                " no link takes /checkpoints, where jobs write, to a bucket; add a link of /checkpoints"
                " with export: [new, changed] to the bucket checkpoints, or say expendable: true"
            ),
        ),
        (
            {"deployment": "SCRATCH_2", "capacity_gib": 1200, "links": [{**SAVED, "export": ["deleted"]}]},
            (
                "storage.lustre[0].links: what is written to SCRATCH_2 is lost with a failed server, and"
                " no link takes /checkpoints, where jobs write, to a bucket; give the link of /checkpoints"
                " export: [new, changed], or say expendable: true"
            ),
        ),
        (
            {
                "deployment": "SCRATCH_2",
                "capacity_gib": 1200,
                "links": [{**SAVED, "path": "/other", "bucket": "datasets", "export": ["new", "changed"]}],
            },
            (
                'storage.lustre[0].links[0].export: warning: the link of "/other" would write to the dataset bucket, '
                "which jobs only read; take export out, or use bucket: checkpoints with a prefix of its own\n"
                "storage.lustre[0].links: what is written to SCRATCH_2 is lost with a failed server, and no link takes "
                "/checkpoints, where jobs write, to a bucket; add a link of /checkpoints with export: [new, changed] "
                "to the bucket checkpoints, or say expendable: true"
            ),
        ),
        (
            {"deployment": "SCRATCH_2", "capacity_gib": 1200},
            (
                "storage.lustre[0].deployment: what is written to SCRATCH_2 is lost with a failed"
                " server, and no link takes /checkpoints, where jobs write, to a bucket; add a link of"
                " /checkpoints with export: [new, changed] to the bucket checkpoints, use deployment:"
                " PERSISTENT_2 with throughput_mbps_per_tib: 125, or say expendable: true"
            ),
        ),
        (
            {"storage": "INTELLIGENT_TIERING", "throughput_mbps": 4000, "links": [SAVED]},
            (
                "storage.lustre[0].links: intelligent tiering takes no links to buckets; take links out,"
                " or use storage: SSD with throughput_mbps_per_tib: 125, without throughput_mbps"
            ),
        ),
        (
            {"storage": "INTELLIGENT_TIERING", "throughput_mbps": 4000, "version": "2.12"},
            (
                "storage.lustre[0].version: intelligent tiering needs a metadata configuration, which Lustre "
                '"2.12" has not; use version "2.15"'
            ),
        ),
        (
            {"capacity_gib": 38400, "throughput_mbps_per_tib": 125, "efa": True, "version": "2.12"},
            (
                'storage.lustre[0].efa: Lustre "2.12" has no metadata configuration, without which EFA can\'t be had; '
                'use version "2.15", or efa: false'
            ),
        ),
        (
            {"capacity_gib": 1200, "throughput_mbps_per_tib": 125, "metadata_iops": 3000, "version": "2.12"},
            (
                'storage.lustre[0].metadata_iops: Lustre "2.12" has no metadata IOPS to choose; use version "2.15", or '
                "take metadata_iops out"
            ),
        ),
        (
            {"deployment": "SCRATCH_2", "capacity_gib": 1200, "version": "2.10", "expendable": True},
            (
                "storage.lustre[0].version: the Lustre client 2.15 of Amazon Linux 2023, which every node runs, mounts "
                'no Lustre "2.10"; use "2.12" or "2.15"'
            ),
        ),
        (
            {
                "capacity_gib": 1200,
                "throughput_mbps_per_tib": 125,
                "links": [{**DATA, "import": [], "batch_import": False}],
            },
            (
                'storage.lustre[0].links[0]: the link of "/datasets" neither imports nor exports; give import or export'
                " events, or batch_import: true"
            ),
        ),
        (
            {"capacity_gib": 1200, "throughput_mbps_per_tib": 125, "links": [{**DATA, "export": ["new"]}]},
            (
                'storage.lustre[0].links[0].export: warning: the link of "/datasets" would write to the'
                " dataset bucket, which jobs only read; take export out, or use bucket: checkpoints with"
                " a prefix of its own"
            ),
        ),
    ],
)
def test_what_fsx_refuses_is_refused_before(words: dict[str, Any], said: str) -> None:
    assert lustre(**words) == said.split("\n")


def test_two_throughputs_of_one_kind_are_told_once_each() -> None:
    assert lustre(capacity_gib=1500, throughput_mbps_per_tib=200) == [
        "storage.lustre[0].throughput_mbps_per_tib: 200 is not offered by PERSISTENT_2 SSD; use 125, 250, 500 or 1000"
    ]


def test_a_folder_inside_another_can_not_be_linked_too() -> None:
    links = [DATA, {"path": "/datasets/web", "bucket": "checkpoints", "import": ["new"]}]
    assert lustre(capacity_gib=1200, throughput_mbps_per_tib=125, links=links) == [
        (
            'storage.lustre[0].links[1].path: "/datasets/web" lies inside "/datasets", which is linked too; '
            "give each link a folder outside the others"
        )
    ]


def test_one_folder_can_not_be_linked_twice() -> None:
    links = [DATA, {"path": "/datasets", "bucket": "checkpoints", "export": ["new"]}]
    assert lustre(capacity_gib=1200, throughput_mbps_per_tib=125, links=links) == [
        'storage.lustre[0].links[1].path: "/datasets" is linked twice; give each link a folder outside the others'
    ]


def test_like_beginnings_are_no_overlap() -> None:
    links = [
        {**DATA, "prefix": "/a"},
        {"path": "/datasets-web", "bucket": "datasets", "prefix": "/b", "import": ["new"]},
    ]
    assert lustre(capacity_gib=1200, throughput_mbps_per_tib=125, links=links) == []


def test_two_links_can_not_meet_in_a_bucket() -> None:
    links = [DATA, {"path": "/web", "bucket": "datasets", "prefix": "/web", "import": ["new"]}]
    assert lustre(capacity_gib=1200, throughput_mbps_per_tib=125, links=links) == [
        (
            "storage.lustre[0].links[1].prefix: two links meet in the bucket datasets: /datasets at / and /web at "
            "/web; give each a prefix outside the other's"
        )
    ]


def test_a_file_system_takes_eight_links() -> None:
    links = [{"path": f"/d{n}", "bucket": "datasets", "prefix": f"/d{n}", "import": ["new"]} for n in range(9)]
    assert lustre(capacity_gib=1200, throughput_mbps_per_tib=125, links=links[:8]) == []
    assert lustre(capacity_gib=1200, throughput_mbps_per_tib=125, links=links) == [
        "storage.lustre[0].links: 9 links; a file system takes 8; link folders higher up, which hold several of these"
    ]


TWO = {"zone": "usw2-az3", "capacity_gib": 1200, "throughput_mbps_per_tib": 125}


def test_file_systems_have_names_of_their_own() -> None:
    assert reported({"lustre": [{"name": "train", **TWO}, {"name": "train", **TWO}]}) == [
        (
            'storage.lustre[1].name: the name "train" is taken by storage.lustre[0]; names of file systems are unique '
            "in the stack"
        )
    ]
    assert reported({"lustre": [{"name": "datasets", **TWO}]}) == [
        'storage.lustre[0].name: "datasets" is the name of a claim that every stack has; use another, such as train'
    ]


def test_the_file_system_lies_beside_the_training_pool() -> None:
    elsewhere = {"name": "train", **TWO, "zone": "usw2-az2"}
    assert reported({"lustre": [elsewhere]}) == [
        (
            'storage.lustre[0].zone: "train" lies in usw2-az2, the pool "train" in usw2-az3, so that every '
            "read crosses zones and is charged; use usw2-az3, or move the pool"
        )
    ]
    over_efa = elsewhere | {"efa": True, "capacity_gib": 38400}
    assert reported({"lustre": [over_efa]}) == [
        (
            'storage.lustre[0].zone: "train" lies in usw2-az2, the pool "train" in usw2-az3, where EFA does '
            "not reach it; use usw2-az3, or move the pool"
        )
    ]


def test_a_second_file_system_may_lie_where_other_pools_are() -> None:
    assert reported({"lustre": [{"name": "train", **TWO}, {"name": "tests", **TWO, "zone": "usw2-az2"}]}) == []


def test_the_zone_is_one_of_the_networks() -> None:
    assert (
        reported({"lustre": [{"name": "train", **TWO, "zone": "usw2-az1"}]})[0]
        == "storage.lustre[0].zone: usw2-az1 is not one of the network's zones; use usw2-az3"
    )


def test_too_small_for_the_dataset_warns_with_the_arithmetic() -> None:
    storage: dict[str, Any] = {
        "datasets": {"size_gib": 31000},
        "lustre": [
            {"name": "train", "zone": "usw2-az3", "capacity_gib": 57600, "throughput_mbps_per_tib": 500, "efa": True}
        ],
    }
    said = (
        "storage.lustre[0].capacity_gib: warning: 57,600 GiB are less than 2 x 31,000 = 62,000 GiB, the dataset and its"
        " like again for checkpoints; use 67200"
    )
    assert reported(storage) == [said]
    storage["lustre"][0]["links"] = [DATA]
    assert reported(storage) == [said]
    storage["lustre"][0]["capacity_gib"] = 67200
    assert reported(storage) == []


def test_only_the_file_system_of_the_dataset_must_hold_it() -> None:
    storage = {
        "datasets": {"size_gib": 1000},
        "lustre": [{"name": "big", **TWO, "capacity_gib": 2400}, {"name": "small", **TWO}],
    }
    assert reported(storage) == []


def test_the_copy_lies_in_a_region_that_exists_and_in_the_same_partition() -> None:
    assert reported({"checkpoints": {"replicate_to": "us-moon-1"}}) == [
        (
            'storage.checkpoints.replicate_to: "us-moon-1" is no region that the catalog knows; '
            "use another region, such "
            "as us-east-2"
        )
    ]
    assert reported({"checkpoints": {"replicate_to": "eu-centrale-1"}}) == [
        (
            'storage.checkpoints.replicate_to: "eu-centrale-1" is no region that the catalog knows; did you mean'
            ' "eu-central-1"?'
        )
    ]
    assert reported({"checkpoints": {"replicate_to": "cn-north-1"}}) == [
        (
            "storage.checkpoints.replicate_to: cn-north-1 and us-west-2 belong to two partitions of AWS, "
            "and S3 copies nothing from one to the other; use another region, such as us-east-2"
        )
    ]


def test_the_copy_lies_in_another_region() -> None:
    assert reported({"checkpoints": {"replicate_to": "us-west-2"}}) == [
        (
            "storage.checkpoints.replicate_to: the copy of the checkpoints would lie in us-west-2, beside the "
            "originals; use another region, such as us-east-2"
        )
    ]
    assert reported({"checkpoints": {"replicate_to": "us-east-2"}}) == []


def test_secrets_are_for_registries_that_ask() -> None:
    secret = "arn:aws:secretsmanager:us-west-2:111122223333:secret:ecr-pullthroughcache/x-AbCdEf"
    assert reported({"registry": {"credentials": {"ghcr.io": secret}}}) == []
    assert reported({"registry": {"credentials": {"quay.io": secret}}}) == [
        'storage.registry.credentials.quay.io: "quay.io" asks for no credential; take it out'
    ]
    assert reported({"registry": {"credentials": {"ghcr.i": secret}}}) == [
        (
            'storage.registry.credentials.ghcr.i: "ghcr.i" is not reached by ECR\'s pull-through cache; did you mean'
            ' "ghcr.io"?'
        )
    ]


def test_images_to_fetch_early_are_named_below_the_accounts_registry() -> None:
    assert reported({"registry": {"preload": ["trainer:prod-1.4"]}}) == []
    assert reported({"registry": {"preload": ["nvcr.io/nvidia/pytorch:25.01"]}}) == [
        (
            'storage.registry.preload[0]: "nvcr.io/nvidia/pytorch:25.01" names a registry; images are fetched from the'
            " account's own; use nvidia/pytorch:25.01"
        )
    ]
    assert reported({"registry": {"preload": ["trainer"]}}) == [
        (
            'storage.registry.preload[0]: "trainer" has neither tag nor digest, and tags of this registry never move to'
            ' mean "the newest"; use trainer:prod-1.0, or a digest'
        )
    ]


def test_a_cluster_that_exists_has_no_fsx() -> None:
    form = {"kind": "self-hosted", "kubeconfig": "x"}
    config = {
        "trainshed:environment": "prod",
        "trainshed:form": form,
        "trainshed:pools": [
            {
                "name": "rack",
                "purpose": "training",
                "hosts": {"accelerator": "h100", "cards": 8, "vcpu": 192, "memory_gib": 2048},
                "nodes": 2,
                "fabric": "tcp",
            }
        ],
        "trainshed:storage": {"lustre": [{"name": "train", **TWO}]},
    }
    spec = read_text(yaml.safe_dump({"config": config}), "stack.yaml").stack
    assert spec is not None
    assert [render(each) for each in rules_lustre.file_systems_are_on_aws(spec, CAT)] == [
        (
            'storage.lustre[0]: "train" is an FSx file system, and this stack declares nothing on AWS; '
            "take it out: claims are answered by form.storage_class"
        )
    ]


def test_the_words_of_storage_that_are_badly_shaped_are_told_what_is_wanted() -> None:
    text = """
    config:
      aws:region: us-west-2
      trainshed:environment: dev
      trainshed:network: {zones: [usw2-az3]}
      trainshed:pools: [{name: train, purpose: training, instance_type: p5.48xlarge, zone: usw2-az3, nodes: 2}]
      trainshed:storage:
        organisation: example
        registry: {repositories: [Trainer]}
        lustre: [{name: train, zone: usw2-az3, maintenance_at: "7:04:00", backup_at: "4:00", capcity_gib: 1200}]
    """
    assert [render(each) for each in read_text(text, "s.yaml").problems] == [
        (
            's.yaml:8:23 storage.organisation: "example" is malformed; an organisation\'s id such as o-a1b2c3d4e5 is'
            " wanted"
        ),
        (
            's.yaml:10:86 storage.lustre[0].backup_at: "4:00" is malformed; a time in UTC such as "04:00" is wanted, in'
            " quotes"
        ),
        (
            's.yaml:10:64 storage.lustre[0].maintenance_at: "7:04:00" is malformed; '
            'a weekday and a time in UTC such as "sun 04:00" are wanted'
        ),
        's.yaml:10:94 storage.lustre[0].capcity_gib: "capcity_gib" is not a key here; did you mean "capacity_gib"?',
        (
            's.yaml:9:35 storage.registry.repositories[0]: "Trainer" is malformed; '
            "a repository's name is wanted: lower-case words, joined by dots, dashes, underscores or slashes"
        ),
    ]


def ids(storage: dict[str, Any], **rest: Any) -> dict[str, str]:
    """Texts of the problems by their ids."""
    spec = stack(storage, **rest)
    rules = [each for each in registered() if each.check.__module__ in (rules_lustre.__name__, rules_storage.__name__)]
    return {problem.id: render(problem) for each in rules for problem in each.check(spec, CAT)}


def test_persistent_storage_that_is_linked_for_import_alone_has_no_copy_of_what_jobs_write() -> None:
    linked = {"name": "train", **TWO, "links": [DATA]}
    assert ids({"lustre": [linked]}) == {
        "lustre-unsaved": (
            'storage.lustre[0].links: warning: "train" is linked to a bucket, so FSx makes no backups of it, and no '
            "link takes /checkpoints, where jobs write, to a bucket; add a link of /checkpoints with export: [new, "
            "changed] to the bucket checkpoints, or say expendable: true"
        )
    }
    assert ids({"lustre": [{**linked, "links": [DATA, SAVED]}]}) == {}
    assert ids({"lustre": [{**linked, "expendable": True}]}) == {}


def test_a_file_system_that_no_task_mounts_is_told() -> None:
    storage = {"lustre": [{"name": "train", **TWO}, {"name": "wide", **TWO}]}
    assert ids(storage) == {
        "file-system-unused": (
            'storage.lustre[1].name: warning: no task mounts "wide": datasets and checkpoints of every pool lie on '
            '"train"; take it out, or put it into the zone of a pool that has none'
        )
    }


POOLS = BASE["trainshed:pools"]
FAR = {"name": "tune", "purpose": "finetuning", "instance_type": "p5.48xlarge", "zone": "usw2-az2", "nodes": 2}


def test_a_pool_in_another_zone_than_the_file_system_is_told() -> None:
    one = {"lustre": [{"name": "train", **TWO}]}
    assert ids(one, pools=[*POOLS, FAR]) == {
        "pool-far-from-storage": (
            'pools[1].zone: warning: "tune" lies in usw2-az2, and the file systems in usw2-az3: its jobs read across '
            "zones, which is charged; add a file system in usw2-az2, or move the pool"
        )
    }
    both = {"lustre": [{"name": "train", **TWO}, {"name": "tune", **TWO, "zone": "usw2-az2"}]}
    assert ids(both, pools=[*POOLS, FAR]) == {}


def test_a_stack_of_finetuning_pools_alone_has_its_file_system_beside_them() -> None:
    assert "lustre-zone" in ids({"lustre": [{"name": "train", **TWO}]}, pools=[FAR])


def test_two_file_systems_do_not_export_to_one_folder() -> None:
    first, second = ({"name": name, **TWO, "links": [SAVED]} for name in ("one", "two"))
    found = ids({"lustre": [first, second]})
    assert found["lustre-exports-meet"] == (
        'storage.lustre[1].links[0].prefix: "two" and "one" both export to / of the bucket'
        " checkpoints, and the later file replaces the earlier; give each a prefix of its own,"
        " such as /one and /two"
    )
    apart = [{**each, "links": [{**SAVED, "prefix": f"/{each['name']}"}]} for each in (first, second)]
    assert "lustre-exports-meet" not in ids({"lustre": apart})


def test_settings_of_another_kind_are_read_by_its_adapter() -> None:
    mount = {"handle": "export", "attributes": {"server": "nfs.example.com", "share": "/data"}}
    good = {"driver": "nfs.csi.k8s.io", "datasets": mount, "checkpoints": mount}
    assert ids({"file_systems": [{"kind": "csi", "name": "nas", "settings": good}]}) == {}
    wrong = {"driver": "nfs.csi.k8s.io", "datasets": {"handel": "x"}, "checkpoint": mount}
    spec = stack({"file_systems": [{"kind": "csi", "name": "nas", "settings": wrong}]})
    assert [render(each) for each in rules_storage.settings_fit_their_kind(spec, CAT)] == [
        (
            'storage.file_systems[0].settings.datasets.handle: "handle" is missing; the driver\'s name of the volume '
            "(volumeHandle)"
        ),
        'storage.file_systems[0].settings.datasets.handel: "handel" is no setting of kind csi; did you mean "handle"?',
        'storage.file_systems[0].settings.checkpoints: "checkpoints" is missing; what is mounted at /checkpoints',
        (
            'storage.file_systems[0].settings.checkpoint: "checkpoint" is no setting of kind csi; did you mean '
            '"checkpoints"?'
        ),
    ]
    assert ids({"file_systems": [{"kind": "cis", "name": "nas"}]})["file-system-kind"] == (
        'storage.file_systems[0].kind: "cis" is no kind of file system; did you mean "csi"?'
    )
