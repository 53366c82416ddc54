"""Keys that are misspelt, given twice or not there at all: each is named, with what was meant."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from components.problems import in_file_order, render
from components.spec.reading import reader
from components.spec.reading.reader import read_config, read_stack, read_text
from components.spec.task import read_task_text

HEAD = (
    "config:\n  aws:region: us-west-2\n  trainshed:environment: dev\n  trainshed:network: {zones: [usw2-az1,"
    " usw2-az2]}\n"
)
POOL = (
    "  trainshed:pools: [{name: train, purpose: training, instance_type: p5.48xlarge, zone: usw2-az2, nodes: 2,"
    " capacity: CAPACITY}]\n"
)
QUOTES = "YAML reads an unquoted 1.30 as the number 1.3; write the version in quotes"
TWICE = 'environment: the setting "environment" is given twice, as'


def reported(text: str) -> list[str]:
    return [render(each) for each in in_file_order(read_text(text, "t").problems)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            HEAD + POOL.replace("CAPACITY", "{Kind: reservation, idss: [cr-0a1b2c3d]}"),
            [
                "t:5:118 pools[0].capacity.kind: is missing; use one of: on-demand, reservation, block, spot",
                't:5:119 pools[0].capacity.Kind: "Kind" is not a key here; did you mean "kind"?',
                't:5:138 pools[0].capacity.idss: "idss" is not a key here; did you mean "ids"?',
            ],
        ),
        (
            HEAD + "  trainshed:cluster: {addons: {coredns: {versoin: v1}}}\n",
            ['t:5:42 cluster.addons.coredns.versoin: "versoin" is not a key here; did you mean "version"?'],
        ),
        (
            HEAD + '  "": 5\n  "trainshed:": 5\n',
            [
                't:5:3 "" is not a key here; write the name of a setting, such as trainshed:pools',
                (
                    't:6:3 trainshed:: "trainshed:" is not a key here; write the name of a setting, such as'
                    " trainshed:pools"
                ),
            ],
        ),
        (
            HEAD.replace("aws:region", "aws:regoin"),
            [
                "t:2:3 aws:region: is missing; the AWS region, such as us-west-2",
                't:2:3 aws:regoin: "aws:regoin" is not a key here; did you mean "aws:region"?',
            ],
        ),
        (
            HEAD + "  aws:profil: x\n  aws:maxRetries: 3\n",
            ['t:5:3 aws:profil: "aws:profil" is not a key here; did you mean "aws:profile"?'],
        ),
        (
            HEAD + "  environment: prod\n",
            [f't:5:3 {TWICE} "trainshed:environment" and as "environment"; the first is at line 3: keep one'],
        ),
        (
            HEAD.replace("config:\n", "config:\n  environment: prod\n"),
            [f't:4:3 {TWICE} "environment" and as "trainshed:environment"; the first is at line 2: keep one'],
        ),
        (
            HEAD + "  trainshed:storage: {lustre: [{name: a, zone: usw2-az2, version: 2.15}]}\n",
            [f"t:5:67 storage.lustre[0].version: 2.15 is a number; {QUOTES}"],
        ),
    ],
)
def test_a_wrong_key_is_named_with_what_was_meant(text: str, expected: list[str]) -> None:
    assert reported(text) == expected


def test_a_key_with_dots_has_its_own_place() -> None:
    text = HEAD + '  trainshed:tags:\n    team: a\n    "cost.center/x": 5\n    "": b\n'
    assert reported(text) == [
        "t:7:22 tags.cost.center/x: 5 is a number; text is wanted: put it in quotes",
        't:8:9 tags.: "" is malformed; a tag\'s key is wanted: letters, digits, spaces and . : / = + @ _ -',
    ]


def test_a_setting_given_twice_without_a_file_is_told_too() -> None:
    problems = read_config({"aws:region": "us-west-2", "trainshed:environment": "dev", "environment": "prod"}).problems
    assert f'{TWICE} "trainshed:environment" and as "environment"; keep one' in [render(each) for each in problems]


def test_the_providers_keys_are_those_of_its_installed_release() -> None:
    found = importlib.util.find_spec("pulumi_aws")
    assert found is not None
    assert found.origin is not None
    text = (Path(found.origin).parent / "config" / "vars.py").read_text()
    assert {f"aws:{key}" for key in re.findall(r"__config__\.get\w*\('(\w+)'\)", text)} == vars(reader)["_AWS_KEYS"]


def test_data_parallelism_is_told_to_be_computed() -> None:
    text = (
        "task: t\nimage: trainer:dev-1\ncommand: [python]\nresources: {pool: train, nodes: 1}\nparallelism: {data: 77,"
        " dp: 3, tensr: 3}\n"
    )
    said = "data parallelism is computed: the task's cards divided by tensor x pipeline x context"
    assert [render(each) for each in in_file_order(read_task_text(text, "t").problems)] == [
        f't:5:15 parallelism.data: "data" is not a key here; {said}',
        f't:5:25 parallelism.dp: "dp" is not a key here; {said}',
        't:5:32 parallelism.tensr: "tensr" is not a key here; did you mean "tensor"?',
    ]


@pytest.mark.parametrize(
    ("name", "hint"), [("prd", 'did you mean "Pulumi.prod.yaml"?'), ("nosuch", "the stacks there are dev and prod")]
)
def test_only_a_near_name_is_taken_for_the_stack_that_was_meant(tmp_path: Path, name: str, hint: str) -> None:
    for each in ("dev", "prod"):
        (tmp_path / f"Pulumi.{each}.yaml").write_text(HEAD)
    file = f"stacks/Pulumi.{name}.yaml"
    assert [render(each) for each in read_stack(tmp_path / f"Pulumi.{name}.yaml", file).problems] == [
        f"there is no stack file {file}; {hint}"
    ]
