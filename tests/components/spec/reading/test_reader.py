"""What a stack file that is badly shaped is told: every text whole, with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.problems import in_file_order, render
from components.spec.reading.reader import Reading, read_stack, read_text

GOOD = """\
config:
  aws:region: us-west-2
  trainshed:environment: dev
  trainshed:network:
    zones: [usw2-az3]
  trainshed:pools:
    - name: train
      purpose: training
      instance_type: p5.48xlarge
      zone: usw2-az3
      nodes: 2
"""


def reported(text: str) -> list[str]:
    return [render(each) for each in in_file_order(read_text(text, "Pulumi.t.yaml").problems)]


def changed(old: str, new: str) -> list[str]:
    assert old in GOOD, old
    return reported(GOOD.replace(old, new))


def read(text: str) -> Reading:
    return read_text(text, "Pulumi.t.yaml")


def test_the_smallest_stack_file_reads() -> None:
    reading = read(GOOD)
    assert reading.problems == ()
    assert reading.stack is not None
    assert reading.stack.region == "us-west-2"
    assert reading.stack.pools[0].nodes == 2
    assert reading.stack.network is not None
    assert reading.stack.network.nat_gateways == "one"


def test_defaults_follow_the_environment_and_say_why() -> None:
    prod = read(GOOD.replace("environment: dev", "environment: prod"))
    chosen = {each.path: each for each in prod.defaults}
    assert chosen["network.nat_gateways"].value == "per-zone"
    assert chosen["network.nat_gateways"].why == "a lost zone must not take the way out with it"
    assert chosen["governance.delete_protection"].value is True
    assert chosen["pools[0].root_volume_gib"].value == 200


def test_a_key_that_is_given_is_not_listed_as_a_default() -> None:
    reading = read(GOOD.replace("zones: [usw2-az3]", "zones: [usw2-az3]\n    nat_gateways: per-zone"))
    assert "network.nat_gateways" not in {each.path for each in reading.defaults}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "trainshed:pools",
            "trainshed:pool",
            ['Pulumi.t.yaml:6:3 pool: "pool" is not a key here; did you mean "pools"?'],
        ),
        (
            "      zone: usw2-az3",
            "      zonne: usw2-az3",
            ['Pulumi.t.yaml:10:7 pools[0].zonne: "zonne" is not a key here; did you mean "zone"?'],
        ),
        (
            "nodes: 2",
            'nodes: "8"',
            ['Pulumi.t.yaml:11:14 pools[0].nodes: "8" is text; a whole number is wanted: write it without quotes'],
        ),
        ("nodes: 2", "nodes: 0", ["Pulumi.t.yaml:11:14 pools[0].nodes: 0 is out of range; at least 1 is wanted"]),
        ("nodes: 2", "nodes: -4", ["Pulumi.t.yaml:11:14 pools[0].nodes: -4 is out of range; at least 1 is wanted"]),
        ("nodes: 2", "nodes: 2.5", ["Pulumi.t.yaml:11:14 pools[0].nodes: 2.5 is a number; a whole number is wanted"]),
        (
            "nodes: 2",
            "nodes: true",
            ["Pulumi.t.yaml:11:14 pools[0].nodes: true is a boolean; a whole number is wanted"],
        ),
        (
            "nodes: 2",
            "nodes: {min: 0, maximum: 3}",
            [
                "Pulumi.t.yaml:11:14 pools[0].nodes.max: is missing; most nodes",
                'Pulumi.t.yaml:11:23 pools[0].nodes.maximum: "maximum" is not a key here; did you mean "max"?',
            ],
        ),
        (
            "purpose: training",
            "purpose: trainin",
            [
                (
                    'Pulumi.t.yaml:8:16 pools[0].purpose: "trainin" is not one of training, finetuning, preprocessing,'
                    ' evaluation or system; did you mean "training"?'
                )
            ],
        ),
        (
            "environment: dev",
            "environment: production",
            [
                (
                    'Pulumi.t.yaml:3:26 environment: "production" is not one of dev, staging, prod or standby; did you '
                    'mean "prod"?'
                )
            ],
        ),
        (
            "zones: [usw2-az3]",
            "zones: [us-west-2a]",
            [
                (
                    'Pulumi.t.yaml:5:13 network.zones[0]: "us-west-2a" is malformed; a zone id such as usw2-az3 is '
                    "wanted, the same place in every account; us-west-2a is a name"
                )
            ],
        ),
        ("zones: [usw2-az3]", "zones: []", ["Pulumi.t.yaml:5:12 network.zones: is empty; at least 1 is wanted"]),
        (
            "zones: [usw2-az3]",
            "cidr: 10.0.0.0/16",
            ["Pulumi.t.yaml:5:5 network.zones: is missing; zone ids the cluster spans, such as [usw2-az2, usw2-az3]"],
        ),
        (
            "zones: [usw2-az3]",
            "zones: [usw2-az3]\n    cidr: 10.0.0.7/16",
            [
                (
                    'Pulumi.t.yaml:6:11 network.cidr: "10.0.0.7/16" is malformed; has host bits set; the range that '
                    "holds it is 10.0.0.0/16"
                )
            ],
        ),
        (
            "zones: [usw2-az3]",
            "zones: [usw2-az3]\n    cidr: big",
            ['Pulumi.t.yaml:6:11 network.cidr: "big" is malformed; an IPv4 range such as 10.0.0.0/16 is wanted'],
        ),
        (
            "  aws:region: us-west-2\n",
            "",
            ["Pulumi.t.yaml:2:3 aws:region: is missing; the AWS region, such as us-west-2"],
        ),
        (
            "aws:region: us-west-2",
            "aws:region: us-west",
            ['Pulumi.t.yaml:2:15 aws:region: "us-west" is malformed; a region such as us-west-2 is wanted'],
        ),
        (
            "name: train",
            "nam: train",
            [
                'Pulumi.t.yaml:7:7 pools[0].nam: "nam" is not a key here; did you mean "name"?',
                "Pulumi.t.yaml:7:7 pools[0].name: is missing; the pool's name, unique in the stack",
            ],
        ),
    ],
)
def test_a_badly_shaped_value_names_its_path_and_the_right_answer(old: str, new: str, expected: list[str]) -> None:
    assert changed(old, new) == expected


@pytest.mark.parametrize("word", ["true", "false", '"true"', '"false"'])
def test_booleans_accept_what_pulumi_config_set_writes(word: str) -> None:
    reading = read(GOOD + f"  trainshed:spot_preprocessing: {word}\n")
    assert reading.problems == ()
    assert reading.stack is not None
    assert reading.stack.spot_preprocessing is ("true" in word)


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        ('"True"', '"True" is text'),
        ("yes", '"yes" is text'),
        ("0", "0 is a number"),
        ("on", '"on" is text'),
        ("1", "1 is a number"),
    ],
)
def test_every_other_spelling_of_a_boolean_is_refused_naming_the_type(word: str, shown: str) -> None:
    assert reported(GOOD + f"  trainshed:spot_preprocessing: {word}\n") == [
        f"Pulumi.t.yaml:12:33 spot_preprocessing: {shown}; a boolean is wanted: true or false"
    ]


def test_an_unquoted_version_is_refused_because_yaml_loses_its_last_digit() -> None:
    assert reported(GOOD + "  trainshed:cluster: {version: 1.30}\n") == [
        (
            "Pulumi.t.yaml:12:32 cluster.version: 1.3 is a number; YAML reads an unquoted 1.30 "
            "as the number 1.3; write "
            "the version in quotes"
        )
    ]


def test_an_unquoted_tag_value_is_refused_naming_the_type() -> None:
    assert reported(GOOD + "  trainshed:tags: {cost-center: 4711}\n") == [
        "Pulumi.t.yaml:12:33 tags.cost-center: 4711 is a number; text is wanted: put it in quotes"
    ]


def test_a_reservation_id_key_in_another_case_is_not_dropped_in_silence() -> None:
    text = GOOD + "      capacity: {kind: reservation, Ids: [cr-0a1b2c3d4e5f60718]}\n"
    assert reported(text) == ['Pulumi.t.yaml:12:37 pools[0].capacity.Ids: "Ids" is not a key here; did you mean "ids"?']


def test_an_unknown_kind_of_capacity_names_the_nearest() -> None:
    assert reported(GOOD + "      capacity: {kind: blok}\n") == [
        'Pulumi.t.yaml:12:24 pools[0].capacity.kind: "blok" is not a kind; did you mean "block"?'
    ]


def test_a_capacity_without_a_kind_lists_the_kinds() -> None:
    assert reported(GOOD + "      capacity: {id: cr-0a1b2c3d4e5f60718}\n") == [
        "Pulumi.t.yaml:12:17 pools[0].capacity.kind: is missing; use one of: on-demand, reservation, block, spot"
    ]


def test_a_key_given_twice_is_told_with_both_lines() -> None:
    assert changed("      nodes: 2", "      nodes: 2\n      nodes: 3") == [
        'Pulumi.t.yaml:12:7 pools[0].nodes: the key "nodes" is given twice; the first is at line 11: keep one'
    ]


def test_all_problems_come_at_once_in_the_order_of_the_file() -> None:
    text = (
        GOOD.replace("environment: dev", "environment: prd").replace("nodes: 2", "nodes: x").replace("zones:", "zons:")
    )
    assert reported(text) == [
        'Pulumi.t.yaml:3:26 environment: "prd" is not one of dev, staging, prod or standby; did you mean "prod"?',
        "Pulumi.t.yaml:5:5 network.zones: is missing; zone ids the cluster spans, such as [usw2-az2, usw2-az3]",
        'Pulumi.t.yaml:5:5 network.zons: "zons" is not a key here; did you mean "zones"?',
        'Pulumi.t.yaml:11:14 pools[0].nodes: "x" is text; a whole number is wanted',
    ]


def test_a_text_that_is_no_yaml_names_line_and_column() -> None:
    problems = read("config:\n  trainshed:pools: [a, b\n  x: 1\n").problems
    assert len(problems) == 1
    assert problems[0].id == "yaml"
    where = problems[0].where
    assert where is not None
    assert (where.line, where.column) == (3, 4)
    assert render(problems[0]).startswith("Pulumi.t.yaml:3:4 this is not YAML: ")


def test_an_empty_file_shows_the_smallest_that_works() -> None:
    assert reported("") == [
        (
            "the stack file Pulumi.t.yaml is empty; the smallest has aws:region, trainshed:environment, "
            "trainshed:network with zones, and one pool in trainshed:pools"
        )
    ]


def test_settings_outside_config_are_told() -> None:
    assert reported("trainshed:pools: []\n") == [
        (
            "Pulumi.t.yaml:1:1 config: a stack file holds its settings under config:; the smallest has aws:region,"
            " trainshed:environment, trainshed:network with zones, and one pool in trainshed:pools"
        )
    ]


def test_a_missing_file_names_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.prod.yaml").write_text(GOOD)
    problems = read_stack(tmp_path / "Pulumi.prd.yaml", "stacks/Pulumi.prd.yaml").problems
    assert [render(each) for each in problems] == [
        'there is no stack file stacks/Pulumi.prd.yaml; did you mean "Pulumi.prod.yaml"?'
    ]


def test_an_unreadable_file_says_why(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.prod.yaml").mkdir()
    problems = read_stack(tmp_path / "Pulumi.prod.yaml", "stacks/Pulumi.prod.yaml").problems
    assert [render(each) for each in problems] == [
        "the stack file stacks/Pulumi.prod.yaml can't be read: Is a directory"
    ]


def test_a_file_that_is_not_text_says_so(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.bin.yaml").write_bytes(b"\xff\xfe\x00")
    problems = read_stack(tmp_path / "Pulumi.bin.yaml", "Pulumi.bin.yaml").problems
    assert [render(each) for each in problems] == ["the stack file Pulumi.bin.yaml can't be read: it is not UTF-8 text"]


def test_a_secret_is_never_shown() -> None:
    text = """\
