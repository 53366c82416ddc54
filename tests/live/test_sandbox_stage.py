"""What a stack looks like on a sandbox, as plain values."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.planning.pool import Pool
from infra import settings
from infra.offline.recorder import UNKNOWN
from trainshed.sandbox import stack_contents
from trainshed.sandbox.contents import SandboxContents
from trainshed.sandbox.nodes import NodeShape, layer_labels, nodes
from trainshed.sandbox.stack_contents import WrongStack, fanout, known, objects, shape, stage_of

LAYERS = tuple(f"topology.k8s.aws/network-node-layer-{number}" for number in (1, 2, 3))


def test_a_training_pool_becomes_as_many_nodes_as_the_stack_file_says_with_its_cards_and_places() -> None:
    read = settings.from_file("prod")
    pool = next(each for each in read.valid.pools if each.name == "pretrain")
    made = shape(Pool(pool, read.catalog), stack_contents.Counts(limit=None))
    assert made is not None
    assert made.count == 1250
    assert made.resources["nvidia.com/gpu"] == "8"
    assert made.resources["vpc.amazonaws.com/efa"] == "32"
    assert made.layers == LAYERS
    assert made.taints == ({"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},)
    assert made.labels["trainshed.io/pool"] == "pretrain"


def test_a_limit_holds_for_pools_with_cards_only() -> None:
    read = settings.from_file("staging")
    made = [shape(Pool(pool, read.catalog), stack_contents.Counts(limit=3)) for pool in read.valid.pools]
    assert {each.name: each.count for each in made if each} == {"pretrain": 3, "preprocess": 20}


def test_a_pool_that_is_bought_has_no_node_at_first() -> None:
    stage = stage_of("staging", nodes=3)
    assert {made.name: made.count for made in stage.shapes} == {"system": 3, "pretrain": 3}
    assert stage.purchases is not None
    assert list(stage.purchases.zones) == ["preprocess"]
    for prices in (stage.purchases.on_demand, stage.purchases.spot):
        assert set(prices) == {"m6a.8xlarge", "m6i.8xlarge", "m7a.8xlarge", "m7i.8xlarge"}
    assert stage.purchases.memory_overhead == 0.03


def test_neighbours_in_number_share_a_leaf_and_eight_leaves_share_a_spine() -> None:
    pool = NodeShape(name="p", count=200, resources={}, layers=LAYERS, fanout=fanout(3))
    places = [tuple(layer_labels(pool, index)[layer] for layer in LAYERS) for index in range(200)]
    assert len(set(places[:8])) == 1
    assert places[7] != places[8]
    assert places[7][:2] == places[63][:2]
    assert places[63][1] != places[64][1]
    assert len({place[0] for place in places}) == 1


@pytest.mark.parametrize(("layers", "wanted"), [(0, ()), (1, (8,)), (2, (8, 8)), (3, (64, 8, 8)), (4, (64, 64, 8, 8))])
def test_every_depth_of_a_network_has_a_place_for_a_node(layers: int, wanted: tuple[int, ...]) -> None:
    assert fanout(layers) == wanted


def test_nodes_are_named_by_pool_and_number_and_carry_what_kwok_looks_for() -> None:
    first = next(nodes(NodeShape(name="p", count=1, resources={"cpu": "4"})))
    assert first["metadata"]["name"] == "p-00000"
    assert first["metadata"]["annotations"] == {"kwok.x-k8s.io/node": "fake"}
    assert first["status"] == {"capacity": {"cpu": "4"}, "allocatable": {"cpu": "4"}}


def test_what_only_a_cloud_could_say_gets_a_word_of_its_own() -> None:
    assert known({"a": [f"arn:{UNKNOWN}:x"], "b": 1}) == {"a": ["arn:not-known-in-a-sandbox:x"], "b": 1}


def test_only_kubernetes_objects_are_staged_and_a_missing_name_is_the_resources() -> None:
    resources = [
        {"type": "aws:ec2/vpc:Vpc", "name": "net", "inputs": {"cidrBlock": "10.0.0.0/16"}},
        {"type": "kubernetes:helm.sh/v3:Release", "name": "kueue", "inputs": {"chart": "kueue"}},
        {
            "type": "kubernetes:core/v1:Namespace",
            "name": "jobs",
            "inputs": {"apiVersion": "v1", "kind": "Namespace", "metadata": {}},
        },
    ]
    assert objects(resources) == [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "jobs"}}]


def test_the_releases_own_client_limits_are_the_stages() -> None:
    stage = stage_of("prod", nodes=1)
    # Kueue's default of 50 requests a second makes a gang of 1,250 pods start a minute later.
    assert stage.kueue.qps >= 500
    assert stage.jobset.qps >= 500


def test_a_stage_reads_back_as_it_was_written(tmp_path: Path) -> None:
    stage = stage_of("staging", nodes=1)
    stage.write(tmp_path / "stage.json")
    again = SandboxContents.read(tmp_path / "stage.json")
    assert again.objects == stage.objects
    assert [made.count for made in again.shapes] == [made.count for made in stage.shapes]
    assert again.kueue == stage.kueue


def test_a_stack_with_errors_has_no_stage(tmp_path: Path) -> None:
    path = tmp_path / "Pulumi.wrong.yaml"
    path.write_text("config:\n  aws:region: us-west-2\n  trainshed:environment: dev\n  trainshed:pools: []\n")
    with pytest.raises(WrongStack) as caught:
        stage_of(str(path))
    assert "pools" in str(caught.value)
