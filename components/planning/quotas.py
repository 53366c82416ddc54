"""What the stack needs against what AWS allows a new account, row by row, with what to request.

Each limit is counted in its own way: reserved machines against the on-demand vCPUs, blocks apart, interfaces and
address units node by node.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal

from components import fabrics, file_systems
from components.catalog import Catalog, Limit, regions
from components.file_systems.lustre import plan as lustre_plan
from components.planning import addons, address_needs, addresses, blocks, endpoints, nodes, placement
from components.planning.placement import Placement
from components.planning.pool import Pool
from components.spec.cluster import SYSTEM_ROOT_GIB
from components.spec.pools import PoolSpec
from components.spec.stack import StackSpec

Verdict = Literal["fits", "request", "over"]
Market = Literal["on-demand", "spot"]

# VPC User Guide, "Network Address Usage for your VPC": units of one of each.
_UNITS_OF_ENDPOINT_OR_GATEWAY = 6
# Groups on every interface before the user's own: the cluster's, the compute network's, and EFA's where the pool has
# it.
_OWN_SECURITY_GROUPS = 2
# The largest group is the management nodes', outwards: eight rules towards network and cluster, two ports for every
# file system.
_MANAGEMENT_RULES = 8
_RULES_OF_A_FILE_SYSTEM = 2


@dataclass(frozen=True, kw_only=True)
class QuotaRow:
    """One limit: `need` and `limit` in `unit`; `request` says what to ask for, empty when it fits."""

    name: str
    need: int
    limit: int
    unit: str
    verdict: Verdict
    request: str
    arithmetic: str
    unverified: bool

    def as_plan(self) -> dict[str, object]:
        return {
            "name": self.name,
            "need": self.need,
            "limit": self.limit,
            "unit": self.unit,
            "verdict": self.verdict,
            "request": self.request,
            "reckoning": self.arithmetic,
            "unverified": self.unverified,
        }


def _row(
    limit: Limit, need: int, arithmetic: str, *, name: str | None = None, available: int | None = None
) -> QuotaRow:
    value = limit.value if available is None else available
    if need <= value:
        verdict, request = "fits", ""
    elif limit.adjustable:
        code = f"{limit.service} {limit.code}" if limit.code else limit.name
        verdict, request = "request", f"ask Service Quotas for {need:,} {limit.unit} ({code})"
    else:
        verdict, request = "over", f"AWS does not raise this limit: plan for at most {value:,} {limit.unit}"
    return QuotaRow(
        name=name or limit.name,
        need=need,
        limit=value,
        unit=limit.unit,
        verdict=verdict,
        request=request,
        arithmetic=arithmetic,
        unverified=limit.origin.unverified,
    )


def rows(stack: StackSpec, cat: Catalog) -> tuple[QuotaRow, ...]:
    """Every limit that the stack touches, in a fixed order. Empty for a stack without a network of ours."""
    if stack.network is None:
        return ()
    places = placement.of_stack(stack, cat)
    pools = {pool.name: pool for pool in stack.pools}
    return (
        *_vcpus(stack, places, cat),
        *_blocks(stack, cat),
        *_groups(stack, places, cat),
        *_interfaces(stack, pools, cat),
        *_security_groups(stack, cat),
        *_rules_and_roles(stack, cat),
        *_network(stack, cat),
        *_subnets(stack, cat),
        *_volumes(stack, cat),
        *_lustre(stack, cat),
    )


def of_stack(stack: StackSpec, cat: Catalog) -> list[dict[str, object]]:
    """`rows` as plain values, for the preview's `plan.quotas`."""
    return [row.as_plan() for row in rows(stack, cat)]


def _vcpu(types: Sequence[str], cat: Catalog) -> tuple[str, int]:
    """The quota family and the vCPUs of the largest of these types."""
    largest = max((cat.instance(name) for name in types), key=lambda each: (each.vcpu, each.name))
    return largest.quota_family, largest.vcpu


def _vcpus(stack: StackSpec, places: tuple[Placement, ...], cat: Catalog) -> Iterator[QuotaRow]:
    """Reservations count as on-demand, whether they are filled or not; blocks count nowhere here."""
    found: dict[tuple[str, Market], list[tuple[str, int]]] = defaultdict(list)
    if stack.cluster:
        system = stack.cluster.system_pool
        machine = cat.instance(system.instance_type)
        words = f"system {system.nodes:,} x {machine.vcpu}"
        found[(machine.quota_family, "on-demand")].append((words, system.nodes * machine.vcpu))
    for place in places:
        totals: dict[tuple[str, Market, int], int] = defaultdict(int)
        for group in place.groups:
            if group.capacity_type != "CAPACITY_BLOCK":
                family, vcpu = _vcpu(group.types, cat)
                totals[(family, "on-demand", vcpu)] += group.max_nodes
        if place.elastic:
            # Spot and on-demand have a limit each, and all of the pool may run on either.
            family, vcpu = _vcpu(place.elastic.types, cat)
            markets: set[Market] = {"spot" if buys == "spot" else "on-demand" for buys in place.elastic.buys}
            for market in markets:
                totals[(family, market, vcpu)] += place.elastic.max_nodes
        for (family, market, vcpu), count in totals.items():
            found[(family, market)].append((f"{place.pool} {count:,} x {vcpu}", count * vcpu))
    for (family, market), parts in sorted(found.items()):
        limit = cat.limits.vcpu(family, market)
        if limit:
            yield _row(limit, sum(need for _, need in parts), " + ".join(words for words, _ in parts))


