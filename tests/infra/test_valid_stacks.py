"""Generated stacks that AWS would accept pass the rules, and declare nothing that the table of AWS types forbids."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from typing import Any

import pytest

from components import catalog
from components.catalog import aws_types, regions
from components.catalog.limits import Limits
from infra.build import build
from infra.settings import Settings
from tests.declared import Record, run
from tests.given import CAT
from tests.infra.test_stacks import declared, settings_of
from tests.valid_stacks import COUNT, stacks
from tests.whole import NAMES

STACKS = dict(stacks(CAT))


def records(name: str) -> tuple[Settings, list[Record]]:
    settings = settings_of(STACKS[name], name)
    return settings, run(lambda: build(settings), stack=name).records


def test_the_generated_stacks_differ_in_what_matters() -> None:
    made = list(STACKS.values())
    assert len(made) == COUNT
    assert len({each["aws:region"] for each in made}) >= 8
    assert len({each["trainshed:pools"][0]["instance_type"] for each in made}) >= 6
    assert {each["trainshed:network"]["egress"] for each in made} == {"nat", "isolated"}
    assert any("trainshed:form" in each for each in made)


@pytest.mark.parametrize("name", STACKS)
def test_a_valid_stack_passes_and_is_right_by_the_table_of_types(name: str) -> None:
    settings, found = records(name)
    table = aws_types.table()
    types = [each.type for each in found if each.type.startswith("aws:") and each.custom]
    assert sorted(set(types) - set(table)) == []
    counts = Counter(types)
    assert [
        each for each in counts if table[each].one_per == "region" and counts[each] > 1 and "Feature" not in each
    ] == []
    partition = regions.partition(settings.valid.region)
    assert [each for each in counts if partition in table[each].lacking_partitions] == []
    control = [each for each in found if each.type.endswith(":Subnet") and "-control-" in each.name]
    barred = table["aws:eks/cluster:Cluster"].barred_zones
    assert len(control) >= 2
    assert not {each.inputs["availabilityZoneId"] for each in control} & barred


@pytest.mark.parametrize("name", NAMES)
def test_every_type_that_a_stack_of_the_project_declares_has_a_row(name: str) -> None:
    types = {each.type for each in declared(name) if each.type.startswith("aws:") and each.custom}
    assert sorted(types - set(aws_types.table())) == []


def test_every_limit_that_the_table_names_is_one_of_the_catalogs() -> None:
    known: set[str] = {each.name for each in fields(Limits)}
    rows: Any = aws_types.table().values()
    assert {limit for row in rows for limit in row.limits} <= known
    assert catalog.load().limits is not None
