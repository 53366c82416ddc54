"""Objects declared by their tokens are registered exactly as the SDK's own classes register them."""

from __future__ import annotations

from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes
import pytest

from components.in_cluster.helm_release import HelmRelease, HelmReleaseArgs
from components.in_cluster.kubernetes_object import declare, token
from tests.declared import Record, run

META = {"name": "one", "namespace": "two", "labels": {"a": "b"}}
POD = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "8"}}}]},
}
CASES: dict[str, tuple[dict[str, Any], Any, dict[str, Any]]] = {
    "Namespace": ({"apiVersion": "v1", "metadata": META}, kubernetes.core.v1.Namespace, {"metadata": META}),
    "ConfigMap": (
        {"apiVersion": "v1", "metadata": META, "data": {"k": "v"}},
        kubernetes.core.v1.ConfigMap,
        {"metadata": META, "data": {"k": "v"}},
    ),
    "ServiceAccount": (
        {"apiVersion": "v1", "metadata": META, "automountServiceAccountToken": False},
        kubernetes.core.v1.ServiceAccount,
        {"metadata": META, "automount_service_account_token": False},
    ),
    "DaemonSet": (
        {"apiVersion": "apps/v1", "metadata": META, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": POD}},
        kubernetes.apps.v1.DaemonSet,
        {"metadata": META, "spec": {"selector": {"match_labels": {"a": "b"}}, "template": POD}},
    ),
    "StorageClass": (
        {"apiVersion": "storage.k8s.io/v1", "metadata": META, "provisioner": "p", "allowVolumeExpansion": True},
        kubernetes.storage.v1.StorageClass,
        {"metadata": META, "provisioner": "p", "allow_volume_expansion": True},
    ),
    "NetworkPolicy": (
        {
            "apiVersion": "networking.k8s.io/v1",
            "metadata": META,
            "spec": {"podSelector": {}, "policyTypes": ["Ingress"]},
        },
        kubernetes.networking.v1.NetworkPolicy,
        {"metadata": META, "spec": {"pod_selector": {}, "policy_types": ["Ingress"]}},
    ),
}


def recorded(program: Any) -> Record:
    (record,) = [each for each in run(program).records if each.name == "it"]
    return record


@pytest.mark.parametrize("kind", sorted(CASES))
def test_a_token_registers_what_the_sdks_class_registers(kind: str) -> None:
    manifest, typed, fields = CASES[kind]
    mine = recorded(lambda: declare("it", {**manifest, "kind": kind}, pulumi.ResourceOptions()))
    theirs = recorded(lambda: typed("it", **fields))
    assert (mine.type, mine.urn, mine.inputs) == (theirs.type, theirs.urn, theirs.inputs)


def test_a_release_registers_what_the_sdks_class_registers() -> None:
    args = HelmReleaseArgs(
        release="kueue",
        chart="kueue",
        namespace="kueue-system",
        values={"a": {"b": 1}},
        repository="https://charts.example",
        version="1.2.3",
    )
    mine = recorded(lambda: HelmRelease("it", args))
    theirs = recorded(
        lambda: kubernetes.helm.v3.Release(
            "it",
            name="kueue",
            chart="kueue",
            namespace="kueue-system",
            values={"a": {"b": 1}},
            repository_opts={"repo": "https://charts.example"},
            version="1.2.3",
            timeout=900,
            create_namespace=False,
            atomic=False,
        )
    )
    assert (mine.type, mine.urn, mine.inputs) == (theirs.type, theirs.urn, theirs.inputs)


def test_a_group_stands_in_the_token_and_the_core_group_by_its_name() -> None:
    assert token({"apiVersion": "v1", "kind": "Namespace"}) == "kubernetes:core/v1:Namespace"
    assert (
        token({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Topology"})
        == "kubernetes:kueue.x-k8s.io/v1beta2:Topology"
    )
