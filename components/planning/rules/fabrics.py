"""Rules over pools and fabrics: which pool can have which fabric, and what would cost bandwidth unnoticed.

The adapters themselves say why a machine can't have a fabric.
"""

from __future__ import annotations

from collections.abc import Iterator

from components import fabrics
from components.catalog import Catalog, InstanceType
from components.fabrics import efa
from components.naming import did_you_mean, listed
from components.planning.pool import Pool
from components.planning.rules.pools import on_aws, type_path
from components.planning.rules.registry import rule
from components.problems import Problem
from components.spec.stack import StackSpec

_OWN_GROUPS = ("the cluster's", "the compute network's", "EFA's")


@rule(each="pools")
def fabric_is_known(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """The registry of fabrics has the word."""
    for index, pool in enumerate(stack.pools):
        if pool.fabric is not None and pool.fabric not in fabrics.FABRICS:
            said = f'"{pool.fabric}" is no fabric'
            yield Problem(
                id="fabric-unknown",
                path=f"pools[{index}].fabric",
                said=said,
                hint=did_you_mean(pool.fabric, fabrics.FABRICS),
            )


@rule(each="pools")
def fabric_fits_machines(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Every type of the pool, or its hosts, can have the fabric."""
    for index, pool in enumerate(stack.pools):
        if pool.fabric not in fabrics.FABRICS:
            continue
        fabric = fabrics.FABRICS[pool.fabric]
        machines: list[fabrics.Node] = [pool.hosts] if pool.hosts else list(Pool(pool, cat).machines)
        for machine in machines:
            reason = fabric.refusal(pool, machine)
            if reason:
                yield Problem(
                    id="fabric-unfit", path=f"pools[{index}].fabric", said=reason, hint=_instead(machine, cat, fabric)
                )
                break


def _instead(machine: fabrics.Node, cat: Catalog, fabric: fabrics.Fabric) -> str:
    if not isinstance(machine, InstanceType):
        return "use infiniband with hosts.rdma_devices, roce with those and hosts.networks, or tcp"
    if machine.efa and not fabric.on_aws:
        return "use fabric: efa, or tcp"
    same = [other for other in cat.instances.values() if other.family == machine.family and other.efa]
    names = [other.name for other in sorted(same, key=lambda other: (other.vcpu, other.name))]
    return f"use fabric: tcp, or a type that does: {', '.join(names)}" if names else "use fabric: tcp"


@rule(each="pools")
def adapters_are_named(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Machines of one's own often have Ethernet cards that speak RDMA too, and the collective library can't tell."""
    for index, pool in enumerate(stack.pools):
        hosts, path = pool.hosts, f"pools[{index}].hosts"
        if hosts is None:
            continue
        rdma = pool.fabric in ("infiniband", "roce")
        if rdma and not hosts.rdma_adapters:
            said = (
                f'NCCL on nodes of pool "{pool.name}" takes every adapter of the mlx5 driver, the Ethernet cards of'
                " storage and management among them"
            )
            hint = "name the adapters of the cards' network, as ibv_devices lists them: rdma_adapters: [mlx5_0, …]"
            yield Problem(id="adapters-unnamed", path=f"{path}.rdma_adapters", said=said, hint=hint, severity="note")
        elif hosts.rdma_adapters and not rdma:
            said = f'pool "{pool.name}" has no fabric that uses RDMA adapters'
            hint = "take them out, or use fabric: infiniband or roce"
            yield Problem(id="adapters-unused", path=f"{path}.rdma_adapters", said=said, hint=hint, severity="warning")


@rule(each="pools")
def hosts_keep_less_than_they_have(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """What the system keeps leaves something to a worker."""
    for index, pool in enumerate(stack.pools):
        if pool.hosts is None:
            continue
        kept = (
            ("reserved_vcpu", pool.hosts.reserved_vcpu, pool.hosts.vcpu),
            ("reserved_memory_gib", pool.hosts.reserved_memory_gib, pool.hosts.memory_gib),
        )
        for key, part, whole in kept:
            if part is not None and part >= whole:
                said = f"{part} of {whole} are kept for the system, and nothing is left for a worker"
                path, hint = f"pools[{index}].hosts.{key}", f"use {whole - 1} at most"
                yield Problem(id="hosts-reserve-all", path=path, said=said, hint=hint)


@rule(each="pools")
def efa_layouts_are_one(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """One template lays out the interfaces of all types of a pool, and some families' EFA talks to no other's."""
    for path, pool in on_aws(stack):
        machines = Pool(pool, cat).machines
        if len(machines) < 2 or not Pool(pool, cat).has_efa:
            continue
        first = machines[0]
        for place, other in enumerate(machines[1:], start=1):
            where = f"{path}.instance_types[{place}]"
            apart = {first.family, other.family} & efa.APART_FROM_OTHERS
            if first.family != other.family and apart:
                said = (
                    f"EFA of {listed(sorted(apart))} machines does not talk to other families': {first.name} and"
                    f" {other.name}"
                )
                yield Problem(
                    id="efa-families-apart", path=where, said=said, hint="make a pool and a queue for each family"
                )
            elif efa.layout(first, pool.efa_layout) != efa.layout(other, pool.efa_layout):
                said = (
                    f"{first.name} takes {_efa(first)} and {other.name} takes {_efa(other)}: no launch template fits"
                    " both"
                )
                yield Problem(id="efa-types-mixed", path=where, said=said, hint="make a pool for each type")


def _efa(machine: InstanceType) -> str:
    count = machine.network.max_efa
    cards = f" on {machine.network.cards} network cards" if machine.network.cards > 1 else ""
    return f"{count} EFA interface{'s' if count != 1 else ''}{cards}"


@rule(each="pools")
def efa_is_whole(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Fewer interfaces than the type takes cost their share of the bandwidth; more don't exist."""
    for path, pool in on_aws(stack):
        found = Pool(pool, cat)
        if pool.efa_interfaces is None or not found.machines:
            continue
        machine, where = found.machines[0], f"{path}.efa_interfaces"
        most = machine.network.max_efa
        if not Pool(pool, cat).has_efa:
            said = f'pool "{pool.name}" has no EFA'
            yield Problem(id="efa-count", path=where, said=said, hint="take it out")
        elif pool.efa_interfaces > most:
            said = f"{machine.name} takes {most} EFA interfaces, not {pool.efa_interfaces}"
            yield Problem(id="efa-count", path=where, said=said, hint=f"use {most}, or leave it out")
        elif pool.efa_interfaces < most:
            share = 100 * pool.efa_interfaces // most
            said = (
                f"{pool.efa_interfaces} of the {most} EFA interfaces of {machine.name} leave {share} % of its bandwidth"
            )
            yield Problem(id="efa-partial", path=where, said=said, hint="leave it out to use all", severity="warning")


@rule(each="pools")
def efa_carries_rdma(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Some cheap types have EFA without RDMA: messages pass through the host's memory."""
    for path, pool in on_aws(stack):
        machines = Pool(pool, cat).machines
        if not machines or not Pool(pool, cat).has_efa:
            continue
        machine = machines[0]
        if machine.efa and machine.network.rdma_read is False and machine.network.rdma_write is False:
            said = f"EFA on {machine.name} has no RDMA and no GPUDirect: it saves little over TCP"
            yield Problem(
                id="efa-without-rdma",
                path=f"{path}.fabric",
                said=said,
                hint="use fabric: tcp unless measured",
                severity="note",
            )


@rule(each="pools")
def security_groups_fit_interface(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """An interface carries at most five groups, three of them ours."""
    limit = cat.limits.security_groups_per_interface.value
    for path, pool in on_aws(stack):
        found = Pool(pool, cat)
        if not found.machines or not found.fabric_known:
            continue
        own = _OWN_GROUPS if found.fabric.open_group else _OWN_GROUPS[:2]
        if len(own) + len(pool.security_groups) > limit:
            said = (
                f"{len(pool.security_groups)} security groups beside {listed(own)} are more than the {limit} of an"
                " interface"
            )
            hint = f"use at most {limit - len(own)}"
            yield Problem(id="security-groups-too-many", path=f"{path}.security_groups", said=said, hint=hint)


@rule(each="pools")
def single_type_where_nodes_talk(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """A training job's slowest node sets its pace: pools that train have one type."""
    for path, pool in on_aws(stack):
        if len(pool.types) > 1 and pool.purpose == "training":
            said = f'pool "{pool.name}" trains on {listed(pool.types)}: the slowest type would set the pace'
            yield Problem(id="types-several", path=type_path(path, pool, 1), said=said, hint="use one instance_type")
