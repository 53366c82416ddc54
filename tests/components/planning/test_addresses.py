"""The address plan: no overlap, everything inside its range, room for what was computed, and nothing moves when
something is added.
"""

from __future__ import annotations

from ipaddress import IPv4Network
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components import catalog
from components.planning import address_needs, addresses
from components.planning.address_needs import AddressNeed, AddressPart, nodes
from components.spec.cluster import ClusterSpec
from components.spec.network import NetworkSpec
from components.spec.pools import PoolSpec
from components.spec.stack import StackSpec
from components.spec.storage import LustreSpec

CAT = catalog.load()
ZONES = tuple(f"usw2-az{digit}" for digit in range(1, 9))
SHARED = [str(each) for each in IPv4Network("100.64.0.0/10").subnets(new_prefix=16)]

zone_sets = st.lists(st.sampled_from(ZONES), min_size=1, max_size=8, unique=True)
management_ranges = st.integers(16, 23).map(lambda length: f"10.0.0.0/{length}")
compute_ranges = st.lists(st.sampled_from(SHARED), min_size=1, max_size=4, unique=True)
counts = st.integers(1, 1900)


def need(zone: str, count: int) -> AddressNeed:
    return AddressNeed(zone=zone, parts=(nodes("pool", count),))


def spec(
    zones: list[str] | tuple[str, ...], cidr: str = "10.0.0.0/16", compute: list[str] | None = None, **more: object
) -> NetworkSpec:
    return NetworkSpec.model_validate(
        {"zones": tuple(zones), "cidr": cidr, "compute_cidrs": tuple(compute or ["100.64.0.0/16"]), **more}
    )


@given(zone_sets, management_ranges, compute_ranges, st.data())
def test_no_two_subnets_overlap_and_each_lies_in_its_range(
    zones: list[str], cidr: str, compute: list[str], data: st.DataObject
) -> None:
    needs = [need(zone, data.draw(counts)) for zone in data.draw(st.lists(st.sampled_from(zones), unique=True))]
    network = spec(zones, cidr, compute)
    plan = addresses.plan(network, needs)
    for one, other in combinations(plan.subnets, 2):
        assert not IPv4Network(one.cidr).overlaps(IPv4Network(other.cidr))
    for each in plan.subnets:
        homes = network.compute_cidrs if each.kind == "compute" else (network.cidr,)
        assert any(IPv4Network(each.cidr).subnet_of(IPv4Network(home)) for home in homes)
        assert IPv4Network(each.cidr).prefixlen <= addresses.SMALLEST


@given(zone_sets, compute_ranges, st.data())
def test_a_placed_zone_has_the_room_it_needs_and_no_zone_is_lost(
    zones: list[str], compute: list[str], data: st.DataObject
) -> None:
    needs = [need(zone, data.draw(counts)) for zone in zones]
    plan = addresses.plan(spec(zones, compute=compute), needs)
    assert sorted([*plan.zones("compute"), *(each.zone for each in plan.unplaced)]) == sorted(zones)
    for each in needs:
        if each not in plan.unplaced:
            assert plan.subnet("compute", each.zone).usable >= each.addresses


@given(zone_sets, compute_ranges, st.data())
def test_the_order_of_lists_changes_nothing(zones: list[str], compute: list[str], data: st.DataObject) -> None:
    needs = [need(zone, data.draw(counts)) for zone in zones]
    shuffled = addresses.plan(
        spec(data.draw(st.permutations(zones)), compute=data.draw(st.permutations(compute))),
        data.draw(st.permutations(needs)),
    )
    assert shuffled == addresses.plan(spec(zones, compute=compute), needs)


@given(zone_sets, st.data())
def test_another_zone_moves_no_management_subnet(zones: list[str], data: st.DataObject) -> None:
    before = addresses.plan(spec(zones))
    after = addresses.plan(spec([*zones, data.draw(st.sampled_from(ZONES))]))
    assert set(before.subnets) <= set(after.subnets)


