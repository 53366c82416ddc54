"""Rules over the machines that mount a file system with EFA: who reaches it over TCP all the same, and why.

The file system works over TCP too, so nothing here is an error: what was paid for is idle.
"""

from __future__ import annotations

from collections.abc import Iterator

from components.accelerators import NoImageFamily
from components.catalog import Catalog
from components.file_systems.lustre import efa_clients
from components.naming import listed
from components.planning.pool import Pool
from components.planning.rules.registry import rule
from components.problems import Problem
from components.spec.stack import StackSpec
from components.spec.storage import LustreSpec


def _with_efa(stack: StackSpec) -> Iterator[tuple[str, LustreSpec]]:
    for index, system in enumerate(stack.storage.lustre):
        if system.efa:
            yield f"storage.lustre[{index}].efa", system


@rule(each="storage.lustre")
def machines_reach_lustre_over_efa(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """At least one type of the training pools can use EFA to FSx."""
    pools = [pool for pool in stack.pools if pool.purpose == "training" and Pool(pool, cat).in_compute_network]
    types = {name for pool in pools for name in pool.types}
    unable = sorted(name for name in types if name in cat.instances and not cat.instances[name].lustre_efa_client)
    for path, _ in _with_efa(stack):
        if unable and len(unable) == len(types):
            said = f"{listed(unable)} can't reach FSx over EFA, so its throughput stays that of TCP"
            yield Problem(id="lustre-efa-clients", path=path, said=said, hint="use efa: false", severity="warning")


@rule(each="storage.lustre")
def images_set_efa_up_for_lustre(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """A script before the kubelet does it, which not every image runs."""
    for path, system in _with_efa(stack):
        for pool in efa_clients.able(system.zone, stack, cat):
            try:
                family = pool.image
            except (KeyError, NoImageFamily):
                continue  # an image that doesn't exist has its own rule
            if family.runs_scripts:
                continue
            said = (
                f'nodes of "{pool.name}" reach "{system.name}" over TCP: {family.name} runs no script, which would set'
                " LNet up for EFA"
            )
            others = [name for name in pool.instance.image_families if cat.images.family(name).system == "al2023"]
            hint = f"use {listed(others, 'or')} for the pool, or efa: false" if others else "use efa: false"
            yield Problem(id="lustre-efa-image", path=path, said=said, hint=hint, severity="warning")


@rule()
def connections_suffice_for_efa(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """A file system serves so many EFA interfaces. A note while a smaller pool has use of them, a warning when none
    has.
    """
    most = cat.lustre.efa_clients.connections_max
    counts = efa_clients.interfaces(stack, cat)
    for path, system in _with_efa(stack):
        beside = [pool for pool in efa_clients.able(system.zone, stack, cat) if pool.name in counts]
        served = any(counts[pool.name] for pool in beside)
        for pool in beside:
            if counts[pool.name]:
                continue
            said = f'the {pool.spec.max_nodes:,} nodes of "{pool.name}" reach "{system.name}" over TCP: '
            said += f"FSx serves {most:,} EFA interfaces of all clients together"
            hint = "nothing to do where TCP carries a node's share" if served else "use efa: false, or fewer nodes"
            yield Problem(
                id="lustre-efa-connections", path=path, said=said, hint=hint, severity="note" if served else "warning"
            )
