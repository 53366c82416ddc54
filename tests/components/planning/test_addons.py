"""Add-ons that call AWS: what each is allowed, and what is told about those that nothing fits."""

from __future__ import annotations

from typing import Any

from components.planning import addons, rules
from components.problems import render
from components.spec.stack import StackSpec
from tests.given import CAT

VERSION = {"version": "v1.2.3-eksbuild.1"}


def stack(**wanted: dict[str, Any]) -> StackSpec:
    return StackSpec.model_validate(
        {
            "environment": "dev",
            "network": {"zones": ("usw2-az2", "usw2-az3")},
            "cluster": {"addons": {name.replace("_", "-"): given for name, given in wanted.items()}},
        }
    )


def reported(given: StackSpec) -> list[str]:
    return [render(each) for each in rules.check(given, CAT) if each.path.startswith("cluster.addons")]


def plans(given: StackSpec) -> dict[str, addons.AddonPlan]:
    return {each.name: each for each in addons.needed(given, CAT)}


def test_an_addon_whose_policy_is_known_gets_it() -> None:
    given = stack(aws_efs_csi_driver=VERSION)
    plan = plans(given)["aws-efs-csi-driver"]
    assert (plan.service_account, plan.managed_policies) == (
        "efs-csi-controller-sa",
        ("service-role/AmazonEFSCSIDriverPolicy",),
    )
    assert reported(given) == []


def test_an_addon_that_would_be_denied_is_an_error_until_its_policy_is_named() -> None:
    assert reported(stack(external_dns=VERSION)) == [
        (
            "cluster.addons.external-dns.policies: external-dns calls AWS, no policy of AWS's fits what it may do "
            "here, and without one it is denied; name the managed policies of its role as policies, by ARN"
        )
    ]
    named = stack(external_dns={**VERSION, "policies": ("arn:aws:iam::111122223333:policy/one-zone",)})
    assert reported(named) == []
    assert plans(named)["external-dns"].managed_policies == ("arn:aws:iam::111122223333:policy/one-zone",)


def test_every_offered_addon_that_calls_aws_has_a_policy_or_an_error() -> None:
    for name, caller in addons.CALLERS.items():
        given = stack(**{name.replace("-", "_"): VERSION})
        without = any("without one it is denied" in each for each in reported(given))
        assert without != bool(caller.policies), name


def test_policies_of_an_addon_that_never_calls_aws_are_told() -> None:
    given = stack(snapshot_controller={**VERSION, "policies": ("SomePolicy",)})
    assert reported(given) == [
        (
            "cluster.addons.snapshot-controller.policies: snapshot-controller has no service account that calls AWS; "
            "take policies out"
        )
    ]