@given(zone_sets, st.data())
def test_another_pool_moves_no_compute_subnet_that_still_fits(zones: list[str], data: st.DataObject) -> None:
    small = st.integers(1, 200)  # 200 nodes x 33 addresses fit an eighth of a /16
    needs = [need(zone, data.draw(small)) for zone in zones]
    more = [
        AddressNeed(zone=each.zone, parts=(*each.parts, nodes("another", data.draw(st.integers(0, 40)))))
        for each in needs
    ]
    newcomer = data.draw(st.sampled_from(ZONES))
    if newcomer not in zones:
        more.append(need(newcomer, data.draw(small)))
    before, after = addresses.plan(spec(ZONES), needs), addresses.plan(spec(ZONES), more)
    assert not before.unplaced
    assert set(before.subnets) <= set(after.subnets)


@given(zone_sets, compute_ranges, st.data())
def test_another_range_moves_nothing_that_was_placed_in_a_slot(
    zones: list[str], compute: list[str], data: st.DataObject
) -> None:
    needs = [need(zone, data.draw(st.integers(1, 200))) for zone in zones]
    further = [each for each in SHARED if IPv4Network(each) > max(IPv4Network(one) for one in compute)]
    before, after = (
        addresses.plan(spec(zones, compute=compute), needs),
        addresses.plan(spec(zones, compute=[*compute, *further[:1]]), needs),
    )
    assert before.subnets == after.subnets


@given(zone_sets, st.data())
def test_pinned_subnets_stay_whatever_else_is_there(zones: list[str], data: st.DataObject) -> None:
    pinned = data.draw(st.sampled_from(zones))
    network = spec(zones, compute=SHARED[:3], compute_subnets={pinned: SHARED[1]})
    plan = addresses.plan(network, [need(zone, data.draw(counts)) for zone in zones])
    assert plan.subnet("compute", pinned).cidr == SHARED[1]
    for one, other in combinations(plan.subnets, 2):
        assert not IPv4Network(one.cidr).overlaps(IPv4Network(other.cidr))


def test_a_zone_takes_its_own_eighth_of_each_range() -> None:
    plan = addresses.plan(spec(("usw2-az2", "usw2-az3")), [need("usw2-az3", 2)])
    assert [(each.kind, each.zone, each.cidr) for each in plan.subnets] == [
        ("nodes", "usw2-az2", "10.0.32.0/20"),
        ("public", "usw2-az2", "10.0.48.0/21"),
        ("control", "usw2-az2", "10.0.56.0/21"),
        ("nodes", "usw2-az3", "10.0.64.0/20"),
        ("public", "usw2-az3", "10.0.80.0/21"),
        ("control", "usw2-az3", "10.0.88.0/21"),
        ("compute", "usw2-az3", "100.64.64.0/19"),
    ]


def test_an_isolated_network_has_no_public_subnets() -> None:
    plan = addresses.plan(spec(("usw2-az2", "usw2-az3"), egress="isolated"))
    assert {each.kind for each in plan.subnets} == {"nodes", "control"}


def test_ten_thousand_cards_outgrow_a_slash_17_and_take_a_whole_slash_16() -> None:
    big = need("usw2-az3", 1250)
    assert big.arithmetic == "pool: 1,250 nodes x (1 + 2 x 16) = 41,250"
    assert addresses.usable(IPv4Network("100.64.0.0/17")) == 32763
    assert addresses.plan(spec(("usw2-az3",), compute=["100.64.0.0/17"]), [big]).unplaced == (big,)
    plan = addresses.plan(spec(("usw2-az3",)), [big])
    assert plan.subnet("compute", "usw2-az3").cidr == "100.64.0.0/16"
    assert plan.whole == ("usw2-az3",)


def test_a_small_zone_goes_to_the_next_range_beside_a_whole_one() -> None:
    needs = [need("usw2-az2", 3), need("usw2-az3", 1250)]
    network = spec(("usw2-az2", "usw2-az3"), compute=["100.64.0.0/16", "100.65.0.0/16"])
    plan = addresses.plan(network, needs)
    assert plan.subnet("compute", "usw2-az3").cidr == "100.64.0.0/16"
    assert plan.subnet("compute", "usw2-az2").cidr == "100.65.32.0/19"


