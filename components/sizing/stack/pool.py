"""The machines and prices of a stack's pool in place of what a task leaves to the catalog."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from components.naming import did_you_mean
from components.problems import Problem
from components.sizing.plan.reading import SizingReading, build
from components.sizing.plan.request import PoolFacts
from components.spec.pools import PoolSpec
from components.spec.stack import StackSpec


def pool_of(stack: StackSpec, wanted: object) -> PoolSpec | None:
    """The pool that a task names, else the first for training, else the first.

    None when it names one that isn't there.
    """
    if isinstance(wanted, str):
        return next((pool for pool in stack.pools if pool.name == wanted), None)
    return next((pool for pool in stack.pools if pool.purpose == "training"), stack.pools[0] if stack.pools else None)


def on_stack(reading: SizingReading, stack: StackSpec, cat: Any) -> SizingReading:
    """The same task on the machines of its pool, priced as the pool buys them."""
    resources = reading.data.get("resources")
    wanted = resources.get("pool") if isinstance(resources, dict) else None
    pool = pool_of(stack, wanted)
    if pool is None:
        names = [each.name for each in stack.pools]
        said = f'"{wanted}" is no pool of the stack'
        problem = Problem(id="pool-unknown", path="resources.pool", said=said, hint=did_you_mean(str(wanted), names))
        return replace(reading, request=None, problems=(*reading.problems, *reading.placed([problem])))
    data = dict(reading.data)
    data["hardware"] = _hardware(data.get("hardware"), pool, stack.region)
    again = build(data, cat, reading.document)
    if again.request is None:
        return again
    named = f"machines of pool {pool.name}: {pool.instance_type or (pool.hosts.accelerator if pool.hosts else '')}"
    facts = PoolFacts(
        name=pool.name,
        purpose=pool.purpose,
        zone=pool.zone,
        fabric=pool.fabric,
        capacity=pool.capacity.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
        | {"kind": pool.capacity.kind},
    )
    request = replace(again.request, pool=facts, buying=pool.capacity.kind, filled=(*again.request.filled, named))
    return replace(again, request=request)


def _hardware(written: object, pool: PoolSpec, region: str) -> dict[str, Any]:
    """The task's hardware section with the pool's machines; the number of nodes stays the task's own."""
    kept = {key: value for key, value in (written.items() if isinstance(written, dict) else ()) if key == "nodes"}
    if pool.hosts is not None:
        return {**kept, "accelerator": pool.hosts.accelerator, "cards_per_node": pool.hosts.cards}
    if pool.instance_type is None:
        return kept
    return {**kept, "instance_type": pool.instance_type, "region": region}
