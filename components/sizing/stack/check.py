"""Checks that a stack carries the run that its plan describes: cards, storage, bandwidth, days and cost, as plain
numbers.

What falls short of the plan is a warning; what exceeds it more than twofold is a note.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from components.problems import Problem
from components.sizing.plan.plan import Plan

_GENEROUS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StackFigures:
    """What a stack offers the task. None where the stack does not say; paths are those of the stack file.

    `cards` are those of the task's queue (or pool without spares); bandwidth in bytes/s; `days` how long the capacity
    lasts.
    """

    instance_type: str | None
    cards: int
    spares: int
    lustre_gib: int | None
    lustre_bandwidth: float | None
    days: float | None = None
    monthly_usd: float | None = None
    budget_monthly_usd: float | None = None
    pool_path: str = "pools[0]"
    queue_path: str = "queues"
    lustre_path: str = "storage.lustre[0]"


def stack_check(stack: StackFigures, plan: Plan) -> list[Problem]:
    """Warnings where the stack falls short of the plan, each with both numbers and the change that would do."""
    return [*_cards(stack, plan), *_storage(stack, plan), *_time(stack, plan)]


def _warning(kind: str, path: str, said: str, hint: str, *, note: bool = False) -> Problem:
    return Problem(id=kind, path=path, said=said, hint=hint, severity="note" if note else "warning")


def _cards(stack: StackFigures, plan: Plan) -> Iterator[Problem]:
    wanted, machine = plan.cards, plan.request.machine
    if stack.instance_type and machine.instance and stack.instance_type != machine.instance.name:
        yield _warning(
            "plan-instance-type",
            f"{stack.pool_path}.instance_type",
            f"the plan of {plan.request.name} is for {machine.name}, the pool is {stack.instance_type}",
            f"set hardware.instance_type: {stack.instance_type} in the task, or change the pool",
        )
    if stack.cards < wanted:
        yield _warning(
            "plan-cards",
            stack.queue_path,
            f"{stack.cards:,} cards are fewer than the {wanted:,} that {plan.request.name} is planned on",
            f"use {plan.nodes:,} nodes for the job",
        )
    elif stack.cards > _GENEROUS * wanted:
        yield _warning(
            "plan-cards",
            stack.queue_path,
            f"{stack.cards:,} cards are more than twice the {wanted:,} that {plan.request.name} is planned on",
            "sweep --what-if nodes= to see what they would save",
            note=True,
        )
    if stack.spares < plan.spares:
        yield _warning(
            "plan-spares",
            f"{stack.pool_path}.spares",
            f"{stack.spares} spare nodes cover repairs less often than 99 % of the time on {plan.nodes:,} nodes",
            f"use {plan.spares}",
        )


def _storage(stack: StackFigures, plan: Plan) -> Iterator[Problem]:
    need = plan.store
    if stack.lustre_gib is not None and stack.lustre_gib < 2 * need.dataset_gib:
        yield _warning(
            "plan-lustre",
            f"{stack.lustre_path}.capacity_gib",
            f"{stack.lustre_gib:,} GiB are less than twice the dataset of {need.dataset_gib:,.0f} GiB "
            f"({plan.request.spec.training.tokens:.4g} tokens x {need.token_bytes} bytes)",
            f"use {need.lustre_gib}",
        )
    needed = max(need.write_bandwidth, need.read_bandwidth)
    if stack.lustre_bandwidth is not None and stack.lustre_bandwidth < needed:
        seconds = plan.checkpoint.bytes / stack.lustre_bandwidth
        yield _warning(
            "plan-bandwidth",
            f"{stack.lustre_path}.throughput_mbps_per_tib",
            f"{stack.lustre_bandwidth / 1e9:.1f} GB/s write a checkpoint of {plan.checkpoint.bytes / 1e12:.3g} TB "
            f"in {seconds:,.0f} s, the plan wants {plan.checkpoint.write_seconds:g} s",
            f"{needed / 1e9:.1f} GB/s are needed: {need.lustre_gib} GiB at {need.lustre_throughput} MB/s/TiB",
        )


def _time(stack: StackFigures, plan: Plan) -> Iterator[Problem]:
    if stack.days is not None and stack.days < plan.days.expected:
        yield _warning(
            "plan-days",
            f"{stack.pool_path}.capacity",
            f"the capacity ends after {stack.days:.1f} days, the run takes {plan.days.expected:.1f} "
            f"({plan.days.low:.1f} to {plan.days.high:.1f})",
            "buy more days or more nodes",
        )
    total = plan.money.total
    if stack.budget_monthly_usd is not None and total is not None:
        monthly = total.expected / max(plan.days.expected, 365 / 12) * 365 / 12
        if stack.budget_monthly_usd < monthly:
            yield _warning(
                "plan-budget",
                "budget.monthly_usd",
                f"{stack.budget_monthly_usd:,.0f} USD a month are less than the {monthly:,.0f} that "
                f"{plan.request.name} costs {plan.money.main}",
                f"use at least {monthly:.0f}",
            )
