"""The address plan: which subnets the network has, in which zones, and whether nodes and pods fit into them.

A zone's number alone decides where its subnets lie, so another zone or pool moves none of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Literal

from components.catalog import regions
from components.planning.address_needs import AddressNeed
from components.spec.form import Hybrid
from components.spec.network import NetworkSpec
from components.spec.stack import StackSpec

Kind = Literal["nodes", "public", "control", "compute"]

RESERVED = 5  # AWS keeps the first four addresses and the last of every subnet (VPC User Guide, subnet sizing)
SLOTS = 8  # zone ids end in az1 to az8
SMALLEST = 28  # the longest prefix of a subnet, and of a VPC's range
LARGEST = 16  # the shortest
SHARED = IPv4Network("100.64.0.0/10")  # RFC 6598: every VPC may add ranges from here, and no office network uses it
SERVICE_RANGES = ("172.20.0.0/16", "10.100.0.0/16", "172.24.0.0/16", "10.254.0.0/16", "192.168.0.0/16")


@dataclass(frozen=True, kw_only=True)
class Subnet:
    """One subnet by its role, its zone and its range."""

    kind: Kind
    zone: str
    cidr: str

    @property
    def usable(self) -> int:
        """Addresses that AWS leaves to the user."""
        return usable(IPv4Network(self.cidr))


@dataclass(frozen=True, kw_only=True)
class AddressPlan:
    """All subnets, and the needs of zones that no compute range had room for."""

    subnets: tuple[Subnet, ...]
    unplaced: tuple[AddressNeed, ...] = ()
    whole: tuple[str, ...] = ()  # zones whose compute subnet is a whole range

    def subnet(self, kind: Kind, zone: str) -> Subnet:
        """Raises KeyError when the plan has none."""
        for each in self.subnets:
            if (each.kind, each.zone) == (kind, zone):
                return each
        raise KeyError(f"no {kind} subnet in {zone}")

    def zones(self, kind: Kind) -> tuple[str, ...]:
        """Zones that have a subnet of this kind, sorted."""
        return tuple(sorted(each.zone for each in self.subnets if each.kind == kind))


def usable(network: IPv4Network) -> int:
    return max(0, network.num_addresses - RESERVED)


def slot(zone: str) -> int:
    """A zone's number among its region's, from 0: the trailing digit of its id, which means the same place in every
    account.
    """
    return int(zone[-1]) - 1


def management(cidr: str, zone: str) -> dict[Kind, IPv4Network]:
    """The zone's three management subnets: its eighth of the range, halved for nodes and quartered for the other two.

    Raises ValueError when a quarter would be smaller than AWS's smallest subnet; see `smallest_management`.
    """
    whole = IPv4Network(cidr)
    if whole.prefixlen + 5 > SMALLEST:
        raise ValueError(f"{cidr} is too small to be cut into {SLOTS} slots of three subnets")
    nodes, rest = list(whole.subnets(prefixlen_diff=3))[slot(zone)].subnets()
    public, control = rest.subnets()
    return {"nodes": nodes, "public": public, "control": control}


def node_room(length: int) -> int:
    """Addresses of a zone's node subnet in a `node_cidr` of this length."""
    return _room(length + 3)


def smallest_management(nodes: int, control: int) -> int:
    """The longest prefix of a management range whose slots hold this many node and control addresses in one zone."""
    fits = (
        length
        for length in range(SMALLEST - 5, LARGEST - 1, -1)
        if _room(length + 4) >= nodes and _room(length + 5) >= control
    )
    return next(fits, LARGEST - 1)


def _room(prefix: int) -> int:
    return 2 ** (32 - prefix) - RESERVED


def plan(spec: NetworkSpec, compute: Iterable[AddressNeed] = ()) -> AddressPlan:
    """Cut the ranges. `compute` names the zones with accelerator nodes and what they need.

    A compute subnet is the zone's own eighth of the lowest range that has it free; a zone that needs more takes a whole
    range. Pins in `network.compute_subnets` come first. Zones that take whole ranges are placed before the others, in
    the order of their ids and each on the smallest range that fits: which zone gets which whole range depends on all of
    them, and only a pin keeps it from moving.
    """
    kinds: tuple[Kind, ...] = ("nodes", "public", "control") if spec.egress == "nat" else ("nodes", "control")
    subnets = [
        Subnet(kind=kind, zone=zone, cidr=str(_of_management(spec, zone, kind)))
        for zone in sorted(set(spec.zones))
        for kind in kinds
        if kind != "control" or zone in regions.control_zones([zone])
    ]
    placed, unplaced, whole = _compute(spec, {need.zone: need for need in compute})
    subnets += [Subnet(kind="compute", zone=zone, cidr=str(network)) for zone, network in sorted(placed.items())]
    return AddressPlan(subnets=tuple(subnets), unplaced=unplaced, whole=whole)


def _of_management(spec: NetworkSpec, zone: str, kind: Kind) -> IPv4Network:
    if kind == "nodes" and spec.node_cidr:
        return _slot_of(IPv4Network(spec.node_cidr), zone)
    return management(spec.cidr, zone)[kind]


