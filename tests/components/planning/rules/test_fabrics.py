"""Who can have which fabric, and what would cost bandwidth unnoticed."""

from __future__ import annotations

from typing import Any

import pytest

from components.catalog import Catalog
from tests.components.planning.pool_stacks import FINETUNE, PREPROCESS, PRETRAIN, reported

SEVERAL = {key: value for key, value in FINETUNE.items() if key != "instance_type"} | {
    "capacity": {"kind": "on-demand"}
}

CASES: list[tuple[str, dict[str, Any], list[str]]] = [
    ("a misspelt fabric", {**PRETRAIN, "fabric": "eфa"}, ['pools[0].fabric: "eфa" is no fabric; did you mean "efa"?']),
    (
        "EFA on a type without it names those of the family that have it",
        {**PRETRAIN, "instance_type": "g6e.4xlarge"},
        [
            (
                "pools[0].fabric: g6e.4xlarge takes no EFA interface; use fabric: tcp, or a type that does: "
                "g6e.8xlarge, g6e.12xlarge, g6e.16xlarge, g6e.24xlarge, g6e.48xlarge"
            )
        ],
    ),
    (
        "InfiniBand on EC2",
        {**PRETRAIN, "fabric": "infiniband"},
        [("pools[0].fabric: EC2 machines such as p5.48xlarge have no infiniband; use fabric: efa, or tcp")],
    ),
    (
        "more interfaces than there are",
        {**PRETRAIN, "efa_interfaces": 33},
        ["pools[0].efa_interfaces: p5.48xlarge takes 32 EFA interfaces, not 33; use 32, or leave it out"],
    ),
    (
        "a single interface of 32",
        {**PRETRAIN, "efa_interfaces": 1},
        [
            (
                "pools[0].efa_interfaces: warning: 1 of the 32 EFA interfaces of p5.48xlarge leave 3 % of its "
                "bandwidth; leave it out to use all"
            ),
        ],
    ),
    (
        "interfaces without EFA",
        {**PRETRAIN, "fabric": "tcp", "efa_interfaces": 4},
        ['pools[0].efa_interfaces: pool "pretrain" has no EFA; take it out'],
    ),
    (
        "EFA without RDMA",
        {**PRETRAIN, "instance_type": "g5.48xlarge", "zone": "usw2-az2"},
        [
            (
                "pools[0].fabric: note: EFA on g5.48xlarge has no RDMA and no GPUDirect: it saves little over TCP; "
                "use fabric: tcp unless measured"
            )
        ],
    ),
    (
        "layouts that no template fits",
        {**SEVERAL, "instance_types": ["p5.48xlarge", "p5en.48xlarge"], "zone": "usw2-az3"},
        [
            (
                "pools[0].instance_types[1]: p5.48xlarge has 8 H100 and p5en.48xlarge has 8 H200; make two pools: a"
                " pool's nodes are alike"
            ),
            (
                "pools[0].instance_types[1]: p5.48xlarge takes 32 EFA interfaces on 32 network cards and "
                "p5en.48xlarge takes 16 EFA interfaces on 16 "
                "network cards: no launch template fits both; make a pool for each type"
            ),
        ],
    ),
    (
        "P4d with P4de",
        {**SEVERAL, "instance_types": ["p4d.24xlarge", "p4de.24xlarge"], "zone": "usw2-az2"},
        [
            (
                "pools[0].instance_types[1]: EFA of p4d and p4de machines does not talk to other families': "
                "p4d.24xlarge and p4de.24xlarge; "
                "make a pool and a queue for each family"
            ),
        ],
    ),
    (
        "more security groups than an interface takes",
        {**PRETRAIN, "security_groups": ["sg-0a1b2c3d", "sg-1a1b2c3d", "sg-2a1b2c3d"]},
        [
            (
                "pools[0].security_groups: 3 security groups beside the cluster's, the compute network's and EFA's "
                "are more than the 5 of an "
                "interface; use at most 2"
            )
        ],
    ),
    (
        "several types to train on",
        {**PREPROCESS, "purpose": "training", "capacity": {"kind": "on-demand"}},
        [
            (
                'pools[0].instance_types[1]: pool "preprocess" trains on m7i.8xlarge, m7a.8xlarge, m6i.8xlarge and '
                "m6a.8xlarge: the slowest type "
                "would set the pace; use one instance_type"
            )
        ],
    ),
]


@pytest.mark.parametrize(
    ("pool", "expected"), [(pool, expected) for _, pool, expected in CASES], ids=[name for name, _, _ in CASES]
)
def test_a_fabric_that_does_not_fit_is_told_in_full(cat: Catalog, pool: dict[str, Any], expected: list[str]) -> None:
    assert reported(cat, pool) == expected
