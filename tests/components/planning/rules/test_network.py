"""Zones and ranges that AWS would refuse, or that the pools outgrow, are refused before anything is declared: each full
text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from components import catalog
from components.catalog import Catalog
from components.planning.rules import network as rules
from components.problems import Problem, render
from components.spec.stack import StackSpec

CAT = catalog.load()
P5 = {
    "name": "train",
    "purpose": "training",
    "instance_type": "p5.48xlarge",
    "zone": "usw2-az3",
    "nodes": 2,
    "fabric": "efa",
}


def stack(network: dict[str, Any] | None = None, **sections: Any) -> StackSpec:
    data: dict[str, Any] = {
        "environment": "prod",
        "network": {"zones": ("usw2-az2", "usw2-az3"), **(network or {})},
        "cluster": {},
    }
    return StackSpec.model_validate({**data, **sections})


def said(rule: Callable[[StackSpec, Catalog], Iterable[Problem]], value: StackSpec) -> list[str]:
    return [render(each) for each in rule(value, CAT)]


ALL = (
    rules.zones_are_distinct,
    rules.zones_are_of_the_region,
    rules.ranges_are_apart,
    rules.ranges_are_legal,
    rules.management_range_has_room,
    rules.compute_ranges_have_room,
    rules.pins_hold,
    rules.premises_are_reached,
    rules.premises_have_private_ranges,
    rules.endpoints_are_named_once,
)


def test_a_sound_network_has_no_problems_and_neither_has_none() -> None:
    self_hosted = StackSpec.model_validate({"environment": "dev", "form": {"kind": "self-hosted", "kubeconfig": "x"}})
    for rule in ALL:
        assert said(rule, stack(pools=(P5,))) == []
        assert said(rule, self_hosted) == []


def test_a_zone_named_twice() -> None:
    assert said(rules.zones_are_distinct, stack({"zones": ("usw2-az2", "usw2-az3", "usw2-az2")})) == [
        "network.zones[2]: usw2-az2 is named twice; name each zone once"
    ]


def test_a_single_zone_which_eks_refuses() -> None:
    assert said(rules.zones_are_distinct, stack({"zones": ("usw2-az2",)})) == [
        (
            "network.zones: EKS puts its control plane into two zones, and one is named; add one of usw2-az1, usw2-az3,"
            " usw2-az4"
        )
    ]


def test_a_zone_of_another_region() -> None:
    assert said(rules.zones_are_of_the_region, stack({"zones": ("usw2-az2", "use1-az6")})) == [
        ("network.zones[1]: use1-az6 lies in us-east-1, the stack in us-west-2; use usw2-az1, usw2-az3 or usw2-az4")
    ]


def test_a_zone_that_the_region_does_not_have() -> None:
    assert said(rules.zones_are_of_the_region, stack({"zones": ("usw2-az2", "usw2-az7")})) == [
        (
            "network.zones[1]: warning: usw2-az7 is no zone of us-west-2 that the catalog knows; "
            "it knows usw2-az1, usw2-az2, usw2-az3, usw2-az4"
        )
    ]


def test_a_compute_range_inside_the_management_range() -> None:
    assert said(rules.ranges_are_apart, stack({"compute_cidrs": ("10.0.128.0/17",)})) == [
        (
            "network.compute_cidrs[0]: 10.0.128.0/17 overlaps network.cidr, which is 10.0.0.0/16; use a range of its "
            "own, such as 100.64.0.0/17"
        )
    ]


def test_two_compute_ranges_that_overlap() -> None:
    assert said(rules.ranges_are_apart, stack({"compute_cidrs": ("100.64.0.0/16", "100.64.64.0/18")})) == [
        (
            "network.compute_cidrs[1]: 100.64.64.0/18 overlaps network.compute_cidrs[0], which is 100.64.0.0/16; "
            "use a range of its own, such as 100.65.0.0/18"
        )
    ]


def test_an_on_premises_range_that_meets_the_vpc() -> None:
    form = {
        "kind": "hybrid",
        "remote_networks": ({"name": "rack", "node_cidr": "10.0.64.0/20", "pod_cidr": "100.64.0.0/18"},),
    }
    assert said(rules.ranges_are_apart, stack(form=form)) == [
        (
            "form.remote_networks[0].node_cidr: 10.0.64.0/20 overlaps network.cidr, which is 10.0.0.0/16; "
            "use a range of its own, such as 100.65.0.0/20"
        ),
        (
            "form.remote_networks[0].pod_cidr: 100.64.0.0/18 overlaps network.compute_cidrs[0], which is 100.64.0.0/16;"
            " use a range of its own, such as 100.65.0.0/18"
        ),
    ]


def test_services_on_a_range_that_is_taken() -> None:
    assert said(rules.ranges_are_apart, stack(cluster={"service_cidr": "10.0.16.0/20"})) == [
        (
            "cluster.service_cidr: 10.0.16.0/20 overlaps network.cidr, which is 10.0.0.0/16; use a range of its own, "
            "such as 172.20.0.0/16"
        )
    ]


def test_no_range_left_for_services() -> None:
    remote = tuple(
        {"name": f"n{index}", "node_cidr": cidr}
        for index, cidr in enumerate(("172.16.0.0/12", "192.168.0.0/16", "10.128.0.0/9"))
    )
    value = stack({"cidr": "10.100.0.0/16"}, form={"kind": "hybrid", "remote_networks": remote})
    assert said(rules.ranges_are_apart, value) == [
        (
            "cluster.service_cidr: every range that this project uses for Kubernetes services "
            "(172.20.0.0/16, 10.100.0.0/16, 172.24.0.0/16, 10.254.0.0/16, 192.168.0.0/16) is taken; "
            "name a private range that nothing else uses"
        )
    ]


def test_a_range_larger_than_a_vpc_takes() -> None:
    assert said(rules.ranges_are_legal, stack({"cidr": "10.0.0.0/12", "compute_cidrs": ("100.64.0.0/30",)})) == [
        "network.cidr: 10.0.0.0/12 is a /12, and a VPC takes ranges from /16 to /28; use 10.0.0.0/16",
        "network.compute_cidrs[0]: 100.64.0.0/30 is a /30, and a VPC takes ranges from /16 to /28; use a /16 to /28",
    ]


def test_a_range_that_aws_bars_beside_the_first() -> None:
    assert said(rules.ranges_are_legal, stack({"compute_cidrs": ("192.168.0.0/16",)})) == [
        (
            "network.compute_cidrs[0]: 192.168.0.0/16: AWS adds no range inside 192.168.0.0/16 to a VPC of "
            "10.0.0.0/16; use one of 100.64.0.0/10, such as 100.64.0.0/16"
        )
    ]


@pytest.mark.parametrize("cidr", ["0.0.0.0/16", "127.0.0.0/16", "169.254.0.0/16", "224.0.0.0/16", "240.0.0.0/16"])
def test_ranges_whose_addresses_no_machine_can_have(cidr: str) -> None:
    said_of = f"{cidr} holds addresses that no machine on a network can have; use a range such as"
    assert said(rules.ranges_are_legal, stack({"cidr": cidr})) == [f"network.cidr: {said_of} 10.0.0.0/16"]
    assert said(rules.ranges_are_legal, stack({"compute_cidrs": (cidr,)})) == [
        f"network.compute_cidrs[0]: {said_of} 100.64.0.0/16"
    ]


@pytest.mark.parametrize("cidr", ["127.0.0.0/16", "169.254.0.0/16", "198.18.0.0/16", "100.64.0.0/16"])
def test_a_services_range_outside_the_private_ones(cidr: str) -> None:
    assert said(rules.ranges_are_legal, stack(cluster={"service_cidr": cidr})) == [
        (
            f"cluster.service_cidr: {cidr} can't be the services' range: EKS takes a private one from /12 to /24; use"
            " 172.20.0.0/16"
        )
    ]


def test_premises_with_ranges_that_eks_does_not_take() -> None:
    remote = (
        {"name": "rack", "node_cidr": "8.8.0.0/16", "pod_cidr": "127.0.0.0/8"},
        {"name": "hall", "node_cidr": "100.80.0.0/16"},
    )
    taken = (
        "lies in none of the ranges that EKS takes for hybrid nodes and their pods; "
        "use a part of 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 or 100.64.0.0/10"
    )
    assert said(rules.premises_have_private_ranges, stack(form={"kind": "hybrid", "remote_networks": remote})) == [
        f"form.remote_networks[0].node_cidr: 8.8.0.0/16 {taken}",
        f"form.remote_networks[0].pod_cidr: 127.0.0.0/8 {taken}",
    ]


def test_more_ranges_than_a_new_account_allows() -> None:
    value = stack({"compute_cidrs": tuple(f"100.{number}.0.0/16" for number in range(64, 69))})
    assert said(rules.ranges_are_legal, value) == [
        (
            "network.compute_cidrs: warning: 6 ranges in one VPC (5 beside the management range),"
            " and a new account has room for 5; ask for more through Service Quotas L-83CA0A9D, or"
            " use fewer, larger ranges"
        )
    ]


def test_a_services_range_of_the_wrong_size() -> None:
    assert said(rules.ranges_are_legal, stack(cluster={"service_cidr": "172.20.0.0/28"})) == [
        (
            "cluster.service_cidr: 172.20.0.0/28 can't be the services' range: EKS takes a "
            "private one from /12 to /24; "
            "use 172.20.0.0/16"
        )
    ]


def test_a_management_range_too_small_names_the_smallest_that_fits() -> None:
    assert said(rules.management_range_has_room, stack({"cidr": "10.0.0.0/24"})) == [
        (
            "network.cidr: 10.0.0.0/24 is too small: usw2-az3 needs 258 node addresses (system: 2 nodes x (1 + 8 x 16) "
            "= 258) and has 11, 24 control addresses (8 endpoints + 16 for the control plane) and has 3; the smallest "
            "that fits is a /19, such as 10.0.0.0/19"
        )
    ]


def test_cpu_pools_that_outgrow_even_the_largest_management_range() -> None:
    pool = {"name": "prep", "purpose": "preprocessing", "instance_type": "m7i.8xlarge", "nodes": 600}
    assert said(rules.management_range_has_room, stack(pools=(pool,))) == [
        (
            "network.cidr: 10.0.0.0/16 is too small: usw2-az3 needs 10,158 node addresses (system: 2"
            " nodes x (1 + 8 x 16) = 258 + prep: 300 nodes x (1 + 2 x 16) = 9,900) and has 4,091, 24"
            " control addresses (8 endpoints + 16 for the control plane) and has 2,043; a node_cidr"
            ' of /16, the largest, has room for 240 nodes of pool "prep" in each zone: use nodes:'
            " 480 at most, and larger machines for as much work; or spread the pool over 3 zones, of"
            " usw2-az1, usw2-az2, usw2-az3 and usw2-az4"
        )
    ]


def test_a_pool_that_outgrows_its_range_shows_the_arithmetic_and_the_range_to_add() -> None:
    value = stack({"compute_cidrs": ("100.64.0.0/17",)}, pools=({**P5, "name": "pretrain", "nodes": 1250},))
    assert said(rules.compute_ranges_have_room, value) == [
        (
            "network.compute_cidrs: usw2-az3 needs 41,250 addresses (pretrain: 1,250 nodes x (1 + 2 x 16) = 41,250); "
            "the largest range, 100.64.0.0/17, has 32,763; add 100.65.0.0/16 to network.compute_cidrs"
        )
    ]


def test_an_eight_node_pool_of_classic_interfaces_outgrows_a_slash_26() -> None:
    value = stack({"compute_cidrs": ("100.64.1.0/26",)}, pools=({**P5, "nodes": 8, "efa_layout": "efa"},))
    assert said(rules.compute_ranges_have_room, value) == [
        (
            "network.compute_cidrs: usw2-az3 needs 512 addresses (train: 8 nodes x (32 + 2 x 16) = 512); "
            "the largest range, 100.64.1.0/26, has 59; add 100.65.0.0/16 to network.compute_cidrs"
        )
    ]


def test_a_second_zone_beside_one_that_takes_the_whole_range() -> None:
    pools = ({**P5, "nodes": 1250}, {**P5, "name": "tune", "zone": "usw2-az2"})
    assert said(rules.compute_ranges_have_room, stack(pools=pools)) == [
        (
            "network.compute_cidrs: usw2-az2 needs 66 addresses (tune: 2 nodes x (1 + 2 x 16) = 66); "
            "no range has so many free, as 100.64.0.0/16 is in use; add 100.65.0.0/16 to network.compute_cidrs"
        )
    ]


def test_more_nodes_than_any_subnet_holds() -> None:
    assert said(rules.compute_ranges_have_room, stack(pools=({**P5, "nodes": 2000},))) == [
        (
            "network.compute_cidrs: usw2-az3 needs 66,000 addresses (train: 2,000 nodes x (1 + 2 x 16) = 66,000); "
            "the largest range, 100.64.0.0/16, has 65,531; "
            "no subnet holds more than a /16: use another zone for some of the nodes, or the efa-only layout"
        )
    ]


def test_zones_on_whole_ranges_are_told_how_to_stay_in_place() -> None:
    pools = ({**P5, "nodes": 1250}, {**P5, "name": "tune", "zone": "usw2-az2"})
    value = stack({"compute_cidrs": ("100.64.0.0/16", "100.65.0.0/16")}, pools=pools)
    assert said(rules.compute_ranges_have_room, value) == [
        (
            "network.compute_subnets: note: usw2-az3 takes a whole range, so which zone has which depends on all of "
            "them; once deployed, write network.compute_subnets: {usw2-az2: 100.65.32.0/19, usw2-az3: 100.64.0.0/16} "
            "and none of them will ever move"
        )
    ]


def test_pins_that_cannot_hold() -> None:
    pins = {"usw2-az2": "100.64.0.0/17", "usw2-az3": "100.64.64.0/26", "usw2-az4": "10.0.0.0/24"}
    assert said(rules.pins_hold, stack({"compute_subnets": pins}, pools=(P5,))) == [
        (
            "network.compute_subnets.usw2-az4: usw2-az4 is not among network.zones, which are usw2-az2 and usw2-az3; "
            "add usw2-az4 to network.zones, or use one of them"
        ),
        (
            "network.compute_subnets.usw2-az4: 10.0.0.0/24 lies in none of network.compute_cidrs, which are"
            " 100.64.0.0/16; pin a part of one of them"
        ),
        (
            "network.compute_subnets.usw2-az3: 100.64.64.0/26 overlaps the pin of usw2-az2, which is 100.64.0.0/17; "
            "pin ranges that share no address"
        ),
        (
            "network.compute_subnets.usw2-az3: usw2-az3 needs 66 addresses (train: 2 nodes x (1 + 2 x 16) = 66) and"
            " 100.64.64.0/26 has 59; pin a larger subnet, or take the pin out: either replaces the subnet and what is"
            " in it"
        ),
    ]


def test_premises_that_nothing_leads_to() -> None:
    form = {"kind": "hybrid", "remote_networks": ({"name": "rack", "node_cidr": "192.168.0.0/20"},)}
    assert said(rules.premises_are_reached, stack(form=form)) == [
        (
            "form.transit_gateway_id: warning: no transit gateway is named, so nothing in this stack leads to the "
            "remote networks; name it, or make the routes to them from the control and node "
            "subnets elsewhere before hybrid "
            "nodes join"
        )
    ]
    assert said(rules.premises_are_reached, stack(form={**form, "transit_gateway_id": "tgw-0a1b2c3d4e5f60718"})) == []


def test_an_endpoint_asked_for_that_every_stack_has() -> None:
    assert said(rules.endpoints_are_named_once, stack({"extra_endpoints": ("ssm", "sts")})) == [
        "network.extra_endpoints[1]: warning: sts is declared for every stack; take it out"
    ]


def _preprocessing(count: int, *zones: str) -> dict[str, Any]:
    return {
        "name": "preprocess",
        "purpose": "preprocessing",
        "instance_types": ("m7i.4xlarge",),
        "zones": zones,
        "nodes": {"min": 0, "max": count},
    }


def _crowded(count: int, *zones: str) -> list[str]:
    value = stack(
        {"zones": zones, "compute_cidrs": ("100.64.0.0/16", "100.65.0.0/16")}, pools=(_preprocessing(count, *zones),)
    )
    return [each.hint or "" for each in rules.management_range_has_room(value, CAT)]


def test_more_nodes_than_any_range_holds_are_told_how_many_fit_and_each_way_out_works() -> None:
    two, four = ("usw2-az1", "usw2-az2"), ("usw2-az1", "usw2-az2", "usw2-az3", "usw2-az4")
    assert _crowded(400, *two) == ["give these nodes a range of their own: node_cidr: 100.66.0.0/16"]
    assert _crowded(232, *two) == []
    assert _crowded(234, *two) != []
    assert _crowded(400, *four) == []


def test_four_hundred_nodes_without_cards_fit_a_range_of_their_own() -> None:
    network = {"zones": ("usw2-az1", "usw2-az2", "usw2-az3"), "node_cidr": "100.66.0.0/16"}

    def reported(count: int, **more: str) -> list[str]:
        pools = (_preprocessing(count, *network["zones"]),)
        return [each for rule in ALL for each in said(rule, stack({**network, **more}, pools=pools))]

    assert reported(400) == []
    assert reported(732) == []
    assert any("100.66.0.0/16 is too small" in each for each in reported(740))
    assert any("100.66.0.0/18 is too small" in each for each in reported(400, node_cidr="100.66.0.0/18"))
    assert any("overlaps network.node_cidr" in each for each in reported(4, node_cidr="100.64.0.0/18"))


def test_four_zones_with_a_gateway_each_are_accepted() -> None:
    network = {"zones": ("usw2-az1", "usw2-az2", "usw2-az3", "usw2-az4"), "nat_gateways": "per-zone"}
    for rule in ALL:
        assert said(rule, stack(network, pools=(P5,))) == []
