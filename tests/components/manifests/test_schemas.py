"""The validators themselves refuse what an API server would."""

from __future__ import annotations

from tests.components.manifests.schemas import faults


def test_a_misspelt_field_of_a_built_in_kind_is_refused():
    assert faults({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "dat": {}}) != []


def test_a_misspelt_field_of_a_queue_is_refused():
    manifest = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "LocalQueue",
        "metadata": {"name": "a"},
        "spec": {"clusterQ": "b"},
    }
    assert faults(manifest) == ["spec: Additional properties are not allowed ('clusterQ' was unexpected)"]


def test_an_api_version_that_is_not_served_is_refused():
    manifest = {"apiVersion": "kueue.x-k8s.io/v1alpha9", "kind": "LocalQueue", "metadata": {"name": "a"}, "spec": {}}
    assert faults(manifest) == ["kueue.x-k8s.io/v1alpha9 LocalQueue is not served"]
