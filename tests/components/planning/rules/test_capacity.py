"""Paid machines are used, wanted ones come, and nobody is surprised by a price."""

from __future__ import annotations

from typing import Any

import pytest

from components.catalog import Catalog
from tests.components.planning.pool_stacks import FINETUNE, IDS, PREPROCESS, PRETRAIN, reported

BLOCK: dict[str, Any] = FINETUNE["capacity"]


def reserved(**capacity: Any) -> dict[str, Any]:
    return {**PRETRAIN, "capacity": {"kind": "reservation", **capacity}}


def block(**capacity: Any) -> dict[str, Any]:
    return {**FINETUNE, "capacity": {**BLOCK, **capacity}}


def blocks(nodes: int, *parts: tuple[str, str, str, int]) -> dict[str, Any]:
    found = [{"id": each, "start": start, "end": end, "nodes": count} for each, start, end, count in parts]
    return {**FINETUNE, "nodes": {"min": 0, "max": nodes}, "capacity": {"kind": "block", "blocks": found}}


RESERVATIONS: list[tuple[str, dict[str, Any], list[str]]] = [
    (
        "the preference none",
        reserved(ids=list(IDS), preference="none"),
        [
            (
                'pools[0].capacity.preference: the preference "none" lets nodes run outside the reservation while it is'
                " paid for; take it out: the reservation is targeted by its id"
            )
        ],
    ),
    (
        "the preference open",
        reserved(ids=list(IDS), preference="open"),
        [
            (
                'pools[0].capacity.preference: the preference "open" lets nodes run outside the reservation while it is'
                " paid for; take it out: the reservation is targeted by its id"
            )
        ],
    ),
    (
        "no id",
        reserved(),
        ["pools[0].capacity.ids: the reservation has no id; write its ids, such as [cr-0a1b2c3d4e5f60718]"],
    ),
    (
        "ids and a group",
        reserved(ids=list(IDS), resource_group_arn="arn:aws:resource-groups:us-west-2:111122223333:group/g"),
        ["pools[0].capacity.resource_group_arn: ids and resource_group_arn are both given; keep one of the two"],
    ),
    (
        "an id twice",
        reserved(ids=[IDS[0], IDS[1], IDS[0]]),
        ['pools[0].capacity.ids[2]: "cr-0a1b2c3d4e5f60718" is listed twice; take one out'],
    ),
    (
        "more nodes than are reserved",
        reserved(ids=list(IDS), reserved_nodes=1200),
        [
            (
                'pools[0].capacity.reserved_nodes: pool "pretrain" wants 1250 nodes, and its reservations hold 1200; '
                "use at most 1200 nodes, or add a reservation of 50"
            )
        ],
    ),
    (
        "fewer nodes than are reserved",
        reserved(ids=list(IDS), reserved_nodes=1300),
        [
            (
                "pools[0].capacity.reserved_nodes: warning: 50 of 1300 reserved machines are paid for and never used by"
                ' pool "pretrain"; use 1300 nodes, with the rest as spares, or give machines back'
            )
        ],
    ),
    (
        "sizes of other ids",
        reserved(ids=list(IDS[:2]), sizes={IDS[0]: 625, IDS[2]: 625}),
        [
            (
                "pools[0].capacity.sizes: sizes and ids differ in cr-1a1b2c3d4e5f60718 and cr-2a1b2c3d4e5f60718; "
                "give a size for every id, and no other"
            )
        ],
    ),
    (
        "sizes that are too small together",
        reserved(ids=list(IDS[:2]), sizes={IDS[0]: 600, IDS[1]: 600}),
        [
            (
                'pools[0].capacity.sizes: pool "pretrain" wants 1250 nodes, and its reservations hold 1200; '
                "use at most 1200 nodes, or add a reservation of 50"
            )
        ],
    ),
    (
        "a sum that the sizes don't have",
        reserved(ids=list(IDS[:2]), sizes={IDS[0]: 625, IDS[1]: 625}, reserved_nodes=1000),
        ["pools[0].capacity.reserved_nodes: reserved_nodes is 1000, and the sizes add up to 1250; take it out"],
    ),
    (
        "more reservations than nodes",
        {**reserved(ids=list(IDS)), "nodes": 2, "spares": 0},
        [
            (
                "pools[0].capacity.ids: 3 reservations for 2 nodes: one would stay empty; add nodes, or take"
                " reservations out"
            )
        ],
    ),
]

