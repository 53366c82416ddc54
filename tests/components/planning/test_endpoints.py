"""The endpoint set follows the features in use."""

from __future__ import annotations

from typing import Any

import pytest

from components.planning import endpoints
from components.spec.network import NetworkSpec
from components.spec.stack import StackSpec

BASE = {"ec2", "ecr.api", "ecr.dkr", "eks", "eks-auth", "logs", "monitoring", "s3", "sts"}
GPU = {"name": "train", "purpose": "training", "instance_type": "p5.48xlarge", "zone": "usw2-az3", "nodes": 2}
LUSTRE = {"lustre": ({"name": "train", "zone": "usw2-az3"},)}


def services(network: dict[str, Any] | None = None, **sections: Any) -> set[str]:
    stack = StackSpec.model_validate(
        {
            "environment": "dev",
            "network": {"zones": ("usw2-az2", "usw2-az3"), **(network or {})},
            "cluster": {},
            **sections,
        }
    )
    return {each.service for each in endpoints.needed(stack)}


def test_the_compute_network_always_has_its_endpoints_since_it_has_no_way_out() -> None:
    assert services() == BASE


@pytest.mark.parametrize(
    ("sections", "added"),
    [
        ({"storage": LUSTRE}, {"fsx"}),
        ({"pools": ({**GPU, "nodes": {"min": 0, "max": 4}},)}, set()),
        ({"pools": (GPU,)}, set()),
        ({"observability": {"alerts_to": ("mailto:oncall@example.com",)}}, {"sns"}),
        ({"governance": {"threat_detection": True}}, {"guardduty-data"}),
    ],
)
def test_a_feature_brings_its_endpoint(sections: dict[str, Any], added: set[str]) -> None:
    assert services(**sections) == BASE | added


def test_an_isolated_network_also_needs_what_controllers_reached_through_nat() -> None:
    everything = services(
        {"egress": "isolated"},
        storage=LUSTRE,
        pools=({**GPU, "nodes": {"min": 0, "max": 4}},),
        observability={"alerts_to": ("arn:aws:sns:us-west-2:111122223333:alerts",)},
    )
    assert everything == BASE | {"elasticloadbalancing", "fsx", "kms", "sns", "sqs", "ssm"}


def test_further_services_are_added_once() -> None:
    assert services({"extra_endpoints": ("ssm", "sts")}) == BASE | {"ssm"}
    found = endpoints.of_network(NetworkSpec(zones=("usw2-az2",), extra_endpoints=("ssm", "sts")))
    assert [each.service for each in found] == sorted(BASE | {"ssm"})


def test_a_self_hosted_stack_needs_none() -> None:
    stack = StackSpec.model_validate({"environment": "dev", "form": {"kind": "self-hosted", "kubeconfig": "x"}})
    assert endpoints.needed(stack) == ()


def test_all_but_s3_are_interfaces() -> None:
    assert {each.service for each in endpoints.interfaces(endpoints.BASE)} == BASE - {"s3"}
