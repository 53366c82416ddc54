"""What is taken for a credential in a task, and what is not."""

from __future__ import annotations

import pytest

from components.manifests.jobs import environment
from components.planning import credentials
from components.planning.pool import Pool
from components.planning.rules import task as task_rules
from components.problems import render
from components.spec.quantities import Cards
from tests.given import CAT, stack, task

PROD = stack("prod")
# Put together here, so that nobody's scanner takes this file for a leak.
KEY = "AKIA" + "Z" * 16
HUB = "hf_" + "a" * 30


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HF_TOKEN", "anything"),
        ("WANDB_API_KEY", "0123456789abcdef"),
        ("AWS_SECRET_ACCESS_KEY", "x/y+z"),
        ("AWS_ACCESS_KEY_ID", "x"),
        ("DB_PASSWORD", "hunter2"),
        ("NOTES", f"use {KEY}"),
        ("HUB", HUB),
        ("MIRROR", "https://me:mine@example.com/simple"),
    ],
)
def test_credentials_are_seen_by_name_and_by_look(name: str, value: str) -> None:
    assert credentials.in_variable(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TOKENIZER", "llama"),
        ("MAX_TOKENS", "4096"),
        ("PAD_TOKEN", "0"),
        ("TOKENIZERS_PARALLELISM", "false"),
        ("USE_SECRET", "false"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/var/run/secrets/google.json"),
        ("NCCL_DEBUG", "WARN"),
        ("KEYBOARD", "us"),
    ],
)
def test_switches_numbers_and_paths_are_none(name: str, value: str) -> None:
    assert credentials.in_variable(name, value) is None


def test_a_literal_is_refused_without_being_shown_and_the_hint_is_a_way_out() -> None:
    given = task("finetune-8b")
    wrong = given.model_copy(update={"environment": {"HF_TOKEN": HUB}, "command": ("run", "--key", KEY)})
    found = [
        render(each) for each in task_rules.credentials_are_referenced(task_rules.Case(task=wrong, stack=PROD, cat=CAT))
    ]
    assert found == [
        (
            "environment.HF_TOKEN: the value is a token of Hugging Face, in clear for everybody who may read the job; "
            "keep it in a secret of the cluster, and name that: secrets: {HF_TOKEN: {secret: NAME, key: KEY}}"
        ),
        (
            "command[2]: the word holds an AWS access key, in clear for everybody who may read the job; "
            "keep it in a secret of the cluster, and name that: secrets: {TOKEN: {secret: NAME, key: KEY}}"
        ),
    ]
    assert HUB not in "".join(found) and KEY not in "".join(found)


def test_a_secret_is_named_in_the_job_and_its_value_is_nowhere() -> None:
    given = type(task("finetune-8b")).model_validate(
        {**task("finetune-8b").model_dump(by_alias=True), "secrets": {"HF_TOKEN": {"secret": "hub", "key": "token"}}}
    )
    case = task_rules.Case(task=given, stack=PROD, cat=CAT)
    assert not [*task_rules.credentials_are_referenced(case)]
    found = environment.variables(given, PROD, Pool(PROD.pool("finetune"), CAT), Cards(8))
    assert {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}} in found
