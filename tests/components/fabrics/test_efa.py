"""EFA layouts of every type in the catalog, against the rules that EC2 enforces at launch."""

from __future__ import annotations

from typing import get_args

import pytest

from components import catalog as catalogs
from components.catalog import Catalog
from components.fabrics import efa
from components.spec.pools import PoolSpec

EFA_TYPES = sorted(machine.name for machine in catalogs.load().instances.values() if machine.efa)

# The figures that others' launches failed on.
COUNTS = {
    "p4d.24xlarge": 4,
    "p4de.24xlarge": 4,
    "p5.48xlarge": 32,
    "p5.4xlarge": 1,
    "p5e.48xlarge": 32,
    "p5en.48xlarge": 16,
    "p6-b200.48xlarge": 8,
    "p6-b300.48xlarge": 16,
    "trn1.32xlarge": 8,
    "trn1n.32xlarge": 16,
    "trn2.48xlarge": 16,
    "g5.48xlarge": 1,
    "g6e.48xlarge": 4,
    "g6e.24xlarge": 2,
    "g7e.48xlarge": 4,
}


def pool(name: str, **more: object) -> PoolSpec:
    return PoolSpec.model_validate(
        {
            "name": "train",
            "purpose": "training",
            "instance_type": name,
            "zone": "usw2-az3",
            "nodes": 2,
            "fabric": "efa",
            **more,
        }
    )


@pytest.mark.parametrize("layout", get_args(efa.Layout))
@pytest.mark.parametrize("name", EFA_TYPES)
def test_every_layout_is_one_that_ec2_launches(cat: Catalog, name: str, layout: efa.Layout) -> None:
    machine = cat.instance(name)
    found = efa.layout(machine, layout)
    primary, rest = found[0], found[1:]
    assert (primary.network_card_index, primary.device_index) == (0, 0)
    assert primary.interface_type != "efa-only", "EC2 refuses a primary without an address"
    assert {each.device_index for each in found} <= {0, 1}
    places = [(each.network_card_index, each.device_index) for each in found]
    assert len(set(places)) == len(places)
    with_efa = [each.network_card_index for each in found if each.rdma]
    assert len(with_efa) == machine.network.max_efa
    assert len(set(with_efa)) == len(with_efa), "one EFA on a card"
    assert set(with_efa) <= set(machine.network.efa_cards)
    assert len(found) <= machine.network.max_interfaces
    for card in range(machine.network.cards):
        assert sum(each.network_card_index == card for each in found) <= machine.network.interfaces_per_card
    assert all(each.interface_type in ("efa-only", "efa") for each in rest)


@pytest.mark.parametrize(("name", "count"), sorted(COUNTS.items()))
def test_the_count_is_the_types_maximum_not_its_cards(cat: Catalog, name: str, count: int) -> None:
    assert sum(each.rdma for each in efa.layout(cat.instance(name))) == count
    assert efa.Efa().pod_resources(pool(name), cat.instance(name))["vpc.amazonaws.com/efa"] == str(count)


def test_p5_has_a_plain_primary_and_efa_only_on_every_card(cat: Catalog) -> None:
    found = [
        (each.network_card_index, each.device_index, each.interface_type)
        for each in efa.layout(cat.instance("p5.48xlarge"))
    ]
    assert found == [(0, 0, "interface"), (0, 1, "efa-only"), *((card, 0, "efa-only") for card in range(1, 32))]


def test_p6_b300_has_no_efa_on_card_0_in_either_layout(cat: Catalog) -> None:
    machine = cat.instance("p6-b300.48xlarge")
    modern = [(each.network_card_index, each.device_index, each.interface_type) for each in efa.layout(machine)]
    classic = [(each.network_card_index, each.device_index, each.interface_type) for each in efa.layout(machine, "efa")]
    assert modern == [(0, 0, "interface"), *((card, 0, "efa-only") for card in range(1, 17))]
    assert classic == [(0, 0, "interface"), *((card, 1, "efa") for card in range(1, 17))]


