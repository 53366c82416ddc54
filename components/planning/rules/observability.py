"""Rules over watching: an alert reaches somebody."""

from __future__ import annotations

from collections.abc import Iterator

from components.catalog import Catalog
from components.planning.rules.registry import rule
from components.problems import Problem
from components.spec.base import SEALED
from components.spec.operations import topic_region
from components.spec.stack import StackSpec

_SERIOUS = ("prod", "standby")


@rule()
def alerts_reach_somebody(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Rules that fire into the void are no watch."""
    if stack.environment in _SERIOUS and not stack.observability.alerts_to:
        said = f"alerts of a {stack.environment} stack reach nobody"
        hint = 'name an address, such as ["mailto:oncall@example.com"]'
        yield Problem(id="alerts-to-nobody", path="observability.alerts_to", said=said, hint=hint, severity="warning")


@rule()
def alerts_can_be_sent(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """On AWS a topic sends mail; on the premises nothing does."""
    if stack.on_aws:
        return
    for index, target in enumerate(stack.observability.alerts_to):
        if not target.startswith("https://") and target != SEALED:
            what = "mail goes out through a topic of AWS" if target.startswith("mailto:") else "topics are AWS'"
            said = f'"{target}" gets no alert: {what}, and this stack runs elsewhere'
            yield Problem(
                id="alerts-unsendable",
                path=f"observability.alerts_to[{index}]",
                said=said,
                hint="use the https:// address of a webhook",
                severity="warning",
            )


@rule()
def alarms_reach_topics_beside_them(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """CloudWatch alarms publish to topics of their own region only; mail and URLs are subscribed wherever an
    alarm is.
    """
    targets = stack.observability.alerts_to
    if not stack.on_aws or not targets or any(not each.startswith("arn:") for each in targets):
        return
    copied_to = stack.storage.checkpoints.replicate_to
    alarms = {
        stack.region: "of this stack",
        **({copied_to: "on the lag of the checkpoints' copy"} if copied_to else {}),
    }
    covered = {topic_region(each) for each in targets}
    for region, which in alarms.items():
        if region not in covered:
            yield Problem(
                id="alarms-without-topic",
                path="observability.alerts_to",
                said=(
                    f"alarms {which} are raised in {region}, and none of the topics is there: CloudWatch reaches no"
                    " other region's"
                ),
                hint=f"add a mailto: address, or a topic in {region}",
                severity="warning",
            )
