"""How a node of a pool sets itself up, in terms that every image family's format can express.

The settings depend on the machine: its disks, its pods and its fabric.
"""

from __future__ import annotations

from dataclasses import dataclass

from components import node_labels
from components.fabrics import efa
from components.planning import nodes
from components.planning.pool import Pool

# Host daemons beside the kubelet and the runtime, whose share nodeadm works out by itself: the monitoring agent, log
# shippers, the Lustre client. In MiB for every 64 GiB of memory, at least 512.
_SYSTEM_MIB_PER_64_GIB = 512
_FEWEST_VCPU_FOR_FAST_PULL = (
    8  # nodeadm ignores the gate on smaller machines; its examples recommend a 2xlarge or larger
)


@dataclass(frozen=True, kw_only=True)
class ClusterDetails:
    """The coordinates of a cluster, which only a custom image needs to be given."""

    name: str
    endpoint: str
    certificate_authority: str
    service_cidr: str


@dataclass(frozen=True, kw_only=True)
class NodeSetup:
    """`huge_pages` counts pages of 2 MiB; `system_memory_mib` is kept from pods beyond the kubelet's own share.

    `lustre_efa_interfaces`: how many EFA interfaces Lustre uses too; 0 where it has TCP alone.
    """

    max_pods: int
    local_disks: bool
    huge_pages: int
    lustre_efa_interfaces: int = 0
    fast_image_pull: bool
    system_memory_mib: int
    system_cpu_millis: int
    labels: tuple[tuple[str, str], ...] = ()
    taints: tuple[nodes.Taint, ...] = ()


def of_pool(pool: Pool, *, prefix_delegation: bool = True, lustre_efa_interfaces: int = 0) -> NodeSetup:
    """The set-up of the pool's machines. Raises UnknownInstanceType."""
    machine = pool.instance
    has_efa = pool.has_efa
    large = machine.vcpu >= 64
    return NodeSetup(
        max_pods=nodes.max_pods(
            machine, layout=pool.spec.efa_layout, has_efa=has_efa, prefix_delegation=prefix_delegation
        ),
        local_disks=machine.local_disks is not None,
        huge_pages=efa.HUGE_PAGES if has_efa else 0,
        lustre_efa_interfaces=lustre_efa_interfaces,
        fast_image_pull=machine.vcpu >= _FEWEST_VCPU_FOR_FAST_PULL,
        system_memory_mib=max(512, int(machine.memory_gib // 64) * _SYSTEM_MIB_PER_64_GIB),
        system_cpu_millis=1000 if large else 250,
        # How a node was bought differs between the groups of a pool, which share this set-up: EKS adds that label
        # itself.
        labels=tuple((key, value) for key, value in pool.labels().items() if key != node_labels.CAPACITY),
        taints=pool.taints,
    )
