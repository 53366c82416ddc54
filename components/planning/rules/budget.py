"""Rules over the budget: a stop needs someone to stop, and someone to tell."""

from __future__ import annotations

from collections.abc import Iterator

from components.catalog import Catalog
from components.planning.rules.registry import rule
from components.problems import Problem
from components.spec.stack import StackSpec


@rule()
def stops_name_roles_and_people(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """AWS takes no action without subscribers, and one without roles stops nobody."""
    budget = stack.budget
    if budget is None:
        return
    if budget.stop_at_percent is not None and not budget.stop_roles:
        said = f"the budget stops at {budget.stop_at_percent} %, and no role is named that it stops"
        yield Problem(
            id="budget-stops-nobody",
            path="budget.stop_roles",
            said=said,
            hint="name IAM roles, such as [platform-admin]",
        )
    if budget.stop_at_percent is None and budget.stop_roles:
        said = "roles are named, and no share of the budget that stops them"
        hint = "set stop_at_percent: 120, or take stop_roles out"
        yield Problem(id="budget-stop-without-share", path="budget.stop_at_percent", said=said, hint=hint)
    if budget.stop_at_percent is not None and not any(
        each.startswith(("mailto:", "arn:")) for each in stack.observability.alerts_to
    ):
        said = "AWS takes no budget action that tells nobody"
        hint = "name a mailto: address or an SNS topic in observability.alerts_to"
        yield Problem(id="budget-stop-tells-nobody", path="budget.stop_at_percent", said=said, hint=hint)
