"""The account's guardrails: each declared when the stack file asks for it, and reaching whoever is named."""

from __future__ import annotations

import json
from typing import Any

from components.governance import Governance, GovernanceArgs, GovernedSpec
from components.governance.audit import CONFIG_RULES
from components.spec.operations import BudgetSpec, GovernanceSpec
from tests.declared import Record, named, of_type, one, record

TAGS = {"owner": "ml-platform"}
EVERYTHING = GovernanceSpec(
    audit_trail=True, threat_detection=True, configuration_rules=True, cost_tags=("owner",), delete_protection=True
)
UNTAGGED = {
    "BucketPolicy",
    "BucketPublicAccessBlock",
    "BucketVersioning",
    "BucketServerSideEncryptionConfiguration",
    "BucketLifecycleConfiguration",
    "CostAllocationTag",
    "DeliveryChannel",
    "DetectorFeature",
    "Recorder",
    "RecorderStatus",
    "RolePolicy",
    "RolePolicyAttachment",
}


def declared(spec: GovernedSpec, known: bool = True, stack: str = "prod") -> list[Record]:
    def program() -> None:
        Governance(
            "governance",
            GovernanceArgs(
                spec=spec,
                stack=stack,
                region="us-west-2",
                account_id="111122223333",
                cost_filter=("stack", stack),
                tags=TAGS,
            ),
        )

    return [each for each in record(program, known=known) if each.custom]


def statements(records: list[Record], name: str) -> dict[str, dict[str, Any]]:
    [found] = [each for each in of_type(records, "BucketPolicy") if each.name == name]
    return {each["Sid"]: each for each in json.loads(found.inputs["policy"])["Statement"]}


def test_nothing_is_declared_unless_asked_for() -> None:
    assert declared(GovernedSpec()) == []


def test_a_first_preview_declares_what_an_update_declares() -> None:
    spec = GovernedSpec(budget=BudgetSpec(monthly_usd=1000), governance=EVERYTHING, alerts_to=("mailto:a@example.com",))
    assert sorted((each.type, each.name) for each in declared(spec, known=False)) == sorted(
        (each.type, each.name) for each in declared(spec)
    )


def test_the_budget_warns_of_spend_and_forecast_at_every_share() -> None:
    alerts = ("arn:aws:sns:us-west-2:111122223333:alerts", "mailto:oncall@example.com", "https://hooks.example.com/x")
    spec = GovernedSpec(budget=BudgetSpec(monthly_usd=52000000, alert_at_percent=(100, 50, 50)), alerts_to=alerts)
    budget = one(declared(spec), "Budget").inputs
    assert (budget["limitAmount"], budget["limitUnit"], budget["timeUnit"]) == ("52000000.00", "USD", "MONTHLY")
    assert budget["costFilters"] == [{"name": "TagKeyValue", "values": ["user:stack$prod"]}]
    assert [(each["threshold"], each["notificationType"]) for each in budget["notifications"]] == [
        (50, "ACTUAL"),
        (50, "FORECASTED"),
        (100, "ACTUAL"),
        (100, "FORECASTED"),
    ]
    for each in budget["notifications"]:
        assert each["subscriberEmailAddresses"] == ["oncall@example.com"]
        assert each["subscriberSnsTopicArns"] == ["arn:aws:sns:us-west-2:111122223333:alerts"]


def test_a_budget_with_nobody_to_tell_has_no_notifications_which_aws_would_refuse() -> None:
    records = declared(GovernedSpec(budget=BudgetSpec(monthly_usd=1000)))
    assert [each.name for each in records] == ["governance-budget"]
    assert "notifications" not in records[0].inputs


