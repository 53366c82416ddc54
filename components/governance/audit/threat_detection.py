"""GuardDuty over the cluster: its audit log, and the runtime of its nodes through an add-on that AWS manages."""

from __future__ import annotations

from collections.abc import Mapping

import pulumi
import pulumi_aws as aws


def threat_detection(name: str, *, tags: Mapping[str, str], children: pulumi.ResourceOptions) -> None:
    """GuardDuty over the cluster's audit log and the runtime of its nodes. An account has one detector a region."""
    detector = aws.guardduty.Detector(
        f"{name}-guardduty", enable=True, tags={**tags, "Name": f"{name}-guardduty"}, opts=children
    )
    aws.guardduty.DetectorFeature(
        f"{name}-guardduty-audit-logs", detector_id=detector.id, name="EKS_AUDIT_LOGS", status="ENABLED", opts=children
    )
    aws.guardduty.DetectorFeature(
        f"{name}-guardduty-runtime",
        detector_id=detector.id,
        name="RUNTIME_MONITORING",
        status="ENABLED",
        additional_configurations=[{"name": "EKS_ADDON_MANAGEMENT", "status": "ENABLED"}],
        opts=children,
    )
