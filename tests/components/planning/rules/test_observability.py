"""Alerts that reach nobody."""

from __future__ import annotations

import pytest

from components.planning import rules
from components.problems import render
from components.spec.stack import StackSpec
from tests.given import CAT, stack, stack_of

POOLS = "[{name: train, purpose: training, instance_type: p5.48xlarge, zone: usw2-az3, nodes: 2}]"


def said(given: StackSpec) -> list[str]:
    return [render(each) for each in rules.check(given, CAT) if each.id.startswith(("alerts-", "alarms-"))]


@pytest.mark.parametrize("environment", ["prod", "standby"])
def test_a_serious_stack_without_a_receiver_is_told(environment: str):
    assert said(stack_of(pools=POOLS, environment=environment)) == [
        (f"observability.alerts_to: warning: alerts of a {environment} stack reach nobody; "
        'name an address, such as ["mailto:oncall@example.com"]')
    ]  # fmt: skip


def test_a_development_stack_may_be_silent():
    assert said(stack_of(pools=POOLS, environment="dev")) == []


def test_mail_from_machines_of_ones_own_is_told_to_go_nowhere():
    watched = stack("onprem").observability.model_copy(
        update={"alerts_to": ("mailto:a@example.com", "https://hook.example.com/x")}
    )
    assert said(stack("onprem").model_copy(update={"observability": watched})) == [
        ('observability.alerts_to[0]: warning: "mailto:a@example.com" gets no alert: mail goes out through a topic of AWS, '
        "and this stack runs elsewhere; use the https:// address of a webhook")
    ]  # fmt: skip


def test_the_prod_stacks_receiver_is_fine():
    assert said(stack("prod")) == []


def watched_by(*targets: str, copied_to: str | None = None) -> StackSpec:
    given = stack("prod")
    checkpoints = given.storage.checkpoints.model_copy(update={"replicate_to": copied_to})
    return given.model_copy(
        update={
            "observability": given.observability.model_copy(update={"alerts_to": targets}),
            "storage": given.storage.model_copy(update={"checkpoints": checkpoints}),
        }
    )


def test_alarms_of_a_region_without_a_topic_are_told_to_reach_nobody():
    topic = "arn:aws:sns:us-west-2:111122223333:oncall"
    assert said(watched_by(topic)) == []
    assert said(watched_by(topic, copied_to="us-east-2")) == [
        ("observability.alerts_to: warning: alarms on the lag of the checkpoints' copy are raised in us-east-2, and none of the topics "
        "is there: CloudWatch reaches no other region's; add a mailto: address, or a topic in us-east-2")
    ]  # fmt: skip
    assert said(watched_by("arn:aws:sns:eu-west-1:111122223333:oncall")) == [
        ("observability.alerts_to: warning: alarms of this stack are raised in us-west-2, and none of the topics is there: "
        "CloudWatch reaches no other region's; add a mailto: address, or a topic in us-west-2")
    ]  # fmt: skip


def test_mail_and_topics_of_both_regions_reach_somebody():
    topic = "arn:aws:sns:{}:111122223333:oncall"
    assert said(watched_by(topic.format("us-west-2"), "mailto:a@example.com", copied_to="us-east-2")) == []
    assert said(watched_by(topic.format("us-west-2"), topic.format("us-east-2"), copied_to="us-east-2")) == []
