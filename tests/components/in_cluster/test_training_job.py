"""A task that the engine keeps."""

from __future__ import annotations

from typing import Any

import pytest

from components.in_cluster.training_job import TrainingJob, TrainingJobArgs
from components.manifests.jobs import jobset
from tests.components.in_cluster.declared_in_cluster import records, wrong
from tests.declared import Record, named
from tests.given import CAT, TASKS, stack, task


def declared(name: str = "llama-405b") -> list[Record]:
    def declare(opts: Any) -> TrainingJob:
        return TrainingJob("job", TrainingJobArgs(spec=task(name), stack=stack("prod"), catalog=CAT), opts)

    return records(declare)


@pytest.mark.parametrize("name", TASKS)
def test_every_object_is_one_that_an_api_server_takes(name: str):
    assert wrong(declared(name)) == {}


def test_the_engine_gets_exactly_what_the_command_renders():
    rendered = jobset.render(task("llama-405b"), stack("prod"), CAT)
    found = [each.inputs for each in declared() if each.name.startswith("job-")]
    assert len(found) == len(rendered)
    assert all(each in found for each in rendered)


def test_the_jobset_comes_after_its_account_and_its_files():
    found = declared()
    last = named(found, "job-jobset")
    assert {named(found, "job-serviceaccount").urn, named(found, "job-configmap").urn} <= set(last.depends_on)


def test_the_components_own_inputs_are_the_tasks_words():
    assert named(declared(), "job").inputs["resources"] == {
        "pool": "pretrain",
        "nodes": 1232,
        "cards_per_node": 8,
        "placement": "preferred",
        "within": "leaf",
    }
