"""A stack file with several mistakes is told all of them at once, and nothing about values that nobody wrote."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from components.catalog import Catalog
from components.planning import placement
from components.planning.pool import Pool
from components.planning.rules import registry
from components.problems import Problem, render
from components.spec.pools import PoolSpec
from components.spec.stack import StackSpec
from infra.settings import from_file
from tests import given
from tests.given import CAT

POOL = {
    "name": "train",
    "purpose": "training",
    "instance_type": "g6e.48xlarge",
    "zone": "usw2-az2",
    "nodes": {"min": 0, "max": 2},
}
CONFIG = {
    "aws:region": "us-west-2",
    "trainshed:environment": "dev",
    "trainshed:network": {"zones": ["usw2-az1", "usw2-az2"]},
    "trainshed:cluster": {"admins": ["arn:aws:iam::111122223333:role/platform-admin"]},
    "trainshed:pools": [POOL],
}


def reported(folder: Path, **config: object) -> list[str]:
    """Errors and warnings of the smallest stack file with these sections, without their places."""
    path = folder / "Pulumi.t.yaml"
    path.write_text(
        yaml.safe_dump({"config": {**CONFIG, **{f"trainshed:{key}": value for key, value in config.items()}}})
    )
    return [render(each.at(None)) for each in from_file(str(path)).problems if each.severity != "note"]


def test_a_broken_pool_hides_no_problem_of_the_others_and_of_the_queues(tmp_path: Path) -> None:
    pools = [
        POOL,
        {"name": "second", "instance_type": "m7i.large", "nodes": 1},
        {**POOL, "instance_type": "p5.48xlargee", "fabric": "efaa"},
        {"name": "fourth", "purpose": "evaluation", "instance_type": "m7i.xlarge", "zone": "usw2-az2", "fabric": "efa"}
        | {"nodes": {"min": 3, "max": 2}},
    ]
    queues = [{"name": "all", "pool": "nope"}, {"name": "other", "pool": "second"}]
    assert sorted(reported(tmp_path, pools=pools, queues=queues)) == [
        (
            'pools[0].name: warning: no queue hands out the 16 cards of pool "train": no task can run there; '
            "add {name: train, pool: train} to queues"
        ),
        'pools[1].instance_type: "m7i.large" is not in the catalog; did you mean "m7i.xlarge"?',
        "pools[1].purpose: is missing; what the pool is for",
        'pools[2].fabric: "efaa" is no fabric; did you mean "efa"?',
        'pools[2].instance_type: "p5.48xlargee" is not in the catalog; did you mean "p5.48xlarge"?',
        'pools[2].name: the name "train" is taken by pools[0]; names of pools are unique in the stack',
        "pools[3].fabric: m7i.xlarge takes no EFA interface; use fabric: tcp, or a type that does: m7i.48xlarge",
        "pools[3].nodes.min: min 3 is over max 2; use at most 2",
        (
            'queues[0].pool: queue "all" names the pool "nope", which the stack does not have; use one of: fourth,'
            " second, train"
        ),
    ]


def test_an_item_that_is_no_mapping_leaves_the_others_in_their_places(tmp_path: Path) -> None:
    assert reported(tmp_path, pools=[5, {**POOL, "instance_type": "p5.48xlargee"}]) == [
        "pools[0]: 5 is a number; a mapping of keys to values is wanted",
        'pools[1].instance_type: "p5.48xlargee" is not in the catalog; did you mean "p5.48xlarge"?',
    ]


def test_a_zone_outside_the_network_is_told_while_the_type_is_unknown(tmp_path: Path) -> None:
    assert reported(tmp_path, pools=[{**POOL, "instance_type": "p5.48xlargee", "zone": "usw2-az4"}]) == [
        'pools[0].instance_type: "p5.48xlargee" is not in the catalog; did you mean "p5.48xlarge"?',
        "pools[0].zone: usw2-az4 is not among the network's zones (usw2-az1, usw2-az2); use usw2-az1 or usw2-az2",
    ]


def test_two_pools_of_one_name_are_told_once(tmp_path: Path) -> None:
    assert reported(tmp_path, pools=[POOL, {**POOL, "nodes": {"min": 0, "max": 1}}]) == [
        'pools[1].name: the name "train" is taken by pools[0]; names of pools are unique in the stack'
    ]


BADLY_SHAPED = {
    "a count out of range": (
        {"pools": [{**POOL, "nodes": 0, "spares": 1}], "queues": [{"name": "q", "pool": "train", "cards": 8}]},
        "pools[0].nodes: 0 is out of range; at least 1 is wanted",
    ),
    "a volume out of range": (
        {"pools": [{**POOL, "root_volume_gib": 0}]},
        "pools[0].root_volume_gib: 0 is out of range; at least 20 is wanted",
    ),
    "a zone's name": (
        {"pools": [{**POOL, "zone": "us-west-2b"}]},
        (
            'pools[0].zone: "us-west-2b" is malformed; a zone id such as usw2-az3 is wanted, the same place in every'
            " account; us-west-2a is a name"
        ),
    ),
    "a key misspelt": (
        {"pools": [{**{key: value for key, value in POOL.items() if key != "zone"}, "zonne": "usw2-az2"}]},
        'pools[0].zonne: "zonne" is not a key here; did you mean "zone"?',
    ),
    "a word for a boolean": (
        {
            "storage": {
                "lustre": [
                    {
                        "name": "x",
                        "zone": "usw2-az2",
                        "capacity_gib": 2400,
                        "throughput_mbps_per_tib": 500,
                        "efa": "True",
                    }
                ],
            }
        },
        'storage.lustre[0].efa: "True" is text; a boolean is wanted: true or false',
    ),
    "an unknown kind": (
        {"pools": [{**POOL, "capacity": {"kind": "blok"}}]},
        'pools[0].capacity.kind: "blok" is not a kind; did you mean "block"?',
    ),
    "a range cut short": (
        {"network": {"zones": ["usw2-az1", "usw2-az2"], "cidr": "100.64.0/16"}},
        'network.cidr: "100.64.0/16" is malformed; an IPv4 range such as 10.0.0.0/16 is wanted',
    ),
    "a section of another shape": (
        {"pools": 5, "queues": [{"name": "q", "pool": "nope"}]},
        "pools: 5 is a number; a list is wanted",
    ),
    "an acknowledgement of another shape": (
        {"acknowledged": 7},
        "acknowledged: 7 is a number; a list is wanted",
    ),
}


@pytest.mark.parametrize(("config", "expected"), BADLY_SHAPED.values(), ids=BADLY_SHAPED)
def test_no_rule_computes_with_what_stands_in_for_a_badly_shaped_value(
    tmp_path: Path, config: dict[str, object], expected: str
) -> None:
    assert reported(tmp_path, **config) == [expected]


def test_an_acknowledgement_without_a_reason_accepts_nothing_and_keeps_the_others(tmp_path: Path) -> None:
    first, second = {"id": "a", "path": "b"}, {"id": "c", "path": "d", "reason": "e"}
    assert reported(tmp_path, acknowledged=[first, second]) == [
        "acknowledged[0].reason: is missing; why it is accepted",
        "acknowledged[1]: warning: no warning c is raised at d; take the acknowledgement out",
    ]


def test_a_misspelt_region_is_told_once_and_at_its_place(tmp_path: Path) -> None:
    path = tmp_path / "Pulumi.t.yaml"
    path.write_text(yaml.safe_dump({"config": {**CONFIG, "aws:region": "us-wast-2"}}, sort_keys=False))
    assert [render(each) for each in from_file(str(path)).problems if each.severity != "note"] == [
        f'{path}:2:15 aws:region: "us-wast-2" is no region that the catalog knows; did you mean "us-west-2"?'
    ]


def test_a_pool_without_a_zone_in_an_unknown_region_hears_nothing_about_the_regions_offers(tmp_path: Path) -> None:
    pool = {key: value for key, value in POOL.items() if key != "zone"}
    path = tmp_path / "Pulumi.t.yaml"
    path.write_text(yaml.safe_dump({"config": {**CONFIG, "aws:region": "us-wast-2", "trainshed:pools": [pool]}}))
    assert [render(each.at(None)) for each in from_file(str(path)).problems if each.severity != "note"] == [
        'aws:region: "us-wast-2" is no region that the catalog knows; did you mean "us-west-2"?',
        (
            'pools[0].zone: machines with cards train together, and pool "train" names no zone; name one of the'
            " network's zones"
        ),
    ]


def test_tags_that_are_set_here_are_told_to_be_lost(tmp_path: Path) -> None:
    lost = "is lost; choose another key, or take it out"
    assert reported(tmp_path, tags={"Name": "mine", "stack": "ours", "owner": "me"}) == [
        f'tags.Name: warning: the tag "Name" is set here on every resource, and the value "mine" {lost}',
        f'tags.stack: warning: the tag "stack" is set here on every resource, and the value "ours" {lost}',
    ]


def test_a_block_in_a_year_that_cannot_be_is_told_before_anything_is_computed_from_it(tmp_path: Path) -> None:
    block = {
        "kind": "block",
        "id": "cr-3a1b2c3d4e5f60718",
        "start": "0001-01-01T00:00:00+14:00",
        "end": "9999-12-31T23:59:59Z",
    }
    assert reported(
        tmp_path, pools=[{**POOL, "instance_type": "p5.48xlarge", "zone": "usw2-az2", "capacity": block}]
    ) == [
        (
            "pools[0].capacity.end: the block's end lies in the year 9999; write the reservation's, such as"
            " 2026-12-10T11:30:00Z"
        ),
        (
            "pools[0].capacity.start: the block's start lies in the year 1; write the reservation's, such as"
            " 2026-12-10T11:30:00Z"
        ),
    ]


def test_more_nodes_than_a_cluster_takes_are_told_at_the_largest_pool(tmp_path: Path) -> None:
    pools = [{**POOL, "nodes": {"min": 0, "max": 60_000}}, {**POOL, "name": "more", "nodes": {"min": 0, "max": 70_000}}]
    assert (
        "pools[1].nodes: the pools have 130,000 nodes, and a cluster of EKS takes at most 100,000; "
        'use fewer nodes in pool "more", or several stacks' in reported(tmp_path, pools=pools)
    )


def test_node_groups_are_counted_at_once_however_many_they_would_be() -> None:
    pool = PoolSpec.model_validate(POOL).model_copy(update={"nodes": 10**15})
    assert placement.groups(Pool(pool, CAT)) == -(-(10**15) // 450)


@pytest.mark.parametrize(("name", "better"), [("dev.eu", "dev-eu"), ("my dev", "my-dev"), ("größe", "gr-e")])
def test_a_stack_name_that_no_cluster_can_have_names_its_file(tmp_path: Path, name: str, better: str) -> None:
    path = tmp_path / f"Pulumi.{name}.yaml"
    path.write_text(yaml.safe_dump({"config": CONFIG}))
    assert [render(each) for each in from_file(str(path)).problems if each.severity != "note"] == [
        (
            f'{path}:1:1 the name "{name}" becomes part of the cluster\'s, and EKS takes letters of a to z, digits, '
            f"dashes and underscores there; call the stack {better}, in Pulumi.{better}.yaml"
        )
    ]


def test_a_queue_too_large_is_told_at_its_own_place_beside_a_pool_that_cannot_be_read(tmp_path: Path) -> None:
    pools = [{**POOL, "name": "first", "nodes": "many"}, {**POOL, "name": "second", "nodes": {"min": 0, "max": 2}}]
    queues = [{"name": "a", "pool": "first", "cards": 8}, {"name": "b", "pool": "second", "cards": 800}]
    assert [each.partition(":")[0] for each in reported(tmp_path, pools=pools, queues=queues)] == [
        "pools[0].nodes",
        "queues[1].cards",
    ]


def test_a_rule_that_speaks_of_another_list_than_its_own_is_an_error_of_the_program() -> None:
    def check(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
        yield Problem(id="x", path="queues[1].cards", said="too many")

    rule = registry.Rule(name="made-up", each="pools", check=check)
    with pytest.raises(registry.ForeignPath, match=r"made-up loops over pools and speaks of queues\[1\]\.cards"):
        registry.of_rule(rule, given.stack("prod"), CAT)
