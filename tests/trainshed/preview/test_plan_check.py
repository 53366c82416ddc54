"""`trainshed:plan`: a stack held against the plan of its task."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from components.problems import render
from components.spec.operations import PlanSpec
from components.spec.stack import StackSpec
from infra.settings import STACKS, Settings, from_file
from trainshed.preview.plan_check import check


def settings() -> Settings:
    return from_file("prod")


def planned(task: str, **changes: object) -> list[str]:
    made = settings()
    assert made.stack is not None
    stack: StackSpec = made.stack.model_copy(update={"plan": PlanSpec(task=task), **changes})
    return [render(each) for each in check(stack, made.catalog, STACKS, 50e6)]


def test_a_stack_without_a_plan_is_held_against_nothing() -> None:
    made = settings()
    assert made.stack is not None
    assert check(made.stack, made.catalog, STACKS, 50e6) == []


def test_storage_that_the_task_outgrows_is_told_with_the_arithmetic_and_the_size_that_would_do() -> None:
    assert planned("../tasks/llama-405b.yaml") == [
        (
            "storage.lustre[0].capacity_gib: warning: 76,800 GiB are less than twice the dataset of 58,115 GiB "
            "(1.56e+13 tokens x 4 bytes); use 201600"
        ),
        (
            "storage.lustre[0].throughput_mbps_per_tib: warning: 37.5 GB/s write a checkpoint of 5.68 TB in 152 s, the"
            " plan wants 60 s; 94.7 GB/s are needed: 201600 GiB at 500 MB/s/TiB"
        ),
    ]


def test_a_queue_smaller_than_the_plan_is_told_with_both_numbers() -> None:
    made = settings()
    assert made.stack is not None
    queues = tuple(
        each.model_copy(update={"cards": 8000}) if each.name == "pretrain" else each for each in made.stack.queues
    )
    reported = planned("../tasks/llama-405b.yaml", queues=queues)
    assert (
        reported[0]
        == "queues[0].cards: warning: 8,000 cards are fewer than the 9,856 that llama-405b is planned on; use 1,232"
        " nodes for the job"
    )


def test_a_task_file_that_is_not_there_is_told() -> None:
    assert planned("../tasks/nope.yaml") == [
        "plan.task: warning: there is no task file ../tasks/nope.yaml; paths start at the stack file's folder"
    ]


def test_a_name_that_no_file_can_have_is_told_short() -> None:
    assert planned("x" * 5000) == [
        f"plan.task: warning: there is no task file {'x' * 197}...; paths start at the stack file's folder"
    ]


@pytest.mark.parametrize("resources", ["pretrain", ["a"]])
def test_resources_of_another_shape_are_told_instead_of_searched_for_a_pool(tmp_path: Path, resources: object) -> None:
    task = yaml.safe_load((STACKS.parent / "tasks" / "llama-405b.yaml").read_text())
    path = tmp_path / "task.yaml"
    path.write_text(yaml.safe_dump({**task, "resources": resources}))
    assert planned(str(path)) == [
        (
            f"plan.task: warning: the task {path} names no pool: its resources are {json.dumps(resources)}; "
            "write resources: {pool: pretrain, nodes: …}"
        )
    ]


def test_a_task_without_a_model_cannot_be_planned() -> None:
    assert planned("../tasks/preprocess-corpus.yaml") == [
        (
            "plan.task: warning: the task ../tasks/preprocess-corpus.yaml can't be planned: model is missing; "
            "run trainshed size preprocess-corpus.yaml for all of it"
        )
    ]
