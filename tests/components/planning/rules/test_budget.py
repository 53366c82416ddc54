"""What a budget that stops is told when it names nobody."""

from __future__ import annotations

from components import catalog
from components.planning.rules.budget import stops_name_roles_and_people
from components.problems import render
from components.spec.operations import BudgetSpec, ObservabilitySpec
from components.spec.stack import StackSpec

PEOPLE = ObservabilitySpec(alerts_to=("mailto:a@example.com",))


def told(budget: BudgetSpec, watching: ObservabilitySpec = PEOPLE) -> list[str]:
    stack = StackSpec(environment="prod", budget=budget, observability=watching)
    return [render(each) for each in stops_name_roles_and_people(stack, catalog.load())]


def test_a_budget_that_only_tells_is_fine() -> None:
    assert told(BudgetSpec(monthly_usd=1000)) == []


def test_a_stop_names_its_roles() -> None:
    assert told(BudgetSpec(monthly_usd=1000, stop_at_percent=120)) == [
        (
            "budget.stop_roles: the budget stops at 120 %, and no role is named that it stops; name IAM roles, such as"
            " [platform-admin]"
        )
    ]


def test_roles_need_a_share() -> None:
    assert told(BudgetSpec(monthly_usd=1000, stop_roles=("ci",))) == [
        (
            "budget.stop_at_percent: roles are named, and no share of the budget that stops them; "
            "set stop_at_percent: 120, or take stop_roles out"
        )
    ]


def test_a_stop_tells_somebody() -> None:
    assert told(BudgetSpec(monthly_usd=1000, stop_at_percent=120, stop_roles=("ci",)), ObservabilitySpec()) == [
        (
            "budget.stop_at_percent: AWS takes no budget action that tells nobody; "
            "name a mailto: address or an SNS topic in observability.alerts_to"
        )
    ]
