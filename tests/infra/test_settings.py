"""The settings as an engine hands them over."""

from __future__ import annotations

import contextvars
import json
from typing import Any

import pulumi
import pytest
from pulumi.runtime.config import set_all_config
from pulumi.runtime.settings import reset_options

from components.planning.rules.cluster import SET_HERE
from infra.settings import from_engine, from_file, tags

SETTINGS: dict[str, Any] = {
    "aws:region": "us-west-2",
    "trainshed:environment": "dev",
    "trainshed:network": {"zones": ["usw2-az1", "usw2-az2"]},
    "trainshed:pools": [
        {
            "name": "train",
            "purpose": "training",
            "instance_type": "g6e.48xlarge",
            "zone": "usw2-az2",
            "nodes": {"min": 0, "max": 2},
        }
    ],
}


def refused(settings: dict[str, Any]) -> str:
    def program() -> None:
        # A stack without a file: places in a file that other tests' stack has would say nothing of these settings.
        reset_options(project="trainshed", stack="elsewhere")
        set_all_config({key: value if isinstance(value, str) else json.dumps(value) for key, value in settings.items()})
        from_engine()

    with pytest.raises(pulumi.RunError) as error:
        # The configuration is the running context's: a copy leaves other tests without it.
        contextvars.copy_context().run(program)
    return str(error.value)


def test_errors_stop_the_program() -> None:
    assert (
        refused({**SETTINGS, "trainshed:environment": "prd"})
        == 'the stack file has errors:\n  environment: "prd" is not one of dev, staging, prod or standby; did you mean'
        ' "prod"?'
    )


def test_the_value_of_a_setting_that_the_engine_calls_secret_is_not_in_its_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PULUMI_CONFIG_SECRET_KEYS", json.dumps(["trainshed:pools", "trainshed:observability"]))
    hook = "https:/hooks.example.com/services/T0/B0/" + "hunter2" * 9
    pool = {**SETTINGS["trainshed:pools"][0], "instance_type": "hunter2-type"}
    said = refused({**SETTINGS, "trainshed:pools": [pool], "trainshed:observability": {"alerts_to": [hook]}})
    assert "observability.alerts_to[0]: a secret is malformed; " in said
    assert 'pools[0].instance_type: "<secret>" is not in the catalog' in said
    assert "hunter2" not in said
    assert "hooks.example" not in said


def test_a_number_too_large_for_the_engine_to_write_out_is_told_as_the_file_has_it() -> None:
    pool = {**SETTINGS["trainshed:pools"][0], "nodes": {"max": 1e30}}
    assert (
        refused({**SETTINGS, "trainshed:pools": [pool]})
        == "the stack file has errors:\n  pools[0].nodes.max: 1000000000000000019884624838656 is out of range; at most"
        " 100000 is wanted"
    )


def test_the_tags_that_a_user_is_told_to_leave_are_those_set_here() -> None:
    settings = from_file("prod")
    assert {*tags(settings), "Name"} - set(settings.valid.tags) == set(SET_HERE)
