"""Levels of nearness by machine type."""

from __future__ import annotations

import pytest

from components.catalog import Catalog
from components.planning import topology
from tests.components.planning.pool_stacks import FINETUNE, PREPROCESS, PRETRAIN, stack

LAYERS = tuple(f"topology.k8s.aws/network-node-layer-{number}" for number in (1, 2, 3, 4))
HOST = "kubernetes.io/hostname"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("p5.48xlarge", ("network-3", (*LAYERS[:3], HOST), LAYERS[2], LAYERS[1])),
        ("trn2.48xlarge", ("network-3", (*LAYERS[:3], HOST), LAYERS[2], LAYERS[1])),
        ("p6-b200.48xlarge", ("network-4", (*LAYERS, HOST), LAYERS[3], LAYERS[2])),
        ("p6-b300.48xlarge", ("network-4", (*LAYERS, HOST), LAYERS[3], LAYERS[2])),
        ("p5.4xlarge", ("hosts", (HOST,), None, None)),
        ("g5.48xlarge", ("hosts", (HOST,), None, None)),
        ("g6.48xlarge", ("hosts", (HOST,), None, None)),
    ],
)
def test_levels_run_from_the_widest_layer_to_the_machine(cat: Catalog, name: str, expected: tuple[object, ...]) -> None:
    found = topology.of_instance(cat.instance(name))
    assert (found.name, found.levels, found.leaf, found.spine) == expected


def test_depths_are_never_mixed_in_one_topology(cat: Catalog) -> None:
    by_name: dict[str, set[tuple[str, ...]]] = {}
    for machine in cat.instances.values():
        found = topology.of_instance(machine)
        by_name.setdefault(found.name, set()).add(found.levels)
    assert sorted(by_name) == ["hosts", "network-3", "network-4"]
    assert all(len(levels) == 1 for levels in by_name.values())


def test_a_stacks_topology_names_its_pools_with_cards(cat: Catalog) -> None:
    found = topology.of_stack(stack(PRETRAIN, FINETUNE, PREPROCESS), cat)
    assert sorted(found) == ["finetune", "pretrain"]
    assert found["pretrain"].as_plan() == {
        "name": "network-3",
        "levels": [*LAYERS[:3], HOST],
        "leaf": LAYERS[2],
        "spine": LAYERS[1],
    }
