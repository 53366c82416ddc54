"""Exporters on the nodes with cards: card telemetry of each family, EFA's counters, and who scrapes them.

The memory limit must be large enough for nodes of eight cards, and counters that are off by default must be turned on.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from components import node_labels
from components.accelerators import Accelerator
from components.manifests import device_plugins, quantities

EFA_COUNTERS: Final = "efa-counters"
EFA_PORT: Final = 9403
_PROGRAM: Final = Path(__file__).resolve().parents[1] / "programs" / "efa_counters.py"
_FOLDER: Final = "/etc/dcgm-exporter/trainshed"

Manifest = dict[str, Any]

# DCGM's default counters that the alerts and panels read, and those that are off by default: ECC, NVLink errors,
# violations.
DCGM_COUNTERS: Final[tuple[tuple[str, str, str], ...]] = (
    ("DCGM_FI_DEV_SM_CLOCK", "gauge", "SM clock in MHz"),
    ("DCGM_FI_DEV_GPU_TEMP", "gauge", "temperature in C"),
    ("DCGM_FI_DEV_MEMORY_TEMP", "gauge", "memory temperature in C"),
    ("DCGM_FI_DEV_POWER_USAGE", "gauge", "power draw in W"),
    ("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "counter", "PCIe retries"),
    ("DCGM_FI_DEV_GPU_UTIL", "gauge", "utilisation in percent"),
    ("DCGM_FI_DEV_FB_FREE", "gauge", "free memory in MiB"),
    ("DCGM_FI_DEV_FB_USED", "gauge", "used memory in MiB"),
    ("DCGM_FI_DEV_XID_ERRORS", "gauge", "last XID"),
    ("DCGM_FI_DEV_POWER_VIOLATION", "counter", "throttling for power in us"),
    ("DCGM_FI_DEV_THERMAL_VIOLATION", "counter", "throttling for heat in us"),
    ("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "counter", "corrected memory errors"),
    ("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "counter", "uncorrectable memory errors"),
    ("DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", "counter", "rows remapped for uncorrectable errors"),
    ("DCGM_FI_DEV_ROW_REMAP_FAILURE", "gauge", "whether remapping failed"),
    ("DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", "counter", "NVLink traffic"),
    ("DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", "counter", "NVLink flow-control errors"),
    ("DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", "counter", "NVLink retries"),
    ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "gauge", "share of time with work"),
    ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "gauge", "share of cycles with tensor work"),
    ("DCGM_FI_PROF_DRAM_ACTIVE", "gauge", "share of cycles with memory traffic"),
)


def counters(namespace: str) -> Manifest:
    lines = [f"{name}, {kind}, {words}." for name, kind, words in DCGM_COUNTERS]
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "dcgm-counters",
            "namespace": namespace,
            "labels": device_plugins.identity("dcgm-counters"),
        },
        "data": {"counters.csv": "\n".join(lines) + "\n"},
    }


def telemetry(family: Accelerator, image: Any, namespace: str) -> Manifest | None:
    """The family's exporter on every node of it; None for a family without one."""
    found = family.telemetry
    if found is None:
        return None
    security: Manifest = {
        "runAsUser": 0,
        "runAsNonRoot": False,
        "privileged": found.privileged,
        "allowPrivilegeEscalation": found.privileged,
        "capabilities": {"drop": ["ALL"], "add": list(found.added_capabilities)},
    }
    memory = quantities.mebi(found.memory_limit_mib)
    container: Manifest = {
        "name": found.name,
        "image": image,
        "args": list(found.arguments),
        "env": [
            {"name": "DCGM_EXPORTER_KUBERNETES", "value": "true"},
            {"name": "DCGM_EXPORTER_LISTEN", "value": f":{found.port}"},
            {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "spec.nodeName"}}},
        ],
        "ports": [{"name": "metrics", "containerPort": found.port, "protocol": "TCP"}],
        "readinessProbe": {"httpGet": {"path": "/health", "port": "metrics"}, "initialDelaySeconds": 45},
        "resources": {"requests": {"cpu": "100m", "memory": "512Mi"}, "limits": {"memory": memory}},
        "securityContext": security,
        "volumeMounts": [
            {"name": "counters", "mountPath": _FOLDER, "readOnly": True},
            {"name": "pod-resources", "mountPath": "/var/lib/kubelet/pod-resources", "readOnly": True},
        ],
    }
    pod: Manifest = {
        "priorityClassName": "system-node-critical",
        "automountServiceAccountToken": False,
        "nodeSelector": dict(family.labels),
        "tolerations": device_plugins.EVERY_TAINT,
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [container],
        "volumes": [
            {"name": "counters", "configMap": {"name": "dcgm-counters"}},
            {"name": "pod-resources", "hostPath": {"path": "/var/lib/kubelet/pod-resources", "type": "Directory"}},
        ],
    }
    return device_plugins.daemon_set_of(found.name, pod, namespace)


def efa_program(namespace: str) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": EFA_COUNTERS, "namespace": namespace, "labels": device_plugins.identity(EFA_COUNTERS)},
        "data": {"efa_counters.py": _PROGRAM.read_text(encoding="utf-8")},
    }


def efa_daemon(image: Any, namespace: str) -> Manifest:
    """Reads /sys, which every container sees read-only: no privilege, no host folder."""
    container: Manifest = {
        "name": EFA_COUNTERS,
        "image": image,
        "command": ["python3", "/program/efa_counters.py", str(EFA_PORT)],
        "ports": [{"name": "metrics", "containerPort": EFA_PORT, "protocol": "TCP"}],
        "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"memory": "64Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": "program", "mountPath": "/program", "readOnly": True}],
    }
    pod: Manifest = {
        "automountServiceAccountToken": False,
        "nodeSelector": {node_labels.EFA: "true"},
        "tolerations": device_plugins.EVERY_TAINT,
        "securityContext": {"runAsNonRoot": True, "runAsUser": 65534, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [container],
        "volumes": [{"name": "program", "configMap": {"name": EFA_COUNTERS}}],
    }
    return device_plugins.daemon_set_of(EFA_COUNTERS, pod, namespace)


def pod_monitor(
    name: str, namespace: str, *, selector: Manifest, namespaces: Manifest, labels_kept: tuple[str, ...] = ()
) -> Manifest:
    """Scrapes the port `metrics` of the selected pods, and says which node each runs on."""
    endpoint = {
        "port": "metrics",
        "interval": "30s",
        "relabelings": [{"sourceLabels": ["__meta_kubernetes_pod_node_name"], "targetLabel": "node"}],
    }
    spec: Manifest = {"selector": selector, "namespaceSelector": namespaces, "podMetricsEndpoints": [endpoint]}
    if labels_kept:
        spec["podTargetLabels"] = list(labels_kept)
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PodMonitor",
        "metadata": {"name": name, "namespace": namespace, "labels": device_plugins.identity(name)},
        "spec": spec,
    }


def exporter_monitor(name: str, namespace: str) -> Manifest:
    return pod_monitor(
        name,
        namespace,
        selector={"matchLabels": {"app.kubernetes.io/name": name}},
        namespaces={"matchNames": [namespace]},
    )


def job_monitor(namespace: str, namespaces: list[str]) -> Manifest:
    """The metrics that tasks serve, with the task's name on each."""
    return pod_monitor(
        "jobs",
        namespace,
        selector={"matchExpressions": [{"key": "trainshed.io/task", "operator": "Exists"}]},
        namespaces={"matchNames": namespaces},
        labels_kept=("trainshed.io/task",),
    )
