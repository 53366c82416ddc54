"""The cost model as a whole: sums, what has no price, and that no type of this project is forgotten."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from components.planning.cost.estimate import PRICERS, estimate
from components.planning.cost.free import FREE
from tests.components.planning.cost.cost_records import group, lines, priced, record, template
from tests.given import CAT, ROOT, STACKS, stack
from tests.whole import recording


@pytest.mark.parametrize("name", STACKS)
def test_every_aws_type_of_a_stack_is_priced_or_known_to_be_free(name: str) -> None:
    declared = {each.type for each in recording(name).records if each.custom and each.type.startswith("aws:")}
    assert declared - set(PRICERS) - FREE == set()


def constructed() -> Iterator[tuple[str, str]]:
    """(module, class) of every AWS resource that the components can make, those that no stack of this project asks for
    included.
    """
    for path in sorted(Path(ROOT / "components").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and (
                found := re.fullmatch(r"aws\.(\w+)\.([A-Z]\w*)", ast.unparse(node.func))
            ):
                module, name = found.groups()
                if not name.endswith(("Args", "ArgsDict")):
                    yield module, name


def test_every_aws_type_that_a_component_can_make_is_priced_or_known_to_be_free() -> None:
    known = json.loads(Path(ROOT, "infra", "offline", "aws_shapes.json").read_text())["resources"]
    made = {known[f"{module}.{name}"]["token"] for module, name in constructed()}
    assert len(made) > 50
    assert made - set(PRICERS) - FREE == set()


def test_nothing_is_both_priced_and_free() -> None:
    assert set(PRICERS) & FREE == set()


@pytest.mark.parametrize("name", STACKS)
def test_the_sums_are_those_of_the_lines_and_low_is_never_above_high(name: str) -> None:
    cost = estimate(recording(name).records, stack(name), CAT).as_json()
    for key in ("low", "expected", "high"):
        assert cost["monthly"][key] == pytest.approx(
            sum(each[key] for each in cost["lines"]), abs=0.01 * (len(cost["lines"]) + 1)
        )
    assert [each["what"] for each in cost["lines"] if not each["low"] <= each["expected"] <= each["high"]] == []
    assert [each["what"] for each in cost["lines"] if each["high"] <= 0] == []


def test_two_lines_never_have_one_name() -> None:
    cost = estimate(recording("prod").records, stack("prod"), CAT).as_json()
    names = [each["what"] for each in cost["lines"]]
    assert sorted({each for each in names if names.count(each) > 1}) == []


def test_a_type_without_a_price_is_listed_and_left_out_of_the_sum() -> None:
    cost = priced(record("aws:rds/instance:Instance", "database"))
    assert cost["unpriced"] == ["database (aws:rds/instance:Instance): no price is known for this type"]
    assert cost["unpriced_lines"] == [
        {
            "what": "database (aws:rds/instance:Instance)",
            "why": "no price is known for this type",
            "urn": "urn:database",
        }
    ]
    assert (cost["lines"], cost["monthly"]) == ([], {"low": 0, "expected": 0, "high": 0})


def test_a_region_without_a_price_is_unpriced_not_free() -> None:
    cost = priced(record("aws:ec2/natGateway:NatGateway", "nat"), group(), template(), region="eu-south-2")
    assert cost["monthly"]["high"] == 0
    assert "nat: gateway hours: no price of nat-hour is known in eu-south-2" in cost["unpriced"]
    assert "nodes: p5.48xlarge on-demand: no on-demand price is known in eu-south-2 for 2 machines" in cost["unpriced"]


def test_a_resource_in_another_region_is_priced_there() -> None:
    here, there = record("aws:kms/key:Key", "here"), record("aws:kms/key:Key", "there", {"region": "eu-south-2"})
    cost = priced(here, there)
    assert {each["urn"] for each in cost["lines"]} == {"urn:here"}
    assert "there: key: no price of kms-key is known in eu-south-2" in cost["unpriced"]


def test_free_types_and_components_make_no_lines() -> None:
    component = replace(record("trainshed:storage:Lustre", "lustre"), custom=False)
    assert lines(record("aws:iam/role:Role", "role"), component) == {}


def test_self_hosted_objects_cost_nothing_that_a_price_list_knows() -> None:
    claim = record(
        "kubernetes:core/v1:PersistentVolumeClaim", "claim", {"spec": {"resources": {"requests": {"storage": "10Gi"}}}}
    )
    assert priced(claim)["lines"] == []
    assert lines(claim, record("aws:eks/cluster:Cluster", "cluster", {"version": "1.36"}))["claim: claimed volume"] == (
        0.8,
        0.8,
        0.8,
    )