def _blocks(stack: StackSpec, cat: Catalog) -> Iterator[QuotaRow]:
    windows = [window for pool in stack.pools for window in blocks.windows(pool)]
    if windows:
        largest = max(windows, key=lambda window: (window.nodes, window.reservation))
        yield _row(cat.limits.block_instances, largest.nodes, f"{largest.pool} {largest.reservation}")
        together = blocks.most_at_once(windows)
        yield _row(cat.limits.block_instances_per_day, together, "all blocks that are open at one time")


def _groups(stack: StackSpec, places: tuple[Placement, ...], cat: Catalog) -> Iterator[QuotaRow]:
    system = 1 if stack.cluster else 0
    parts = [f"{place.pool} {len(place.groups)}" for place in places]
    count = sum(len(place.groups) for place in places)
    yield _row(cat.limits.node_groups_per_cluster, count + system, " + ".join(["system 1"] * system + parts))
    sizes = [(group.max_nodes, f"{place.pool} {group.key}") for place in places for group in place.groups]
    if sizes:
        most, words = max(sizes)
        yield _row(cat.limits.nodes_per_node_group, most, words)
    own = {place.pool: _own_placement_groups(place) for place in places if _own_placement_groups(place)}
    if own:
        words = " + ".join(f"{pool} {count}" for pool, count in own.items())
        yield _row(cat.limits.placement_groups_per_region, sum(own.values()), words)


def _own_placement_groups(place: Placement) -> int:
    bought = place.elastic is not None and place.elastic.own_placement_group
    return sum(group.own_placement_group for group in place.groups) + bought


def _interfaces(stack: StackSpec, pools: dict[str, PoolSpec], cat: Catalog) -> Iterator[QuotaRow]:
    """Interfaces of nodes, endpoints and gateways; address units count the nodes' pod prefixes too."""
    network = stack.network
    if network is None:
        return
    interfaces, units, words, unit_words = 0, 0, list[str](), list[str]()
    for name in sorted(pools):
        pool = pools[name]
        if not pool.types:
            continue
        machine = Pool(pool, cat).instance
        layout = fabrics.of(pool, machine).interfaces(pool, machine)
        each = max(1, len(layout))
        addressed = max(1, sum(interface.addressed for interface in layout))
        of_node = addressed + (each - 1) + address_needs.PREFIXES
        interfaces += pool.max_nodes * each
        units += pool.max_nodes * of_node
        words.append(f"{name} {pool.max_nodes:,} x {each}")
        unit_words.append(f"{name} {pool.max_nodes:,} x {of_node}")
    if stack.cluster:
        of_node = 1 + address_needs.system_prefixes(stack, cat)
        interfaces += stack.cluster.system_pool.nodes
        units += stack.cluster.system_pool.nodes * of_node
        words.append(f"system {stack.cluster.system_pool.nodes}")
        unit_words.append(f"system {stack.cluster.system_pool.nodes} x {of_node}")
    points = sum(each.service != endpoints.GATEWAY for each in endpoints.needed(stack)) * len(
        regions.control_zones(network.zones)
    )
    gateways = 0 if network.egress == "isolated" else len(network.zones) if network.nat_gateways == "per-zone" else 1
    interfaces += points + gateways
    words.append(f"endpoints and gateways {points + gateways}")
    units += (points + gateways) * _UNITS_OF_ENDPOINT_OR_GATEWAY
    unit_words.append(f"endpoints and gateways {points + gateways} x {_UNITS_OF_ENDPOINT_OR_GATEWAY}")
    yield _row(cat.limits.interfaces_per_region, interfaces, " + ".join(words))
    yield _row(cat.limits.network_address_units, units, " + ".join(unit_words))


def _security_groups(stack: StackSpec, cat: Catalog) -> Iterator[QuotaRow]:
    counts = [
        (_OWN_SECURITY_GROUPS + Pool(pool, cat).fabric.open_group + len(pool.security_groups), pool.name)
        for pool in stack.pools
        if pool.types
    ]
    if counts:
        most, name = max(counts)
        yield _row(cat.limits.security_groups_per_interface, most, name)