def test_unexpected_spend_is_mailed_daily_and_published_at_once() -> None:
    alerts = ("arn:aws:sns:us-west-2:111122223333:alerts", "mailto:oncall@example.com")
    records = declared(GovernedSpec(governance=GovernanceSpec(anomalies="tag", anomaly_usd=2500), alerts_to=alerts))
    monitor = json.loads(one(records, "AnomalyMonitor").inputs["monitorSpecification"])
    assert monitor["Tags"] == {"Key": "user:stack", "MatchOptions": None, "Values": ["prod"]}
    found = {each.name: each.inputs for each in of_type(records, "AnomalySubscription")}
    assert {name: (each["frequency"], each["subscribers"][0]["type"]) for name, each in found.items()} == {
        "governance-anomalies-mail": ("DAILY", "EMAIL"),
        "governance-anomalies-topic": ("IMMEDIATE", "SNS"),
    }
    for each in found.values():
        assert each["thresholdExpression"]["dimension"]["values"] == ["2500"]


def test_the_trail_covers_all_regions_and_is_validated_and_encrypted() -> None:
    records = declared(GovernedSpec(governance=GovernanceSpec(audit_trail=True)))
    trail = one(records, "Trail").inputs
    assert (trail["isMultiRegionTrail"], trail["enableLogFileValidation"], trail["includeGlobalServiceEvents"]) == (
        True,
        True,
        True,
    )
    assert trail["kmsKeyId"] == "arn:aws:kms:us-west-2:111122223333:governance-trail"
    assert trail["name"] == "trainshed-prod"


