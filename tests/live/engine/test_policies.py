"""Both policy packs, run by the engine itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.live.support.engine import CHECKOUT, Engine

PACKS = [CHECKOUT / "policies" / name for name in ("cost", "security")]
pytestmark = pytest.mark.engine
WITH_PACKS = [word for pack in PACKS for word in ("--policy-pack", str(pack))]
# A stack's own settings: who administers it, and what is excused there, by owner and date.
WITH_DEV_CONFIG = [
    word
    for pack in PACKS
    for word in ("--policy-pack-config", str(CHECKOUT / "policies" / "config" / pack.name / "dev.json"))
]

VIOLATING = """
import pulumi, pulumi_aws as aws
account = aws.Provider("account", region="us-west-2")
opts = pulumi.ResourceOptions(provider=account)
group = aws.ec2.SecurityGroup("open", description="open", vpc_id="vpc-1", opts=opts)
ssh = {"from_port": 22, "to_port": 22, "ip_protocol": "tcp"}
aws.vpc.SecurityGroupIngressRule("world", security_group_id=group.id, cidr_ipv4="0.0.0.0/0", **ssh, opts=opts)
"""


@pytest.mark.proves(
    broken="nothing: the dev stack under both packs, with its own settings",
    promised="no mandatory violation; advisory ones do not stop the preview",
)
def test_the_dev_stack_passes_both_packs(engine: Callable[..., Engine]) -> None:
    run = engine("dev").preview(*WITH_PACKS, *WITH_DEV_CONFIG)
    mandatory = [violation for violation in run.violations() if violation["enforcementLevel"] == "mandatory"]
    assert [
        (violation["policyName"], violation.get("resourceUrn"), violation["message"]) for violation in mandatory
    ] == []
    assert run.must().code == 0


@pytest.mark.proves(
    broken="a program opens SSH to the world",
    promised="the preview ends non-zero and the message names the resource and the rule",
)
def test_a_mandatory_violation_stops_the_engine(tmp_path: Path) -> None:
    project = Engine.of_program(tmp_path / "violating", VIOLATING)
    run = project.preview(*WITH_PACKS)
    mandatory = [violation for violation in run.violations() if violation["enforcementLevel"] == "mandatory"]
    assert run.code != 0
    assert any(violation.get("resourceUrn", "").endswith("::world") for violation in mandatory)
    shown = next(violation for violation in mandatory if violation.get("resourceUrn", "").endswith("::world"))
    assert shown["policyName"] in run.output
    # The preview inside `up` stops it; with --skip-preview only the violating resource itself would be held back.
    refused = project.run("up", "--yes", "--stack", "dev", *WITH_PACKS)
    assert refused.code != 0
    assert project.calls("create") == []
