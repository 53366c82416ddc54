"""Which images run where nothing can be fetched, where the account's registry has them, and how each gets there."""

from __future__ import annotations

import pytest

from components.planning import images
from components.spec.stack import StackSpec
from tests.given import CAT, stack, stack_of


def by_name(spec: StackSpec) -> dict[str, images.Mirrored]:
    return {each.name: each for each in images.needed(spec, CAT)}


def test_daemons_of_nodes_with_cards_are_named_below_the_accounts_registry() -> None:
    found = by_name(stack("prod"))
    assert {each.path for each in found.values()} == {
        "ecr-public/amazonlinux/amazonlinux:2023.9.20251117.1",
        "ecr-public/aws-observability/aws-for-fluent-bit:3.2.1",
        "ecr-public/docker/library/python:3.13-alpine",
        "eks/eks/aws-efa-k8s-device-plugin:v0.5.20",
        "nvcr/nvidia/k8s-device-plugin:v0.20.0",
        "nvcr/nvidia/k8s/dcgm-exporter:4.5.3-4.8.2-distroless",
        "quay/prometheus/node-exporter:v1.12.1",
    }
    assert found["nvidia-device-plugin"].upstream == "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"


def test_what_the_cache_reaches_is_cached_and_the_rest_is_copied() -> None:
    how = {name: each.how for name, each in by_name(stack("prod")).items()}
    assert how == {
        "amazonlinux": "cached",
        "dcgm-exporter": "copied",
        "efa-device-plugin": "copied",
        "fluent-bit": "cached",
        "node-exporter": "cached",
        "nvidia-device-plugin": "copied",
        "python": "cached",
    }


def test_without_a_way_out_everything_is_copied_and_the_controllers_too() -> None:
    found = by_name(stack("staging"))
    assert {each.how for each in found.values()} == {"copied"}
    assert {"kueue", "jobset", *images.MONITORING, "node-exporter"} <= set(found)
    # What no stack declares isn't asked of anybody either.
    assert {"load-balancer-controller"}.isdisjoint(found)
    assert images.cached_by(stack("staging"), CAT) == ()


def test_a_stack_of_plain_machines_mirrors_nothing() -> None:
    pools = "[{name: p, purpose: preprocessing, instance_types: [m7i.4xlarge, m7a.4xlarge, m6i.4xlarge], nodes: 2}]"
    assert images.needed(stack_of(pools=pools), CAT) == ()
    assert images.pull_plan(stack_of(pools=pools), CAT) is None


def test_each_family_brings_its_own_plugin() -> None:
    pools = "[{name: t, purpose: training, instance_type: trn1.32xlarge, zone: usw2-az4, nodes: 2, fabric: efa}]"
    names = set(by_name(stack_of(pools=pools)))
    assert {"neuron-device-plugin", "efa-device-plugin"} <= names
    assert "nvidia-device-plugin" not in names


def test_machines_of_ones_own_mirror_controllers_to_their_registry() -> None:
    assert {each.path for each in images.needed(stack("onprem"), CAT)} == {
        "ecr-public/amazonlinux/amazonlinux:2023.9.20251117.1",
        "ecr-public/docker/library/python:3.13-alpine",
        "kubernetes/jobset/jobset:v0.12.0",
        "kubernetes/kube-state-metrics/kube-state-metrics:v2.20.0",
        "kubernetes/kueue/kueue:v0.19.2",
        "github/jkroepke/kube-webhook-certgen:1.8.7",
        "quay/prometheus-operator/prometheus-config-reloader:v0.93.1",
        "quay/prometheus-operator/prometheus-operator:v0.93.1",
        "quay/prometheus/alertmanager:v0.34.0",
        "quay/prometheus/node-exporter:v1.12.1",
        "quay/prometheus/prometheus:v3.14.0-distroless",
    }


def test_every_image_of_the_catalog_has_a_folder_in_the_mirror() -> None:
    paths = [images.path(pin) for pin in CAT.charts.images.values()]
    assert len(set(paths)) == len(paths)


def test_a_publisher_without_a_folder_is_named_with_those_that_have_one() -> None:
    with pytest.raises(
        KeyError, match=r"no folder of the mirror holds example\.com; there are folders for 602401143452"
    ):
        images.folder("example.com")


def test_the_pull_plan_counts_requests_against_the_registrys_limits() -> None:
    plan = images.pull_plan(stack("prod"), CAT)
    assert plan is not None
    assert (
        plan.arithmetic
        == "1,250 nodes ask for a manifest at 2,000 a second: 0.6 s; 1,250 x 40 layers at 3,000 a second: 16.7 s; 15"
        " GiB on each node: 16 s"
    )
    assert (plan.seconds, plan.preloaded) == (18, False)
