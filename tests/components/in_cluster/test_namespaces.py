"""Namespaces: security level, closed network, quota."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from components.manifests.namespaces import own_ranges
from tests.components.in_cluster.declared_in_cluster import manifest, namespaces, records, wrong
from tests.declared import Record, named, of_type
from tests.given import CAT, STACKS, stack, stack_of


@cache
def prod() -> list[Record]:
    return records(lambda opts: namespaces(stack("prod"), opts))


@pytest.mark.parametrize("name", STACKS)
def test_every_object_is_one_that_an_api_server_takes(name: str):
    assert wrong(records(lambda opts: namespaces(stack(name), opts))) == {}


def test_jobs_live_under_the_restricted_standard_and_only_monitoring_is_privileged():
    levels = {
        each.inputs["metadata"]["name"]: each.inputs["metadata"]["labels"]["pod-security.kubernetes.io/enforce"]
        for each in of_type(prod(), "Namespace")
    }
    assert levels == {
        "jobset-system": "baseline",
        "kueue-system": "baseline",
        "monitoring": "privileged",
        "training": "restricted",
    }


def policies(namespace: str) -> dict[str, Any]:
    found = [
        each.inputs for each in of_type(prod(), "NetworkPolicy") if each.inputs["metadata"]["namespace"] == namespace
    ]
    return {each["metadata"]["name"]: each["spec"] for each in found}


@pytest.mark.parametrize("namespace", ["jobset-system", "kueue-system", "monitoring"])
def test_controllers_answer_the_api_server_their_neighbours_and_prometheus_only(namespace: str):
    found = policies(namespace)
    assert found["default-deny"] == {"podSelector": {}, "policyTypes": ["Ingress"]}
    assert found["webhooks"]["ingress"] == [
        {"ports": [{"protocol": "TCP", "port": port} for port in (8082, 9443, 10250)]}
    ]
    assert sorted(found) == ["default-deny", "metrics", "own-pods", "webhooks"]


def test_a_jobs_namespace_is_closed_both_ways_but_for_named_doors():
    found = policies("training")
    assert sorted(found) == ["default-deny", "dns", "https", "metrics", "own-pods", "pod-identity"]
    assert found["default-deny"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    assert found["pod-identity"]["egress"][0]["to"] == [{"ipBlock": {"cidr": "169.254.170.23/32"}}]
    assert found["metrics"]["ingress"][0]["ports"] == [{"protocol": "TCP", "port": "metrics"}]


def own_pods(records: list[Record]) -> dict[str, Any]:
    return named(records, "namespaces-policy-training-own-pods").inputs["spec"]


def test_the_pods_of_a_large_stack_meet_by_ranges_so_that_no_start_rewrites_a_thousand_addresses():
    blocks = [{"ipBlock": {"cidr": each}} for each in own_ranges(stack("prod"), CAT)]
    assert len(blocks) > 1
    assert {each for pool in [stack("prod").network] if pool for each in pool.compute_cidrs} <= {
        each["ipBlock"]["cidr"] for each in blocks
    }
    assert own_pods(prod())["ingress"] == [{"from": blocks}]
    assert own_pods(prod())["egress"] == [{"to": blocks}]


def test_the_pods_of_a_small_stack_meet_their_own_namespace_alone():
    dev = records(lambda opts: namespaces(stack("dev"), opts))
    assert own_pods(dev)["ingress"] == [{"from": [{"podSelector": {}}]}]
    assert own_pods(dev)["egress"] == [{"to": [{"podSelector": {}}]}]


def test_https_never_opens_the_instance_metadata_service():
    rule = named(prod(), "namespaces-policy-training-https").inputs["spec"]["egress"][0]
    assert rule["to"][0]["ipBlock"]["except"] == ["169.254.169.254/32"]
    assert rule["ports"] == [{"protocol": "TCP", "port": 443}]


def test_the_quota_counts_spares_so_that_a_restart_is_not_stopped_by_a_pod_on_a_lost_node():
    hard = named(prod(), "namespaces-quota-training").inputs["spec"]["hard"]
    # 1,250 p5 and 16 p5en nodes of 8 cards.
    assert hard == {"requests.nvidia.com/gpu": "10128", "services.loadbalancers": "0", "services.nodeports": "0"}


def test_each_namespace_that_a_queue_names_is_there():
    pools = "[{name: train, purpose: training, instance_type: p5.48xlarge, zone: usw2-az3, nodes: 4}]"
    given = stack_of(pools=pools, queues="[{name: q, pool: train, cards: 32, namespace: team-a}]")
    found = records(lambda opts: namespaces(given, opts))
    assert manifest(named(found, "namespaces-namespace-team-a"))["metadata"]["name"] == "team-a"
    assert named(found, "namespaces-quota-team-a").inputs["spec"]["hard"]["requests.nvidia.com/gpu"] == "32"
    assert "requests.nvidia.com/gpu" not in named(found, "namespaces-quota-training").inputs["spec"]["hard"]


def test_rules_come_after_their_namespace():
    for each in [*of_type(prod(), "NetworkPolicy"), *of_type(prod(), "ResourceQuota")]:
        space = named(prod(), f"namespaces-namespace-{each.inputs['metadata']['namespace']}")
        assert space.urn in each.depends_on, each.name
