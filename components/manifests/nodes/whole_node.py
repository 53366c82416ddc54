"""The machine of a pool as pods see it: what a whole-node worker may ask for, and the taints it must tolerate.

The node keeps some of its resources for kernel, kubelet, huge pages and its own daemons; a worker gets the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from components import node_labels
from components.accelerators import Accelerator
from components.catalog import InstanceType
from components.fabrics import Node
from components.fabrics.efa import HUGE_PAGES, RESOURCE
from components.manifests import quantities
from components.planning.pool import Pool
from components.spec.pools import HostSpec, PoolSpec
from components.spec.quantities import Cards, Nodes

# Firmware and kernel keep some of the advertised memory: 1 to 3 % on EC2 machines (a p5.48xlarge shows 2,063,877 of
# 2,097,152 MiB).
KERNEL_SHARE = 0.03
# EKS' own formula: 255 MiB + 11 MiB a pod for the kubelet and the system, 100 MiB before it evicts. 250 pods is its
# ceiling.
_KUBELET_MIB = 255 + 11 * 250 + 100
# Daemons of the node: network, storage and log agents, device plugins, exporters, with their limits added up; and for
# the CPU also what the node's set-up keeps for the system (components/manifests/nodes/setup.py).
_DAEMONS_MIB = 6144
_DAEMONS_MILLICPU = 2000
_GIB = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """One node of a pool. Memory in MiB; `extended` are cards, fabric devices and huge pages as Kubernetes quantities.

    `rdma`: its fabric's devices pin memory, so that the limit on locked memory matters.
    """

    cards: Cards
    family: Accelerator | None
    rdma: bool
    millicpu: int
    memory_mib: int
    disk_gib: int
    extended: Mapping[str, str]

    @property
    def resource_name(self) -> str | None:
        """The resource that its cards are; None without any."""
        return self.family.resource_name if self.family and self.cards.count else None

    @property
    def card_resources(self) -> int:
        """How many of that resource a node shows."""
        return int(self.extended.get(self.resource_name, "0")) if self.resource_name else 0

    @property
    def requests(self) -> dict[str, str]:
        """What a worker that owns the whole node asks for, and is limited to; sorted by name."""
        return dict(
            sorted(
                {
                    "cpu": quantities.millis(self.millicpu),
                    "memory": quantities.mebi(self.memory_mib),
                    **self.extended,
                }.items()
            )
        )

    def quota(self, count: Nodes) -> dict[str, str]:
        """The same for so many nodes, with their local disk: what a queue over them covers; sorted by name."""
        whole = {
            "cpu": quantities.millis(self.millicpu * count.count),
            "memory": quantities.mebi(self.memory_mib * count.count),
        }
        whole["ephemeral-storage"] = quantities.mebi(self.disk_gib * 1024 * count.count)
        for name, amount in self.extended.items():
            whole[name] = quantities.times(amount, count.count)
        return dict(sorted(whole.items()))


def _nodes_of(pool: Pool) -> list[Node]:
    if pool.spec.hosts:
        return [pool.spec.hosts]
    return list(pool.known_machines)


def _millicpu(node: Node) -> int:
    vcpu = node.vcpu
    if isinstance(node, HostSpec) and node.reserved_vcpu is not None:
        return max((vcpu - node.reserved_vcpu) * 1000, 500)
    # The kubelet keeps 6 % of the first core, 1 % of the second, 0.5 % of two more and 0.25 % of the rest.
    kept = 60 + 10 * min(max(vcpu - 1, 0), 1) + 5 * min(max(vcpu - 2, 0), 2) + round(2.5 * max(vcpu - 4, 0))
    return max(vcpu * 1000 - kept - _DAEMONS_MILLICPU, 500) // 500 * 500


def _memory_mib(node: Node, *, huge_pages: bool) -> int:
    memory_gib = node.memory_gib
    if isinstance(node, HostSpec) and node.reserved_memory_gib is not None:
        return max(node.memory_gib - node.reserved_memory_gib, 1) * _GIB
    system = max(512, int(memory_gib // 64) * 512)  # what the node's set-up keeps for the system
    whole = int(memory_gib * _GIB * (1 - KERNEL_SHARE)) - _KUBELET_MIB - _DAEMONS_MIB - system
    return max(whole - (2 * HUGE_PAGES if huge_pages else 0), _GIB) // _GIB * _GIB


def _disk_gib(pool: PoolSpec, node: Node) -> int:
    """GiB for containers and caches, with a tenth left free: local disks where the type has them, else the root
    volume.
    """
    if isinstance(node, InstanceType) and node.local_disks:
        return int(node.local_disks.count * node.local_disks.size_gb * 1e9 / 2**30 * 0.9)
    return int(pool.root_volume_gib * 0.8)


def machine_of(pool: Pool) -> Machine | None:
    """The pool's machine; of several types the least of each resource, so that a worker fits on any. None for unknown
    types.
    """
    found_nodes = _nodes_of(pool)
    if not found_nodes:
        return None
    devices = pool.fabric.pod_resources(pool.spec, found_nodes[0])
    shared = dict(devices)
    found = pool.accelerator
    cards = Cards(min(each.cards for each in found_nodes))
    if found and cards.count:
        shared[found.resource_name] = str(cards.count)
    pages = RESOURCE in shared
    return Machine(
        cards=cards,
        family=found,
        rdma=bool(devices),
        millicpu=min(_millicpu(each) for each in found_nodes),
        memory_mib=min(_memory_mib(each, huge_pages=pages) for each in found_nodes),
        disk_gib=min(_disk_gib(pool.spec, each) for each in found_nodes),
        extended=dict(sorted(shared.items())),
    )


def tolerations(pool: Pool) -> list[dict[str, str]]:
    """What pods of the pool must carry themselves: a queue's flavor alone does not keep Kueue from ending them."""
    return [taint.toleration() for taint in pool.taints]


def labels_of(pool: PoolSpec) -> dict[str, str]:
    """The labels by which flavors and jobs find the pool's nodes: ours, or those that machines on the premises carry
    already.
    """
    if pool.hosts and pool.hosts.labels:
        return dict(sorted(pool.hosts.labels.items()))
    return {node_labels.POOL: pool.name}
