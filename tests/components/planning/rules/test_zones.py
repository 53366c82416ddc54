"""Machines are bought where they are sold, and what can't be spread is in one named zone."""

from __future__ import annotations

from typing import Any

import pytest

from components.catalog import Catalog
from tests.components.planning.pool_stacks import FINETUNE, PREPROCESS, PRETRAIN, told

NO_ZONE = {key: value for key, value in PRETRAIN.items() if key != "zone"}

CASES: list[tuple[str, dict[str, Any], list[str]]] = [
    (
        "no zone on a pool with EFA",
        NO_ZONE,
        [
            (
                'pools[0].zone: EFA traffic can\'t leave a zone, and pool "pretrain" names no zone; use usw2-az2, '
                "usw2-az3 or usw2-az4"
            )
        ],
    ),
    (
        "no zone on a pool with cards",
        {**NO_ZONE, "purpose": "evaluation", "instance_type": "g5.8xlarge", "fabric": "tcp"},
        [
            (
                'pools[0].zone: machines with cards train together, and pool "pretrain" names no zone; use usw2-az2 or'
                " usw2-az3"
            )
        ],
    ),
    (
        "EFA over two zones",
        {**NO_ZONE, "zones": ["usw2-az2", "usw2-az3"]},
        [
            (
                'pools[0].zones: EFA traffic can\'t leave a zone, and pool "pretrain" names usw2-az2 and usw2-az3; '
                "keep usw2-az2 or usw2-az3, and make a pool of its own for the other zone"
            )
        ],
    ),
    (
        "zone and zones",
        {**PREPROCESS, "zone": "usw2-az2", "zones": ["usw2-az2", "usw2-az3"]},
        ["pools[0].zones: zone and zones are both given; keep one of the two"],
    ),
    (
        "a zone that the network doesn't have",
        {**PRETRAIN, "zone": "usw2-az1"},
        [
            (
                "pools[0].zone: usw2-az1 is not among the network's zones (usw2-az2, usw2-az3, usw2-az4); use usw2-az2,"
                " usw2-az3 or usw2-az4"
            ),
        ],
    ),
    (
        "a zone that doesn't offer the type names those that do",
        {**PRETRAIN, "instance_type": "p5e.48xlarge", "zone": "usw2-az2"},
        ["pools[0].zone: usw2-az2 does not offer p5e.48xlarge; use usw2-az3"],
    ),
    (
        "a region that doesn't offer the type names those that do",
        {**PRETRAIN, "instance_type": "trn2.48xlarge"},
        [
            (
                "pools[0].zone: usw2-az3 does not offer trn2.48xlarge; us-west-2 has no zone with trn2.48xlarge; "
                "regions that do: ap-south-2, us-east-2"
            ),
        ],
    ),
    (
        "a placement group over all zones",
        {**PREPROCESS, "purpose": "evaluation", "capacity": {"kind": "on-demand", "placement_group": "mine"}},
        [
            (
                'pools[0].capacity.placement_group: the placement group "mine" lies in one zone, and pool '
                '"preprocess" spreads over usw2-az2, '
                "usw2-az3 and usw2-az4; set zone: usw2-az2"
            )
        ],
    ),
]


@pytest.mark.parametrize(
    ("pool", "expected"), [(pool, expected) for _, pool, expected in CASES], ids=[name for name, _, _ in CASES]
)
def test_a_misplaced_pool_is_told_in_full(cat: Catalog, pool: dict[str, Any], expected: list[str]) -> None:
    assert told(cat, pool) == expected


def test_the_only_zone_of_a_network_needs_no_naming(cat: Catalog) -> None:
    assert told(cat, NO_ZONE, network={"zones": ["usw2-az3"]}) == []


def test_a_pool_without_cards_spreads_over_all_zones(cat: Catalog) -> None:
    assert told(cat, FINETUNE, PREPROCESS) == []
