"""Shares of the cards: how many a pool hands out, and the queues of a stack that names none.

A queue for which the stack file gives no share gets all cards of its pool but the spares'.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from components.catalog import Catalog
from components.planning.pool import Pool
from components.spec.pools import PoolSpec
from components.spec.queues import QueueSpec
from components.spec.reading.partial import UnreadError
from components.spec.stack import StackSpec


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
        return queue.model_copy(update={"cards": Pool(pools[queue.pool], cat).cards_to_share or None})
    except UnreadError:
        return queue


def _made(pool: PoolSpec, cat: Catalog) -> Iterator[QueueSpec]:
    try:
        if cards := Pool(pool, cat).cards_to_share:
            yield QueueSpec(name=pool.name, pool=pool.name, cards=cards)
        elif pool.purpose != "system" and not Pool(pool, cat).cards and (count := pool.max_nodes - pool.spares) > 0:
            yield QueueSpec(name=pool.name, pool=pool.name, nodes=count)
    except UnreadError:
        return
