"""Rules of what watches the account: the audit trail and the threat detector."""

from __future__ import annotations

from collections.abc import Iterator

from policies.declared.resources import Resource
from policies.declared.types import DETECTOR, DETECTOR_FEATURE, KEY, TRAIL
from policies.declared.values import Node
from policies.packs.policy_rule import Finding, Outcome, Settings, each, rule


@rule(
    "trail-complete",
    types=(TRAIL,),
    severity="high",
    ids=("CloudTrail.1", "CloudTrail.2", "CloudTrail.4", "CKV_AWS_35", "CKV_AWS_36", "CKV_AWS_67", "CKV_AWS_251"),
    says="The audit trail covers all regions, proves its files whole, and is encrypted with a key of the account.",
    fix="set isMultiRegionTrail and enableLogFileValidation to true, kmsKeyId to a key, and leave enableLogging on",
)
def trail_complete(trail: Resource, _: Settings) -> Iterator[Outcome]:
    def on(node: Node) -> Iterator[Outcome]:
        if not node.boolean():
            yield Finding(node, "true")

    def not_off(node: Node) -> Iterator[Outcome]:
        if node.boolean() is False:
            yield Finding(node, "true")

    def key(node: Node) -> Iterator[Outcome]:
        if not trail.holds("kmsKeyId", KEY):
            yield Finding(node, "a KMS key")

    yield from each([trail.at("isMultiRegionTrail"), trail.at("enableLogFileValidation")], on)
    yield from each([trail.at("enableLogging"), trail.at("includeGlobalServiceEvents")], not_off)
    yield from each([trail.at("kmsKeyId")], key)


@rule(
    "guardduty-watches-the-cluster",
    types=(DETECTOR, DETECTOR_FEATURE),
    severity="medium",
    ids=("GuardDuty.1", "GuardDuty.5", "GuardDuty.7", "CKV_AWS_238"),
    says="A threat detector that is declared is switched on.",
    fix='set enable to true (a detector) or status to "ENABLED" (a feature)',
)
def guardduty_watches_the_cluster(detector: Resource, _: Settings) -> Iterator[Outcome]:
    if detector.type == DETECTOR:
        if (enabled := detector.at("enable")).boolean() is False:
            yield Finding(enabled, "true")
    elif (status := detector.at("status")).text() != "ENABLED":
        yield Finding(status, '"ENABLED"')
