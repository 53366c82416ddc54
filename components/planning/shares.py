"""Shares of the cards: how many a pool hands out, and the queues of a stack that names none.

A queue for which the stack file gives no share gets all cards of its pool but the spares'.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from components.catalog import Catalog
from components.spec.pools import PoolSpec
from components.spec.queues import QueueSpec
from components.spec.reading.partial import UnreadError
from components.spec.stack import StackSpec


def cards_per_node(pool: PoolSpec, cat: Catalog) -> int:
    """Cards in one node; 0 for pools without cards and for types the catalog doesn't know."""
    if pool.hosts:
        return pool.hosts.cards
    known = [cat.instances[name] for name in pool.types if name in cat.instances]
    return min((each.cards for each in known), default=0)


def queue_cards(pool: PoolSpec, cat: Catalog) -> int:
    """Cards that queues may hand out: those of all nodes but the spares."""
    return max(0, pool.max_nodes - pool.spares) * cards_per_node(pool, cat)


def with_default_queues(stack: StackSpec, cat: Catalog) -> StackSpec:
    """The stack with every queue's cards filled in, and one queue more for each pool of cards when it names no queue,
    and for each pool without cards that no queue names: a job without a queue is refused.

    A pool that could not be read so far, or whose name another has, gets none: what is wrong with it is reported
    elsewhere.
    """
    try:
        pools = {each.name: each for each in reversed(stack.pools)}
        filled = tuple(_filled(each, pools, cat) for each in stack.queues)
    except UnreadError:
        return stack
    taken = {each.name for each in filled}
    made = [each for pool in stack.pools if pools[pool.name] is pool for each in _made(pool, cat)]
    if filled:
        named = {each.pool for each in filled}
        made = [each for each in made if each.cards is None and each.pool not in named and each.name not in taken]
    filled = (*filled, *made)
    return stack.model_copy(update={"queues": filled})


def _filled(queue: QueueSpec, pools: Mapping[str, PoolSpec], cat: Catalog) -> QueueSpec:
    try:
        if queue.cards or queue.pool not in pools:
            return queue
        return queue.model_copy(update={"cards": queue_cards(pools[queue.pool], cat) or None})
    except UnreadError:
        return queue


def _made(pool: PoolSpec, cat: Catalog) -> Iterator[QueueSpec]:
    try:
        if cards := queue_cards(pool, cat):
            yield QueueSpec(name=pool.name, pool=pool.name, cards=cards)
        elif pool.purpose != "system" and not cards_per_node(pool, cat) and (count := pool.max_nodes - pool.spares) > 0:
            yield QueueSpec(name=pool.name, pool=pool.name, nodes=count)
    except UnreadError:
        return
