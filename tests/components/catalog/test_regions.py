"""Regions of other partitions are known for what they are, and nothing takes AWS' own words for everybody's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from components import catalog
from components.catalog import regions
from components.planning.rules.stack import region_exists
from components.problems import render
from components.spec.stack import StackSpec

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("region", "word", "domain"),
    [
        ("us-west-2", "aws", "amazonaws.com"),
        ("us-gov-west-1", "aws-us-gov", "amazonaws.com"),
        ("cn-north-1", "aws-cn", "amazonaws.com.cn"),
        ("eusc-de-east-1", "aws-eusc", "amazonaws.eu"),
        ("us-iso-east-1", "aws-iso", "c2s.ic.gov"),
        ("us-isob-east-1", "aws-iso-b", "sc2s.sgov.gov"),
    ],
)
def test_a_region_names_its_partition_and_its_domain(region: str, word: str, domain: str) -> None:
    assert (regions.partition(region), regions.domain(region)) == (word, domain)


@pytest.mark.parametrize(
    ("region", "title", "word"),
    [
        ("us-gov-west-1", "AWS GovCloud (US)", "aws-us-gov"),
        ("cn-north-1", "AWS China", "aws-cn"),
        ("us-iso-east-1", "AWS ISO (US)", "aws-iso"),
    ],
)
def test_a_region_of_another_partition_is_refused_for_what_is_missing_there(region: str, title: str, word: str) -> None:
    stack = StackSpec.model_validate({"environment": "dev", "region": region})
    assert [render(each) for each in region_exists(stack, catalog.load())] == [
        (
            f'aws:region: "{region}" is a region of {title}, which is not supported: the catalog knows no zones,'
            f" machines or prices of partition {word}, and nothing was ever planned against it; use a region of"
            f" partition aws, such as us-west-2; there is no way to deploy to {title}"
        )
    ]


def test_no_host_of_a_region_and_no_arn_is_spelled_for_one_partition() -> None:
    """Hosts that hold a region take its domain, and ARNs its partition. Examples in messages name the account that
    AWS' own documentation uses.
    """
    spelled = re.compile(r"\}\.amazonaws\.com|arn:aws:(?![a-z-]+:[a-z0-9-]*:111122223333:)")
    # The stand-in for the engine invents what AWS would answer.
    stand_in = ROOT / "infra/offline/recorder.py"
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for folder in ("components", "infra")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if path != stand_in
        for line in path.read_text(encoding="utf-8").splitlines()
        if spelled.search(line)
    ]
    assert found == []
