"""The budget's action: whom it stops, from what, and who is told."""

from __future__ import annotations

import json

from components.governance import Governance, GovernanceArgs, GovernedSpec
from components.governance.budget_actions import STOPPED
from components.spec.operations import BudgetSpec
from tests.declared import Record, of_type, one, record

TAGS = {"owner": "ml-platform"}
BUDGET = BudgetSpec(monthly_usd=1000, stop_at_percent=120, stop_roles=("platform-admin", "ci"))


def declared(budget: BudgetSpec, alerts: tuple[str, ...] = ("mailto:a@example.com",)) -> list[Record]:
    spec = GovernedSpec(budget=budget, alerts_to=alerts)
    args = GovernanceArgs(spec=spec, stack="prod", region="us-west-2", account_id="111122223333", tags=TAGS)
    return record(lambda: Governance("governance", args), known=True)


def test_a_budget_only_tells_unless_it_is_asked_to_stop() -> None:
    assert of_type(declared(BudgetSpec(monthly_usd=1000)), "BudgetAction") == []


def test_the_action_waits_for_a_person_and_names_its_roles() -> None:
    action = one(declared(BUDGET), "BudgetAction").inputs
    assert action["approvalModel"] == "MANUAL"
    assert action["actionType"] == "APPLY_IAM_POLICY"
    assert action["notificationType"] == "ACTUAL"
    assert action["actionThreshold"] == {"actionThresholdType": "PERCENTAGE", "actionThresholdValue": 120}
    assert action["definition"]["iamActionDefinition"]["roles"] == ["ci", "platform-admin"]
    assert action["subscribers"] == [{"subscriptionType": "EMAIL", "address": "a@example.com"}]


def test_an_automatic_stop_is_said_in_the_stack_file() -> None:
    action = one(declared(BUDGET.model_copy(update={"stop_approval": "automatic"})), "BudgetAction").inputs
    assert action["approvalModel"] == "AUTOMATIC"


def test_the_stop_denies_the_calls_that_start_machines() -> None:
    policy = json.loads(one(declared(BUDGET), "iam/policy:Policy").inputs["policy"])
    (statement,) = policy["Statement"]
    assert statement["Effect"] == "Deny"
    assert set(statement["Action"]) == set(STOPPED)
    assert not any("Terminate" in each or "Delete" in each for each in statement["Action"])


def test_the_budgets_role_attaches_that_policy_alone_and_to_those_roles_alone() -> None:
    policy = json.loads(one(declared(BUDGET), "iam/rolePolicy:RolePolicy").inputs["policy"])
    (statement,) = policy["Statement"]
    assert statement["Resource"] == [
        "arn:aws:iam::111122223333:role/ci",
        "arn:aws:iam::111122223333:role/platform-admin",
    ]
    assert statement["Condition"] == {
        "ArnEquals": {"iam:PolicyARN": "arn:aws:iam:us-west-2:111122223333:governance-stop"}
    }
