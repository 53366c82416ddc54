"""Rules over the budget and anomaly detection: who gets their notices, what they count, and what AWS accepts."""

from __future__ import annotations

from collections.abc import Iterator

from components.catalog import Catalog
from components.planning.rules.registry import rule
from components.problems import Problem
from components.spec.operations import topic_region
from components.spec.stack import StackSpec

COST_TAG = "stack"  # on every resource; its value is the stack's name


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


@rule()
def budget_alerts_fit_the_service(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """A budget has ten notifications, two for each share; each reaches one topic and ten mail addresses."""
    budget = stack.budget
    if budget is None or not stack.on_aws:
        return
    most = cat.limits.notifications_per_budget.value
    shares = sorted(set(budget.alert_at_percent))
    if 2 * len(shares) > most:
        said = (
            f"{len(shares)} shares make {2 * len(shares)} notifications, one on spend and one on its forecast each, and"
            f" AWS takes {most} a budget"
        )
        hint = f"keep at most {most // 2}"
        yield Problem(id="budget-alerts-too-many", path="budget.alert_at_percent", said=said, hint=hint)
    mails = {each for each in stack.observability.alerts_to if each.startswith("mailto:")}
    room = cat.limits.mails_per_notification.value
    if len(mails) > room:
        said = f"a budget's notification takes {room} mail addresses, and {len(mails)} are named"
        hint = "name the address of a mailing list instead"
        yield Problem(id="budget-mails-too-many", path="observability.alerts_to", said=said, hint=hint)
    topics = sorted({each for each in stack.observability.alerts_to if each.startswith("arn:")})
    if len(topics) > cat.limits.topics_per_notification.value:
        home = sorted(topics, key=lambda arn: (topic_region(arn) != stack.region, arn))[0]
        said = f"a budget's notification takes one topic: of {len(topics)}, {home} gets the budget's alerts"
        hint = "alerts and alarms reach all of them"
        yield Problem(id="budget-one-topic", path="observability.alerts_to", said=said, hint=hint, severity="note")


@rule()
def budget_counts_what_the_bill_knows(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """A tag counts on the bill only once the paying account has activated it; until then the budget reads zero."""
    budget = stack.budget
    if budget is None or not stack.on_aws or budget.counts == "account" or COST_TAG in stack.governance.cost_tags:
        return
    said = (
        f'the budget counts what carries the tag "{COST_TAG}", and the bill knows no tag before the paying account'
        " activates it: until then the budget reads 0"
    )
    hint = (
        f"a day after the first deployment, activate it in the paying account (governance.cost_tags: [{COST_TAG}] does"
        " it where that is this account, else Billing, cost allocation tags) and acknowledge this; or set"
        " budget.counts: account where the account is the stack's own"
    )
    yield Problem(id="budget-tag-inactive", path="budget", said=said, hint=hint, severity="warning")


@rule()
def anomalies_are_watched_where_they_can_be(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """A monitor over a tag belongs to the paying account, one over services to the account as a whole."""
    kind, path = stack.governance.anomalies, "governance.anomalies"
    if not stack.on_aws:
        return
    reached = any(each.startswith(("mailto:", "arn:")) for each in stack.observability.alerts_to)
    if kind != "none" and not reached:
        said = "the monitor of unexpected spend would tell nobody, so none is declared"
        hint = "name a mailto: address or an SNS topic in observability.alerts_to"
        yield Problem(id="anomalies-tell-nobody", path=path, said=said, hint=hint, severity="warning")
    elif kind == "tag":
        said = "only the account that pays for an organisation may watch a cost allocation tag: a member's is refused"
        hint = "use services, or none, where another account pays"
        yield Problem(id="anomalies-need-payer", path=path, said=said, hint=hint, severity="note")
    elif kind == "services":
        said = "an account has one monitor over its services, which AWS makes itself in newer accounts"
        hint = "use it in one stack of the account, and only where none is there; else none"
        yield Problem(id="anomalies-one-monitor", path=path, said=said, hint=hint, severity="note")
