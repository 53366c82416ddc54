"""What the API server itself refuses in a stack's namespaces: unsafe pods, what is over the quota, users without
a right.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.live.support.cluster import KUEUE, Cluster
from tests.live.support.engine import CHECKOUT, Engine
from tests.live.support.fields import lost
from trainshed.sandbox.api import ApiError

pytestmark = [pytest.mark.control_plane, pytest.mark.xdist_group("control_plane")]
NAMESPACE = "training"


def pod(name: str, **spec: Any) -> dict[str, Any]:
    """A pod that passes the restricted profile, changed as a test wants it."""
    container = {
        "name": "main",
        "image": "example.com/image@sha256:" + "0" * 64,
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        **spec.pop("container", {}),
    }
    safe = {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"containers": [container], "securityContext": safe, "restartPolicy": "Never", **spec},
    }


def dry(cluster: Cluster, thing: dict[str, Any]) -> None:
    """Ask for an object without leaving it there: admission runs all the same."""
    cluster.api.call(
        "POST", cluster.api.collection(thing["apiVersion"], thing["kind"], NAMESPACE) + "?dryRun=All", thing
    )


def test_a_safe_pod_is_let_in(staging: Cluster) -> None:
    dry(staging, pod("safe"))


@pytest.mark.proves(
    broken="pods that reach for the host, run as root or keep capabilities",
    promised="pod security refuses each, saying why",
)
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"hostNetwork": True}, "host namespaces (hostNetwork=true)"),
        ({"hostPID": True}, "host namespaces (hostPID=true)"),
        ({"securityContext": {"runAsUser": 0, "seccompProfile": {"type": "RuntimeDefault"}}}, "runAsNonRoot != true"),
        (
            {"volumes": [{"name": "host", "hostPath": {"path": "/"}}]},
            'restricted volume types (volume "host" uses restricted volume type',
        ),
        ({"container": {"securityContext": {"privileged": True}}}, "privileged"),
        ({"container": {"securityContext": {"allowPrivilegeEscalation": False}}}, "unrestricted capabilities"),
    ],
    ids=["host-network", "host-pid", "root", "host-path", "privileged", "capabilities"],
)
def test_an_unsafe_pod_is_refused_with_its_reason(staging: Cluster, change: dict[str, Any], said: str) -> None:
    with pytest.raises(ApiError) as caught:
        dry(staging, pod("unsafe", **change))
    assert caught.value.status == 403
    assert "violates PodSecurity" in caught.value.message
    assert said in caught.value.message


@pytest.mark.proves(
    broken="a pod and a service over the namespace's quota",
    promised="each is refused, naming what it asks and what is allowed",
)
def test_what_is_over_the_quota_is_refused_by_name(staging: Cluster) -> None:
    quota = staging.api.all("v1", "ResourceQuota", NAMESPACE)[0]["spec"]["hard"]
    cards = int(quota["requests.nvidia.com/gpu"])
    resources = {"requests": {"nvidia.com/gpu": str(cards + 8)}, "limits": {"nvidia.com/gpu": str(cards + 8)}}
    with pytest.raises(ApiError) as caught:
        dry(staging, pod("greedy", container={"resources": resources}))
    assert caught.value.status == 403
    assert f"exceeded quota: jobs, requested: requests.nvidia.com/gpu={cards + 8}" in caught.value.message
    balancer = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "open", "namespace": NAMESPACE},
        "spec": {"type": "LoadBalancer", "ports": [{"port": 80}], "selector": {"app": "x"}},
    }
    with pytest.raises(ApiError) as caught:
        dry(staging, balancer)
    assert "exceeded quota: jobs" in caught.value.message
    assert "services.loadbalancers=1" in caught.value.message


@pytest.mark.proves(
    broken="somebody without a binding, and a task's own service account, reach for secrets and nodes",
    promised="RBAC refuses both",
)
@pytest.mark.parametrize("user", ["researcher@example.com", f"system:serviceaccount:{NAMESPACE}:a-task"])
def test_nobody_has_a_right_that_was_not_given(staging: Cluster, user: str) -> None:
    somebody = staging.api.impersonating(user, ["system:authenticated"])
    for attempt in (
        lambda: somebody.all("v1", "Secret", NAMESPACE),
        lambda: somebody.all("v1", "Node"),
        lambda: somebody.create(pod("mine")),
        lambda: somebody.delete("v1", "Namespace", NAMESPACE),
    ):
        with pytest.raises(ApiError) as caught:
            attempt()
        assert caught.value.status == 403
        assert f'User "{user}" cannot' in caught.value.message


@pytest.mark.proves(
    broken="a Kueue object with a misspelt field", promised="strict validation refuses it, naming the field"
)
def test_a_misspelt_field_of_a_queue_is_refused_by_name(staging: Cluster) -> None:
    queue = next(thing for thing in staging.stage.objects if thing["kind"] == "ClusterQueue")
    with pytest.raises(ApiError) as caught:
        staging.api.apply({**queue, "spec": {**queue["spec"], "namespaceSelectr": {}}})
    assert "namespaceSelectr" in caught.value.message


def test_a_kind_without_its_operator_is_named_among_what_was_left_out(staging: Cluster) -> None:
    kinds = {line.split(" ", 1)[0] for line in staging.left_out}
    assert kinds <= {"PodMonitor", "PrometheusRule", "ServiceMonitor", "AlertmanagerConfig", "ScrapeConfig"}


MISSPELT = {
    "flavor": {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ResourceFlavor",
        "metadata": {"name": "misspelt"},
        "spec": {"nodeLabel": {"a": "b"}},
    },
    "service": {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "misspelt", "namespace": "default"},
        "spec": {"ports": [{"port": 80}], "sesionAffinity": "ClientIP"},
    },
}
PROGRAM = """
import json
import os
from pathlib import Path

import pulumi
import pulumi_kubernetes as kubernetes

from components.in_cluster.kubernetes_object import declare

rack = kubernetes.Provider("rack", kubeconfig=Path(os.environ["TRAINSHED_TEST_KUBECONFIG"]).read_text())
for name, manifest in json.loads(os.environ["TRAINSHED_TEST_OBJECTS"]).items():
    declare(name, manifest, pulumi.ResourceOptions(provider=rack))
"""


@pytest.mark.engine
@pytest.mark.proves(
    broken="a Kueue flavor and a Service, each with a misspelt field, go through the Pulumi provider",
    promised=(
        "the server refuses the flavor, naming the field; the Service's, which the provider drops in silence, is found"
        " by comparison"
    ),
)
def test_a_field_that_the_server_does_not_know_is_found(
    need: Callable[[str], Path], tmp_path: Path, staging: Cluster
) -> None:
    need("pulumi-resource-kubernetes")
    engine = Engine.of_program(tmp_path / "misspelt", PROGRAM, real_kubernetes=True)
    engine.environment["TRAINSHED_TEST_KUBECONFIG"] = str(staging.plane.kubeconfig)
    engine.environment["TRAINSHED_TEST_OBJECTS"] = json.dumps(MISSPELT)
    engine.environment["PYTHONPATH"] = str(CHECKOUT)
    refused = engine.up("--continue-on-error")
    assert refused.code != 0
    assert any(".spec.nodeLabel: field not declared in schema" in said for said in refused.diagnostics())
    assert not staging.api.exists(KUEUE, "ResourceFlavor", "misspelt")
    kept = staging.api.get("v1", "Service", "misspelt", "default")
    assert list(lost(MISSPELT["service"], kept)) == [".spec.sesionAffinity"]
    engine.destroy().must()
    assert not staging.api.exists("v1", "Service", "misspelt", "default")
