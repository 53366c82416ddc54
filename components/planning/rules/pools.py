"""Rules over a pool by itself: its name, sizes, machine types, labels and taints.

Each rule is one wrong combination that EC2, EKS or Kubernetes would refuse later, or accept and do something else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from components import accelerators, node_labels
from components.catalog import Catalog, InstanceType, UnknownInstanceType
from components.naming import did_you_mean, listed
from components.planning import nodes
from components.planning.pool import Pool
from components.planning.rules.registry import rule
from components.problems import Problem
from components.spec.pools import NodeRange, PoolSpec
from components.spec.stack import StackSpec

MOST_TAINTS = 50
_ALIKE_MEMORY = 0.05
# Facts on which a declared node depends; what a planner alone reads is noted there.
_DECLARED_FACTS = ("network.", "local_disks", "vcpu", "memory_gib", "max_pods", "capacity_block", "zones")
_KEY = re.compile(r"([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_VALUE = re.compile(r"([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?")


def on_aws(stack: StackSpec) -> Iterator[tuple[str, PoolSpec]]:
    """Pools that name machine types, with their path."""
    for index, pool in enumerate(stack.pools):
        if pool.types:
            yield f"pools[{index}]", pool


def driven(machine: InstanceType) -> bool:
    """Whether this project runs such machines; where it doesn't, one rule reports it and the others report nothing."""
    return not machine.ultraserver and (machine.accelerator is None or accelerators.of(machine) is not None)


def type_path(path: str, pool: PoolSpec, place: int = 0) -> str:
    return f"{path}.instance_type" if pool.instance_type else f"{path}.instance_types[{place}]"


