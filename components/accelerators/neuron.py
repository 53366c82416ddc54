"""AWS Trainium: whole chips as the resource, the Neuron device plugin with its RBAC, and the runtime's own faults.

Unlike NVIDIA's plugin, this one reads its node and annotates pods through the API, so it needs a service account with
rights.
"""

from __future__ import annotations

from types import MappingProxyType

from components.accelerators.answers import Accelerator, DevicePlugin, HealthCode, HostMount

PLUGIN = DevicePlugin(
    name="neuron-device-plugin",
    image="neuron-device-plugin",
    resource_name="aws.amazon.com/neuron",
    mounts=(
        HostMount(
            name="device-plugins",
            path="/var/lib/kubelet/device-plugins",
            mount="/var/lib/kubelet/device-plugins",
            kind="Directory",
        ),
        HostMount(name="run", path="/run", mount="/run"),
    ),
    environment=MappingProxyType({"KUBECONFIG": "/etc/kubernetes/kubelet.conf"}),
    node_name_variable="NODE_NAME",
    cluster_rules=(
        MappingProxyType({"apiGroups": ("",), "resources": ("nodes",), "verbs": ("get", "list", "watch")}),
        MappingProxyType({"apiGroups": ("",), "resources": ("events",), "verbs": ("create", "patch")}),
        MappingProxyType(
            {"apiGroups": ("",), "resources": ("pods",), "verbs": ("get", "list", "watch", "patch", "update")}
        ),
        MappingProxyType({"apiGroups": ("",), "resources": ("nodes/status",), "verbs": ("patch", "update")}),
    ),
)

# The EKS node monitoring agent's reasons for Neuron devices (monitors/neuron/monitor.go, 1.7.0): all are conditions.
FAULTS = (
    HealthCode(code="NeuronDMAError", meaning="a DMA engine failed", action="replace"),
    HealthCode(code="NeuronHBMUncorrectableError", meaning="uncorrectable memory error", action="replace"),
    HealthCode(
        code="NeuronNCUncorrectableError", meaning="uncorrectable error in a NeuronCore's memory", action="replace"
    ),
    HealthCode(code="NeuronSRAMUncorrectableError", meaning="uncorrectable error in on-chip memory", action="replace"),
)

NEURON = Accelerator(
    vendor="neuron",
    resource_name="aws.amazon.com/neuron",
    # EKS offers no Arm image for Neuron.
    image_families=MappingProxyType({"x86_64": "AL2023_x86_64_NEURON"}),
    collective_backend="xla",
    device_plugin=PLUGIN,
    gate_kind="neuron",
    environment=MappingProxyType(
        {
            # The runtime's own rendezvous, beside the framework's, on the first worker.
            "NEURON_RT_ROOT_COMM_ID": "$(MASTER_ADDR):62182",
        }
    ),
    # The Neuron collectives load libfabric themselves (Neuron documentation, "Configure EFA for Trainium").
    efa_environment=MappingProxyType({"FI_EFA_USE_DEVICE_RDMA": "1", "FI_PROVIDER": "efa"}),
    # One process a logical core: a Trainium has two of one core, a Trainium2 four of two cores each (Neuron
    # documentation, "Logical NeuronCore configuration").
    cores_per_process=MappingProxyType({"Trainium": 1, "Trainium2": 2}),
    health_codes=FAULTS,
)
