"""User data of Bottlerocket nodes: settings in TOML.

The host has no shell, so huge pages are a kernel setting, and local disks are bound by its own ephemeral storage
commands. Settings given here, max-pods too, win over those that EKS merges in. Sources: EKS User Guide (EFA on
Bottlerocket; launch templates); bottlerocket.dev settings reference.
"""

from __future__ import annotations

import ipaddress
import json

from components.manifests.nodes.setup import ClusterDetails, NodeSetup

_DIRECTORIES = ("/var/lib/containerd", "/var/lib/kubelet", "/var/log/pods")


def _table(name: str, rows: dict[str, object]) -> list[str]:
    # JSON's strings, numbers, booleans and flat lists are TOML's too.
    return [f"[{name}]", *(f"{_key(key)} = {json.dumps(value)}" for key, value in rows.items()), ""]


def _key(key: str) -> str:
    return key if key.replace("-", "").replace("_", "").isalnum() else json.dumps(key)


def render(setup: NodeSetup, cluster: ClusterDetails | None = None) -> str:
    """The settings, the same text for the same set-up; with `cluster` for a custom image, which EKS tells nothing."""
    kubernetes: dict[str, object] = {"max-pods": setup.max_pods}
    if cluster:
        kubernetes |= {
            "api-server": cluster.endpoint,
            "cluster-certificate": cluster.certificate_authority,
            "cluster-dns-ip": _dns(cluster.service_cidr),
            "cluster-name": cluster.name,
        }
    kubernetes |= {"registry-qps": 0, "device-ownership-from-security-context": True}
    lines = _table("settings.kubernetes", kubernetes)
    reserved: dict[str, object] = {"cpu": f"{setup.system_cpu_millis}m", "memory": f"{setup.system_memory_mib}Mi"}
    lines += _table("settings.kubernetes.system-reserved", reserved)
    if cluster and setup.labels:
        lines += _table("settings.kubernetes.node-labels", dict(setup.labels))
    if cluster and setup.taints:
        lines += _table(
            "settings.kubernetes.node-taints", {taint.key: [f"{taint.value}:{taint.effect}"] for taint in setup.taints}
        )
    lines += _table(
        "settings.oci-defaults.resource-limits.max-open-files", {"soft-limit": 65536, "hard-limit": 1048576}
    )
    lines += _table(
        "settings.oci-defaults.resource-limits.max-locked-memory",
        {"soft-limit": "unlimited", "hard-limit": "unlimited"},
    )
    if setup.huge_pages:
        lines += _table("settings.kernel.sysctl", {"vm.nr_hugepages": str(setup.huge_pages)})
    if setup.local_disks:
        lines += _table("settings.bootstrap-commands.k8s-ephemeral-storage", _ephemeral())
    return "\n".join(lines)


def _ephemeral() -> dict[str, object]:
    return {
        "commands": [
            ["apiclient", "ephemeral-storage", "init"],
            ["apiclient", "ephemeral-storage", "bind", "--dirs", *_DIRECTORIES],
        ],
        "essential": True,
        "mode": "always",
    }


def _dns(service_cidr: str) -> str:
    """The cluster's DNS address: the tenth of the service range."""
    return str(ipaddress.ip_network(service_cidr)[10])
