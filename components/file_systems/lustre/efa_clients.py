"""Which pools reach a file system over EFA, and with how many interfaces of each node.

A file system serves a limited number of connections, which the pools of its zone share. All pools give up interfaces
before one goes without. The largest pool goes without first, because its nodes have the smallest share of the file
system's throughput anyway.
"""

from __future__ import annotations

from collections.abc import Sequence

from components.accelerators import NoImageFamily
from components.catalog import Catalog
from components.fabrics import efa
from components.planning.pool import Pool, of_stack
from components.spec.stack import StackSpec


def able(zone: str, stack: StackSpec, cat: Catalog) -> list[Pool]:
    """Pools of the zone, which EFA doesn't leave, whose machines can use it for Lustre; those that another rule is
    about are left out.
    """
    return [
        pool
        for pool in of_stack(stack, cat)
        if pool.spec.zone == zone and pool.machines and pool.has_efa and pool.instance.lustre_efa_client
    ]


def can_be_set_up(pool: Pool) -> bool:
    """Whether the pool's image runs the script that sets EFA up for Lustre."""
    try:
        return pool.image.runs_scripts
    except (KeyError, NoImageFamily):
        return False


def interfaces(stack: StackSpec, cat: Catalog) -> dict[str, int]:
    """EFA interfaces that Lustre uses on each node, by pool; 0 for a pool that is too large, none for one that can't
    use them.
    """
    found: dict[str, int] = {}
    for zone in sorted({system.zone for system in stack.storage.lustre if system.efa}):
        found |= _shared([pool for pool in able(zone, stack, cat) if can_be_set_up(pool)], cat)
    return found


def _shared(pools: Sequence[Pool], cat: Catalog) -> dict[str, int]:
    facts = cat.lustre.efa_clients
    wanted: dict[str, int] = {}
    for pool in pools:
        machine = pool.instance
        wanted[pool.name] = min(facts.count(machine), len(efa.cards(machine, pool.spec.efa_interfaces)))
    served = sorted(pools, key=lambda pool: (pool.spec.max_nodes, pool.name))
    without: dict[str, int] = {}
    while served:
        for limit in range(max(wanted[pool.name] for pool in served), 0, -1):
            each = {pool.name: min(limit, wanted[pool.name]) for pool in served}
            if sum(pool.spec.max_nodes * each[pool.name] for pool in served) <= facts.connections_max:
                return each | without
        without[served.pop().name] = 0
    return without
