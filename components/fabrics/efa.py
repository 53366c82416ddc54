"""Elastic Fabric Adapter: the interfaces of every EFA type, and what its pods ask for.

Layouts must be ones that EC2 accepts: which cards take an EFA, at which device index, and which interfaces take an
address. Sources: EC2 User Guide, EFA; EKS User Guide, device-management-efa; aws/karpenter-provider-aws
designs/efa-for-static-capacity.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from components import accelerators
from components.catalog import InstanceType
from components.fabrics.fabric import POD_INTERFACE, Interface, InterfaceType, Node
from components.spec.pools import PoolSpec

Layout = Literal["efa-only", "efa"]

RESOURCE = "vpc.amazonaws.com/efa"
# The EKS images set aside 5128 pages of 2 MiB where EFA is present, whether pods use them or not.
HUGE_PAGES = 5128
# Nitro v6 forgets an idle TCP connection after 350 s; every earlier generation after five days, which is also EC2's
# highest value.
LONGEST_TCP_TIMEOUT = 432000
# Families whose EFA doesn't talk to any other family's (EC2 User Guide, EFA limitations).
APART_FROM_OTHERS = frozenset({"p4d", "p4de", "dl1"})


def cards(instance: InstanceType, count: int | None = None) -> tuple[int, ...]:
    """Network cards that get an EFA interface: all that take one, or the first `count` of them."""
    usable = instance.network.efa_cards[: instance.network.max_efa]
    return usable if count is None else usable[:count]


def layout(instance: InstanceType, kind: Layout = "efa-only", count: int | None = None) -> tuple[Interface, ...]:
    """Interfaces for a launch template, primary first, then by card.

    `efa-only`: the primary is a plain interface, every EFA has a device of its own and takes no address. `efa`: the
    classic form, where each EFA is also an ordinary interface with an address. Card 0 stays plain on types that have no
    EFA there (p6-b300), in both forms. A type without EFA gets its primary alone.
    """
    chosen = cards(instance, count)
    classic = kind == "efa"

    def interface(card: int, device: int, form: InterfaceType) -> Interface:
        short = instance.network.tcp_established_timeout_seconds < LONGEST_TCP_TIMEOUT
        timeout = (
            LONGEST_TCP_TIMEOUT if short and form != "efa-only" else None
        )  # no TCP runs over an interface without an address
        return Interface(
            network_card_index=card, device_index=device, interface_type=form, tcp_established_timeout=timeout
        )

    found = [interface(0, 0, "efa" if classic and 0 in chosen else "interface")]
    for card in chosen:
        if card == 0 and not classic:
            found.append(interface(0, 1, "efa-only"))
        elif card != 0:
            # Other tools put a classic EFA at device 1, except where the card takes a single interface.
            device = 1 if classic and instance.network.interfaces_per_card > 1 else 0
            found.append(interface(card, device, "efa" if classic else "efa-only"))
    return tuple(found)


def addressed_interfaces(instance: InstanceType, layout_kind: Layout = "efa-only", count: int | None = None) -> int:
    """Interfaces of a node that take an IPv4 address at launch: 1 with `efa-only`, one per EFA with `efa`."""
    return sum(each.addressed for each in layout(instance, layout_kind, count))


def pod_interfaces(
    instance: InstanceType, layout_kind: Layout = "efa-only", *, efa: bool = True, count: int | None = None
) -> int:
    """Interfaces that can hold pod addresses. The VPC CNI uses card 0 alone, and an `efa-only` there takes one of its
    places.
    """
    taken = efa and layout_kind == "efa-only" and 0 in cards(instance, count)
    return instance.network.interfaces_per_card - (1 if taken else 0)


@dataclass(frozen=True, kw_only=True)
class Efa:
    """The adapter of EFA."""

    kind: str = "efa"
    on_aws: bool = True
    zone_bound: bool = True
    open_group: bool = True

    def refusal(self, pool: PoolSpec, node: Node) -> str | None:
        if not isinstance(node, InstanceType):
            return "self-hosted nodes have no EFA"
        return None if node.efa else f"{node.name} takes no EFA interface"

    def count(self, pool: PoolSpec, instance: InstanceType) -> int:
        """EFA interfaces of one node: what the template has and what its pod asks for."""
        return len(cards(instance, pool.efa_interfaces))

    def interfaces(self, pool: PoolSpec, instance: InstanceType) -> tuple[Interface, ...]:
        return layout(instance, pool.efa_layout, pool.efa_interfaces)

    def pod_resources(self, pool: PoolSpec, node: Node) -> Mapping[str, str]:
        if not isinstance(node, InstanceType):
            return {}
        count = self.count(pool, node)
        return {RESOURCE: str(count)} if count else {}

    def environment(self, pool: PoolSpec, node: Node) -> Mapping[str, str]:
        """What aws-ofi-nccl (its doc/efa-env-var.md) still wants set; everything else it finds out by itself.

        For NCCL, FI_PROVIDER, FI_EFA_USE_DEVICE_RDMA, NCCL_PROTO and NCCL_ALGO are left unset on purpose: the first two
        are obsolete there, the others switch the plugin's tuner off. What a family wants set is its adapter's to say.
        """
        words = {"NCCL_SOCKET_IFNAME": POD_INTERFACE}
        family = accelerators.of(node) if isinstance(node, InstanceType) else None
        if isinstance(node, InstanceType) and self.count(pool, node):
            # Huge pages and fork() in data loaders don't go together (ENOMEM); the plugin's documentation names this
            # route to the internet. Pods then ask for none, which Karpenter could not promise of a node that isn't
            # there yet.
            words["FI_EFA_USE_HUGE_PAGE"] = "0"
        if family and isinstance(node, InstanceType) and node.accelerator:
            words |= family.efa_environment
            if node.accelerator.interconnect_gb_per_s is None:
                words |= family.efa_environment_of_pcie
        return words
