"""The clock as declared: after Kueue, one for each pool of blocks, with its image from where the network can reach."""

from __future__ import annotations

from typing import Any

from components import catalog as catalogs
from components.in_cluster.block_clock import BlockClock, BlockClockArgs
from tests.components.planning.pool_stacks import FINETUNE, PRETRAIN, stack
from tests.declared import Record, named, record

QUEUES = [{"name": "pretrain", "pool": "pretrain"}, {"name": "research", "pool": "finetune"}]


def declare(*pools: dict[str, Any], **more: Any) -> list[Record]:
    def program() -> None:
        queues = [each for each in QUEUES if each["pool"] in {pool["name"] for pool in pools}]
        BlockClock("clock", BlockClockArgs(spec=stack(*pools, queues=queues), catalog=catalogs.load(), **more))

    return record(program)


def test_each_object_waits_for_the_one_before() -> None:
    records = [each for each in declare(PRETRAIN, FINETUNE) if each.custom]
    assert sorted(each.name for each in records) == [
        f"clock-{role}-finetune" for role in ("account", "binding", "program", "role", "timetable")
    ]
    timetable = named(records, "clock-timetable-finetune")
    assert timetable.type == "kubernetes:batch/v1:CronJob"
    assert len(timetable.depends_on) == 4


def test_the_image_comes_from_its_publisher_or_from_the_accounts_registry() -> None:
    def image(**more: Any) -> str:
        spec = named(declare(PRETRAIN, FINETUNE, **more), "clock-timetable-finetune").inputs["spec"]
        return spec["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]["image"]

    assert image() == "public.ecr.aws/docker/library/python:3.13-alpine"
    own = "111122223333.dkr.ecr.us-west-2.amazonaws.com"
    assert image(registry_prefix=own) == f"{own}/ecr-public/docker/library/python:3.13-alpine"


def test_a_stack_without_blocks_declares_nothing() -> None:
    assert [each.name for each in declare(PRETRAIN) if each.custom] == []
