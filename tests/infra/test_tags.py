"""A tag that says whom to ask may change at any time, and rolls no node."""

from __future__ import annotations

from typing import Any

import yaml

from infra.build import build
from infra.settings import STACKS
from tests.declared import Record, run
from tests.infra.test_stacks import settings_of

MACHINES = ("aws:ec2/launchTemplate:LaunchTemplate", "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass")


def declared(owner: str, team: str) -> dict[str, Record]:
    config: dict[str, Any] = yaml.safe_load((STACKS / "Pulumi.dev.yaml").read_text())["config"]
    config["trainshed:tags"] |= {"owner": owner, "team": team}
    settings = settings_of(config, "dev")
    return {each.name: each for each in run(lambda: build(settings), stack="dev").records}


def machines(records: dict[str, Record]) -> dict[str, Any]:
    return {
        name: each.inputs.get("tagSpecifications") or each.inputs.get("spec")
        for name, each in records.items()
        if each.type in MACHINES
    }


def test_another_owner_changes_no_machine() -> None:
    before, after = declared("ml-platform", "pretraining"), declared("research", "pretraining")
    assert machines(before)
    assert machines(before) == machines(after)
    assert {each.inputs["tags"]["owner"] for each in after.values() if each.type.endswith(":NodeGroup")} == {"research"}


def test_machines_carry_the_tags_that_say_who_pays() -> None:
    another = machines(declared("ml-platform", "evaluation"))
    assert all("evaluation" in str(each) for each in another.values())
