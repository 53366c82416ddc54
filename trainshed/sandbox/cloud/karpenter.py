"""Karpenter's shipped controller as a process beside the API server, buying machines in an account on 127.0.0.1."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from trainshed.sandbox import tools
from trainshed.sandbox.api import Api, ApiError, Object, wait_for
from trainshed.sandbox.cloud.account import CREDENTIALS, QUEUE, Account
from trainshed.sandbox.controllers import documents, established
from trainshed.sandbox.plane import ControlPlane, program
from trainshed.sandbox.processes import Child

PROGRAMS = ("karpenter",)
_CRDS = "pkg/apis/crds"
# The controller listens on these in a network of its own, where nobody else does.
_METRICS_PORT, _HEALTH_PORT = 8080, 8081


@dataclass(frozen=True, kw_only=True)
class KarpenterSettings:
    """What the chart's `settings` say, where it means something outside a cluster.

    `memory_overhead` is the share of a machine's memory that never reaches its node.
    """

    memory_overhead: float = 0.075
    batch_idle_seconds: float = 1.0
    batch_max_seconds: float = 10.0


def install_crds(api: Api) -> None:
    """Karpenter's kinds, served before this returns."""
    crds = list(documents(tools.asset("karpenter", _CRDS)))
    for crd in crds:
        api.apply(crd, strict=False)
    for crd in crds:
        name = crd["metadata"]["name"]
        wait_for(lambda name=name: established(api, name), what=f"{name} served", seconds=120, pause=0.05)


def start(plane: ControlPlane, account: Account, settings: KarpenterSettings | None = None) -> Child:
    """Start the stand-in for the kubelets and the controller; ready once the controller watches its kinds."""
    kubelets = [sys.executable, "-m", "trainshed.sandbox.cloud.kubelets"]
    plane.processes.start("kubelets", [*kubelets, plane.kubeconfig, account.endpoint, account.region])
    # It listens on every address, whatever its settings: so it runs in a network of its own.
    ports = f"{plane.port},{account.port}"
    command = [sys.executable, "-m", "trainshed.sandbox.enclosure", ports, "--", str(program("karpenter"))]
    return plane.processes.start(
        "karpenter", command, environment=environment(plane, account, settings or KarpenterSettings())
    )


def environment(plane: ControlPlane, account: Account, settings: KarpenterSettings) -> Mapping[str, str]:
    """The controller's settings, as its chart gives them to its container."""
    return {
        "KUBECONFIG": str(plane.kubeconfig),
        "CLUSTER_NAME": account.cluster,
        "CLUSTER_ENDPOINT": plane.endpoint,
        "CLUSTER_CA_BUNDLE": plane.certificate_authority,
        "EKS_CONTROL_PLANE": "false",
        "INTERRUPTION_QUEUE": QUEUE,
        "VM_MEMORY_OVERHEAD_PERCENT": str(settings.memory_overhead),
        "BATCH_IDLE_DURATION": f"{settings.batch_idle_seconds}s",
        "BATCH_MAX_DURATION": f"{settings.batch_max_seconds}s",
        "SYSTEM_NAMESPACE": "kube-system",
        "DISABLE_LEADER_ELECTION": "true",
        "METRICS_PORT": str(_METRICS_PORT),
        "HEALTH_PROBE_PORT": str(_HEALTH_PORT),
        "AWS_REGION": account.region,
        "AWS_ENDPOINT_URL": account.endpoint,
        **CREDENTIALS,
        # A caller's own profile must not be asked for.
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }


def declare(plane: ControlPlane, objects: Iterable[Object]) -> None:
    """Node classes and the node pools that name them; each pool is ready before this returns."""
    for each in objects:
        plane.api.apply(each)
        if each["kind"] == "NodePool":
            name = each["metadata"]["name"]
            plane.processes.wait_until(
                lambda name=name: ready(plane.api, name),
                what=f"node pool {name} ready",
                child=plane.processes.child("karpenter"),
                seconds=120,
            )


def ready(api: Api, name: str) -> bool:
    """Whether Karpenter would buy for this NodePool: it and its node class are ready."""
    try:
        found = api.get("karpenter.sh/v1", "NodePool", name)
    except ApiError as error:
        if error.status == 404:
            return False
        raise
    conditions = (found.get("status") or {}).get("conditions") or []
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
