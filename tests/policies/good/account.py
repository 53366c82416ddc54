"""What watches the account of the good stack, and its money."""

from __future__ import annotations

from tests.policies.good.records import (
    KEY_ARN,
    TAGS,
    Record,
    record,
)


def watched() -> list[Record]:
    """Logs, the audit trail, the threat detector, and the topic of alerts."""
    return [
        record(
            "aws:cloudwatch/logGroup:LogGroup",
            "cluster",
            {"name": "/aws/eks/main/cluster", "retentionInDays": 90, "kmsKeyId": KEY_ARN, "tags": TAGS},
        ),
        record(
            "aws:cloudwatch/logGroup:LogGroup",
            "audit-trail",
            {"name": "/acme/audit", "retentionInDays": 365, "kmsKeyId": KEY_ARN, "tags": TAGS},
        ),
        record(
            "aws:cloudtrail/trail:Trail",
            "account",
            {
                "s3BucketName": "acme-log",
                "isMultiRegionTrail": True,
                "enableLogFileValidation": True,
                "enableLogging": True,
                "kmsKeyId": KEY_ARN,
            },
        ),
        record("aws:guardduty/detector:Detector", "account", {"enable": True}),
        record(
            "aws:guardduty/detectorFeature:DetectorFeature",
            "audit",
            {"detectorId": "d-1", "name": "EKS_AUDIT_LOGS", "status": "ENABLED"},
        ),
        record("aws:sns/topic:Topic", "alerts", {"kmsMasterKeyId": KEY_ARN}),
    ]


def money() -> list[Record]:
    """A budget that tells somebody, and a monitor of anomalies."""
    reported = [
        {
            "comparisonOperator": "GREATER_THAN",
            "threshold": 80,
            "thresholdType": "PERCENTAGE",
            "notificationType": "ACTUAL",
            "subscriberEmailAddresses": ["oncall@example.com"],
        }
    ]
    return [
        record(
            "aws:budgets/budget:Budget",
            "month",
            {
                "budgetType": "COST",
                "limitAmount": "500000",
                "limitUnit": "USD",
                "timeUnit": "MONTHLY",
                "notifications": reported,
            },
        ),
        record(
            "aws:costexplorer/anomalyMonitor:AnomalyMonitor",
            "month",
            {"name": "m", "monitorType": "DIMENSIONAL", "monitorDimension": "SERVICE"},
        ),
    ]