def test_only_this_trail_writes_to_its_bucket_and_only_over_tls() -> None:
    found = statements(declared(GovernedSpec(governance=GovernanceSpec(audit_trail=True))), "governance-trail")
    arn = "arn:aws:cloudtrail:us-west-2:111122223333:trail/trainshed-prod"
    assert found["TrailWrites"]["Condition"]["StringEquals"]["aws:SourceArn"] == arn
    assert found["TrailWrites"]["Resource"][0].endswith("/AWSLogs/111122223333/*")
    assert found["TrailChecks"]["Condition"]["StringEquals"]["aws:SourceArn"] == arn
    # A deny on anything but plain HTTP would lock the operator out of repairing this very policy.
    assert [each["Sid"] for each in found.values() if each["Effect"] == "Deny"] == ["TlsOnly"]
    assert found["TlsOnly"]["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_the_trails_bucket_is_private_versioned_encrypted_and_expires() -> None:
    records = declared(GovernedSpec(governance=GovernanceSpec(audit_trail=True, trail_days=400)))
    block = one(records, "BucketPublicAccessBlock").inputs
    assert {
        key: block[key] for key in ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets")
    } == dict.fromkeys(("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets"), True)
    assert one(records, "BucketVersioning").inputs["versioningConfiguration"] == {"status": "Enabled"}
    [encryption] = one(records, "BucketServerSideEncryptionConfiguration").inputs["rules"]
    assert encryption["applyServerSideEncryptionByDefault"]["sseAlgorithm"] == "aws:kms"
    [rule] = one(records, "BucketLifecycleConfiguration").inputs["rules"]
    assert (rule["expiration"], rule["abortIncompleteMultipartUpload"]) == ({"days": 400}, {"daysAfterInitiation": 7})


def test_the_trails_policy_is_there_before_the_trail() -> None:
    trail = one(declared(GovernedSpec(governance=GovernanceSpec(audit_trail=True))), "Trail")
    assert any("BucketPolicy" in urn for urn in trail.depends_on)


def test_protection_reaches_the_buckets_of_the_trail_and_of_recorded_configuration_with_their_keys() -> None:
    records = declared(GovernedSpec(governance=EVERYTHING))
    assert {(each.type.rsplit(":", 1)[-1], each.name) for each in records if each.protect} == {
        (kind, f"governance-{watcher}") for kind in ("Bucket", "Key") for watcher in ("config", "trail")
    }


def test_a_long_stack_name_still_names_a_legal_trail() -> None:
    trail = one(declared(GovernedSpec(governance=GovernanceSpec(audit_trail=True)), stack="s" * 140), "Trail")
    assert len(trail.inputs["name"]) == 128


def test_threat_detection_watches_audit_logs_and_runtime() -> None:
    records = declared(GovernedSpec(governance=GovernanceSpec(threat_detection=True)))
    assert {each.inputs["name"]: each.inputs["status"] for each in of_type(records, "DetectorFeature")} == {
        "EKS_AUDIT_LOGS": "ENABLED",
        "RUNTIME_MONITORING": "ENABLED",
    }


def test_configuration_rules_run_once_the_recorder_does() -> None:
    records = declared(GovernedSpec(governance=GovernanceSpec(configuration_rules=True)))
    rules = of_type(records, "Rule")
    assert sorted(each.inputs["source"]["sourceIdentifier"] for each in rules) == sorted(CONFIG_RULES)
    for each in rules:
        assert any("RecorderStatus" in urn for urn in each.depends_on)
    assert one(records, "RecorderStatus").inputs["isEnabled"] is True


def test_recorded_configuration_has_a_key_that_the_recorder_may_use_and_is_kept_as_the_stack_says():
    records = declared(GovernedSpec(governance=EVERYTHING))
    key, bucket, encryption, role = (
        next(each for each in of_type(records, kind) if each.name == "governance-config")
        for kind in ("Key", "Bucket", "BucketServerSideEncryptionConfiguration", "RolePolicy")
    )
    assert (key.protect, bucket.protect) == (True, True)
    applied = encryption.inputs["rules"][0]["applyServerSideEncryptionByDefault"]
    arn = applied["kmsMasterKeyId"]
    assert applied["sseAlgorithm"] == "aws:kms"
    assert one(records, "DeliveryChannel").inputs["s3KmsKeyArn"] == arn
    uses = {each["Sid"]: each for each in json.loads(role.inputs["policy"])["Statement"]}["Encrypt"]
    assert (uses["Action"], uses["Resource"]) == (["kms:Decrypt", "kms:GenerateDataKey"], [arn])


def test_cost_tags_are_activated_only_when_named_as_the_bill_must_have_seen_them() -> None:
    assert of_type(declared(GovernedSpec(budget=BudgetSpec(monthly_usd=1000))), "CostAllocationTag") == []
    tag = one(declared(GovernedSpec(governance=EVERYTHING)), "CostAllocationTag")
    assert (tag.inputs["tagKey"], tag.inputs["status"]) == ("owner", "Active")


def test_every_resource_that_can_carry_tags_carries_them() -> None:
    spec = GovernedSpec(budget=BudgetSpec(monthly_usd=1000), governance=EVERYTHING, alerts_to=("mailto:a@example.com",))
    for each in declared(spec):
        if each.type.rsplit(":", 1)[-1] not in UNTAGGED:
            assert TAGS.items() <= each.inputs["tags"].items(), each.name
    assert named(declared(spec), "governance-budget").inputs["tags"]["Name"] == "governance-budget"


def test_a_member_account_of_an_organisation_declares_no_monitor_unless_asked_to() -> None:
    spec = GovernedSpec(budget=BudgetSpec(monthly_usd=1000), alerts_to=("mailto:a@example.com",))
    assert [each.type for each in declared(spec)] == ["aws:budgets/budget:Budget"]


def test_a_monitor_over_services_needs_no_tag() -> None:
    spec = GovernedSpec(governance=GovernanceSpec(anomalies="services"), alerts_to=("mailto:a@example.com",))
    monitor = one(declared(spec), "AnomalyMonitor").inputs
    assert (monitor["monitorType"], monitor["monitorDimension"]) == ("DIMENSIONAL", "SERVICE")
    assert "monitorSpecification" not in monitor


def test_a_budget_tells_the_one_topic_that_the_service_takes_and_prefers_its_own_region() -> None:
    away, home = (f"arn:aws:sns:{region}:111122223333:alerts" for region in ("eu-west-1", "us-west-2"))
    spec = GovernedSpec(budget=BudgetSpec(monthly_usd=1000), alerts_to=(away, home))
    reported = {tuple(each["subscriberSnsTopicArns"]) for each in one(declared(spec), "Budget").inputs["notifications"]}
    assert reported == {(home,)}


def test_a_budget_of_a_whole_account_needs_no_tag_on_the_bill() -> None:
    spec = GovernedSpec(budget=BudgetSpec(monthly_usd=1000, counts="account"))
    assert one(declared(spec), "Budget").inputs["costFilters"] == [
        {"name": "LinkedAccount", "values": ["111122223333"]}
    ]
