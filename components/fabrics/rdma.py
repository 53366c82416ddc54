"""RDMA on machines on the premises: InfiniBand, and RoCE over Ethernet.

The two share the device plugin's resource and differ in a few variables of the collective library.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from components.catalog import InstanceType
from components.fabrics.fabric import POD_INTERFACE, Interface, Node
from components.spec.pools import HostSpec, PoolSpec


@dataclass(frozen=True, kw_only=True)
class Rdma:
    """The adapter of a verbs network; `extra` are the variables of its family. `addressed`: its traffic runs between
    addresses, which pods must have.
    """

    kind: str
    extra: Mapping[str, str]
    addressed: bool = False
    on_aws: bool = False
    zone_bound: bool = False
    open_group: bool = False

    def refusal(self, pool: PoolSpec, node: Node) -> str | None:
        if isinstance(node, InstanceType):
            return f"EC2 machines such as {node.name} have no {self.kind}"
        if not node.rdma_devices:
            return f"hosts.rdma_devices is 0, and {self.kind} needs at least 1"
        if self.addressed and not node.networks:
            return (
                f"hosts.networks is empty, and pods have no address on {self.kind} without the networks of its devices"
            )
        return None

    def interfaces(self, pool: PoolSpec, instance: InstanceType) -> tuple[Interface, ...]:
        return ()

    def pod_resources(self, pool: PoolSpec, node: Node) -> Mapping[str, str]:
        return {node.rdma_resource: str(node.rdma_devices)} if isinstance(node, HostSpec) and node.rdma_devices else {}

    def environment(self, pool: PoolSpec, node: Node) -> Mapping[str, str]:
        """NCCL_NET makes a job that can't open the devices fail instead of falling back to TCP."""
        found = {"NCCL_SOCKET_IFNAME": POD_INTERFACE, "NCCL_NET": "IB", **self.extra}
        if isinstance(node, HostSpec) and node.rdma_adapters:
            found["NCCL_IB_HCA"] = f"={','.join(node.rdma_adapters)}"  # `=`: these names and no longer ones
        return found
