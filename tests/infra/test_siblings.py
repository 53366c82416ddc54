"""Stack files of one folder are seen together: what an account has once is declared by one of them."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from infra.settings import from_file

CONFIG = {
    "aws:region": "us-west-2",
    "trainshed:environment": "dev",
    "trainshed:network": {"zones": ["usw2-az1", "usw2-az2"]},
    "trainshed:cluster": {"admins": ["arn:aws:iam::111122223333:role/platform-admin"]},
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
ELSEWHERE = {"trainshed:cluster": {"admins": ["arn:aws:iam::444455556666:role/platform-admin"]}}
USES_IT = {"trainshed:storage": {"registry": {"declare": False}}}


def write(folder: Path, name: str, **over: object) -> str:
    path = folder / f"Pulumi.{name}.yaml"
    path.write_text(yaml.safe_dump({"config": {**CONFIG, **over}}))
    return str(path)


def reported(stack: str) -> list[str]:
    return [each.said for each in from_file(stack).problems if each.id == "registry-declared-twice"]


def test_two_stacks_that_both_declare_the_registry_of_an_account_and_region_are_told(tmp_path: Path) -> None:
    first = write(tmp_path, "first")
    assert reported(first) == []
    second = write(tmp_path, "second")
    assert reported(first) == [
        (
            "second declares the registry of us-west-2 in this account too, and there is one: the second update finds"
            " its repositories taken"
        )
    ]
    assert reported(second)[0].startswith("first declares")


@pytest.mark.parametrize("over", [ELSEWHERE, USES_IT, {"trainshed:cluster": {}}, {"aws:region": "us-east-2"}])
def test_stacks_that_share_no_registry_are_not(tmp_path: Path, over: dict[str, object]) -> None:
    first = write(tmp_path, "first")
    assert reported(write(tmp_path, "second", **over)) == []
    assert reported(first) == []


def test_a_sibling_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    first = write(tmp_path, "first")
    (tmp_path / "Pulumi.broken.yaml").write_text("config: [")
    write(tmp_path, "half", **{"trainshed:storage": {"registry": {"declare": "perhaps"}}})
    assert reported(first) == []