def test_a_whole_range_is_the_smallest_that_fits() -> None:
    plan = addresses.plan(spec(("usw2-az3",), compute=["100.64.0.0/16", "100.65.0.0/18"]), [need("usw2-az3", 300)])
    assert plan.subnet("compute", "usw2-az3").cidr == "100.65.0.0/18"


@given(st.integers(1, 1900), st.integers(0, 200))
def test_prefixes_get_blocks_of_their_own_and_single_addresses_keep_room(count: int, servers: int) -> None:
    wanted = AddressNeed(zone="usw2-az3", parts=(nodes("pool", count), AddressPart(addresses=servers, arithmetic="")))
    plan = addresses.plan(spec(("usw2-az3",)), [wanted])
    if plan.unplaced:
        return
    subnet = plan.subnet("compute", "usw2-az3")
    kept = [IPv4Network(each) for each in addresses.reservations(subnet, wanted)]
    assert all(each.subnet_of(IPv4Network(subnet.cidr)) and each.prefixlen <= addresses.SMALLEST for each in kept)
    reserved = sum(each.num_addresses for each in kept)
    assert IPv4Network(subnet.cidr).num_addresses - addresses.RESERVED - reserved >= wanted.addresses - wanted.prefixed
    for one, other in combinations(kept, 2):
        assert not one.overlaps(other)


def test_ten_thousand_cards_keep_three_quarters_of_their_range_for_prefixes() -> None:
    big = need("usw2-az3", 1250)
    subnet = addresses.plan(spec(("usw2-az3",)), [big]).subnet("compute", "usw2-az3")
    assert addresses.reservations(subnet, big) == ("100.64.128.0/17", "100.64.64.0/18")  # 49,152 addresses for 40,000


@pytest.mark.parametrize(
    ("nodes_wanted", "control", "length"), [(20, 6, 23), (100, 20, 21), (129, 26, 20), (4091, 26, 16), (4092, 26, 15)]
)
def test_the_smallest_management_range_holds_both(nodes_wanted: int, control: int, length: int) -> None:
    assert addresses.smallest_management(nodes_wanted, control) == length


@given(st.integers(1, 4000), st.integers(1, 200))
def test_the_smallest_management_range_is_enough_and_no_smaller_one_is(nodes_wanted: int, control: int) -> None:
    length = addresses.smallest_management(nodes_wanted, control)

    def fits(prefix: int) -> bool:
        parts = addresses.management(f"10.0.0.0/{prefix}", "usw2-az1")
        return addresses.usable(parts["nodes"]) >= nodes_wanted and addresses.usable(parts["control"]) >= control

    assert fits(length)
    assert length == addresses.SMALLEST - 5 or not fits(length + 1)


def test_services_get_a_range_that_meets_no_other() -> None:
    assert addresses.service_range(["10.0.0.0/16"]) == "172.20.0.0/16"
    assert addresses.service_range(["172.16.0.0/12"]) == "10.100.0.0/16"
    assert addresses.service_range(["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"]) is None


@pytest.mark.parametrize(
    ("primary", "further", "barred"),
    [
        ("10.0.0.0/16", "100.64.0.0/16", None),
        ("10.0.0.0/16", "10.1.0.0/16", None),
        ("10.0.0.0/16", "172.16.0.0/16", "172.16.0.0/12"),
        ("10.0.0.0/16", "192.168.0.0/16", "192.168.0.0/16"),
        ("10.0.0.0/16", "198.19.0.0/16", "198.19.0.0/16"),
        ("172.16.0.0/16", "172.31.0.0/16", "172.31.0.0/16"),
        ("192.168.0.0/16", "10.0.0.0/16", "10.0.0.0/8"),
        ("100.64.0.0/16", "10.0.0.0/16", "10.0.0.0/8"),
    ],
)
def test_ranges_that_aws_bars_beside_another(primary: str, further: str, barred: str | None) -> None:
    assert addresses.restricted(primary, further) == barred


def stack(*pools: dict[str, object], lustre: tuple[dict[str, object], ...] = (), **more: object) -> StackSpec:
    return StackSpec.model_validate(
        {
            "environment": "dev",
            "network": {"zones": ("usw2-az2", "usw2-az3")},
            "cluster": {},
            "pools": tuple(PoolSpec.model_validate(each) for each in pools),
            "storage": {"lustre": tuple(LustreSpec.model_validate(each) for each in lustre)},
            **more,
        }
    )


