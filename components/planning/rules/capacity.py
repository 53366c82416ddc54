"""Rules over how machines are bought: reservations, Capacity Blocks, spot and on demand.

Each rule is one way in which paid machines stay idle, or wanted ones never come.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from components import fabrics
from components.catalog import Catalog
from components.naming import listed
from components.planning import blocks, nodes, placement
from components.planning.blocks import Window, stamp
from components.planning.pool import Pool
from components.planning.rules.pools import alike, on_aws, type_path
from components.planning.rules.registry import rule
from components.problems import Problem
from components.spec.base import SEALED
from components.spec.pools import Block, OnDemand, PoolSpec, Reservation
from components.spec.stack import StackSpec

FEWEST_SPOT_TYPES = 3


@rule(each="pools")
def reservation_is_targeted(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Ids or a group of them, once, and always targeted: anything else leaves paid machines idle."""
    for path, pool in on_aws(stack):
        capacity, where = pool.capacity, f"{path}.capacity"
        if not isinstance(capacity, Reservation):
            continue
        if capacity.preference and capacity.preference != "capacity-reservations-only":
            said = f'the preference "{capacity.preference}" lets nodes run outside the reservation while it is paid for'
            hint = "take it out: the reservation is targeted by its id"
            yield Problem(id="reservation-preference", path=f"{where}.preference", said=said, hint=hint)
        if capacity.ids and capacity.resource_group_arn:
            said = "ids and resource_group_arn are both given"
            yield Problem(
                id="reservation-twice", path=f"{where}.resource_group_arn", said=said, hint="keep one of the two"
            )
        elif not capacity.ids and not capacity.resource_group_arn:
            said = "the reservation has no id"
            yield Problem(
                id="reservation-missing",
                path=f"{where}.ids",
                said=said,
                hint="write its ids, such as [cr-0a1b2c3d4e5f60718]",
            )
        for place, each in enumerate(capacity.ids):
            if each in capacity.ids[:place] and each != SEALED:
                yield Problem(
                    id="reservation-id-twice",
                    path=f"{where}.ids[{place}]",
                    said=f'"{each}" is listed twice',
                    hint="take one out",
                )


