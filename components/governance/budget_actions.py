"""What a budget does besides sending notices: it keeps named roles from starting more machines.

The budget takes a role that may attach the stopping policy to those roles alone, and no other policy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pulumi
import pulumi_aws as aws

from components.identity import policy_documents
from components.identity.policy_documents import Statement
from components.spec.operations import BudgetSpec

# Machines come by these calls, whoever makes them; nothing here takes a running one away.
STOPPED = (
    "ec2:RunInstances",
    "ec2:CreateFleet",
    "ec2:PurchaseCapacityBlock",
    "ec2:CreateCapacityReservation",
    "eks:CreateNodegroup",
    "eks:UpdateNodegroupConfig",
    "autoscaling:SetDesiredCapacity",
    "autoscaling:UpdateAutoScalingGroup",
)


def declare(
    name: str,
    spec: BudgetSpec,
    budget: aws.budgets.Budget,
    *,
    region: str,
    account: pulumi.Input[str],
    mails: Sequence[str],
    topics: Sequence[str],
    tags: Mapping[str, str],
    children: pulumi.ResourceOptions,
) -> aws.budgets.BudgetAction | None:
    """The action of a budget that stops; None for one that only tells, or that has nobody to tell of it."""
    if spec.stop_at_percent is None or not spec.stop_roles or not (mails or topics):
        return None
    stop = aws.iam.Policy(
        f"{name}-stop",
        description="Keeps its holders from starting machines while the budget is spent",
        policy=policy_documents.document(Statement(sid="Stop", effect="Deny", actions=STOPPED)),
        tags={**tags, "Name": f"{name}-stop"},
        opts=children,
    )
    role = aws.iam.Role(
        f"{name}-budget-action",
        assume_role_policy=policy_documents.trust("budgets.amazonaws.com"),
        tags={**tags, "Name": f"{name}-budget-action"},
        opts=children,
    )
    roles = sorted(set(spec.stop_roles))
    arns = [
        pulumi.Output.concat(f"arn:{policy_documents.partition(region)}:iam::", account, f":role/{each}")
        for each in roles
    ]
    only = {"ArnEquals": {"iam:PolicyARN": stop.arn}}
    attach = Statement(
        sid="Attach", actions=("iam:AttachRolePolicy", "iam:DetachRolePolicy"), resources=arns, conditions=only
    )
    allowed = aws.iam.RolePolicy(
        f"{name}-budget-action-attach", role=role.id, policy=policy_documents.document(attach), opts=children
    )
    people = [*(("EMAIL", each) for each in mails), *(("SNS", each) for each in topics)]
    return aws.budgets.BudgetAction(
        f"{name}-budget-stop",
        budget_name=budget.name,
        action_type="APPLY_IAM_POLICY",
        approval_model=spec.stop_approval.upper(),
        notification_type="ACTUAL",
        execution_role_arn=role.arn,
        action_threshold={"action_threshold_type": "PERCENTAGE", "action_threshold_value": spec.stop_at_percent},
        definition={"iam_action_definition": {"policy_arn": stop.arn, "roles": roles}},
        subscribers=[{"subscription_type": kind, "address": address} for kind, address in people],
        tags={**tags, "Name": f"{name}-budget-stop"},
        opts=pulumi.ResourceOptions(parent=children.parent, depends_on=[allowed]),
    )