def _compute(
    spec: NetworkSpec, needs: Mapping[str, AddressNeed]
) -> tuple[dict[str, IPv4Network], tuple[AddressNeed, ...], tuple[str, ...]]:
    ranges = sorted({IPv4Network(each) for each in spec.compute_cidrs})
    placed = {zone: IPv4Network(cidr) for zone, cidr in spec.compute_subnets.items() if zone in needs}
    taken = [IPv4Network(cidr) for cidr in spec.compute_subnets.values()]
    waiting = [need for zone, need in sorted(needs.items()) if zone not in placed]
    large = [need for need in waiting if not any(_slot_fits(network, need) for network in ranges)]
    for need in large:
        free = [
            each
            for each in ranges
            if usable(each) >= need.addresses and not any(each.overlaps(other) for other in taken)
        ]
        if free:
            best = min(free, key=lambda each: (-each.prefixlen, each))
            placed[need.zone] = best
            taken.append(best)
    for need in waiting:
        if need in large:
            continue
        slots = [_slot_of(each, need.zone) for each in ranges if _slot_fits(each, need)]
        free = [each for each in slots if not any(each.overlaps(other) for other in taken)]
        if free:
            placed[need.zone] = free[0]
    unplaced = tuple(need for need in waiting if need.zone not in placed)
    return placed, unplaced, tuple(need.zone for need in large if need.zone in placed)


def _slot_of(network: IPv4Network, zone: str) -> IPv4Network:
    return list(network.subnets(prefixlen_diff=3))[slot(zone)]


def _slot_fits(network: IPv4Network, need: AddressNeed) -> bool:
    return network.prefixlen + 3 <= SMALLEST and _room(network.prefixlen + 3) >= need.addresses


def reservations(subnet: Subnet, need: AddressNeed) -> tuple[str, ...]:
    """The parts of a compute subnet to keep for prefixes, from its top: its upper half, the next quarter, and so on
    until they suffice.

    Without them EC2 scatters single addresses over the whole subnet, each spoiling a block of 16, and prefixes run out
    long before addresses do (EKS best practices, prefix mode). What is left below holds the single addresses.
    """
    rest, kept = IPv4Network(subnet.cidr), list[IPv4Network]()
    single = need.addresses - need.prefixed
    while sum(each.num_addresses for each in kept) < need.prefixed and rest.prefixlen < SMALLEST:
        lower, upper = rest.subnets()
        if usable(lower) < single:
            break
        kept.append(upper)
        rest = lower
    return tuple(str(each) for each in kept)


def next_range(taken: Iterable[str], prefix: int = LARGEST) -> str | None:
    """The first free range of that length in 100.64.0.0/10, for a hint; None when all are taken."""
    used = [IPv4Network(each) for each in taken]
    for candidate in SHARED.subnets(new_prefix=prefix):
        if not any(candidate.overlaps(other) for other in used):
            return str(candidate)
    return None


def service_range(taken: Iterable[str]) -> str | None:
    """A range for Kubernetes services that meets no network the cluster can see; None when every candidate does."""
    used = [IPv4Network(each) for each in taken]
    return next((each for each in SERVICE_RANGES if not any(IPv4Network(each).overlaps(other) for other in used)), None)


def remote_ranges(stack: StackSpec) -> tuple[str, ...]:
    """On-premises ranges of nodes and pods, sorted; none unless the form is hybrid."""
    if not isinstance(stack.form, Hybrid):
        return ()
    return tuple(
        sorted({cidr for each in stack.form.remote_networks for cidr in (each.node_cidr, each.pod_cidr) if cidr})
    )


def remote_pod_ranges(stack: StackSpec) -> tuple[str, ...]:
    """On-premises ranges of pods, sorted."""
    networks = stack.form.remote_networks if isinstance(stack.form, Hybrid) else ()
    return tuple(sorted({each.pod_cidr for each in networks if each.pod_cidr}))


def service_cidr(stack: StackSpec) -> str | None:
    """The range of Kubernetes services: the stack's own, or the first that meets none of its networks."""
    if stack.cluster and stack.cluster.service_cidr:
        return stack.cluster.service_cidr
    network = stack.network
    return service_range((*(network.ranges if network else ()), *remote_ranges(stack)))


PRIVATE = tuple(IPv4Network(each) for each in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"))
_EVERYWHERE = IPv4Network("198.19.0.0/16")
_DEFAULT_VPC = IPv4Network("172.31.0.0/16")


def restricted(primary: str, further: str) -> str | None:
    """The range that AWS bars `further` from, as an addition to a VPC of range `primary` (VPC User Guide, CIDR block
    restrictions).
    """
    first, second = IPv4Network(primary), IPv4Network(further)
    home = next((each for each in PRIVATE if first.subnet_of(each)), None)
    barred = [each for each in PRIVATE if each != home] + [_EVERYWHERE]
    if home == PRIVATE[1]:
        barred.append(_DEFAULT_VPC)
    return next((str(each) for each in barred if second.overlaps(each)), None)
