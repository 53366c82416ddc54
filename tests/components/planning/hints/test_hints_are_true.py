"""Every hint that can be followed in the stack file is followed: its problem goes, and no other comes in its place."""

from __future__ import annotations

import ast
import copy
import re
from pathlib import Path
from typing import Any

import yaml

from components.planning import rules
from components.problems import Problem, render
from components.spec.reading.reader import read_text
from tests.components.planning.hints.cases import ADMIN, IDS, ROWS
from tests.components.planning.hints.following import Edit, edits, put
from tests.given import CAT
from tests.rows import each_row

GOOD: dict[str, Any] = {
    "aws:region": "us-west-2",
    "environment": "prod",
    "tags": {"owner": "o"},
    "network": {"zones": ["usw2-az2", "usw2-az3", "usw2-az4"]},
    "cluster": {"admins": [ADMIN]},
    "pools": [
        {
            "name": "train",
            "purpose": "training",
            "instance_type": "p5.48xlarge",
            "zone": "usw2-az3",
            "nodes": 4,
            "fabric": "efa",
            "capacity": {"kind": "reservation", "ids": [IDS[0]]},
        }
    ],
    "queues": [{"name": "train", "pool": "train"}],
    "observability": {"alerts_to": ["mailto:a@b.com"]},
    "storage": {},
    "budget": {"monthly_usd": 500000, "counts": "account"},
    "governance": {"anomalies": "none"},
}
# Hints that no edit of a stack file on AWS can follow, or whose rows stand in the tests of their own rules.
ELSEWHERE = {
    "access-no-iam": "self-hosted",
    "access-oidc-elsewhere": "self-hosted",
    "access-shared-namespace": "a note",
    "adapters-unnamed": "self-hosted, in test_hints_hold",
    "adapters-unused": "self-hosted, in test_hints_hold",
    "alerts-unsendable": "self-hosted",
    "anomalies-need-payer": "a note",
    "anomalies-one-monitor": "a note",
    "budget-one-topic": "a note",
    "compute-subnet-unpinned": "a note",
    "efa-types-mixed": "types of one family, which types-unlike and types-several reach first",
    "efa-without-rdma": "a note",
    "endpoint-private": "a note",
    "hosts-missing": "self-hosted",
    "hosts-reserve-all": "self-hosted, in test_hints_hold",
    "image-release-newer": "a note",
    "image-unpinned": "depends on the catalog's pins",
    "instance-type-not-offered": "depends on the catalog's zones",
    "instance-type-without-use": "self-hosted",
    "lustre-efa-clients": "in test_lustre_clients",
    "lustre-efa-connections": "a note",
    "lustre-efa-image": "in test_lustre_clients",
    "nodes-come-and-go": "a note",
    "nodes-too-many": "beyond what a VPC holds",
    "partition-unsupported": "another region is another stack",
    "placement-from-zero": "a note",
    "premises-unreached": "hybrid",
    "range-not-private": "hybrid",
    "section-without-use": "self-hosted",
    "service-range-missing": "every private range is taken",
    "spot-interrupts": "the risk is taken knowingly",
    "spot-type": "depends on the catalog's prices",
    "stack-name": "the file's name",
    "type-unverified": "a note",
    "version-not-yet": "depends on the day",
    "version-ends-soon": "depends on the day",
    "zone-without-control-plane": "a note",
}


def changed(*wanted: Edit) -> dict[str, Any]:
    config = copy.deepcopy(GOOD)
    for edit in wanted:
        for path, value in edit.items():
            put(config, path, value)
    return config


def reported(config: dict[str, Any]) -> list[Problem]:
    """Errors and warnings of a stack file with these sections."""
    words = {key if key.startswith("aws:") else f"trainshed:{key}": value for key, value in config.items()}
    reading = read_text(yaml.safe_dump({"config": words}), "stack.yaml")
    found = [*reading.problems, *(rules.check(reading.stack, CAT) if reading.stack else ())]
    return [each for each in dict.fromkeys(found) if each.severity != "note"]


def standing_at(config: dict[str, Any], path: str) -> object:
    here: Any = config
    for step in re.findall(r"\[\d+\]|[^.\[\]]+", path):
        try:
            here = here[int(step[1:-1])] if step.startswith("[") else here[step]
        except (KeyError, IndexError, TypeError):
            return None
    return here


def test_the_stack_that_is_broken_in_each_row_has_no_problem() -> None:
    assert reported(GOOD) == []


@each_row([(row[0], row[1], row[2:]) for row in ROWS])
def test_a_hint_that_is_followed_leaves_no_problem(id_: str, broken: Edit, by_hand: tuple[Edit, ...]) -> None:
    before = reported(changed(broken))
    problem = next(each for each in before if each.id == id_)
    followed = list(by_hand) or edits(problem, standing_at(changed(broken), problem.path))
    assert followed, problem.hint
    for edit in followed:
        after = reported(changed(broken, edit))
        assert [render(each) for each in after if (each.id, each.path) == (id_, problem.path)] == [], (edit, problem)
        new = [render(each) for each in after if each.id not in {each.id for each in before}]
        assert new == [], (edit, problem.hint)


def test_every_rule_of_a_stack_has_a_row_or_says_why_not() -> None:
    missing = ids_of_rules() - {row[0] for row in ROWS} - ELSEWHERE.keys()
    assert missing == set()


def ids_of_rules() -> set[str]:
    """Every id that a rule over stacks gives with a hint."""
    found: set[str] = set()
    for path in Path(rules.__file__).parent.glob("*.py"):
        if path.name == "task.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Problem":
                words = {each.arg: each.value for each in node.keywords}
                if "hint" in words:
                    found |= {str(each.value) for each in ast.walk(words["id"]) if isinstance(each, ast.Constant)}
    return {each for each in found if re.fullmatch(r"[a-z]+(-[a-z]+)+", each)}
