"""Kueue and JobSet as releases, and the queues after them."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import yaml

from components.in_cluster.queueing import Queueing, QueueingArgs
from components.spec.stack import StackSpec
from tests.components.in_cluster.declared_in_cluster import namespaces, records, wrong
from tests.declared import Record, named, of_type
from tests.given import CAT, STACKS, stack


def declared(given: StackSpec, **more: Any) -> list[Record]:
    def declare(opts: Any) -> None:
        made = namespaces(given, opts)
        Queueing("queueing", QueueingArgs(spec=given, catalog=CAT, namespaces=made.namespaces, **more), opts)

    return [each for each in records(declare) if each.name.startswith("queueing")]


@cache
def prod() -> list[Record]:
    return declared(stack("prod"))


CUSTOM = ("Topology", "ResourceFlavor", "Cohort", "ClusterQueue", "LocalQueue", "WorkloadPriorityClass")


@pytest.mark.parametrize("name", STACKS)
def test_every_queue_object_passes_kueues_own_definitions(name: str):
    assert wrong(declared(stack(name))) == {}


def test_both_controllers_are_pinned_releases_from_their_publishers():
    found = {each.inputs["name"]: each.inputs for each in of_type(prod(), "Release")}
    assert sorted(found) == ["jobset", "kueue"]
    for name, version in (("kueue", "0.19.2"), ("jobset", "0.12.0")):
        assert found[name]["chart"] == f"oci://registry.k8s.io/{name}/charts/{name}"
        assert found[name]["version"] == version
        assert found[name]["namespace"] == f"{name}-system"


def test_the_release_raises_kueues_client_limits():
    text = named(prod(), "queueing-release-kueue").inputs["values"]["managerConfig"]["controllerManagerConfigYaml"]
    assert yaml.safe_load(text)["clientConnection"] == {"qps": 1000, "burst": 2000}


def test_custom_resources_come_after_the_release_that_brings_their_definitions():
    release = named(prod(), "queueing-release-kueue")
    customs = [each for kind in CUSTOM for each in of_type(prod(), kind)]
    assert len(customs) == 1 + 3 + 1 + 3 + 3 + 3
    for each in customs:
        assert release.urn in each.depends_on, each.name


def test_kueue_starts_after_jobset_whose_kind_it_manages():
    assert named(prod(), "queueing-release-jobset").urn in named(prod(), "queueing-release-kueue").depends_on


def test_roles_that_kubernetes_fills_go_before_the_release_that_brought_them():
    release = named(prod(), "queueing-release-kueue")
    roles = of_type(prod(), "ClusterRole")
    assert sorted(each.inputs["metadata"]["name"] for each in roles) == [
        "kueue-batch-admin-role",
        "kueue-batch-user-role",
    ]
    for each in roles:
        # What depends on the release is deleted before it.
        assert release.urn in each.depends_on
        assert "rules" not in each.inputs  # Kubernetes fills them in


def test_a_flavor_comes_after_its_topology_and_a_queue_after_its_flavor():
    flavor = named(prod(), "queueing-flavor-pretrain")
    assert named(prod(), "queueing-topology-aws-3-layers").urn in flavor.depends_on
    shared = named(prod(), "queueing-cluster-queue-pretrain")
    assert flavor.urn in shared.depends_on
    assert shared.urn in named(prod(), "queueing-queue-pretrain").depends_on


def test_priorities_keep_their_value_beside_the_metadata():
    assert named(prod(), "queueing-priority-high").inputs["value"] == 10000


def test_an_isolated_stack_takes_both_controllers_from_its_mirror():
    found = declared(stack("prod"), mirror="111122223333.dkr.ecr.us-west-2.amazonaws.com")
    values = named(found, "queueing-release-kueue").inputs["values"]
    assert values["controllerManager"]["manager"]["image"]["repository"] == (
        "111122223333.dkr.ecr.us-west-2.amazonaws.com/kubernetes/kueue/kueue"
    )
    image = named(found, "queueing-release-jobset").inputs["values"]["image"]
    assert image == {"repository": "111122223333.dkr.ecr.us-west-2.amazonaws.com/kubernetes/jobset/jobset"}


def test_a_chart_of_this_machine_stands_in_for_the_publishers():
    found = named(declared(stack("prod"), charts={"kueue": "/charts/kueue"}), "queueing-release-kueue").inputs
    assert found["chart"] == "/charts/kueue"
    assert "version" not in found


def test_shuffled_queues_declare_the_same():
    given = stack("prod")
    turned = given.model_copy(update={"queues": tuple(reversed(given.queues)), "pools": tuple(reversed(given.pools))})
    assert sorted(each.urn for each in declared(turned)) == sorted(each.urn for each in prod())
