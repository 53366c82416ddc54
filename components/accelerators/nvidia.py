"""NVIDIA GPUs: the device plugin without the RDMA take-over, DCGM telemetry, and what each XID code asks for.

Hides that the machine image already brings driver, container toolkit and fabric manager: only the plugin is left to
run.
"""

from __future__ import annotations

from types import MappingProxyType

from components.accelerators.answers import Accelerator, DevicePlugin, HealthCode, HostMount, Telemetry

PLUGIN = DevicePlugin(
    name="nvidia-device-plugin",
    image="nvidia-device-plugin",
    resource_name="nvidia.com/gpu",
    command=("nvidia-device-plugin",),
    environment=MappingProxyType(
        {
            "DEVICE_LIST_STRATEGY": "envvar",
            "FAIL_ON_INIT_ERROR": "true",
            "MIG_STRATEGY": "none",
            # On by default since 0.19: it mounts every /dev/infiniband/uverbs* into GPU pods, behind the EFA plugin's
            # back.
            "MOFED_ENABLED": "false",
            "NVIDIA_DRIVER_CAPABILITIES": "compute,utility",
            "NVIDIA_VISIBLE_DEVICES": "all",
        }
    ),
    mounts=(
        HostMount(
            name="device-plugins",
            path="/var/lib/kubelet/device-plugins",
            mount="/var/lib/kubelet/device-plugins",
            kind="Directory",
        ),
    ),
)

# Meanings: NVIDIA's "XID Errors" guide. "replace" and "reboot" are the codes that the EKS node monitoring agent turns
# into a node condition (monitors/nvidia/dcgm, 2026-09) and the action that EKS node repair takes (user guide, 2026-07);
# the rest stay events.
XID = (
    HealthCode(
        code="13", meaning="graphics engine exception, usually a kernel that reads out of bounds", action="application"
    ),
    HealthCode(code="31", meaning="memory page fault of a kernel", action="reboot"),
    HealthCode(code="43", meaning="the GPU stopped processing after an application's error", action="application"),
    HealthCode(code="45", meaning="preemptive clean-up, follows another error", action="watch"),
    HealthCode(code="48", meaning="uncorrectable double-bit memory error", action="replace"),
    HealthCode(code="62", meaning="internal micro-controller halt", action="replace"),
    HealthCode(code="63", meaning="a memory row was remapped or a page retired", action="watch"),
    HealthCode(code="64", meaning="remapping a memory row failed", action="reboot"),
    HealthCode(code="74", meaning="NVLink error", action="replace"),
    HealthCode(code="79", meaning="the GPU fell off the bus", action="replace"),
    HealthCode(code="92", meaning="high rate of single-bit memory errors", action="watch"),
    HealthCode(code="94", meaning="contained uncorrectable memory error", action="watch"),
    HealthCode(code="95", meaning="uncontained uncorrectable memory error", action="replace"),
    HealthCode(code="119", meaning="the GPU system processor timed out on a call", action="reboot"),
    HealthCode(code="120", meaning="the GPU system processor failed", action="reboot"),
)

NVIDIA = Accelerator(
    vendor="nvidia",
    resource_name="nvidia.com/gpu",
    image_families=MappingProxyType({"x86_64": "AL2023_x86_64_NVIDIA", "arm64": "AL2023_ARM_64_NVIDIA"}),
    collective_backend="nccl",
    device_plugin=PLUGIN,
    gate_kind="nvidia",
    environment=MappingProxyType(
        {
            "NCCL_DEBUG": "WARN",
            # A failed collective ends its process instead of waiting for ever; the failure policy then restarts the
            # gang.
            "TORCH_NCCL_ASYNC_ERROR_HANDLING": "1",
        }
    ),
    health_codes=XID,
    # The agent raises it when a daemon restarts, and never clears it (aws/eks-node-monitoring-agent issue 266).
    left_alone=("DCGMError",),
    telemetry=Telemetry(
        name="dcgm-exporter",
        image="dcgm-exporter",
        port=9400,
        arguments=("-f", "/etc/dcgm-exporter/trainshed/counters.csv"),
        # The profiling counters (tensor pipe, DRAM active) need it; nothing else of the pod is raised.
        added_capabilities=("SYS_ADMIN",),
        privileged=False,
        # With 256 to 512 MiB the exporter is killed on nodes of eight cards.
        memory_limit_mib=1024,
        fault_metric="DCGM_FI_DEV_XID_ERRORS",
        memory_error_metrics=("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",),
        link_error_metrics=(
            "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL",
            "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL",
        ),
    ),
)
