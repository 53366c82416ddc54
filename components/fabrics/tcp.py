"""Plain TCP between nodes: what every machine has.

It needs nothing beyond the pod's own interface.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from components.catalog import InstanceType
from components.fabrics.efa import LONGEST_TCP_TIMEOUT
from components.fabrics.fabric import POD_INTERFACE, Interface, Node
from components.spec.pools import PoolSpec


@dataclass(frozen=True, kw_only=True)
class Tcp:
    """The adapter of TCP."""

    kind: str = "tcp"
    on_aws: bool = True
    zone_bound: bool = False
    open_group: bool = False

    def refusal(self, pool: PoolSpec, node: Node) -> str | None:
        return None

    def interfaces(self, pool: PoolSpec, instance: InstanceType) -> tuple[Interface, ...]:
        """One interface, named so that the template can raise the timeout of idle connections where the card's is
        short.
        """
        short = instance.network.tcp_established_timeout_seconds < LONGEST_TCP_TIMEOUT
        timeout = LONGEST_TCP_TIMEOUT if short else None
        return (
            Interface(
                network_card_index=0, device_index=0, interface_type="interface", tcp_established_timeout=timeout
            ),
        )

    def pod_resources(self, pool: PoolSpec, node: Node) -> Mapping[str, str]:
        return {}

    def environment(self, pool: PoolSpec, node: Node) -> Mapping[str, str]:
        return {"NCCL_SOCKET_IFNAME": POD_INTERFACE, "NCCL_NET": "Socket"}
