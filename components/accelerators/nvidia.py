"""NVIDIA GPUs: the device plugin without the RDMA take-over, DCGM telemetry, and what each XID code asks for.

The machine image already brings driver, container toolkit and fabric manager, so only the plugin has to run in the
cluster.
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

# The release whose source the table below follows: `WellKnownXidCodes` in monitors/nvidia/dcgm/dcgm_policies.go of
# github.com/aws/eks-node-monitoring-agent. A test holds it to the minor release of the add-on in the catalog.
MONITORING_AGENT_RELEASE = "1.7.0"

# "replace" and "reboot" are exactly the codes that the agent turns into a node condition. It has one remedy in mind,
# another machine; "reboot" is where EKS node repair restarts a managed node first (user guide, 2026-07). The agent only
# logs the rest. Meanings: NVIDIA's "XID Errors" guide and the agent's comments.
XID = (
    HealthCode(
        code="13", meaning="graphics engine exception, usually a kernel that reads out of bounds", action="application"
    ),
    HealthCode(code="31", meaning="memory page fault of a kernel", action="application"),
    HealthCode(code="43", meaning="the GPU stopped processing after an application's error", action="application"),
    HealthCode(code="45", meaning="preemptive clean-up, follows another error", action="watch"),
    HealthCode(code="46", meaning="the GPU stopped processing", action="replace"),
    HealthCode(code="48", meaning="uncorrectable double-bit memory error", action="replace"),
    HealthCode(code="54", meaning="auxiliary power is not connected", action="replace"),
    HealthCode(code="62", meaning="internal micro-controller halt", action="replace"),
    HealthCode(
        code="63",
        meaning="a memory row was remapped; EC2 advises another machine before no spare row is left",
        action="replace",
    ),
    HealthCode(code="64", meaning="remapping a memory row failed", action="reboot"),
    HealthCode(code="74", meaning="NVLink error", action="replace"),
    HealthCode(code="79", meaning="the GPU fell off the bus", action="replace"),
    HealthCode(code="92", meaning="high rate of single-bit memory errors", action="watch"),
    HealthCode(code="94", meaning="contained uncorrectable memory error", action="watch"),
    HealthCode(code="95", meaning="uncontained uncorrectable memory error", action="replace"),
    HealthCode(code="109", meaning="a context switch timed out", action="replace"),
    HealthCode(code="110", meaning="security fault", action="replace"),
    HealthCode(code="119", meaning="the GPU system processor timed out on a call", action="reboot"),
    HealthCode(code="120", meaning="the GPU system processor failed", action="reboot"),
    HealthCode(code="136", meaning="link training failed", action="replace"),
    HealthCode(code="140", meaning="unrecoverable memory error", action="replace"),
    HealthCode(code="142", meaning="the video encoder failed for good", action="replace"),
    HealthCode(code="143", meaning="the GPU could not be initialised", action="replace"),
    HealthCode(code="151", meaning="key rotation of confidential computing failed", action="replace"),
    HealthCode(code="155", meaning="NVLink error that software defines", action="replace"),
    HealthCode(code="156", meaning="a resource of the GPU was retired", action="replace"),
    HealthCode(code="158", meaning="fatal timeout of the GPU", action="replace"),
)

NVIDIA = Accelerator(
    vendor="nvidia",
    resource_name="nvidia.com/gpu",
    image_families=MappingProxyType({"x86_64": "AL2023_x86_64_NVIDIA", "arm64": "AL2023_ARM_64_NVIDIA"}),
    collective_backend="nccl",
    device_plugin=PLUGIN,
    gate_kind="nvidia",
    probe="nvidia-smi",
    # The container toolkit then brings nvidia-smi and the library it asks.
    probe_environment=MappingProxyType({"NVIDIA_DRIVER_CAPABILITIES": "utility"}),
    environment=MappingProxyType(
        {
            "NCCL_DEBUG": "WARN",
            # A failed collective ends its process instead of waiting for ever; the failure policy then restarts the
            # gang.
            "TORCH_NCCL_ASYNC_ERROR_HANDLING": "1",
        }
    ),
    efa_environment=MappingProxyType(
        {
            # A job without the plugin fails instead of falling back to TCP.
            "NCCL_NET": "AWS Libfabric",
            # Huge pages and fork() in data loaders don't go together (ENOMEM); the documentation of aws-ofi-nccl names
            # this remedy.
            "FI_EFA_USE_HUGE_PAGE": "0",
        }
    ),
    efa_environment_of_pcie=MappingProxyType({"NCCL_SHM_USE_CUDA_MEMCPY": "1"}),
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