def _rules_and_roles(stack: StackSpec, cat: Catalog) -> Iterator[QuotaRow]:
    """Rules of the largest security group, and service accounts with a role of their own."""
    systems = sum(bool(file_systems.KINDS[each.kind].ports) for each in file_systems.systems(stack, cat))
    rules = _MANAGEMENT_RULES + _RULES_OF_A_FILE_SYSTEM * systems
    words = f"management nodes, outwards: {_MANAGEMENT_RULES} + {systems} file systems x {_RULES_OF_A_FILE_SYSTEM}"
    yield _row(cat.limits.rules_per_security_group, rules, words)
    if stack.cluster:
        with_account = [each.name for each in addons.needed(stack, cat) if each.has_identity]
        observers = ["logs", *(["alerts"] if stack.observability.alerts_to else [])]
        bought = ["karpenter"] if any(nodes.bought_nodes(pool) for pool in stack.pools) else []
        queues = [f"queue {queue.name}" for queue in stack.queues]
        names = [*with_account, *observers, *bought, *queues]
        yield _row(cat.limits.pod_identity_associations, len(names), ", ".join(names))


def _network(stack: StackSpec, cat: Catalog) -> Iterator[QuotaRow]:
    network = stack.network
    if network is None:
        return
    services = [each.service for each in endpoints.needed(stack) if each.service != endpoints.GATEWAY]
    yield _row(cat.limits.interface_endpoints_per_vpc, len(services), ", ".join(services))
    words = f"cidr 1 + {'node_cidr 1 + ' if network.node_cidr else ''}compute_cidrs {len(network.compute_cidrs)}"
    yield _row(cat.limits.cidrs_per_vpc, len(network.ranges), words)
    if network.egress != "isolated":
        gateways = len(network.zones) if network.nat_gateways == "per-zone" else 1
        yield _row(cat.limits.elastic_addresses_per_region, gateways, f"NAT gateways {gateways}")


def _subnets(stack: StackSpec, cat: Catalog) -> Iterator[QuotaRow]:
    """Addresses of every subnet that nodes live in; a subnet too small is refused elsewhere, here its room is shown."""
    network = stack.network
    if network is None:
        return
    compute = address_needs.compute_needs(stack, cat)
    plan = addresses.plan(network, compute)
    needs = [("compute", need) for need in compute] + [
        ("nodes", need) for need in address_needs.management_needs(stack, cat)
    ]
    for kind, need in needs:
        found = [subnet for subnet in plan.subnets if subnet.kind == kind and subnet.zone == need.zone]
        if found:
            room = found[0].usable
            yield QuotaRow(
                name=f"addresses of the {kind} subnet in {need.zone}",
                need=need.addresses,
                limit=room,
                unit="addresses",
                verdict="fits" if need.addresses <= room else "over",
                request="" if need.addresses <= room else f"give the {kind} network a larger range",
                arithmetic=need.arithmetic,
                unverified=False,
            )


def _volumes(stack: StackSpec, cat: Catalog) -> Iterator[QuotaRow]:
    """Root volumes of all nodes that may run at one time; launches beyond end in VolumeLimitExceeded."""
    parts = [(pool.name, pool.max_nodes, pool.root_volume_gib) for pool in stack.pools if pool.types]
    if stack.cluster:
        parts.append(("system", stack.cluster.system_pool.nodes, SYSTEM_ROOT_GIB))
    if parts:
        gib = sum(count * each for _, count, each in parts)
        words = " + ".join(f"{name} {count:,} x {each} GiB" for name, count, each in sorted(parts))
        yield _row(cat.limits.gp3_storage, ceil(gib / 1024), words)


def _lustre(stack: StackSpec, cat: Catalog) -> Iterator[QuotaRow]:
    """Capacity by deployment type and storage, and the throughput of what has no capacity of its own."""
    sizes: dict[tuple[str, str], list[tuple[str, int]]] = defaultdict(list)
    tiered = [(each.name, each.throughput_mbps or 0) for each in stack.storage.lustre if each.tiered]
    for each in stack.storage.lustre:
        capacity = None if each.tiered else lustre_plan.plan(each, cat, stack.storage.datasets.size_gib).capacity_gib
        if capacity is not None:
            sizes[each.deployment, each.storage].append((each.name, capacity))
    for kind, parts in sorted(sizes.items()):
        words = " + ".join(f"{name} {size:,}" for name, size in sorted(parts))
        yield _row(cat.limits.lustre_storage[kind], sum(size for _, size in parts), words)
    if tiered:
        words = " + ".join(f"{name} {size:,}" for name, size in sorted(tiered))
        yield _row(cat.limits.lustre_tiered_throughput, sum(size for _, size in tiered), words)
