"""Machines are bought where they are sold, and what can't be spread is in one named zone."""

from __future__ import annotations

from typing import Any

import pytest

from components.catalog import Catalog
from components.planning import addresses, placement, rules
from components.planning.address_needs import compute_needs
from components.problems import errors
from tests.components.planning.pool_stacks import FINETUNE, PREPROCESS, PRETRAIN, reported, stack

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
    assert reported(cat, pool) == expected


def test_the_only_zone_of_a_network_needs_no_naming(cat: Catalog) -> None:
    assert reported(cat, NO_ZONE, network={"zones": ["usw2-az3"]}) == []


def test_a_pool_without_cards_spreads_over_all_zones(cat: Catalog) -> None:
    assert reported(cat, FINETUNE, PREPROCESS) == []


EAST = {"region": "us-east-1", "cluster": {}}


def test_a_zone_that_eks_bars_carries_nodes_and_no_control_plane(cat: Catalog) -> None:
    pool = {**PRETRAIN, "zone": "use1-az3", "nodes": 2, "spares": 0, "capacity": {"kind": "on-demand"}}
    network = {"zones": ["use1-az3", "use1-az1", "use1-az2"]}
    made = stack(pool, network=network, **EAST)
    assert made.network is not None
    plan = addresses.plan(made.network, compute_needs(made, cat))
    assert plan.zones("control") == ("use1-az1", "use1-az2")
    assert plan.zones("nodes") == ("use1-az1", "use1-az2", "use1-az3")
    assert plan.zones("compute") == ("use1-az3",)
    assert placement.system_zones(made, cat) == ("use1-az1", "use1-az2")  # the third sells no m7i
    found = rules.check(made, cat)
    assert [each.path for each in found if each.id == "zone-without-control-plane"] == ["network.zones"]
    assert errors(found) == []


def test_two_zones_of_which_one_is_barred_are_too_few(cat: Catalog) -> None:
    found = rules.check(stack(PREPROCESS, network={"zones": ["use1-az3", "use1-az1"]}, **EAST), cat)
    [few] = [each for each in found if each.id == "zones-too-few"]
    assert few.said == "EKS puts its control plane into two zones, and 1 of those named can carry it"
    assert "use1-az2" in few.hint and "use1-az3" not in few.hint
