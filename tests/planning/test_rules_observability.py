"""Alerts that reach nobody."""

from __future__ import annotations

import pytest

from components import planning
from components.problems import render
from components.spec.stack import StackSpec
from tests.given import CAT, stack, stack_of

POOLS = "[{name: train, purpose: training, instance_type: p5.48xlarge, zone: usw2-az3, nodes: 2}]"


def said(given: StackSpec) -> list[str]:
    return [render(each) for each in planning.check(given, CAT) if each.id in ("alerts-to-nobody", "alerts-unsendable")]


@pytest.mark.parametrize("environment", ["prod", "standby"])
def test_a_serious_stack_without_a_receiver_is_told(environment: str):
    assert said(stack_of(pools=POOLS, environment=environment)) == [
        (f"observability.alerts_to: warning: alerts of a {environment} stack reach nobody; "
        'name an address, such as ["mailto:oncall@example.com"]')
    ]  # fmt: skip


def test_a_development_stack_may_be_silent():
    assert said(stack_of(pools=POOLS, environment="dev")) == []


def test_mail_from_machines_of_ones_own_is_told_to_go_nowhere():
    watched = stack("onprem").observability.model_copy(update={"alerts_to": ("mailto:a@example.com", "https://hook.example.com/x")})
    assert said(stack("onprem").model_copy(update={"observability": watched})) == [
        ('observability.alerts_to[0]: warning: "mailto:a@example.com" gets no alert: mail goes out through a topic of AWS, '
        "and this stack runs elsewhere; use the https:// address of a webhook")
    ]  # fmt: skip


def test_the_prod_stacks_receiver_is_fine():
    assert said(stack("prod")) == []
