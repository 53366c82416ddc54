"""Rules over queues: each names a pool, all together stay within it, and none hands out what no worker can use."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from components import fabrics
from components.catalog import Catalog
from components.naming import did_you_mean, listed
from components.planning import nodes
from components.planning.pool import Pool
from components.planning.rules.registry import rule, until_unread
from components.problems import Problem
from components.spec.pools import OnDemand, PoolSpec
from components.spec.queues import QueueSpec
from components.spec.stack import StackSpec


def _indexed(stack: StackSpec) -> Iterator[tuple[str, QueueSpec]]:
    for index, queue in enumerate(stack.queues):
        yield f"queues[{index}]", queue


def _pools(stack: StackSpec) -> dict[str, PoolSpec]:
    """Pools by name, without those that share a name: which of them a queue means is ambiguous."""
    counts = Counter(pool.name for pool in stack.pools)
    return {pool.name: pool for pool in stack.pools if counts[pool.name] == 1}


@rule()
def queue_names_differ(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Two queues of one name would be one Kubernetes object."""
    seen: dict[str, str] = {}
    for path, queue in _indexed(stack):
        if queue.name in seen:
            said = f'the name "{queue.name}" is taken by {seen[queue.name]}'
            yield Problem(
                id="duplicate-name", path=f"{path}.name", said=said, hint="names of queues are unique in the stack"
            )
        else:
            seen[queue.name] = path


