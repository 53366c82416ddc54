"""Cost control and audit: the budget, anomaly detection on spend, the bill's tags, the audit trail and what else is
chosen.

Some of these belong to the account rather than to the stack, so each is declared only when the stack file asks for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pulumi
import pulumi_aws as aws

from components.governance import audit, budget_actions
from components.in_cluster.sealed import sealed, webhooks
from components.planning import alone
from components.refused import refuse
from components.spec.base import Spec
from components.spec.operations import AlertTarget, BudgetSpec, GovernanceSpec, topic_region


class GovernedSpec(Spec):
    """The stack file's `budget`, `governance` and where alerts go."""

    budget: BudgetSpec | None = None
    governance: GovernanceSpec = GovernanceSpec()
    alerts_to: tuple[AlertTarget, ...] = ()


@dataclass(frozen=True, kw_only=True)
class GovernanceArgs:
    """`stack` names the stack on bills and buckets; `cost_filter` is the tag (key, value) that every resource of the
    stack carries.
    """

    spec: GovernedSpec
    stack: str
    region: str
    account_id: pulumi.Input[str]
    cost_filter: tuple[str, str] | None = None
    tags: Mapping[str, str] = field(default_factory=dict[str, str])


class Governance(pulumi.ComponentResource):
    """Attributes: `trail_bucket` (the audit trail's bucket name, None without a trail)."""

    def __init__(self, name: str, args: GovernanceArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        spec = args.spec
        found = alone.of_governance(spec.governance, spec.budget, spec.alerts_to, args.region)
        refuse("Governance", name, found)
        recorded = sealed(args.spec.model_dump(mode="json"), webhooks(args.spec.alerts_to))
        super().__init__("trainshed:governance:Governance", name, recorded, opts)
        self._prefix, self._args = name, args
        children = pulumi.ResourceOptions(parent=self)
        governance = args.spec.governance
        self._budget(children)
        self._anomalies(children)
        for key in sorted(set(governance.cost_tags)):
            aws.costexplorer.CostAllocationTag(f"{name}-cost-tag-{key}", tag_key=key, status="Active", opts=children)
        self.trail_bucket: pulumi.Output[str] | None = None
        if governance.audit_trail:
            self.trail_bucket = audit.trail(
                name,
                stack=args.stack,
                region=args.region,
                account=args.account_id,
                days=governance.trail_days,
                protect=governance.delete_protection,
                tags=args.tags,
                parent=self,
            )
        if governance.threat_detection:
            audit.threat_detection(name, tags=args.tags, children=children)
        if governance.configuration_rules:
            audit.configuration_rules(
                name,
                region=args.region,
                account=args.account_id,
                protect=governance.delete_protection,
                tags=args.tags,
                parent=self,
            )
        self.register_outputs({"trail_bucket": self.trail_bucket})

    def _budget(self, children: pulumi.ResourceOptions) -> None:
        spec = self._args.spec.budget
        if spec is None:
            return
        mails, topics = budget_targets(self._args.spec.alerts_to, self._args.region)
        notifications = [
            aws.budgets.BudgetNotificationArgs(
                comparison_operator="GREATER_THAN",
                notification_type=kind,
                threshold=percent,
                threshold_type="PERCENTAGE",
                subscriber_email_addresses=mails or None,
                subscriber_sns_topic_arns=topics or None,
            )
            for percent in sorted(set(spec.alert_at_percent))
            for kind in ("ACTUAL", "FORECASTED")
        ]
        budget = aws.budgets.Budget(
            f"{self._prefix}-budget",
            budget_type="COST",
            time_unit="MONTHLY",
            limit_amount=f"{spec.monthly_usd:.2f}",
            limit_unit="USD",
            cost_filters=self._cost_filters(spec),
            # A notification that reaches nobody is refused: the budget then only shows in the console.
            notifications=notifications if mails or topics else None,
            tags={**self._args.tags, "Name": f"{self._prefix}-budget"},
            opts=children,
        )
        budget_actions.declare(
            self._prefix,
            spec,
            budget,
            region=self._args.region,
            account=self._args.account_id,
            mails=mails,
            topics=topics,
            tags=self._args.tags,
            children=children,
        )

    def _cost_filters(self, spec: BudgetSpec) -> list[aws.budgets.BudgetCostFilterArgs] | None:
        """The whole account, or what carries the stack's tag."""
        if spec.counts == "account":
            account = pulumi.Output.from_input(self._args.account_id)
            return [aws.budgets.BudgetCostFilterArgs(name="LinkedAccount", values=[account])]
        if self._args.cost_filter is None:
            return None
        key, value = self._args.cost_filter
        return [aws.budgets.BudgetCostFilterArgs(name="TagKeyValue", values=[f"user:{key}${value}"])]

    def _anomaly_monitor(self, children: pulumi.ResourceOptions) -> aws.costexplorer.AnomalyMonitor:
        """A monitor over services is one to an account; over a tag every stack has its own, in the paying account."""
        name, tags = f"{self._prefix}-anomalies", {**self._args.tags, "Name": f"{self._prefix}-anomalies"}
        if self._args.spec.governance.anomalies == "services":
            return aws.costexplorer.AnomalyMonitor(
                name, monitor_type="DIMENSIONAL", monitor_dimension="SERVICE", tags=tags, opts=children
            )
        key, value = self._args.cost_filter or ("environment", self._args.stack)
        return aws.costexplorer.AnomalyMonitor(
            name,
            monitor_type="CUSTOM",
            monitor_specification=pulumi.Output.json_dumps(
                {
                    "And": None,
                    "CostCategories": None,
                    "Dimensions": None,
                    "Not": None,
                    "Or": None,
                    "Tags": {"Key": f"user:{key}", "MatchOptions": None, "Values": [value]},
                }
            ),
            tags=tags,
            opts=children,
        )

    def _anomalies(self, children: pulumi.ResourceOptions) -> None:
        spec, name = self._args.spec, self._prefix
        mails, topics = targets(spec.alerts_to)
        if spec.governance.anomalies == "none" or not (mails or topics):
            return
        monitor = self._anomaly_monitor(children)
        # Mail takes the daily digest; topics take single alerts at once. AWS refuses to mix them in one subscription.
        for role, kind, frequency, addresses in (
            ("mail", "EMAIL", "DAILY", mails),
            ("topic", "SNS", "IMMEDIATE", topics),
        ):
            if addresses:
                aws.costexplorer.AnomalySubscription(
                    f"{name}-anomalies-{role}",
                    frequency=frequency,
                    monitor_arn_lists=[monitor.arn],
                    subscribers=[{"type": kind, "address": address} for address in addresses],
                    threshold_expression={
                        "dimension": {
                            "key": "ANOMALY_TOTAL_IMPACT_ABSOLUTE",
                            "match_options": ["GREATER_THAN_OR_EQUAL"],
                            "values": [f"{spec.governance.anomaly_usd:g}"],
                        }
                    },
                    tags={**self._args.tags, "Name": f"{name}-anomalies-{role}"},
                    opts=children,
                )


def targets(alerts_to: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Mail addresses and topic ARNs among the alert targets; the billing services can't call a URL."""
    mails = sorted({each.removeprefix("mailto:") for each in alerts_to if each.startswith("mailto:")})
    return mails, sorted({each for each in alerts_to if each.startswith("arn:")})


def budget_targets(alerts_to: tuple[str, ...], region: str) -> tuple[list[str], list[str]]:
    """Who gets a budget's notices: every mail address, and the one topic that AWS Budgets takes, the region's own
    before others.
    """
    mails, topics = targets(alerts_to)
    return mails, sorted(topics, key=lambda arn: (topic_region(arn) != region, arn))[:1]
