"""Rules over how long an update of a pool's node groups takes.

An update that outlives the engine's wait goes on in the cloud while the engine reports a failure.
"""

from __future__ import annotations

from collections.abc import Iterator

from components.catalog import Catalog
from components.planning import placement, turnover
from components.planning.pool import Pool
from components.planning.rules.pools import on_aws
from components.planning.rules.registry import rule
from components.problems import Problem
from components.spec.stack import StackSpec


@rule(each="pools")
def updates_end_in_time(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """A group that is updated a few nodes at a time ends after the longest wait."""
    for path, pool in on_aws(stack):
        found = Pool(pool, cat)
        if pool.update_max_unavailable is None or not found.placeable:
            continue
        most = placement.largest_group(found)
        pace = turnover.of_group(most, wanted=pool.update_max_unavailable, has_cards=found.machines[0].cards > 0)
        if pace.update_minutes <= turnover.LONGEST_MINUTES:
            continue
        hours = turnover.LONGEST_MINUTES // 60
        said = (
            f"an update of a node group of {most:,} nodes takes up to {pace.arithmetic} at {pace.at_once} at a time; "
            f"the engine waits {hours} hours, and fails while the update goes on"
        )
        hint = (
            f"use at least {pace.least_at_once}, or leave it out for {turnover.at_once(most)}; "
            "change it in an update of its own, because new machines come before a new number counts"
        )
        yield Problem(
            id="update-outlives-wait", path=f"{path}.update_max_unavailable", said=said, hint=hint, severity="warning"
        )
