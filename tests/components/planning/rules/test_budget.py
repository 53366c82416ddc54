"""What a budget that stops is told when it names nobody."""

from __future__ import annotations

from typing import Any

import pytest

from components import catalog
from components.planning.rules.budget import (
    anomalies_are_watched_where_they_can_be,
    budget_alerts_fit_the_service,
    budget_counts_what_the_bill_knows,
    stops_name_roles_and_people,
)
from components.problems import render
from components.spec.operations import BudgetSpec, GovernanceSpec, ObservabilitySpec
from components.spec.stack import StackSpec

PEOPLE = ObservabilitySpec(alerts_to=("mailto:a@example.com",))


def reported(budget: BudgetSpec, watching: ObservabilitySpec = PEOPLE) -> list[str]:
    stack = StackSpec(environment="prod", budget=budget, observability=watching)
    return [render(each) for each in stops_name_roles_and_people(stack, catalog.load())]


def test_a_budget_that_only_tells_is_fine() -> None:
    assert reported(BudgetSpec(monthly_usd=1000)) == []


def test_a_stop_names_its_roles() -> None:
    assert reported(BudgetSpec(monthly_usd=1000, stop_at_percent=120)) == [
        (
            "budget.stop_roles: the budget stops at 120 %, and no role is named that it stops; name IAM roles, such as"
            " [platform-admin]"
        )
    ]


def test_roles_need_a_share() -> None:
    assert reported(BudgetSpec(monthly_usd=1000, stop_roles=("ci",))) == [
        (
            "budget.stop_at_percent: roles are named, and no share of the budget that stops them; "
            "set stop_at_percent: 120, or take stop_roles out"
        )
    ]


def test_a_stop_tells_somebody() -> None:
    assert reported(BudgetSpec(monthly_usd=1000, stop_at_percent=120, stop_roles=("ci",)), ObservabilitySpec()) == [
        (
            "budget.stop_at_percent: AWS takes no budget action that tells nobody; "
            "name a mailto: address or an SNS topic in observability.alerts_to"
        )
    ]


TOPICS = tuple(f"arn:aws:sns:{region}:111122223333:alerts" for region in ("eu-west-1", "us-west-2"))


def problems(rule: Any, alerts_to: tuple[str, ...] = (), **more: Any) -> list[tuple[str, str]]:
    watching = ObservabilitySpec(alerts_to=alerts_to)
    stack = StackSpec(environment="prod", observability=watching, **more)
    return [(each.id, each.severity) for each in rule(stack, catalog.load())]


@pytest.mark.parametrize(("shares", "expected"), [(5, []), (6, [("budget-alerts-too-many", "error")])])
def test_a_budget_has_ten_notifications_two_for_each_share(shares: int, expected: list[tuple[str, str]]) -> None:
    budget = BudgetSpec(monthly_usd=1000, alert_at_percent=tuple(range(10, 10 * shares + 1, 10)))
    assert problems(budget_alerts_fit_the_service, budget=budget) == expected


def test_a_notification_takes_ten_addresses_and_one_topic() -> None:
    budget = BudgetSpec(monthly_usd=1000)
    mails = tuple(f"mailto:{letter}@example.com" for letter in "abcdefghijk")
    assert problems(budget_alerts_fit_the_service, mails[:10], budget=budget) == []
    assert problems(budget_alerts_fit_the_service, mails, budget=budget) == [("budget-mails-too-many", "error")]
    assert problems(budget_alerts_fit_the_service, TOPICS[:1], budget=budget) == []
    assert problems(budget_alerts_fit_the_service, TOPICS, budget=budget) == [("budget-one-topic", "note")]


def test_a_budget_over_a_tag_is_told_to_read_zero_until_the_bill_knows_the_tag() -> None:
    budget = BudgetSpec(monthly_usd=1000)
    assert problems(budget_counts_what_the_bill_knows, budget=budget) == [("budget-tag-inactive", "warning")]
    activated = GovernanceSpec(cost_tags=("stack",))
    assert problems(budget_counts_what_the_bill_knows, budget=budget, governance=activated) == []
    whole = BudgetSpec(monthly_usd=1000, counts="account")
    assert problems(budget_counts_what_the_bill_knows, budget=whole) == []


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("none", []),
        ("services", [("anomalies-one-monitor", "note")]),
        ("tag", [("anomalies-need-payer", "note")]),
    ],
)
def test_it_is_told_which_account_may_watch_spend(kind: Any, expected: list[tuple[str, str]]) -> None:
    governance = GovernanceSpec(anomalies=kind)
    reported = problems(anomalies_are_watched_where_they_can_be, ("mailto:a@example.com",), governance=governance)
    assert reported == expected


def test_a_monitor_that_would_tell_nobody_is_told() -> None:
    governance = GovernanceSpec(anomalies="services")
    assert problems(anomalies_are_watched_where_they_can_be, governance=governance) == [
        ("anomalies-tell-nobody", "warning")
    ]
