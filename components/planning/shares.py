"""Shares of the cards: how many a pool hands out, and the queues of a stack that names none.

Hides what a queue gets when the stack file leaves it out: all cards of its pool but the spares'.
"""

from __future__ import annotations

from components.catalog import Catalog
from components.spec.pools import PoolSpec
from components.spec.queues import QueueSpec
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
    """The stack with one queue for each pool of cards when it names no queue, and with every queue's cards filled in."""
    pools = {each.name: each for each in stack.pools}
    if stack.queues:
        filled = tuple(
            each if each.cards or each.pool not in pools else each.model_copy(update={"cards": queue_cards(pools[each.pool], cat) or None})
            for each in stack.queues
        )
        return stack.model_copy(update={"queues": filled})
    made = tuple(
        QueueSpec(name=pool.name, pool=pool.name, cards=queue_cards(pool, cat)) for pool in stack.pools if queue_cards(pool, cat) > 0
    )
    return stack.model_copy(update={"queues": made})