BLOCKS: list[tuple[str, dict[str, Any], list[str]]] = [
    (
        "a block without an end",
        {**FINETUNE, "capacity": {"kind": "block", "id": BLOCK["id"], "start": BLOCK["start"]}},
        [
            (
                'pools[0].capacity.end: the block of pool "finetune" has no end; write the reservation\'s, such as'
                " 2026-12-24T11:30:00Z"
            )
        ],
    ),
    (
        "a block without an id",
        {**FINETUNE, "capacity": {"kind": "block", "start": BLOCK["start"], "end": BLOCK["end"]}},
        [
            (
                'pools[0].capacity.id: the block of pool "finetune" has no id; write the reservation\'s, such as'
                " cr-0a1b2c3d4e5f60718"
            )
        ],
    ),
    (
        "an end before the start",
        block(end="2026-12-09T11:30:00Z"),
        [
            (
                "pools[0].capacity.end: the block ends at 2026-12-09T11:30:00Z, before its start at "
                "2026-12-10T11:30:00Z; exchange start and end, or correct one of them"
            )
        ],
    ),
    (
        "a block shorter than EC2 sells",
        block(end="2026-12-10T23:30:00Z"),
        [
            (
                "pools[0].capacity.end: the block lasts 0.5 days, and EC2 sells them for 1 to 182; correct the start or"
                " the end"
            )
        ],
    ),
    (
        "more than 64 machines in one block",
        {**block(), "nodes": {"min": 0, "max": 100}},
        [
            (
                "pools[0].capacity.id: a Capacity Block holds at most 64 machines, and this one is to have 100; "
                "buy 2 blocks and list them under capacity.blocks, each with its nodes"
            )
        ],
    ),
    (
        "a type that isn't sold in blocks",
        {**block(), "instance_type": "trn1n.32xlarge", "zone": "usw2-az4"},
        [
            (
                "pools[0].instance_type: trn1n.32xlarge is not sold in Capacity Blocks; use a reservation or "
                "on-demand, or a type sold in blocks: "
                "trn1.32xlarge, trn2.3xlarge, trn2.48xlarge, trn2u.48xlarge"
            )
        ],
    ),
    (
        "one block and several",
        block(blocks=[{"id": IDS[0], "start": BLOCK["start"], "end": BLOCK["end"], "nodes": 16}]),
        ["pools[0].capacity.id: blocks and id, start and end are both given; move it into blocks, with its nodes"],
    ),
    (
        "blocks that overlap beyond the pool",
        blocks(
            32,
            (IDS[0], "2026-12-10T11:30:00Z", "2026-12-24T11:30:00Z", 32),
            (IDS[1], "2026-12-20T11:30:00Z", "2026-12-30T11:30:00Z", 32),
        ),
        [
            (
                "pools[0].capacity.blocks: cr-0a1b2c3d4e5f60718 and cr-1a1b2c3d4e5f60718 overlap from "
                '2026-12-20T11:30:00Z to 2026-12-24T11:30:00Z and hold 64 machines together; pool "finetune" has '
                "32 nodes; use 64 nodes, or"
                " take one of the blocks out"
            )
        ],
    ),
    (
        "a pool larger than its blocks ever are",
        blocks(
            64,
            (IDS[0], "2026-12-10T11:30:00Z", "2026-12-24T11:30:00Z", 32),
            (IDS[1], "2026-12-24T11:30:00Z", "2026-12-30T11:30:00Z", 32),
        ),
        ['pools[0].nodes: pool "finetune" wants 64 nodes, and its blocks hold at most 32 at one time; use 32 nodes'],
    ),
]

