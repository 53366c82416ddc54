"""What a stack file is told about the machines that mount its file systems over EFA, and the interfaces that
they get.
"""

from __future__ import annotations

from typing import Any

import pytest

from components.file_systems.lustre import efa_clients
from components.planning.rules import lustre_clients as rules_lustre_clients
from components.planning.rules.registry import registered
from components.problems import render
from components.spec.stack import StackSpec
from tests import given
from tests.components.planning.pool_stacks import FINETUNE, PREPROCESS, PRETRAIN, stack
from tests.given import CAT

FAST: dict[str, Any] = {
    "name": "fast",
    "zone": "usw2-az3",
    "capacity_gib": 9600,
    "throughput_mbps_per_tib": 500,
    "efa": True,
}


def with_system(*pools: dict[str, Any], **words: Any) -> StackSpec:
    return stack(*pools, storage={"lustre": [{**FAST, **words}]})


def reported(spec: StackSpec) -> list[str]:
    rules = [each for each in registered() if each.check.__module__ == rules_lustre_clients.__name__]
    return [render(problem) for each in rules for problem in each.check(spec, CAT)]


def small(**words: Any) -> dict[str, Any]:
    return {**PRETRAIN, "nodes": 16, "spares": 0, **words}


@pytest.mark.parametrize(
    ("instance_type", "count"),
    [
        ("p5.48xlarge", 8),
        ("p5en.48xlarge", 8),
        ("p6-b200.48xlarge", 8),
        ("p6-b300.48xlarge", 16),
        ("p6e-gb200.36xlarge", 4),
        ("trn1.32xlarge", 2),
        ("g6e.24xlarge", 2),
        ("p5.4xlarge", 1),
    ],
)
def test_each_type_gives_lustre_the_interfaces_of_the_guide(instance_type: str, count: int) -> None:
    """p6e-gb200 is said to give eight, and takes four."""
    spec = with_system(small(instance_type=instance_type))
    assert efa_clients.interfaces(spec, CAT) == {"pretrain": count}
    assert reported(spec) == []


def test_a_pool_with_fewer_interfaces_gives_no_more_than_it_has() -> None:
    assert efa_clients.interfaces(with_system(small(efa_interfaces=4)), CAT) == {"pretrain": 4}


@pytest.mark.parametrize(
    "spec",
    [
        with_system(small(), efa=False),
        with_system(small(), zone="usw2-az2"),
        with_system(small(fabric="tcp")),
        with_system(small(instance_type="trn2.48xlarge")),
        with_system(PREPROCESS),
        stack(small()),
        given.stack("dev"),
        given.stack("onprem"),
    ],
)
def test_without_efa_on_both_sides_of_one_zone_lustre_gets_no_interface(spec: StackSpec) -> None:
    assert efa_clients.interfaces(spec, CAT) == {}


def test_pools_of_a_zone_share_the_connections_that_a_file_system_serves() -> None:
    """100 nodes of each and 8 interfaces would be 1,600 connections; 5 of each are 1,000."""
    spec = with_system(small(nodes=100), {**FINETUNE, "nodes": {"min": 0, "max": 100}})
    assert efa_clients.interfaces(spec, CAT) == {"pretrain": 5, "finetune": 5}
    assert reported(spec) == []


def test_the_largest_pool_stays_on_tcp_where_not_every_node_can_have_one() -> None:
    spec = with_system(PRETRAIN, FINETUNE)
    assert efa_clients.interfaces(spec, CAT) == {"pretrain": 0, "finetune": 8}
    assert reported(spec) == [
        (
            'storage.lustre[0].efa: note: the 1,250 nodes of "pretrain" reach "fast" over TCP: FSx serves 1,024 EFA'
            " interfaces of all clients together; nothing to do where TCP carries a node's share"
        )
    ]


def test_a_file_system_whose_only_pool_is_too_large_has_efa_for_nothing() -> None:
    assert reported(with_system(PRETRAIN)) == [
        (
            'storage.lustre[0].efa: warning: the 1,250 nodes of "pretrain" reach "fast" over TCP: FSx serves 1,024 EFA'
            " interfaces of all clients together; use efa: false, or fewer nodes"
        )
    ]


def test_an_image_without_a_shell_leaves_its_nodes_on_tcp() -> None:
    spec = with_system(small(image_family="BOTTLEROCKET_x86_64_NVIDIA"))
    assert efa_clients.interfaces(spec, CAT) == {}
    assert reported(spec) == [
        (
            'storage.lustre[0].efa: warning: nodes of "pretrain" reach "fast" over TCP: '
            "BOTTLEROCKET_x86_64_NVIDIA runs "
            "no script, which would set LNet up for EFA; use AL2023_x86_64_NVIDIA for the pool, or efa: false"
        )
    ]
    assert reported(with_system(small(image_family="BOTTLEROCKET_x86_64_NVIDIA"), efa=False)) == []
    assert reported(with_system(small(image_family="BOTTLEROCKET_x86_64_NVIDEA"))) == []


def test_machines_without_efa_to_fsx_make_the_option_idle() -> None:
    assert reported(with_system(small(instance_type="p4d.24xlarge"))) == [
        (
            "storage.lustre[0].efa: warning: p4d.24xlarge can't reach FSx over EFA, so its throughput stays that of "
            "TCP; use efa: false"
        )
    ]


def test_an_unknown_type_is_another_rules_business() -> None:
    assert reported(with_system(small(instance_type="p5.48xlarg"))) == []
