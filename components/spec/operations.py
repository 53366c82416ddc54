"""Watching, paying and governing as the stack file words them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from components.spec.base import Amount, Days, Flag, LogDays, Percent, Spec, StrictText, Text, matching

AlertTarget = Annotated[
    StrictText,
    matching(
        r"mailto:[^@\s]+@[^@\s]+|https://\S+|arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_.-]+",
        "a mailto: address, an https: URL or the ARN of an SNS topic is wanted, such as mailto:oncall@example.com",
        sealed=True,
    ),
]


def topic_region(arn: str) -> str:
    """The region of an SNS topic's ARN."""
    return arn.split(":")[3]


class ObservabilitySpec(Spec):
    """Where alerts go and how long measurements are kept."""

    alerts_to: tuple[AlertTarget, ...] = Field(
        default=(), description="mailto: addresses, https: URLs or SNS topic ARNs"
    )
    metrics_days: Days = Field(default=30, description="days that metrics are kept")
    logs_days: LogDays = Field(default=30, description="days that logs are kept")


class NodeHealthSpec(Spec):
    """What happens to nodes that fail a check, lose a card or stop answering."""

    quarantine: Flag = Field(
        default=True,
        description="whether a controller cordons and taints sick nodes, and lets them in again after a passed check",
    )
    most_percent: Annotated[int, Field(strict=True, ge=1, le=100)] = Field(
        default=5, description="share of a pool's nodes in percent, at least one node, that is out at once at most"
    )
    lost_seconds: Annotated[int, Field(strict=True, ge=30, le=3600)] = Field(
        default=60,
        description="seconds after which the workers of a node that is not ready are ended, to start elsewhere",
    )


class BudgetSpec(Spec):
    """A monthly budget and the shares of it that raise an alert."""

    monthly_usd: Amount = Field(description="US dollars a month")
    counts: Literal["tag", "account"] = Field(
        default="tag",
        description="what is counted: what carries the stack's tag, once the bill knows the tag, or the whole account",
    )
    alert_at_percent: tuple[Percent, ...] = Field(default=(50, 80, 100), description="shares of the budget in percent")
    stop_at_percent: Percent | None = Field(
        default=None, description="share at which stop_roles may start no more machines"
    )
    stop_roles: tuple[Text, ...] = Field(
        default=(), description="names of IAM roles that the stop applies to, such as the deploying one"
    )
    stop_approval: Literal["manual", "automatic"] = Field(
        default="manual", description="whether a person confirms the stop"
    )


class GovernanceSpec(Spec):
    """Audit and protection."""

    audit_trail: Flag = Field(default=False, description="whether the stack declares a CloudTrail of its own")
    trail_days: Days = Field(default=365, description="how long the audit trail's files are kept")
    threat_detection: Flag = Field(
        default=False, description="whether GuardDuty watches the cluster's audit log and its nodes' runtime"
    )
    configuration_rules: Flag = Field(
        default=False, description="whether AWS Config records resources and checks its managed rules"
    )
    anomalies: Literal["none", "services", "tag"] = Field(
        default="none",
        description=(
            "whether the stack declares a monitor of unexpected spend: over the account's services, of which an account"
            " has one, or over the stack's tag, which only the paying account may"
        ),
    )
    anomaly_usd: Amount = Field(default=1000, description="unexpected spend in US dollars that raises an anomaly alert")
    # The bill only knows a tag a day after the first resource carries it, and activating an unknown one fails.
    cost_tags: tuple[Text, ...] = Field(
        default=(),
        description=(
            "tag keys that break down the bill; name them a day after the first deployment, in the paying account"
        ),
    )
    delete_protection: Flag = Field(default=False, description="whether stateful resources refuse deletion")


class AcknowledgedSpec(Spec):
    """A warning that was read and accepted."""

    id: Text = Field(description="the warning's id, as `--json` prints it")
    path: Text = Field(description="where it stands in the stack file")
    reason: Text = Field(description="why it is accepted")


class PlanSpec(Spec):
    """The planner's check of this stack against a task."""

    task: Text = Field(description="path of the task file, from the stack file's folder")
