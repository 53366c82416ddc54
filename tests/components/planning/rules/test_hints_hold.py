"""A hint is true: once it is followed, the problem is gone and no other has come of it."""

from __future__ import annotations

from typing import Any

import pytest

from components.catalog import Catalog
from components.manifests.nodes import whole_node
from components.planning import rules
from components.planning.pool import Pool
from components.problems import Problem, errors
from components.spec.pools import PoolSpec
from components.spec.stack import StackSpec
from tests.components.planning.pool_stacks import PRETRAIN, stack

P5EN: dict[str, Any] = {
    **PRETRAIN,
    "instance_type": "p5en.48xlarge",
    "nodes": 32,
    "spares": 0,
    "capacity": {"kind": "on-demand"},
}
LUSTRE: dict[str, Any] = {
    "lustre": [
        {
            "name": "scratch",
            "zone": "usw2-az3",
            "deployment": "PERSISTENT_2",
            "capacity_gib": 4800,
            "throughput_mbps_per_tib": 500,
        }
    ]
}


def of(made: StackSpec, cat: Catalog, *ids: str) -> list[Problem]:
    return [each for each in rules.check(made, cat) if each.id in ids]


@pytest.mark.parametrize("fabric", ["infiniband", "roce"])
def test_a_fabric_of_ones_own_machines_on_ec2_is_answered_with_one_that_the_type_has(cat: Catalog, fabric: str) -> None:
    [reported] = of(stack({**P5EN, "fabric": fabric}), cat, "fabric-unfit")
    assert reported.hint == "use fabric: efa, or tcp"
    for better in ("efa", "tcp"):
        assert of(stack({**P5EN, "fabric": better}), cat, "fabric-unfit") == []


def test_a_pool_that_no_zone_of_the_network_serves_gets_zones_to_add_and_never_an_empty_list(cat: Catalog) -> None:
    pool = {
        "name": "preprocess",
        "purpose": "preprocessing",
        "instance_types": ["m7i.4xlarge", "m7a.4xlarge"],
        "nodes": {"min": 0, "max": 4},
    }
    moved = stack(pool, network={"zones": ["usw2-az1", "usw2-az2"]}, region="eu-north-1", cluster={})
    reported = of(moved, cat, "zone-without-type")
    assert reported
    assert not [each.hint for each in reported if "[]" in each.hint]
    assert {each.hint for each in reported if each.path.startswith("pools")} == {
        "add eun1-az1, eun1-az2 or eun1-az3 to network.zones and use it"
    }
    zones = ["eun1-az1", "eun1-az2"]
    there = stack({**pool, "zones": zones}, network={"zones": zones}, region="eu-north-1", cluster={})
    assert of(there, cat, "zone-without-type") == []


@pytest.mark.parametrize("zones", [["usw2-az2", "usw2-az3"], ["usw2-az2", "usw2-az3", "usw2-az7"]])
def test_a_pool_in_a_zone_that_is_not_there_is_told_so_and_nothing_is_to_follow_it(
    cat: Catalog, zones: list[str]
) -> None:
    lost = stack({**P5EN, "zone": "usw2-az7"}, network={"zones": zones}, storage=LUSTRE)
    reported = of(lost, cat, "zone-unknown", "zone-without-type", "lustre-zone")
    assert [each.path for each in reported if each.severity == "error"] == ["pools[0].zone"]
    assert all("usw2-az7" not in each.hint for each in reported)
    found = stack(P5EN, network={"zones": zones}, storage=LUSTRE)
    assert of(found, cat, "zone-without-type", "lustre-zone") == []


@pytest.mark.parametrize(
    ("cards", "hint", "right"),
    [(300, "use 256", 256), (255, "use 248 or 256", 248), (255, "use 248 or 256", 256), (3, "use 8", 8)],
)
def test_a_queue_of_broken_nodes_hears_only_numbers_that_its_pool_has(
    cat: Catalog, cards: int, hint: str, right: int
) -> None:
    ids = ("queue-partial-node", "queue-under-node", "queue-over-pool")

    def asking(count: int) -> StackSpec:
        return stack(P5EN, queues=[{"name": "all", "pool": "pretrain", "cards": count}])

    assert hint in [each.hint for each in of(asking(cards), cat, *ids)]
    assert errors(of(asking(right), cat, *ids)) == []
    assert of(asking(right), cat, *ids) == []


def test_adapters_are_asked_for_by_name_and_then_no_longer(cat: Catalog) -> None:
    hosts = {"accelerator": "h100", "cards": 8, "vcpu": 192, "memory_gib": 2048, "rdma_devices": 8}
    form = {"kind": "self-hosted", "kubeconfig": "x"}
    pool = {"name": "rack", "purpose": "training", "nodes": 4, "fabric": "infiniband"}

    def with_hosts(fabric: str, **more: Any) -> StackSpec:
        data = {"environment": "prod", "form": form, "pools": [{**pool, "fabric": fabric, "hosts": {**hosts, **more}}]}
        return StackSpec.model_validate(data)

    ids = ("adapters-unnamed", "adapters-unused", "hosts-reserve-all")
    assert [each.id for each in of(with_hosts("infiniband"), cat, *ids)] == ["adapters-unnamed"]
    assert of(with_hosts("infiniband", rdma_adapters=["mlx5_0"]), cat, *ids) == []
    assert [each.id for each in of(with_hosts("tcp", rdma_adapters=["mlx5_0"]), cat, *ids)] == ["adapters-unused"]
    [all_kept] = of(with_hosts("tcp", reserved_vcpu=192), cat, *ids)
    assert (all_kept.path, all_kept.hint) == ("pools[0].hosts.reserved_vcpu", "use 191 at most")
    assert of(with_hosts("tcp", reserved_vcpu=191), cat, *ids) == []


def test_what_hosts_keep_is_taken_from_what_a_worker_asks_for(cat: Catalog) -> None:
    hosts = {"accelerator": "h100", "cards": 8, "vcpu": 192, "memory_gib": 2048}
    base = {"name": "rack", "purpose": "training", "nodes": 4, "fabric": "tcp"}
    said = PoolSpec.model_validate({**base, "hosts": {**hosts, "reserved_vcpu": 12, "reserved_memory_gib": 48}})
    machine = whole_node.machine_of(Pool(said, cat))
    assert machine is not None
    assert (machine.requests["cpu"], machine.requests["memory"]) == ("180", "2000Gi")