def test_efa_only_interfaces_take_no_address() -> None:
    pool: dict[str, object] = {
        "name": "train",
        "purpose": "training",
        "instance_type": "p5.48xlarge",
        "zone": "usw2-az3",
        "nodes": 8,
        "fabric": "efa",
    }
    assert address_needs.compute_needs(stack(pool), CAT) == (
        AddressNeed(
            zone="usw2-az3",
            parts=(
                AddressPart(addresses=264, arithmetic="train: 8 nodes x (1 + 2 x 16) = 264", nodes=8, prefixed=256),
            ),
        ),
    )


def test_the_classic_layout_takes_an_address_on_every_efa_interface() -> None:
    pool: dict[str, object] = {
        "name": "train",
        "purpose": "training",
        "instance_type": "p5.48xlarge",
        "zone": "usw2-az3",
        "nodes": 8,
        "fabric": "efa",
        "efa_layout": "efa",
    }
    [found] = address_needs.compute_needs(stack(pool), CAT)
    assert found.arithmetic == "train: 8 nodes x (32 + 2 x 16) = 512"


def test_an_autoscaled_pool_counts_its_most_nodes() -> None:
    pool: dict[str, object] = {
        "name": "tune",
        "purpose": "finetuning",
        "instance_type": "p5.48xlarge",
        "zone": "usw2-az3",
        "nodes": {"min": 0, "max": 16},
    }
    [found] = address_needs.compute_needs(stack(pool), CAT)
    assert found.addresses == 16 * 33


def test_file_systems_take_addresses_in_the_compute_subnet_of_their_zone() -> None:
    [found] = address_needs.compute_needs(
        stack(lustre=({"name": "train", "zone": "usw2-az3", "capacity_gib": 76800},)), CAT
    )
    assert (found.zone, found.arithmetic) == ("usw2-az3", "train: at most 65 Lustre servers")


def test_pools_without_cards_live_in_the_management_network_over_all_zones() -> None:
    pool: dict[str, object] = {
        "name": "prep",
        "purpose": "preprocessing",
        "instance_types": ("m7i.8xlarge", "m7a.8xlarge"),
        "nodes": {"min": 0, "max": 201},
    }
    assert address_needs.compute_needs(stack(pool), CAT) == ()
    found = {each.zone: each.arithmetic for each in address_needs.management_needs(stack(pool), CAT)}
    assert found == dict.fromkeys(
        ("usw2-az2", "usw2-az3"), "system: 2 nodes x (1 + 8 x 16) = 258 + prep: 101 nodes x (1 + 2 x 16) = 3,333"
    )


def test_large_system_nodes_have_room_for_the_pods_that_eks_lets_them_have() -> None:
    large = stack().model_copy(
        update={"cluster": ClusterSpec.model_validate({"system_pool": {"instance_type": "m7i.8xlarge", "nodes": 3}})}
    )
    found = {each.zone: each.arithmetic for each in address_needs.management_needs(large, CAT)}
    assert set(found.values()) == {"system: 2 nodes x (1 + 17 x 16) = 546"}


@given(zone_sets, st.integers(16, 23))
def test_a_range_for_nodes_holds_their_subnets_and_leaves_the_others_where_they_are(
    zones: list[str], length: int
) -> None:
    own = IPv4Network(f"100.127.0.0/{length}")
    usual = addresses.plan(spec(zones))
    moved = addresses.plan(spec(zones, node_cidr=str(own)))
    for zone in zones:
        subnet = IPv4Network(moved.subnet("nodes", zone).cidr)
        assert subnet.subnet_of(own)
        assert addresses.usable(subnet) == addresses.node_room(length)
    found = [IPv4Network(each.cidr) for each in moved.subnets]
    assert not any(one.overlaps(other) for one, other in combinations(found, 2))
    kept = [each for each in usual.subnets if each.kind != "nodes"]
    assert kept == [each for each in moved.subnets if each.kind != "nodes"]
