"""Rules on zones and address ranges.

AWS restricts ranges; each text names a range that it would accept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from ipaddress import IPv4Network
from itertools import combinations
from math import ceil

from components.catalog import Catalog, regions
from components.naming import listed
from components.planning import addresses, endpoints
from components.planning.address_needs import (
    AddressNeed,
    compute_needs,
    control_need,
    management_needs,
    management_share,
)
from components.planning.placement import pool_zones
from components.planning.pool import Pool
from components.planning.rules.pools import on_aws
from components.planning.rules.registry import rule
from components.problems import Problem
from components.spec.network import NetworkSpec
from components.spec.stack import StackSpec


def region_zones(region: str, cat: Catalog) -> tuple[str, ...]:
    """Zone ids of the region in which any type of the catalog is sold; empty for a region it doesn't know."""
    return tuple(sorted({zone for instance in cat.instances.values() for zone in instance.zones.get(region, ())}))


@rule()
def zones_are_distinct(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Each zone once, and at least two of them, as EKS wants its control plane in two."""
    if stack.network is None:
        return
    zones = stack.network.zones
    for index, zone in enumerate(zones):
        if zone in zones[:index]:
            yield Problem(
                id="zone-duplicate",
                path=f"network.zones[{index}]",
                said=f"{zone} is named twice",
                hint="name each zone once",
            )
    barred = sorted(set(zones) & regions.WITHOUT_CONTROL_PLANE)
    carrying = regions.control_zones(zones)
    if barred:
        said = f"EKS puts no control plane into {listed(barred)}: nodes may lie there, the cluster's own subnets don't"
        yield Problem(id="zone-without-control-plane", path="network.zones", said=said, severity="note")
    if len(carrying) < 2:
        others = [zone for zone in regions.control_zones(region_zones(stack.region, cat)) if zone not in carrying]
        hint = f"add one of {', '.join(others)}" if others else "add another zone of the region"
        yield Problem(
            id="zones-too-few",
            path="network.zones",
            said="EKS puts its control plane into two zones, and "
            + ("one is named" if len(set(zones)) == 1 else f"{len(carrying)} of those named can carry it"),
            hint=hint,
        )


@rule()
def zones_are_of_the_region(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Zones lie in the stack's region."""
    known = region_zones(stack.region, cat)
    if stack.network is None or not known:
        return
    prefix = known[0].rsplit("-", 1)[0]
    regions = {
        zone.rsplit("-", 1)[0]: region
        for each in cat.instances.values()
        for region, zones in each.zones.items()
        for zone in zones
    }
    for index, zone in enumerate(stack.network.zones):
        path, other = f"network.zones[{index}]", zone.rsplit("-", 1)[0]
        if other != prefix:
            home = regions.get(other, "another region")
            said = f"{zone} lies in {home}, the stack in {stack.region}"
            yield Problem(
                id="zone-of-another-region",
                path=path,
                said=said,
                hint=_others(stack.network.zones, known),
            )
        elif zone not in known:
            said = f"{zone} is no zone of {stack.region} that the catalog knows"
            yield Problem(
                id="zone-unknown", path=path, said=said, hint=f"it knows {', '.join(known)}", severity="warning"
            )


def _others(used: Sequence[str], known: Sequence[str]) -> str:
    """Zones of the region that the network doesn't have yet."""
    free = [zone for zone in known if zone not in used]
    return f"use {listed(free, 'or')}" if free else "take it out: every zone of the region is there"


def _not_in_network(path: str, zone: str, zones: tuple[str, ...]) -> Problem:
    said = f"{zone} is not among network.zones, which are {listed(zones)}"
    return Problem(
        id="zone-not-in-network", path=path, said=said, hint=f"add {zone} to network.zones, or use one of them"
    )


def _machines_known(stack: StackSpec, cat: Catalog) -> bool:
    """Whether every pool's machines are known: those of an unknown type might lie in either network."""
    return all(Pool(pool, cat).machines for _, pool in on_aws(stack))


def _ranges(stack: StackSpec) -> list[tuple[str, str]]:
    """Every range that the network's machines can see, with its path."""
    if stack.network is None:
        return []
    found = [("network.cidr", stack.network.cidr)]
    if stack.network.node_cidr:
        found.append(("network.node_cidr", stack.network.node_cidr))
    found += [(f"network.compute_cidrs[{index}]", cidr) for index, cidr in enumerate(stack.network.compute_cidrs)]
    if stack.form.kind == "hybrid":
        for index, each in enumerate(stack.form.remote_networks):
            found.append((f"form.remote_networks[{index}].node_cidr", each.node_cidr))
            if each.pod_cidr:
                found.append((f"form.remote_networks[{index}].pod_cidr", each.pod_cidr))
    return found


@rule()
def ranges_are_apart(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """No two ranges share an address."""
    found = _ranges(stack)
    if stack.cluster and stack.cluster.service_cidr:
        found.append(("cluster.service_cidr", stack.cluster.service_cidr))
    for (first, one), (second, other) in combinations(found, 2):
        if IPv4Network(one).overlaps(IPv4Network(other)):
            free = addresses.next_range(
                (cidr for _, cidr in found), max(IPv4Network(other).prefixlen, addresses.LARGEST)
            )
            if second == "cluster.service_cidr":
                free = addresses.service_range(cidr for path, cidr in found if path != second)
            said = f"{other} overlaps {first}, which is {one}"
            hint = f"use a range of its own, such as {free}" if free else "use a range of its own"
            yield Problem(id="ranges-overlap", path=second, said=said, hint=hint)
    if stack.cluster and not stack.cluster.service_cidr and addresses.service_cidr(stack) is None:
        said = (
            f"every range that this project uses for Kubernetes services ({', '.join(addresses.SERVICE_RANGES)}) is"
            " taken"
        )
        yield Problem(
            id="service-range-missing",
            path="cluster.service_cidr",
            said=said,
            hint="name a private range that nothing else uses",
        )


# Addresses that no machine on a network can have (RFC 6890).
_NOBODYS = tuple(
    IPv4Network(each) for each in ("0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4")
)
# EKS User Guide, networking for hybrid nodes.
_PREMISES = (*addresses.PRIVATE, addresses.SHARED)


def _within(cidr: str, ranges: Iterable[IPv4Network]) -> bool:
    return any(IPv4Network(cidr).subnet_of(each) for each in ranges)


@rule()
def ranges_are_legal(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """AWS takes ranges of /16 to /28, some only beside others, and five to a VPC before it is asked."""
    network = stack.network
    if network is None:
        return
    for path, cidr in [
        ("network.cidr", network.cidr),
        *((("network.node_cidr", network.node_cidr),) if network.node_cidr else ()),
        *((f"network.compute_cidrs[{i}]", each) for i, each in enumerate(network.compute_cidrs)),
    ]:
        length = IPv4Network(cidr).prefixlen
        if not addresses.LARGEST <= length <= addresses.SMALLEST:
            base = IPv4Network(cidr).network_address
            said = f"{cidr} is a /{length}, and a VPC takes ranges from /{addresses.LARGEST} to /{addresses.SMALLEST}"
            hint = (
                f"use {base}/{addresses.LARGEST}"
                if length < addresses.LARGEST
                else f"use a /{addresses.LARGEST} to /{addresses.SMALLEST}"
            )
            yield Problem(id="range-size", path=path, said=said, hint=hint)
        elif _within(cidr, _NOBODYS):
            said = f"{cidr} holds addresses that no machine on a network can have"
            free = "10.0.0.0/16" if path == "network.cidr" else addresses.next_range(network.ranges)
            yield Problem(id="range-unusable", path=path, said=said, hint=f"use a range such as {free}")
        elif path != "network.cidr" and (barred := addresses.restricted(network.cidr, cidr)):
            free = addresses.next_range(network.ranges)
            said = f"AWS adds no range inside {barred} to a VPC of {network.cidr}"
            yield Problem(
                id="range-restricted",
                path=path,
                said=f"{cidr}: {said}",
                hint=f"use one of 100.64.0.0/10, such as {free}",
            )
    limit = cat.limits.cidrs_per_vpc
    count = len(set(network.ranges))
    if count > limit.value:
        said = (
            f"{count} ranges in one VPC ({count - 1} beside the management range), and a new account has room for"
            f" {limit.value}"
        )
        hint = f"ask for more through Service Quotas {limit.code}, or use fewer, larger ranges"
        yield Problem(id="ranges-too-many", path="network.compute_cidrs", said=said, hint=hint, severity="warning")
    if stack.cluster and stack.cluster.service_cidr:
        service = IPv4Network(stack.cluster.service_cidr)
        if not (12 <= service.prefixlen <= 24 and _within(stack.cluster.service_cidr, addresses.PRIVATE)):
            said = f"{service} can't be the services' range: EKS takes a private one from /12 to /24"
            hint = f"use {addresses.service_range(cidr for _, cidr in _ranges(stack))}"
            yield Problem(id="service-range-size", path="cluster.service_cidr", said=said, hint=hint)


@rule()
def premises_have_private_ranges(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """EKS takes on-premises nodes and pods from RFC 1918's ranges and the shared one, and no others."""
    for path, cidr in _ranges(stack):
        if path.startswith("form.") and not _within(cidr, _PREMISES):
            said = f"{cidr} lies in none of the ranges that EKS takes for hybrid nodes and their pods"
            yield Problem(id="range-not-private", path=path, said=said, hint=f"use a part of {listed(_PREMISES, 'or')}")


@rule()
def management_range_has_room(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """The management range holds its nodes, their pods, the control plane's interfaces and the endpoints'."""
    network = stack.network
    if network is None or not _machines_known(stack, cat) or IPv4Network(network.cidr).prefixlen < addresses.LARGEST:
        return
    fullest = max(management_needs(stack, cat), key=lambda need: (need.addresses, need.zone))
    if network.node_cidr:
        yield from _node_range_has_room(stack, cat, network.node_cidr, fullest)
    interfaces = len(endpoints.interfaces(endpoints.needed(stack)))
    control = control_need(interfaces)
    length = IPv4Network(network.cidr).prefixlen
    smallest = addresses.smallest_management(0 if network.node_cidr else fullest.addresses, control)
    if length <= smallest:
        return
    half, quarter = (max(0, 2 ** (32 - length - cut) - addresses.RESERVED) for cut in (4, 5))
    said = (
        f"{network.cidr} is too small: {fullest.zone} needs {fullest.addresses:,} node addresses ({fullest.arithmetic})"
        f" and has {half:,}, {control:,} control addresses ({interfaces} endpoints + {control - interfaces} for the"
        f" control plane) and has {quarter:,}"
    )
    if smallest < addresses.LARGEST:
        hint = _beyond_every_range(stack, cat, fullest)
    else:
        base = IPv4Network(f"{IPv4Network(network.cidr).network_address}/{smallest}", strict=False)
        hint = f"the smallest that fits is a /{smallest}, such as {base}"
    yield Problem(id="range-too-small", path="network.cidr", said=said, hint=hint)


def _node_range_has_room(stack: StackSpec, cat: Catalog, cidr: str, fullest: AddressNeed) -> Iterator[Problem]:
    length = IPv4Network(cidr).prefixlen
    room = addresses.node_room(length) if length + 3 <= addresses.SMALLEST else 0
    if room < fullest.addresses:
        said = (
            f"{cidr} is too small: {fullest.zone} needs {fullest.addresses:,} node addresses"
            f" ({fullest.arithmetic}), and an eighth of the range has {max(0, room):,}"
        )
        largest = addresses.node_room(addresses.LARGEST) >= fullest.addresses
        hint = f"use a /{addresses.LARGEST}" if largest else _beyond_every_range(stack, cat, fullest)
        yield Problem(id="range-too-small", path="network.node_cidr", said=said, hint=hint)


def _beyond_every_range(stack: StackSpec, cat: Catalog, fullest: AddressNeed) -> str:
    """What to do about nodes that no management range holds: AWS takes none above a /16. A further range gives each
    zone twice as much, and beyond that only zones or fewer nodes help.
    """
    network = stack.network
    room = addresses.node_room(addresses.LARGEST)
    if network and room >= fullest.addresses and (free := addresses.next_range(network.ranges)):
        return f"give these nodes a range of their own: node_cidr: {free}"
    generic = "no range is large enough: spread the pools over more zones, or use fewer nodes"
    crowd = [pool for _, pool in on_aws(stack) if Pool(pool, cat).machines and not Pool(pool, cat).in_compute_network]
    if not crowd:
        return generic
    pool = max(crowd, key=lambda each: each.max_nodes)
    zones = len(pool_zones(Pool(pool, cat), stack.zones))
    own = management_share(pool, zones)
    each_zone = (room - (fullest.addresses - own.addresses)) // (own.addresses // own.nodes)
    if each_zone < 1:
        return generic
    key = "nodes.max" if pool.autoscaled else "nodes"
    hint = (
        f'a node_cidr of /16, the largest, has room for {each_zone:,} nodes of pool "{pool.name}" in each zone: use'
        f" {key}: {each_zone * zones:,} at most, and larger machines for as much work"
    )
    wanted, there = ceil(pool.max_nodes / each_zone), regions.control_zones(region_zones(stack.region, cat))
    if wanted <= len(there):
        hint += f"; or spread the pool over {wanted} zones, of {listed(there)}"
    return hint


def without_room(network: NetworkSpec, plan: addresses.AddressPlan) -> Iterator[Problem]:
    """Zones whose nodes with cards fit into no range that is left."""
    for need in plan.unplaced:
        ranges = sorted({IPv4Network(each) for each in network.compute_cidrs})
        largest = max(ranges, key=lambda each: each.num_addresses)
        taken = [each.cidr for each in plan.subnets if each.kind == "compute"]
        said = f"{need.zone} needs {need.addresses:,} addresses ({need.arithmetic}); "
        if addresses.usable(largest) < need.addresses:
            said += f"the largest range, {largest}, has {addresses.usable(largest):,}"
        else:
            said += (
                f"no range has so many free, as {listed(taken)} {'is' if len(taken) == 1 else 'are'} in use"
                if taken
                else "no range is free"
            )
        if need.addresses > 2 ** (32 - addresses.LARGEST) - addresses.RESERVED:
            hint = "no subnet holds more than a /16: use another zone for some of the nodes, or the efa-only layout"
        else:
            free = addresses.next_range(network.ranges)
            hint = f"add {free} to network.compute_cidrs" if free else "add a range to network.compute_cidrs"
        yield Problem(id="subnet-too-small", path="network.compute_cidrs", said=said, hint=hint)


@rule()
def compute_ranges_have_room(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Every zone with accelerators has a compute subnet that holds its nodes and pods."""
    network = stack.network
    if network is None or not _machines_known(stack, cat) or any(_pin_problems(stack, network)):
        return
    plan = (
        addresses.plan(network, compute_needs(stack, cat))
        if IPv4Network(network.cidr).prefixlen + 5 <= addresses.SMALLEST
        else None
    )
    yield from without_room(network, plan) if plan else ()
    loose = [zone for zone in (plan.whole if plan else ()) if zone not in network.compute_subnets]
    if plan and loose and len(plan.zones("compute")) > 1:
        pins = ", ".join(f"{zone}: {plan.subnet('compute', zone).cidr}" for zone in plan.zones("compute"))
        said = (
            f"{listed(loose)} {'takes' if len(loose) == 1 else 'take'} a whole range, so which zone has which depends"
            " on all of them"
        )
        hint = f"once deployed, write network.compute_subnets: {{{pins}}} and none of them will ever move"
        yield Problem(
            id="compute-subnet-unpinned", path="network.compute_subnets", said=said, hint=hint, severity="note"
        )


@rule()
def pins_hold(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Pinned compute subnets lie in a compute range, apart from each other, and hold what their zone needs."""
    network = stack.network
    if network is None:
        return
    yield from _pin_problems(stack, network)
    needs = {need.zone: need for need in compute_needs(stack, cat)}
    for zone, cidr in sorted(network.compute_subnets.items()):
        need, room = needs.get(zone), addresses.usable(IPv4Network(cidr))
        if need and need.addresses > room:
            said = f"{zone} needs {need.addresses:,} addresses ({need.arithmetic}) and {cidr} has {room:,}"
            hint = "pin a larger subnet, or take the pin out: either replaces the subnet and what is in it"
            yield Problem(id="subnet-too-small", path=f"network.compute_subnets.{zone}", said=said, hint=hint)


def _pin_problems(stack: StackSpec, network: NetworkSpec) -> Iterator[Problem]:
    pins = sorted(network.compute_subnets.items())
    for zone, cidr in pins:
        path, subnet = f"network.compute_subnets.{zone}", IPv4Network(cidr)
        if zone not in network.zones:
            yield _not_in_network(path, zone, stack.zones)
        if not any(subnet.subnet_of(IPv4Network(each)) for each in network.compute_cidrs):
            said = (
                f"{cidr} lies in none of network.compute_cidrs, which are {listed(sorted(set(network.compute_cidrs)))}"
            )
            yield Problem(id="pin-outside", path=path, said=said, hint="pin a part of one of them")
        if not addresses.LARGEST <= subnet.prefixlen <= addresses.SMALLEST:
            said = f"{cidr} is a /{subnet.prefixlen}, and a subnet is a /{addresses.LARGEST} to /{addresses.SMALLEST}"
            yield Problem(id="range-size", path=path, said=said, hint="pin a subnet of such a size")
    for (one, first), (other, second) in combinations(pins, 2):
        if IPv4Network(first).overlaps(IPv4Network(second)):
            said = f"{second} overlaps the pin of {one}, which is {first}"
            yield Problem(
                id="ranges-overlap",
                path=f"network.compute_subnets.{other}",
                said=said,
                hint="pin ranges that share no address",
            )


@rule()
def premises_are_reached(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Something leads from the network to on-premises nodes."""
    if stack.form.kind == "hybrid" and stack.form.transit_gateway_id is None:
        said = "no transit gateway is named, so nothing in this stack leads to the remote networks"
        hint = (
            "name it, or make the routes to them from the control and node subnets elsewhere before hybrid nodes join"
        )
        yield Problem(id="premises-unreached", path="form.transit_gateway_id", said=said, hint=hint, severity="warning")


@rule()
def endpoints_are_named_once(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Further endpoints are not those every stack has."""
    if stack.network is None:
        return
    counts = Counter(stack.network.extra_endpoints)
    base = {each.service for each in endpoints.BASE}
    for index, service in enumerate(stack.network.extra_endpoints):
        if service in base or counts[service] > 1:
            said = f"{service} is {'declared for every stack' if service in base else 'named twice'}"
            path = f"network.extra_endpoints[{index}]"
            yield Problem(id="endpoint-duplicate", path=path, said=said, hint="take it out", severity="warning")