@rule(each="pools")
def reservation_holds_pool(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """What is reserved, where the file says it, is what the pool uses."""
    for path, pool in on_aws(stack):
        capacity, where = pool.capacity, f"{path}.capacity"
        if not isinstance(capacity, Reservation):
            continue
        if capacity.ids and len(set(capacity.ids)) > pool.max_nodes:
            said = f"{len(set(capacity.ids))} reservations for {pool.max_nodes} nodes: one would stay empty"
            yield Problem(
                id="reservation-idle", path=f"{where}.ids", said=said, hint="add nodes, or take reservations out"
            )
        if capacity.sizes and set(capacity.sizes) != set(capacity.ids):
            odd = sorted(set(capacity.sizes) ^ set(capacity.ids))
            said = f"sizes and ids differ in {listed(odd)}"
            yield Problem(
                id="reservation-sizes", path=f"{where}.sizes", said=said, hint="give a size for every id, and no other"
            )
            continue
        reserved = sum(capacity.sizes.values()) if capacity.sizes else capacity.reserved_nodes
        key = "sizes" if capacity.sizes else "reserved_nodes"
        if capacity.sizes and capacity.reserved_nodes is not None and capacity.reserved_nodes != reserved:
            said = f"reserved_nodes is {capacity.reserved_nodes}, and the sizes add up to {reserved}"
            yield Problem(id="reservation-sizes", path=f"{where}.reserved_nodes", said=said, hint="take it out")
        if reserved is None:
            continue
        if pool.max_nodes > reserved:
            said = f'pool "{pool.name}" wants {pool.max_nodes} nodes, and its reservations hold {reserved}'
            hint = f"use at most {reserved} nodes, or add a reservation of {pool.max_nodes - reserved}"
            yield Problem(id="reservation-too-small", path=f"{where}.{key}", said=said, hint=hint)
        elif pool.max_nodes < reserved:
            said = (
                f"{reserved - pool.max_nodes} of {reserved} reserved machines are paid for and never used by pool"
                f' "{pool.name}"'
            )
            hint = f"use {reserved} nodes, with the rest as spares, or give machines back"
            yield Problem(id="reservation-idle", path=f"{where}.{key}", said=said, hint=hint, severity="warning")


@rule()
def reservation_belongs_to_one_pool(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Two pools on one reservation or block would each count its machines as theirs."""
    seen: dict[str, str] = {}
    for path, pool in on_aws(stack):
        for where, each in _ids(path, pool):
            owner = seen.setdefault(each, pool.name)
            if owner != pool.name:
                said = f'"{each}" is used by pool "{owner}" already'
                yield Problem(
                    id="reservation-shared", path=where, said=said, hint="give each pool reservations of its own"
                )


def _ids(path: str, pool: PoolSpec) -> Iterator[tuple[str, str]]:
    capacity, where = pool.capacity, f"{path}.capacity"
    if isinstance(capacity, Reservation):
        yield from ((f"{where}.ids[{place}]", each) for place, each in enumerate(capacity.ids))
    if isinstance(capacity, Block):
        if capacity.id:
            yield f"{where}.id", capacity.id
        yield from ((f"{where}.blocks[{place}].id", part.id) for place, part in enumerate(capacity.blocks))


@rule(each="pools")
def block_is_complete(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Id, start and end, in one place: without an end nothing leaves before EC2 takes the machines back."""
    examples = {"id": "cr-0a1b2c3d4e5f60718", "start": "2026-12-10T11:30:00Z", "end": "2026-12-24T11:30:00Z"}
    for path, pool in on_aws(stack):
        capacity, where = pool.capacity, f"{path}.capacity"
        if not isinstance(capacity, Block):
            continue
        given = [key for key in examples if getattr(capacity, key) is not None]
        if capacity.blocks and given:
            said = f"blocks and {listed(given)} are both given"
            yield Problem(
                id="block-twice", path=f"{where}.{given[0]}", said=said, hint="move it into blocks, with its nodes"
            )
        elif not capacity.blocks:
            for key, example in examples.items():
                if key not in given:
                    said = f'the block of pool "{pool.name}" has no {key}'
                    yield Problem(
                        id="block-incomplete",
                        path=f"{where}.{key}",
                        said=said,
                        hint=f"write the reservation's, such as {example}",
                    )
        if len(pool.types) > 1:
            said = f"a Capacity Block holds machines of one type, and the pool names {listed(pool.types)}"
            yield Problem(id="block-several-types", path=f"{path}.instance_types", said=said, hint="use instance_type")
        machines = Pool(pool, cat).machines
        if machines and not machines[0].capacity_block and not machines[0].ultraserver:
            said = f"{machines[0].name} is not sold in Capacity Blocks"
            others = sorted(
                each.name
                for each in cat.instances.values()
                if each.capacity_block and not each.ultraserver and _vendor(each) == _vendor(machines[0])
            )
            hint = (
                f"use a reservation or on-demand, or a type sold in blocks: {', '.join(others)}"
                if others
                else "use a reservation"
            )
            yield Problem(id="block-type", path=type_path(path, pool), said=said, hint=hint)


def _vendor(machine: nodes.InstanceType) -> str | None:
    return machine.accelerator.vendor if machine.accelerator else None


@rule(each="pools")
def block_times_are_of_this_age(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """A year with a digit too few or too many is reported before anything is computed from it."""
    for path, pool in on_aws(stack):
        capacity = pool.capacity
        if not isinstance(capacity, Block):
            continue
        holders = [
            (f"{path}.capacity", capacity),
            *((f"{path}.capacity.blocks[{at}]", part) for at, part in enumerate(capacity.blocks)),
        ]
        for where, holder in holders:
            for key, moment in (("start", holder.start), ("end", holder.end)):
                if moment is not None and not blocks.of_this_age(moment):
                    said = f"the block's {key} lies in the year {moment.year}"
                    hint = "write the reservation's, such as 2026-12-10T11:30:00Z"
                    yield Problem(id="block-times", path=f"{where}.{key}", said=said, hint=hint)


@rule(each="pools")
def block_times_fit(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """A block ends after its start, as long as EC2 sells them, and holds at most 64 machines."""
    limit = cat.limits.block_instances.value
    for path, pool in on_aws(stack):
        capacity = pool.capacity
        if not isinstance(capacity, Block):
            continue
        for window in blocks.windows(pool):
            places = [
                f"{path}.capacity.blocks[{at}]"
                for at, part in enumerate(capacity.blocks)
                if part.id == window.reservation
            ]
            where = places[0] if places else f"{path}.capacity"
            if window.end <= window.start:
                said = f"the block ends at {stamp(window.end)}, before its start at {stamp(window.start)}"
                yield Problem(
                    id="block-times",
                    path=f"{where}.end",
                    said=said,
                    hint="exchange start and end, or correct one of them",
                )
            elif not blocks.SHORTEST <= window.end - window.start <= blocks.LONGEST:
                days = (window.end - window.start).total_seconds() / 86400
                said = (
                    f"the block lasts {days:g} days, and EC2 sells them for {blocks.SHORTEST.days} to"
                    f" {blocks.LONGEST.days}"
                )
                yield Problem(id="block-times", path=f"{where}.end", said=said, hint="correct the start or the end")
            if window.nodes > limit:
                said = f"a Capacity Block holds at most {limit} machines, and this one is to have {window.nodes}"
                key = "nodes" if places else "id"
                hint = (
                    f"buy {-(-window.nodes // limit)} blocks and list them under capacity.blocks, each with its nodes"
                )
                yield Problem(id="block-too-large", path=f"{where}.{key}", said=said, hint=hint)


@rule(each="pools")
def blocks_hold_pool(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Blocks that overlap add up to the pool's nodes; a pool never waits for machines that no block has."""
    for path, pool in on_aws(stack):
        capacity = pool.capacity
        found = blocks.windows(pool)
        if not isinstance(capacity, Block) or not capacity.blocks or capacity.id or len(found) != len(capacity.blocks):
            continue
        if any(window.end <= window.start for window in found):
            continue
        most = blocks.most_at_once(found)
        if most > pool.max_nodes:
            said = f'{_overlap(found)} and hold {most} machines together; pool "{pool.name}" has {pool.max_nodes} nodes'
            hint = f"use {most} nodes, or take one of the blocks out"
            yield Problem(id="block-overlap", path=f"{path}.capacity.blocks", said=said, hint=hint)
        elif most < pool.max_nodes:
            said = f'pool "{pool.name}" wants {pool.max_nodes} nodes, and its blocks hold at most {most} at one time'
            yield Problem(id="block-nodes", path=f"{path}.nodes", said=said, hint=f"use {most} nodes")


def _overlap(found: tuple[Window, ...]) -> str:
    pairs = [(one, other) for one, other in combinations(found, 2) if one.start < other.end and other.start < one.end]
    if not pairs:
        return f"the blocks {listed(window.reservation for window in found)} follow each other"
    one, other = pairs[0]
    return (
        f"{one.reservation} and {other.reservation} overlap from {stamp(max(one.start, other.start))} to"
        f" {stamp(min(one.end, other.end))}"
    )


@rule(each="pools")
def spot_can_be_lost(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Spot is for work that loses a machine without losing the rest, on several types of which one is there."""
    for path, pool in on_aws(stack):
        machines = Pool(pool, cat).machines
        if not machines or nodes.capacity_kind(pool, spot_preprocessing=stack.spot_preprocessing) != "spot":
            continue
        unknown_fabric = pool.fabric is not None and pool.fabric not in fabrics.FABRICS
        open_group = not unknown_fabric and Pool(pool, cat).fabric.open_group
        if pool.purpose == "training" or open_group:
            what = "a training pool" if pool.purpose == "training" else "a pool with EFA"
            said = f"spot on {what}: losing one machine at two minutes' notice stops the job on all of them"
            key = f"{path}.capacity.kind" if pool.capacity.kind == "spot" else f"{path}.fabric"
            yield Problem(
                id="spot-unfit",
                path=key,
                said=said,
                hint=f"use reservation or block, or on-demand with nodes: {{min: 0, max: {pool.max_nodes}}};"
                " spot is for preprocessing",
            )
            continue
        if pool.purpose == "finetuning":
            said = "fine-tuning on spot starts again from its last checkpoint whenever a machine is taken back"
            yield Problem(
                id="spot-interrupts",
                path=f"{path}.capacity.kind",
                said=said,
                hint="checkpoint often, or buy on demand",
                severity="warning",
            )
        for place, machine in enumerate(machines):
            if not machine.spot:
                said = f"{machine.name} is not sold on spot"
                yield Problem(id="spot-type", path=type_path(path, pool, place), said=said, hint="take it out")
        if len(machines) < FEWEST_SPOT_TYPES:
            count = f"{len(machines)} type" + ("s" if len(machines) > 1 else "")
            said = f"a spot pool of {count} stops whenever {'they are' if len(machines) > 1 else 'it is'} short"
            others = alike(machines[0], cat)
            hint = f"name {FEWEST_SPOT_TYPES} or more alike"
            if len(others) >= FEWEST_SPOT_TYPES:
                hint += f": instance_types: [{', '.join(others)}]"
            yield Problem(id="spot-few-types", path=type_path(path, pool), said=said, hint=hint)


@rule(each="pools")
def on_demand_is_meant(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Machines with cards bought by the hour at once: a warning with their price, before they are bought."""
    for path, pool in on_aws(stack):
        machines = Pool(pool, cat).machines
        kind = nodes.capacity_kind(pool, spot_preprocessing=stack.spot_preprocessing)
        if (
            not machines
            or not machines[0].cards
            or kind != "on-demand"
            or not isinstance(pool.capacity, OnDemand)
            or not nodes.fixed_nodes(pool)
        ):
            continue
        if pool.autoscaled and pool.min_nodes == pool.spares:
            continue  # nodes that stand by are what spares are
        machine = machines[0]
        price = cat.price(machine.name, stack.region)
        count = nodes.fixed_nodes(pool)
        said = f"{count} x {machine.name} are bought on demand as soon as the pool is made"
        said += f", at {price[0] * count:,.2f} USD an hour" if price else "; the catalog has no price for them here"
        hint = f"use nodes: {{min: 0, max: {pool.max_nodes}}} to buy them when a job waits"
        yield Problem(id="on-demand-at-once", path=f"{path}.nodes", said=said, hint=hint, severity="warning")


@rule()
def nodes_fit_cluster(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """A cluster's size is limited: a number with a digit too many must not be planned node group by node group."""
    most = cat.limits.nodes_per_cluster.value
    pools = list(on_aws(stack))
    total = sum(pool.max_nodes for _, pool in pools)
    if total > most:
        path, largest = max(pools, key=lambda each: each[1].max_nodes)
        said = f"the pools have {total:,} nodes, and a cluster of EKS takes at most {most:,}"
        hint = f'use fewer nodes in pool "{largest.name}", or several stacks'
        yield Problem(id="nodes-too-many", path=f"{path}.nodes", said=said, hint=hint)


@rule()
def node_groups_fit_cluster(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """EKS allows 30 managed node groups in a cluster until it is asked for more."""
    limit = cat.limits.node_groups_per_cluster
    counts = list[tuple[str, int]]()
    for _, pool in on_aws(stack):
        found = Pool(pool, cat)
        if not found.placeable:
            return
        counts.append((pool.name, placement.groups(found)))
    system = 1 if stack.cluster else 0
    total = sum(count for _, count in counts) + system
    if total > limit.value:
        parts = listed([*(["system 1"] if system else []), *(f"{name} {count}" for name, count in counts)])
        said = f"{total} managed node groups ({parts}) are more than the {limit.value} that EKS allows a cluster"
        hint = (
            f"ask Service Quotas for {total} ({limit.service} {limit.code}) and acknowledge this, or use fewer pools"
            " and reservations"
        )
        yield Problem(id="node-groups-too-many", path="pools", said=said, hint=hint, severity="warning")
