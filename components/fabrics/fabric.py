"""What a fabric answers: how cards on different nodes talk, in frozen values that templates, pods and groups are made
of.

Every fabric answers the same questions, so that no caller compares a word like "efa".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from components.catalog import InstanceType
from components.spec.pools import HostSpec, PoolSpec

InterfaceType = Literal["interface", "efa", "efa-only"]
Node = InstanceType | HostSpec

# Kubernetes names a pod's first interface so, whatever the node's are called.
POD_INTERFACE = "eth0"


@dataclass(frozen=True, kw_only=True)
class Interface:
    """One network interface of a launch template. `tcp_established_timeout` in seconds; None leaves EC2's own."""

    network_card_index: int
    device_index: int
    interface_type: InterfaceType
    tcp_established_timeout: int | None = None

    @property
    def addressed(self) -> bool:
        """Whether it takes an IPv4 address of the subnet."""
        return self.interface_type != "efa-only"

    @property
    def rdma(self) -> bool:
        return self.interface_type != "interface"


class Fabric(Protocol):
    """The questions. Every answer is a value; nothing is declared here."""

    @property
    def kind(self) -> str:
        """The word in the stack file."""
        ...

    @property
    def on_aws(self) -> bool:
        """Whether EC2 machines have it; the others exist only on nodes on the premises."""
        ...

    @property
    def zone_bound(self) -> bool:
        """Whether its traffic can't leave a zone, so that a pool sits in exactly one."""
        ...

    @property
    def open_group(self) -> bool:
        """Whether its nodes need the security group whose members may use every protocol with each other, both ways."""
        ...

    def refusal(self, pool: PoolSpec, node: Node) -> str | None:
        """Why this node can't have the fabric, as a clause; None when it can."""
        ...

    def interfaces(self, pool: PoolSpec, instance: InstanceType) -> tuple[Interface, ...]:
        """All interfaces of the launch template, the primary first; empty when EC2's single default one will do."""
        ...

    def pod_resources(self, pool: PoolSpec, node: Node) -> Mapping[str, str]:
        """Extended resources and huge pages that a whole-node pod asks for, as Kubernetes quantities."""
        ...

    def environment(self, pool: PoolSpec, node: Node) -> Mapping[str, str]:
        """Environment variables of a job's containers, for the collective library."""
        ...