@rule(each="queues")
def queue_pool_exists(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """A queue hands out the cards of one pool of the stack."""
    names = [pool.name for pool in stack.pools]
    for path, queue in _indexed(stack):
        if queue.pool not in names:
            said = f'queue "{queue.name}" names the pool "{queue.pool}", which the stack does not have'
            yield Problem(id="queue-pool-unknown", path=f"{path}.pool", said=said, hint=did_you_mean(queue.pool, names))


@rule()
def queues_fit_pool(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """The cards of a pool's queues together are at most those of its nodes without the spares."""
    claimed: dict[str, list[tuple[str, QueueSpec]]] = defaultdict(list)
    for path, queue in _indexed(stack):
        claimed[queue.pool].append((path, queue))
    for pool in _pools(stack).values():
        # A pool or queue that can't be read mustn't keep the others from being judged.
        yield from until_unread(_over_pool(pool, claimed.get(pool.name, []), cat))[0]


def _over_pool(pool: PoolSpec, queues: list[tuple[str, QueueSpec]], cat: Catalog) -> Iterator[Problem]:
    if queues:
        found = Pool(pool, cat)
        per_node, available = found.cards, found.cards_to_share
        asked = sum(queue.cards or 0 for _, queue in queues)
        if not per_node or asked <= available:
            return
        nodes = (
            f"({pool.max_nodes} nodes - {pool.spares} spares) x {per_node}"
            if pool.spares
            else f"{pool.max_nodes} nodes x {per_node}"
        )
        sums = f"{listed([f'{queue.name} {queue.cards or 0}' for _, queue in queues])}, {asked} cards together"
        said = f'the queues of pool "{pool.name}" hand out {sums}; it has {nodes} = {available}'
        path, last = queues[-1]
        hint = f"take {asked - available} cards away, or add {-(-(asked - available) // per_node)} nodes to the pool"
        yield Problem(id="queue-over-pool", path=f"{path}.cards" if last.cards else path, said=said, hint=hint)


@rule(each="queues")
def queue_holds_whole_nodes(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Workers own whole nodes: cards beyond the last whole node are never used."""
    pools = _pools(stack)
    for path, queue in _indexed(stack):
        per_node = Pool(pools[queue.pool], cat).cards if queue.pool in pools else 0
        if not per_node or not queue.cards or queue.cards % per_node == 0:
            continue
        below, rest = queue.cards - queue.cards % per_node, queue.cards % per_node
        said = f"{queue.cards} cards are no whole number of nodes of {per_node}: the last {rest} can never be used"
        # A number beyond the pool's own would only be told next.
        there = Pool(pools[queue.pool], cat).cards_to_share
        fitting = [str(each) for each in (below, below + per_node) if 0 < each <= there]
        better = f"use {listed(fitting or [there or per_node], 'or')}"
        if below:
            yield Problem(id="queue-partial-node", path=f"{path}.cards", said=said, hint=better, severity="warning")
        else:
            said = f"{queue.cards} cards are less than one node of {per_node}, and a worker takes a whole node"
            yield Problem(id="queue-under-node", path=f"{path}.cards", said=said, hint=better)


@rule(each="queues")
def queue_counts_what_its_pool_has(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Pools with cards are shared by card, pools without by node."""
    pools = _pools(stack)
    for path, queue in _indexed(stack):
        pool = pools.get(queue.pool)
        if pool is None or (pool.types and not any(name in cat.instances for name in pool.types)):
            continue
        per_node = Pool(pool, cat).cards
        if queue.cards is not None and not per_node:
            said = f'pool "{pool.name}" has no cards to hand out'
            yield Problem(
                id="queue-cards-without-cards", path=f"{path}.cards", said=said, hint=f"use nodes: {pool.max_nodes}"
            )
        if queue.nodes is not None and per_node:
            said = f'pool "{pool.name}" is shared by card, {per_node} a node'
            hint = f"use cards: {queue.nodes * per_node}"
            yield Problem(id="queue-nodes-of-cards", path=f"{path}.nodes", said=said, hint=hint)
        if queue.nodes is not None and not per_node and queue.nodes > pool.max_nodes - pool.spares:
            said = (
                f'queue "{queue.name}" asks for {queue.nodes} nodes; pool "{pool.name}" has'
                f" {pool.max_nodes - pool.spares}"
            )
            yield Problem(
                id="queue-over-pool",
                path=f"{path}.nodes",
                said=said,
                hint=f"use at most {pool.max_nodes - pool.spares}",
            )


@rule(each="pools")
def pool_is_handed_out(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Cards without a queue can't be used by a task."""
    named = {queue.pool for queue in stack.queues}
    for index, pool in enumerate(stack.pools):
        cards = Pool(pool, cat).cards_to_share
        if stack.queues and pool.name not in named and cards > 0:
            said = f'no queue hands out the {cards} cards of pool "{pool.name}": no task can run there'
            hint = f"add {{name: {pool.name}, pool: {pool.name}}} to queues"
            yield Problem(
                id="pool-without-queue", path=f"pools[{index}].name", said=said, hint=hint, severity="warning"
            )


@rule(each="pools")
def placement_needs_nodes(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Topology-aware placement sees only nodes that exist, so a pool that sizes itself is filled without it."""
    named = {queue.pool for queue in stack.queues}
    for index, pool in enumerate(stack.pools):
        known = [cat.instances[name] for name in pool.types if name in cat.instances]
        layered = min((each.topology_layers for each in known), default=0)
        if pool.name in named and layered and nodes.bought_nodes(pool):
            said = (
                f'jobs in pool "{pool.name}" are placed without regard to network layers, since its nodes are bought'
                " when a job waits"
            )
            usual = pool.fabric is None or pool.fabric in fabrics.FABRICS
            if usual and isinstance(pool.capacity, OnDemand) and Pool(pool, cat).fabric.open_group:
                said += "; a cluster placement group keeps them near each other"
            hint = "use a fixed number of nodes for jobs whose speed depends on which neighbours they get"
            yield Problem(id="placement-from-zero", path=f"pools[{index}].nodes", said=said, hint=hint, severity="note")


@rule()
def cohort_shares_one_pool(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Queues of a cohort lend quota of a pool; two pools have none in common."""
    members: dict[str, list[tuple[str, QueueSpec]]] = defaultdict(list)
    for path, queue in _indexed(stack):
        if queue.cohort:
            members[queue.cohort].append((path, queue))
    for cohort, queues in members.items():
        pools = sorted({queue.pool for _, queue in queues})
        if len(pools) > 1:
            said = (
                f'the queues of cohort "{cohort}" belong to the pools {listed(pools)}, and cards of one pool are no use'
                " in another"
            )
            hint = "give the queues of each pool a cohort of their own"
            yield Problem(
                id="cohort-over-pools", path=f"{queues[-1][0]}.cohort", said=said, hint=hint, severity="warning"
            )


@rule(each="queues")
def queue_namespaces_are_for_jobs(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Jobs don't run where the cluster's own controllers do."""
    for path, queue in _indexed(stack):
        if queue.namespace in _TAKEN or queue.namespace.startswith("kube-"):
            said = f'the namespace "{queue.namespace}" is the cluster\'s own'
            yield Problem(
                id="namespace-taken", path=f"{path}.namespace", said=said, hint="use one for jobs, such as training"
            )


_TAKEN = frozenset({"default", "kueue-system", "jobset-system", "monitoring", "amazon-guardduty", "logging"})
