"""Rules over pools that size themselves: what Karpenter can't do, and keys that say nothing where it buys nodes."""

from __future__ import annotations

from collections.abc import Iterator

from components.accelerators import NoImageFamily
from components.catalog import Catalog
from components.planning import node_images, nodes
from components.planning.pool import Pool
from components.planning.rules.pools import driven, on_aws
from components.planning.rules.registry import rule
from components.problems import Problem
from components.spec.pools import PoolSpec, Reservation
from components.spec.stack import StackSpec


def _bought(stack: StackSpec, cat: Catalog) -> Iterator[tuple[str, PoolSpec]]:
    for path, pool in on_aws(stack):
        machines = Pool(pool, cat).machines
        if nodes.bought_nodes(pool) and machines and driven(machines[0]):
            yield path, pool


@rule(each="pools")
def reserved_range_names_its_ids(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Karpenter finds reservations by id; a resource group is for node groups alone."""
    for path, pool in _bought(stack, cat):
        if isinstance(pool.capacity, Reservation) and pool.capacity.resource_group_arn:
            said = "a pool that sizes itself finds its reservations by id, not through a resource group"
            hint = (
                f"name them in ids, or use nodes: {pool.max_nodes}: reserved machines are paid whether they run or not"
            )
            yield Problem(
                id="reservation-group-sizes-itself",
                path=f"{path}.capacity.resource_group_arn",
                said=said,
                hint=hint,
            )


@rule(each="pools")
def bought_interfaces_can_be_said(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Karpenter takes a layout of plain and EFA-only interfaces, or lays out every EFA by itself."""
    for path, pool in _bought(stack, cat):
        if pool.efa_layout == "efa" and pool.efa_interfaces is not None:
            said = "with efa_layout: efa Karpenter attaches every EFA interface of the type; fewer can't be said"
            hint = "use efa_layout: efa-only, or take efa_interfaces out"
            yield Problem(id="efa-interfaces-unsaid", path=f"{path}.efa_interfaces", said=said, hint=hint)


@rule(each="pools")
def bought_image_is_pinned(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """A release that can be read, so that all nodes of a pool boot the same image whenever they come."""
    version = stack.cluster.version if stack.cluster else None
    for path, pool in _bought(stack, cat):
        try:
            family = Pool(pool, cat).image
        except (NoImageFamily, LookupError):
            continue
        if version is None or pool.image_id or family.ends:
            continue
        newest = cat.images.release(family.name, version)
        if pool.image_release and node_images.version(family, pool.image_release) is None:
            usual = newest or ("1.58.0-c5c37032" if family.system == "bottlerocket" else f"{version}.0-20260714")
            said = f'"{pool.image_release}" is not how a release of {family.name} is written'
            yield Problem(
                id="image-release-malformed", path=f"{path}.image_release", said=said, hint=f'such as "{usual}"'
            )
        elif not pool.image_release and newest is None:
            said = (
                f"no release of {family.name} is pinned for Kubernetes {version}: each node boots the newest of its day"
            )
            hint = "name one as image_release"
            yield Problem(id="image-unpinned", path=f"{path}.image_release", said=said, hint=hint, severity="warning")


@rule(each="pools")
def keys_of_groups_are_for_groups(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """What only a managed node group has says nothing in a pool without one."""
    for path, pool in _bought(stack, cat):
        if nodes.fixed_nodes(pool):
            continue
        for key, given in (
            ("node_repair", pool.node_repair is not None),
            ("repairs", bool(pool.repairs)),
            ("update_max_unavailable", pool.update_max_unavailable is not None),
        ):
            if given:
                said = f"{key} is for managed node groups, of which this pool has none: Karpenter buys all its nodes"
                hint = "take it out, or give nodes a min above 0: that many are a managed node group"
                if not pool.autoscaled:
                    hint = "take it out"
                yield Problem(id="key-without-group", path=f"{path}.{key}", said=said, hint=hint, severity="warning")


@rule(each="pools")
def number_of_a_bought_pool_is_its_most(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """A fixed number on spot, or on preprocessing, doesn't keep that many nodes running."""
    for path, pool in _bought(stack, cat):
        # Spot for training is refused by a rule of its own.
        if not pool.autoscaled and pool.purpose != "training":
            said = f"up to {pool.max_nodes} nodes are bought when jobs wait, and leave when they are empty"
            hint = f"write nodes: {{min: 0, max: {pool.max_nodes}}} to say so"
            yield Problem(id="nodes-come-and-go", path=f"{path}.nodes", said=said, hint=hint, severity="note")


@rule(each="pools")
def repairs_need_repair(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Answers to single reasons are part of the repair that is switched off."""
    for path, pool in on_aws(stack):
        found = Pool(pool, cat)
        if pool.repairs and found.machines and not found.repaired and nodes.fixed_nodes(pool):
            why = (
                "node_repair is false"
                if pool.node_repair is False
                else "a pool without cards isn't repaired by default"
            )
            yield Problem(
                id="repairs-unused",
                path=f"{path}.repairs",
                said=f"{why}, so nothing acts on these answers",
                hint="set node_repair: true, or take repairs out",
                severity="warning",
            )
