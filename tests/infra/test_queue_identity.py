"""What the jobs of a queue reach in AWS."""

from __future__ import annotations

import json
from typing import Any

from tests.declared import named
from tests.whole import recording


def statements(queue: str) -> dict[str, dict[str, Any]]:
    policy = named(recording("prod", known=True).records, f"queue-{queue}-policy")
    return {each["Sid"]: each for each in json.loads(policy.inputs["policy"])["Statement"]}


def test_a_queues_jobs_write_below_its_own_prefixes_and_delete_nothing() -> None:
    found = statements("research")
    assert [each.rsplit("/store-checkpoints", 1)[-1].rsplit(":", 1)[-1] for each in found["WriteOwn"]["Resource"]] == [
        f"{found['ListOwn']['Resource'][0].rsplit(':', 1)[-1]}/research/*",
        f"{found['ListOwn']['Resource'][0].rsplit(':', 1)[-1]}/outputs/research/*",
    ]
    assert found["ListOwn"]["Condition"] == {"StringLike": {"s3:prefix": ["research/*", "outputs/research/*"]}}
    actions = [action for each in found.values() for action in each["Action"]]
    assert not [action for action in actions if "Delete" in action or action.endswith("*")]


def test_the_role_is_for_the_queues_service_account_which_is_there_and_reaches_no_api() -> None:
    records = recording("prod", known=True).records
    association = named(records, "queue-research-association")
    assert (association.inputs["namespace"], association.inputs["serviceAccount"]) == ("training", "queue-research")
    account = named(records, "queueing-account-research")
    assert account.inputs["metadata"]["name"] == "queue-research"
    assert account.inputs["automountServiceAccountToken"] is False