SPOT: list[tuple[str, dict[str, Any], list[str]]] = [
    (
        "spot on a training pool",
        {**PRETRAIN, "capacity": {"kind": "spot"}},
        [
            (
                "pools[0].capacity.kind: spot on a training pool: losing one machine at two minutes'"
                " notice stops the job on all of them; use reservation or block, or on-demand with"
                " nodes: {min: 0, max: 1250}; spot is for preprocessing"
            )
        ],
    ),
    (
        "spot on a pool with EFA",
        {**FINETUNE, "capacity": {"kind": "spot"}},
        [
            (
                "pools[0].capacity.kind: spot on a pool with EFA: losing one machine at two minutes'"
                " notice stops the job on all of them; use reservation or block, or on-demand with"
                " nodes: {min: 0, max: 16}; spot is for preprocessing"
            )
        ],
    ),
    (
        "one type, with the alike ones named",
        {**PREPROCESS, "instance_types": ["m7i.8xlarge"]},
        [
            (
                "pools[0].instance_types[0]: a spot pool of 1 type stops whenever it is short; name 3 or more alike: "
                "instance_types: [m7i.8xlarge, m6a.8xlarge, m6i.8xlarge, m7a.8xlarge]"
            )
        ],
    ),
    (
        "fine-tuning on spot",
        {**PREPROCESS, "purpose": "finetuning", "capacity": {"kind": "spot"}},
        [
            (
                "pools[0].capacity.kind: warning: fine-tuning on spot starts again from its last checkpoint whenever "
                "a machine is taken back; "
                "checkpoint often, or buy on demand"
            )
        ],
    ),
]

ON_DEMAND: list[tuple[str, dict[str, Any], list[str]]] = [
    (
        "nodes at once, with the price of an hour",
        {**PRETRAIN, "nodes": 2, "spares": 0, "capacity": {"kind": "on-demand"}},
        [
            (
                "pools[0].nodes: warning: 2 x p5.48xlarge are bought on demand as soon as the pool is made, at 110.08 "
                "USD an hour; use nodes: {min: 0, max: 2} to buy them when a job waits"
            )
        ],
    ),
    (
        "nodes at once, of a type without a price",
        {**PRETRAIN, "instance_type": "p5e.48xlarge", "nodes": 2, "spares": 0, "capacity": {"kind": "on-demand"}},
        [
            (
                "pools[0].nodes: warning: 2 x p5e.48xlarge are bought on demand as soon as the pool is made; the "
                "catalog has no price for them "
                "here; use nodes: {min: 0, max: 2} to buy them when a job waits"
            )
        ],
    ),
]

ALL = [*RESERVATIONS, *BLOCKS, *SPOT, *ON_DEMAND]


@pytest.mark.parametrize(
    ("pool", "expected"), [(pool, expected) for _, pool, expected in ALL], ids=[name for name, _, _ in ALL]
)
def test_a_wrong_purchase_is_told_in_full(cat: Catalog, pool: dict[str, Any], expected: list[str]) -> None:
    assert reported(cat, pool) == expected


def test_a_reservation_belongs_to_one_pool(cat: Catalog) -> None:
    other = {
        **PRETRAIN,
        "name": "other",
        "capacity": {"kind": "reservation", "ids": [IDS[1]]},
        "nodes": 10,
        "spares": 0,
    }
    assert reported(cat, PRETRAIN, other) == [
        (
            'pools[1].capacity.ids[0]: "cr-1a1b2c3d4e5f60718" is used by pool "pretrain" already; give each pool'
            " reservations of its own"
        )
    ]


def test_a_one_type_preprocessing_pool_is_fine_on_demand(cat: Catalog) -> None:
    assert reported(cat, {**PREPROCESS, "instance_types": ["m7i.8xlarge"]}, spot_preprocessing=False) == []


def test_blocks_that_follow_each_other_are_fine(cat: Catalog) -> None:
    one = (IDS[0], "2026-12-10T11:30:00Z", "2026-12-24T11:30:00Z", 32)
    assert reported(cat, blocks(32, one, (IDS[1], "2026-12-24T11:30:00Z", "2026-12-30T11:30:00Z", 32))) == []


def test_more_than_thirty_node_groups_are_told_with_the_quota_to_ask_for(cat: Catalog) -> None:
    pools = [{**PREPROCESS, "name": f"prep{number}", "nodes": {"min": 451, "max": 500}} for number in range(15)]
    parts = ", ".join(f"prep{number} 2" for number in range(14))
    assert reported(cat, *pools) == [
        (
            f"pools: warning: 31 managed node groups (system 1, {parts} and prep14 2) are more than the 30 that EKS "
            "allows a cluster; ask Service Quotas for 31 (eks L-6D54EA21) and acknowledge this, or use fewer pools and"
            " reservations"
        )
    ]