@rule()
def pool_names_differ(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Two pools of one name would be one set of resources, and the cluster's own nodes have one already."""
    seen: dict[str, str] = {}
    for index, pool in enumerate(stack.pools):
        path = f"pools[{index}]"
        if pool.name == node_labels.SYSTEM_POOL:
            label = node_labels.POOL
            said = f'"{pool.name}" is the name of the cluster\'s own nodes, which carry it as their label {label}'
            yield Problem(id="name-taken", path=f"{path}.name", said=said, hint="use another, such as services")
        if pool.name in seen:
            said = f'the name "{pool.name}" is taken by {seen[pool.name]}'
            yield Problem(
                id="duplicate-name", path=f"{path}.name", said=said, hint="names of pools are unique in the stack"
            )
        else:
            seen[pool.name] = path


@rule()
def former_names_are_free(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """A former name makes its resources this pool's; two pools can't both have them."""
    present = {pool.name: f"pools[{index}]" for index, pool in enumerate(stack.pools)}
    seen: dict[str, str] = {}
    for index, pool in enumerate(stack.pools):
        if pool.previous_name is None:
            continue
        taken = present.get(pool.previous_name) or seen.get(pool.previous_name)
        if taken:
            who = "the pool itself" if taken == f"pools[{index}]" else taken
            yield Problem(
                id="former-name-taken",
                path=f"pools[{index}].previous_name",
                said=f'the resources of "{pool.previous_name}" belong to {who}',
                hint="name what this pool was called before, which no pool is called now, or take the line away",
            )
        seen.setdefault(pool.previous_name, f"pools[{index}]")


@rule(each="pools")
def pool_has_one_kind_of_machine(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """A pool on AWS says its type once."""
    for index, pool in enumerate(stack.pools):
        path = f"pools[{index}]"
        if stack.on_aws and not pool.types and not pool.hosts:
            said = f'pool "{pool.name}" names no machine type'
            yield Problem(
                id="instance-type-missing",
                path=f"{path}.instance_type",
                said=said,
                hint="write one, such as p5.48xlarge",
            )
        if pool.instance_type and pool.instance_types:
            said = "instance_type and instance_types are both given"
            yield Problem(
                id="instance-type-twice", path=f"{path}.instance_types", said=said, hint="keep one of the two"
            )
        for place, name in enumerate(pool.instance_types):
            if name in pool.instance_types[:place]:
                said = f'"{name}" is listed twice'
                yield Problem(
                    id="instance-type-twice", path=f"{path}.instance_types[{place}]", said=said, hint="take one out"
                )


@rule(each="pools")
def pool_types_exist(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Every type is in the catalog, which knows its interfaces: an unknown type's can't be guessed."""
    for path, pool in on_aws(stack):
        for place, name in enumerate(pool.types):
            if name not in cat.instances:
                unknown = UnknownInstanceType(name, cat.instances)
                said = f'"{name}" is not in the catalog'
                yield Problem(
                    id="instance-type-unknown", path=type_path(path, pool, place), said=said, hint=unknown.hint
                )


@rule(each="pools")
def pool_types_are_driven(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Cards need an adapter; UltraServers need more than a node group."""
    for path, pool in on_aws(stack):
        for place, machine in enumerate(Pool(pool, cat).machines):
            where = type_path(path, pool, place)
            if machine.ultraserver:
                sizes = listed(sorted(machine.ultraserver.values()), "or")
                said = f"{machine.name} is sold only as an UltraServer of {sizes} machines in one NVLink domain"
                hint = (
                    "what is missing here: UltraServer blocks that are bought and ended whole, IMEX channels and"
                    " compute domains for pods, placement by NVLink clique; use p6-b200.48xlarge or p6-b300.48xlarge"
                )
                yield Problem(id="ultraserver-unsupported", path=where, said=said, hint=hint)
            elif machine.accelerator and accelerators.of(machine) is None:
                said = f"no adapter drives the {machine.accelerator.vendor} cards of {machine.name}"
                hint = f"use a type with cards of {listed(sorted(accelerators.FAMILIES), 'or')}"
                yield Problem(id="accelerator-unsupported", path=where, said=said, hint=hint)


@rule(each="pools")
def hosts_have_a_known_vendor(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Cards of a machine that exists need an adapter too."""
    for index, pool in enumerate(stack.pools):
        if pool.hosts and pool.hosts.vendor not in accelerators.FAMILIES:
            known = sorted(accelerators.FAMILIES)
            yield Problem(
                id="accelerator-unsupported",
                path=f"pools[{index}].hosts.vendor",
                said=f'no adapter drives "{pool.hosts.vendor}" cards',
                hint=did_you_mean(pool.hosts.vendor, known),
            )


@rule(each="pools")
def pool_types_are_alike(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """The autoscaler, the queue and the launch template assume one size of machine per pool."""
    for path, pool in on_aws(stack):
        machines = Pool(pool, cat).machines
        for place, machine in enumerate(machines[1:], start=1):
            first = machines[0]
            where = f"{path}.instance_types[{place}]"
            if machine.arch != first.arch:
                said = f"{first.name} is {first.arch} and {machine.name} is {machine.arch}: no image runs on both"
                yield Problem(id="types-unlike", path=where, said=said, hint="make two pools")
            elif (first.accelerator and first.accelerator.model, first.cards) != (
                machine.accelerator and machine.accelerator.model,
                machine.cards,
            ):
                said = f"{first.name} has {_cards(first)} and {machine.name} has {_cards(machine)}"
                yield Problem(id="types-unlike", path=where, said=said, hint="make two pools: a pool's nodes are alike")
            elif (
                machine.vcpu != first.vcpu
                or abs(machine.memory_gib - first.memory_gib) > _ALIKE_MEMORY * first.memory_gib
            ):
                said = f"{_size(first)} and {_size(machine)}: the autoscaler and the queue assume one size"
                others = [name for name in alike(first, cat) if name not in pool.types]
                hint = f"use {listed(others, 'or')}, which are of one size" if others else "take it out"
                yield Problem(id="types-unlike", path=where, said=said, hint=hint)


def _cards(machine: InstanceType) -> str:
    return f"{machine.cards} {machine.accelerator.model}" if machine.accelerator else "no cards"


def _size(machine: InstanceType) -> str:
    return f"{machine.name} has {machine.vcpu} vCPU and {machine.memory_gib:g} GiB"


def alike(machine: InstanceType, cat: Catalog, count: int = 4) -> list[str]:
    """Names of types with the same cards, vCPU, memory and architecture, itself first."""
    found = [
        other.name
        for other in cat.instances.values()
        if (other.arch, other.vcpu, other.memory_gib, _cards(other))
        == (machine.arch, machine.vcpu, machine.memory_gib, _cards(machine))
        and other.spot
    ]
    return sorted(found, key=lambda name: (name != machine.name, name))[:count]


@rule(each="pools")
def pool_sizes_fit(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Ranges run upwards and spares leave nodes for jobs."""
    for index, pool in enumerate(stack.pools):
        path = f"pools[{index}]"
        if isinstance(pool.nodes, NodeRange) and pool.nodes.min > pool.nodes.max:
            said = f"min {pool.nodes.min} is over max {pool.nodes.max}"
            yield Problem(id="nodes-range", path=f"{path}.nodes.min", said=said, hint=f"use at most {pool.nodes.max}")
        if pool.spares and pool.spares >= pool.max_nodes:
            said = f"{pool.spares} spares of {pool.max_nodes} nodes leave none for jobs"
            hint = f"use at most {pool.max_nodes - 1}" if pool.max_nodes > 1 else "add nodes, or take the spares out"
            yield Problem(id="spares-too-many", path=f"{path}.spares", said=said, hint=hint)
        elif pool.spares > pool.min_nodes:
            said = f"{pool.spares} spares of a pool that may shrink to {pool.min_nodes} nodes are not warm"
            yield Problem(
                id="spares-cold",
                path=f"{path}.spares",
                said=said,
                hint=f"set nodes.min to at least {pool.spares}",
                severity="warning",
            )


@rule(each="pools")
def pool_labels_are_its_own(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Labels and taints are well formed and in nobody else's name."""
    for index, pool in enumerate(stack.pools):
        path = f"pools[{index}]"
        words = [("label", f"{path}.labels", key, value) for key, value in sorted(pool.labels.items())]
        words += [
            ("taint", f"{path}.taints[{place}].key", taint.key, taint.value) for place, taint in enumerate(pool.taints)
        ]
        for kind, where, key, value in words:
            domain = node_labels.reserved(key)
            if domain:
                said = f'the {kind} "{key}" is below {domain}, which is reserved'
                hint = f"use a prefix of your own, such as example.com/{key.partition('/')[2]}"
                yield Problem(id=f"{kind}-reserved", path=where, said=said, hint=hint)
            elif not _KEY.fullmatch(key) or not _VALUE.fullmatch(value):
                said = f"the {kind} {json.dumps(f'{key}={value}', ensure_ascii=False)} is not one that Kubernetes takes"
                hint = (
                    "use letters, digits, dots, dashes and underscores, at most 63, with an optional domain and slash"
                    " before a key"
                )
                yield Problem(id=f"{kind}-malformed", path=where, said=said, hint=hint)


@rule(each="pools")
def pool_taints_differ(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """EKS takes a taint once, and at most 50."""
    for path, pool in on_aws(stack):
        machines = Pool(pool, cat).machines
        if not machines:
            continue
        family = accelerators.of(machines[0])
        seen = {(family.taint_key, family.eks_taint_effect)} if family else set[tuple[str, str]]()
        for place, taint in enumerate(pool.taints):
            effect = nodes.eks_effect(taint.effect)
            if (taint.key, effect) in seen:
                own = (
                    f", which every pool of {family.vendor} cards has already"
                    if family and taint.key == family.taint_key
                    else ""
                )
                said = f'the taint "{taint.key}" with the effect {effect} is there twice{own}'
                yield Problem(id="taint-twice", path=f"{path}.taints[{place}]", said=said, hint="take it out")
            seen.add((taint.key, effect))
        if len(seen) > MOST_TAINTS:
            said = f"{len(seen)} taints, of which EKS takes {MOST_TAINTS}"
            yield Problem(
                id="taints-too-many", path=f"{path}.taints", said=said, hint=f"take {len(seen) - MOST_TAINTS} out"
            )


@rule(each="pools")
def pool_facts_are_checked(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Facts that no primary source was read for, where a declared node depends on them."""
    for path, pool in on_aws(stack):
        for place, machine in enumerate(Pool(pool, cat).machines):
            efa = machine.efa and Pool(pool, cat).has_efa
            weak = sorted(
                fact
                for fact in machine.unverified
                if fact.startswith(_DECLARED_FACTS) and (efa or ("rdma" not in fact and "efa" not in fact))
            )
            if weak and driven(machine):
                said = f"the catalog has no primary source for these facts of {machine.name}: {', '.join(weak)}"
                hint = f"compare with aws ec2 describe-instance-types --instance-types {machine.name}"
                yield Problem(
                    id="type-unverified", path=type_path(path, pool, place), said=said, hint=hint, severity="note"
                )
