"""People of a stack as roles and bindings, and the table that tells it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from components.manifests import access
from components.planning import rules
from components.problems import render
from components.spec.stack import StackSpec
from tests.components.manifests.schemas import faults
from tests.given import CAT

ROLE = "arn:aws:iam::111122223333:role/research"
BOSS = "arn:aws:iam::111122223333:role/platform-admin"


def stack(people: dict[str, Any], **more: Any) -> StackSpec:
    return StackSpec.model_validate(
        {
            "environment": "dev",
            "network": {"zones": ("usw2-az2", "usw2-az3")},
            "cluster": {},
            "pools": (
                {
                    "name": "train",
                    "purpose": "training",
                    "instance_type": "p5.48xlarge",
                    "zone": "usw2-az3",
                    "nodes": 2,
                },
            ),
            "queues": (
                {"name": "a", "pool": "train", "cards": 8},
                {"name": "b", "pool": "train", "cards": 8},
            ),
            "access": people,
            **more,
        }
    )


def reported(people: dict[str, Any]) -> list[str]:
    return [render(each) for each in rules.check(stack(people), CAT) if each.path.startswith("access")]


def test_the_document_holds_the_table_of_the_code() -> None:
    text = (Path(__file__).parents[3] / "docs" / "access.md").read_text(encoding="utf-8")
    assert access.table() in text, "run `trainshed access table` and put it into docs/access.md"


def test_one_entry_holds_all_groups_of_a_role_and_none_is_an_administrators() -> None:
    people = {
        "admins": (BOSS,),
        "operators": (ROLE, BOSS),
        "researchers": ({"queues": ("a", "b"), "who": (ROLE, "group:students")},),
        "oidc": {"issuer": "https://login.example.com", "client_id": "trainshed"},
    }
    assert access.entries(stack(people)) == {
        ROLE: ("trainshed:operators", "trainshed:queue:a", "trainshed:queue:b"),
    }


def test_objects_are_what_the_api_server_takes_and_nobody_named_is_none() -> None:
    assert access.objects(stack({})) == {}
    people = {"operators": (ROLE,), "researchers": ({"queues": ("a",), "who": (ROLE,)},)}
    found = access.objects(stack(people))
    assert {key: faults(each) for key, each in found.items()} == {key: [] for key in found}
    (subjects,) = [each["subjects"] for key, each in found.items() if key == "researchers-training"]
    assert [each["name"] for each in subjects] == ["trainshed:queue:a"]


def test_no_role_has_a_wildcard_or_reads_secrets() -> None:
    for right in (*access.RESEARCHER, *access.OPERATOR):
        assert "*" not in (*right.verbs, *right.resources, right.group)
        assert not {"secrets", "roles", "rolebindings"} & set(right.resources)


def test_people_who_could_not_get_in_are_told() -> None:
    assert reported({"operators": ("group:sre",)}) == [
        (
            "access.operators[0]: nobody tells the cluster who is in sre; set access.oidc, or name the IAM role of the"
            " permission set"
        )
    ]
    assert reported({"researchers": ({"queues": ("c",), "who": (ROLE,)},)}) == [
        'access.researchers[0].queues[0]: no queue is named "c"; use one of: a, b'
    ]
    assert reported({"researchers": ({"queues": ("a", "b"), "who": (ROLE,)},)}) == [
        (
            'access.researchers: note: researchers of a and b read each other\'s logs: all run in "training"; give each'
            " queue a namespace of its own, if that matters"
        )
    ]
