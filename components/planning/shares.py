"""Shares of the cards: how many a pool hands out, and the queues of a stack that names none.

Hides what a queue gets when the stack file leaves it out: all cards of its pool but the spares'.
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
    """The stack with one queue for each pool of cards when it names no queue, and with every queue's cards filled in.

    A pool that could not be read so far, or whose name another has, gets none: what is wrong with it has been told.
    """
    try:
        pools = {each.name: each for each in reversed(stack.pools)}
        filled = tuple(_filled(each, pools, cat) for each in stack.queues)
    except UnreadError:
        return stack
    if not filled:
        filled = tuple(made for pool in stack.pools if pools[pool.name] is pool for made in _made(pool, cat))
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
    except UnreadError:
        return
