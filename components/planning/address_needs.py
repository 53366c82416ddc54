"""How many addresses each zone's subnets must have room for, with the arithmetic in words.

It counts the interfaces that carry an address, and the pods' addresses in prefixes of 16.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from components import file_systems
from components.catalog import Catalog, InstanceType
from components.fabrics.efa import addressed_interfaces
from components.planning import pool as pool_values
from components.planning.nodes import EKS_PODS, EKS_PODS_OF_LARGE, LARGE_VCPU
from components.planning.placement import pool_zones, system_zones
from components.spec.pools import PoolSpec
from components.spec.stack import StackSpec

PREFIX = 16  # addresses of a /28, which the VPC CNI asks for at once under prefix delegation
# One in use and one warm (WARM_PREFIX_TARGET=1): a node of one worker and its daemons runs fewer than 16 pods with own
# addresses
PREFIXES = 2
CONTROL_PLANE = 16  # free addresses a subnet that EKS recommends for its control-plane interfaces during an upgrade


@dataclass(frozen=True, kw_only=True)
class AddressPart:
    """What one pool or file system takes, and how that was computed."""

    addresses: int
    arithmetic: str
    nodes: int = 0
    prefixed: int = 0  # how many of them come in prefixes, which need free blocks of 16


@dataclass(frozen=True, kw_only=True)
class AddressNeed:
    """What one zone's subnet must hold."""

    zone: str
    parts: tuple[AddressPart, ...] = ()

    @property
    def addresses(self) -> int:
        return sum(part.addresses for part in self.parts)

    @property
    def prefixed(self) -> int:
        return sum(part.prefixed for part in self.parts)

    @property
    def arithmetic(self) -> str:
        return " + ".join(part.arithmetic for part in self.parts) or "nothing"


def nodes(label: str, count: int, interfaces: int = 1, prefixes: int = PREFIXES) -> AddressPart:
    """`count` nodes with that many addressed interfaces each and their pods' prefixes."""
    addresses, prefixed = count * (interfaces + prefixes * PREFIX), count * prefixes * PREFIX
    arithmetic = f"{label}: {count:,} nodes x ({interfaces} + {prefixes} x {PREFIX}) = {addresses:,}"
    return AddressPart(addresses=addresses, arithmetic=arithmetic, nodes=count, prefixed=prefixed)


def system_prefixes(stack: StackSpec, cat: Catalog) -> int:
    """Prefixes of a system node, whose pods EKS alone limits: 110 pods in 7 prefixes, 250 of a large node in 16, and
    one warm.
    """
    machine = cat.instances.get(stack.cluster.system_pool.instance_type) if stack.cluster else None
    large = machine is not None and machine.vcpu >= LARGE_VCPU
    return ceil((EKS_PODS_OF_LARGE if large else EKS_PODS) / PREFIX) + 1


def _addressed(instance: InstanceType, pool: PoolSpec) -> int:
    return addressed_interfaces(instance, pool.efa_layout) if pool.fabric == "efa" and instance.efa else 1


def compute_needs(stack: StackSpec, cat: Catalog) -> tuple[AddressNeed, ...]:
    """One need for every zone with accelerator pools or file systems, sorted by zone. Pools without a zone are left to
    their own rule.
    """
    parts: dict[str, list[AddressPart]] = defaultdict(list)
    for pool in sorted(pool_values.of_stack(stack, cat), key=lambda each: each.name):
        if pool.in_compute_network:
            interfaces = max(_addressed(machine, pool.spec) for machine in pool.known_machines)
            _spread(parts, pool_zones(pool, stack.zones), pool.name, pool.spec.max_nodes, PREFIXES, interfaces)
    for each in file_systems.addresses(stack, cat):
        parts[each.zone].append(AddressPart(addresses=each.count, arithmetic=each.arithmetic))
    return tuple(AddressNeed(zone=zone, parts=tuple(parts[zone])) for zone in sorted(parts))


def management_needs(stack: StackSpec, cat: Catalog) -> tuple[AddressNeed, ...]:
    """One need for the nodes subnet of every zone: the system pool and the pools without cards, each spread evenly over
    its zones.
    """
    parts: dict[str, list[AddressPart]] = {zone: [] for zone in stack.zones}
    if not parts:
        return ()
    if stack.cluster:
        _spread(parts, system_zones(stack, cat), "system", stack.cluster.system_pool.nodes, system_prefixes(stack, cat))
    for pool in sorted(pool_values.of_stack(stack, cat), key=lambda each: each.name):
        if not pool.in_compute_network:
            zones = [zone for zone in pool_zones(pool, stack.zones) if zone in parts]
            _spread(parts, zones or stack.zones, pool.name, pool.spec.max_nodes, PREFIXES)
    return tuple(AddressNeed(zone=zone, parts=tuple(parts[zone])) for zone in sorted(parts))


def _spread(
    parts: dict[str, list[AddressPart]],
    zones: Sequence[str],
    label: str,
    count: int,
    prefixes: int,
    interfaces: int = 1,
) -> None:
    """The most that one zone gets when the nodes are spread evenly, for each zone."""
    for zone in zones:
        parts[zone].append(nodes(label, ceil(count / len(zones)), interfaces, prefixes))


def management_share(pool: PoolSpec, zones: int) -> AddressPart:
    """What a pool without cards takes of each of so many zones."""
    return nodes(pool.name, ceil(pool.max_nodes / zones), 1, PREFIXES)


def control_need(endpoints: int) -> int:
    """Addresses of a control subnet: one for each interface endpoint, and the control plane's with room for its
    upgrades.
    """
    return endpoints + CONTROL_PLANE