config:
  trainshed:environment: prod
  trainshed:form: {kind: self-hosted, kubeconfig: {secure: "v1:abcd:efgh"}, fabrik: roce}
"""
    reading = read(text)
    assert [render(each) for each in reading.problems] == [
        'Pulumi.t.yaml:3:77 form.fabrik: "fabrik" is not a key here; did you mean "fabric"?'
    ]
    assert "abcd" not in repr(reading.stack)
    assert "abcd" not in str(reading.stack and reading.stack.model_dump(mode="json", warnings=False))
    wrong = reported(text.replace('{secure: "v1:abcd:efgh"}', "[hush-hush]"))
    assert wrong[0] == "Pulumi.t.yaml:3:51 form.kubeconfig: a secret is of another type; text is wanted"
    assert not any("hush" in line for line in wrong)


def test_times_need_a_zone() -> None:
    text = (
        GOOD + "      capacity: {kind: block, id: cr-0a1b2c3d4e5f60718, start: 2026-12-10T11:30:00, end:"
        " 2026-12-24T11:30:00Z}\n"
    )
    assert reported(text) == [
        (
            "Pulumi.t.yaml:12:64 pools[0].capacity.start: has no time zone; a time with its zone is wanted, such as"
            " 2026-12-10T11:30:00Z"
        )
    ]


def test_anchors_and_merges_are_followed_to_their_places() -> None:
    text = (
        GOOD.replace("    - name: train\n", "    - &base\n      name: train\n")
        + "    - {<<: *base, name: second, nodes: no}\n"
    )
    assert reported(text) == ['Pulumi.t.yaml:13:40 pools[1].nodes: "no" is text; a whole number is wanted']