def test_the_classic_layout_of_p4d_is_efa_on_every_card(cat: Catalog) -> None:
    found = [
        (each.network_card_index, each.device_index, each.interface_type)
        for each in efa.layout(cat.instance("p4d.24xlarge"), "efa")
    ]
    assert found == [(0, 0, "efa"), (1, 1, "efa"), (2, 1, "efa"), (3, 1, "efa")]


def test_one_address_a_node_unless_every_efa_takes_one(cat: Catalog) -> None:
    p5, b300 = cat.instance("p5.48xlarge"), cat.instance("p6-b300.48xlarge")
    assert [efa.addressed_interfaces(p5), efa.addressed_interfaces(p5, "efa")] == [1, 32]
    assert [efa.addressed_interfaces(b300), efa.addressed_interfaces(b300, "efa")] == [1, 17]


def test_nitro_v6_keeps_idle_connections_for_five_days(cat: Catalog) -> None:
    for name, expected in {
        "p6-b200.48xlarge": 432000,
        "g7e.48xlarge": 432000,
        "p5.48xlarge": None,
        "trn2.48xlarge": None,
    }.items():
        found = efa.layout(cat.instance(name))
        assert found[0].tcp_established_timeout == expected, name
        assert all(each.tcp_established_timeout is None for each in found if each.interface_type == "efa-only"), name


def test_a_smaller_count_takes_the_first_cards(cat: Catalog) -> None:
    found = efa.layout(cat.instance("p5.48xlarge"), "efa-only", 2)
    assert [(each.network_card_index, each.device_index) for each in found] == [(0, 0), (0, 1), (1, 0)]
    assert (
        efa.Efa().pod_resources(pool("p5.48xlarge", efa_interfaces=2), cat.instance("p5.48xlarge"))[
            "vpc.amazonaws.com/efa"
        ]
        == "2"
    )


def test_an_efa_only_interface_on_card_0_takes_a_place_from_pods(cat: Catalog) -> None:
    p5 = cat.instance("p5.48xlarge")
    assert [efa.pod_interfaces(p5), efa.pod_interfaces(p5, "efa"), efa.pod_interfaces(p5, efa=False)] == [1, 2, 2]
    assert efa.pod_interfaces(cat.instance("p6-b300.48xlarge")) == 4


def test_nccl_fails_rather_than_fall_back_to_tcp(cat: Catalog) -> None:
    words = efa.Efa().environment(pool("p5.48xlarge"), cat.instance("p5.48xlarge"))
    assert words == {"FI_EFA_USE_HUGE_PAGE": "0", "NCCL_NET": "AWS Libfabric", "NCCL_SOCKET_IFNAME": "eth0"}
    obsolete = {
        "FI_PROVIDER",
        "FI_EFA_USE_DEVICE_RDMA",
        "NCCL_PROTO",
        "NCCL_ALGO",
        "NCCL_TUNER_PLUGIN",
        "NCCL_NET_PLUGIN",
    }
    assert not obsolete & set(words)


def test_trainium_gets_no_variables_of_nccl(cat: Catalog) -> None:
    assert efa.Efa().environment(pool("trn2.48xlarge"), cat.instance("trn2.48xlarge")) == {
        "FI_EFA_USE_DEVICE_RDMA": "1",
        "FI_EFA_USE_HUGE_PAGE": "0",
        "FI_PROVIDER": "efa",
        "NCCL_SOCKET_IFNAME": "eth0",
    }


def test_pods_ask_for_no_huge_pages_since_no_job_uses_them(cat: Catalog) -> None:
    for name in ("p5.48xlarge", "trn2.48xlarge", "g6e.48xlarge"):
        asked = efa.Efa().pod_resources(pool(name), cat.instance(name))
        assert list(asked) == ["vpc.amazonaws.com/efa"]
        assert efa.Efa().environment(pool(name), cat.instance(name))["FI_EFA_USE_HUGE_PAGE"] == "0"
