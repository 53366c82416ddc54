"""How a pool is split into node groups, and that names outlive a change."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components import catalog as catalogs
from components.catalog import Catalog
from components.fabrics import efa
from components.planning import nodes, placement
from components.planning.placement import NodeGroup, Placement
from components.planning.pool import Pool
from components.spec.pools import PoolSpec
from tests.components.planning.pool_stacks import FINETUNE, IDS, PREPROCESS, PRETRAIN, stack

ZONES = ("usw2-az2", "usw2-az3", "usw2-az4")


def plan(raw: dict[str, Any], *, spot: bool = True, zones: tuple[str, ...] = ZONES) -> Placement:
    pool = PoolSpec.model_validate(raw)
    return placement.plan(Pool(pool, catalogs.load()), network_zones=zones, spot_preprocessing=spot)


def sizes(found: Placement) -> dict[str, tuple[int, int, int]]:
    return {group.key: (group.min_nodes, group.max_nodes, group.desired_nodes) for group in found.groups}


def test_1250_reserved_nodes_are_one_group_for_each_reservation() -> None:
    assert sizes(plan(PRETRAIN)) == {IDS[0]: (417, 417, 417), IDS[1]: (417, 417, 417), IDS[2]: (416, 416, 416)}


@pytest.mark.parametrize("raw", [PRETRAIN, FINETUNE, PREPROCESS, {**PREPROCESS, "nodes": {"min": 7, "max": 200}}])
def test_groups_are_counted_as_they_are_planned(cat: Catalog, raw: dict[str, Any]) -> None:
    pool = PoolSpec.model_validate(raw)
    groups = plan(raw).groups
    assert placement.groups(Pool(pool, cat)) == len(groups)
    assert placement.largest_group(Pool(pool, cat)) == max((group.max_nodes for group in groups), default=0)


def test_the_order_of_ids_in_the_file_changes_nothing() -> None:
    expected = plan(PRETRAIN)
    for ids in permutations(IDS):
        assert plan({**PRETRAIN, "capacity": {"kind": "reservation", "ids": list(ids)}}) == expected


def test_a_reservation_added_or_removed_leaves_the_other_names_alone() -> None:
    two = plan({**PRETRAIN, "capacity": {"kind": "reservation", "ids": [IDS[0], IDS[2]]}, "nodes": 800})
    assert set(sizes(two)) == {IDS[0], IDS[2]}
    assert set(sizes(plan(PRETRAIN))) - set(sizes(two)) == {IDS[1]}


def test_known_sizes_are_used_and_a_large_reservation_is_split_behind_its_first_group() -> None:
    capacity = {"kind": "reservation", "ids": list(IDS[:2]), "sizes": {IDS[0]: 1000, IDS[1]: 250}}
    found = sizes(plan({**PRETRAIN, "capacity": capacity}))
    assert found == {
        IDS[0]: (450, 450, 450),
        f"{IDS[0]}-2": (450, 450, 450),
        f"{IDS[0]}-3": (100, 100, 100),
        IDS[1]: (250, 250, 250),
    }


def test_on_demand_groups_fill_up_so_that_growth_touches_the_last_one() -> None:
    small = sizes(plan({**PRETRAIN, "nodes": 1000, "capacity": {"kind": "on-demand"}}))
    large = sizes(plan({**PRETRAIN, "nodes": 1400, "capacity": {"kind": "on-demand"}}))
    assert small == {"1": (450, 450, 450), "2": (450, 450, 450), "3": (100, 100, 100)}
    assert large == {**small, "3": (450, 450, 450), "4": (50, 50, 50)}


def test_a_reserved_group_is_not_put_into_a_placement_group_of_ours() -> None:
    assert all(not group.own_placement_group and group.placement_group is None for group in plan(PRETRAIN).groups)
    made_in = plan(
        {**PRETRAIN, "capacity": {"kind": "reservation", "ids": [IDS[0]], "placement_group": "mine"}, "nodes": 10}
    )
    assert [(group.placement_group, group.own_placement_group) for group in made_in.groups] == [("mine", False)]


def test_on_demand_nodes_with_efa_get_a_placement_group_each_unless_the_user_names_one() -> None:
    assert [group.own_placement_group for group in plan({**PRETRAIN, "capacity": {"kind": "on-demand"}}).groups] == [
        True,
        True,
        True,
    ]
    own = plan({**PRETRAIN, "capacity": {"kind": "on-demand", "placement_group": "mine"}})
    assert {(group.placement_group, group.own_placement_group) for group in own.groups} == {("mine", False)}


def test_a_reserved_block_pool_starts_at_zero_nodes() -> None:
    group = plan(FINETUNE).groups[0]
    assert (group.capacity_type, group.min_nodes, group.max_nodes, group.desired_nodes) == ("CAPACITY_BLOCK", 0, 16, 0)
    assert group.sized_elsewhere


def test_a_block_that_runs_already_starts_with_its_nodes() -> None:
    running = {**FINETUNE, "capacity": {**FINETUNE["capacity"], "running": True}}
    assert sizes(plan(running)) == {"cr-3a1b2c3d4e5f60718": (0, 16, 16)}


def test_several_blocks_are_several_groups_of_their_own_sizes() -> None:
    parts = [
        {"id": IDS[1], "start": "2026-12-24T11:30:00Z", "end": "2027-01-07T11:30:00Z", "nodes": 32},
        {"id": IDS[0], "start": "2026-12-10T11:30:00Z", "end": "2026-12-24T11:30:00Z", "nodes": 64},
    ]
    found = plan({**FINETUNE, "nodes": {"min": 0, "max": 64}, "capacity": {"kind": "block", "blocks": parts}})
    assert sizes(found) == {IDS[0]: (0, 64, 0), IDS[1]: (0, 32, 0)}


def test_the_toggle_changes_only_how_preprocessing_nodes_are_bought() -> None:
    spot, demand = plan(PREPROCESS, spot=True), plan(PREPROCESS, spot=False)
    assert spot.groups == demand.groups == ()
    assert spot.elastic is not None and demand.elastic is not None
    assert (spot.elastic.buys, demand.elastic.buys) == (("spot", "on-demand"), ("on-demand",))
    assert replace(spot.elastic, buys=demand.elastic.buys) == demand.elastic
    for raw in (PRETRAIN, FINETUNE):
        assert plan(raw, spot=True) == plan(raw, spot=False)


def test_a_pool_that_follows_its_queue_has_its_least_nodes_as_a_fixed_group_and_the_rest_bought() -> None:
    for least in (0, 2, 5):
        found = plan({**PREPROCESS, "nodes": {"min": least, "max": 20}})
        assert sizes(found) == ({"1": (least, least, least)} if least else {})
        assert not any(group.sized_elsewhere for group in found.groups), "raising min is an ordinary change of size"
        assert found.elastic is not None and found.elastic.max_nodes == 20 - least


def test_what_can_run_at_once_is_never_more_than_the_pool() -> None:
    for raw in (PREPROCESS, {**PREPROCESS, "nodes": 20}, {**PREPROCESS, "nodes": {"min": 20, "max": 20}}):
        found = plan(raw)
        bought = found.elastic.max_nodes if found.elastic else 0
        assert sum(group.max_nodes for group in found.groups) + bought == found.max_nodes


def test_a_fixed_number_on_spot_is_the_most_that_is_bought() -> None:
    found = plan({**PREPROCESS, "nodes": 20})
    assert found.groups == () and found.elastic is not None and found.elastic.max_nodes == 20


def test_a_reserved_pool_with_a_range_is_bought_in_its_reservations() -> None:
    elastic = plan({**PRETRAIN, "nodes": {"min": 0, "max": 30}, "spares": 0}).elastic
    assert elastic is not None
    assert (elastic.buys, elastic.reservations, elastic.own_placement_group) == (("reserved",), IDS, False)


def test_bought_nodes_with_efa_lie_in_a_placement_group_unless_the_user_names_one() -> None:
    raw = {**PRETRAIN, "nodes": {"min": 0, "max": 30}, "spares": 0, "capacity": {"kind": "on-demand"}}
    own, given = plan(raw).elastic, plan({**raw, "capacity": {"kind": "on-demand", "placement_group": "mine"}}).elastic
    assert own is not None and given is not None
    assert (own.own_placement_group, own.placement_group) == (True, None)
    assert (given.own_placement_group, given.placement_group) == (False, "mine")


def test_spares_are_in_the_pool_and_outside_the_largest_job() -> None:
    found = plan(PRETRAIN)
    assert (found.job_nodes, found.job_cards) == (1232, 9856)
    assert found.as_plan()["largest_job"] == {"nodes": 1232, "cards": 9856}


def test_a_zone_added_to_the_network_changes_no_pool_that_names_its_zone() -> None:
    for raw in (PRETRAIN, FINETUNE, {**PREPROCESS, "zones": ["usw2-az3", "usw2-az2"]}):
        assert plan(raw) == plan(raw, zones=("usw2-az1", *ZONES))


def test_pools_without_cards_take_all_zones_in_one_order() -> None:
    elastic = plan(PREPROCESS, zones=("usw2-az4", "usw2-az2")).elastic
    assert elastic is not None and elastic.zones == ("usw2-az2", "usw2-az4")


def test_the_only_zone_is_taken_and_one_of_several_never_is(cat: Catalog) -> None:
    pool = PoolSpec.model_validate({key: value for key, value in PRETRAIN.items() if key != "zone"})
    assert placement.pool_zones(Pool(pool, cat), ["usw2-az3"]) == ("usw2-az3",)
    assert placement.pool_zones(Pool(pool, cat), ZONES) == ()


def test_the_placements_of_a_stack_come_by_name_whatever_the_order_of_its_pools(cat: Catalog) -> None:
    expected = placement.of_stack(stack(PRETRAIN, FINETUNE, PREPROCESS), cat)
    assert [each.pool for each in expected] == ["finetune", "preprocess", "pretrain"]
    for pools in permutations((PRETRAIN, FINETUNE, PREPROCESS)):
        assert placement.of_stack(stack(*pools), cat) == expected


@given(count=st.integers(1, 5000), least=st.integers(0, 5000), ids=st.integers(0, 4))
def test_groups_hold_the_pool_exactly_and_none_is_over_the_limit(count: int, least: int, ids: int) -> None:
    least = min(least, count)
    found = [f"cr-{number}a1b2c3d4e5f60718" for number in range(min(ids, count))]
    capacity = {"kind": "reservation", "ids": found} if found else {"kind": "on-demand"}
    made = plan({**PRETRAIN, "spares": 0, "nodes": {"min": least, "max": count}, "capacity": capacity})
    groups: tuple[NodeGroup, ...] = made.groups
    assert sum(group.max_nodes for group in groups) == sum(group.min_nodes for group in groups) == least
    assert (made.elastic.max_nodes if made.elastic else 0) == count - least
    assert all(0 <= group.min_nodes <= group.desired_nodes <= group.max_nodes <= 450 for group in groups)
    assert len({group.key for group in groups}) == len(groups)


@pytest.mark.parametrize(
    ("name", "has_efa", "layout", "prefixes", "expected"),
    [
        ("p5.48xlarge", True, "efa-only", True, 32),
        ("p5.48xlarge", True, "efa-only", False, 32),
        ("trn2.3xlarge", True, "efa-only", False, 16),
        ("trn2.3xlarge", True, "efa-only", True, 32),
        ("g5.xlarge", False, "efa-only", False, 32),
        ("m7i.8xlarge", False, "efa-only", True, 110),
    ],
)
def test_pods_fit_the_addresses_that_the_layout_leaves(
    cat: Catalog, name: str, has_efa: bool, layout: Any, prefixes: bool, expected: int
) -> None:
    assert nodes.max_pods(cat.instance(name), layout=layout, has_efa=has_efa, prefix_delegation=prefixes) == expected


def test_p5_with_efa_only_on_card_0_has_49_pod_addresses(cat: Catalog) -> None:
    p5 = cat.instance("p5.48xlarge")
    assert efa.pod_interfaces(p5) * (p5.network.ipv4_per_interface - 1) == 49
    assert nodes.max_pods(p5, has_efa=True, prefix_delegation=False) - 2 <= 49
