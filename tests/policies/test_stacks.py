"""Every stack file of the project passes both packs, in a first preview and with all outputs known, and checkov
where it is right.
"""

from __future__ import annotations

import json
import subprocess
from functools import cache
from pathlib import Path

import pytest

from policies.cost.pack import PACK as COST
from policies.external_tools.install import python
from policies.packs.configuration import load, path_of
from policies.packs.evaluation import Report, evaluate
from policies.packs.pack import Pack
from policies.security.pack import PACK as SECURITY
from tests.policies.cases import TODAY
from tests.policies.plan_json import plan
from tests.policies.stacks import STACKS, environment_of, records_of

RUN_CHECKOV = Path(__file__).resolve().parents[2] / "policies" / "external_tools" / "run_checkov.py"
# The records and the judge are shared, so one worker takes all.
pytestmark = pytest.mark.xdist_group("policies-stacks")
each_stack = pytest.mark.parametrize("stack", STACKS)
each_pack = pytest.mark.parametrize("pack", [SECURITY, COST], ids=["security", "cost"])

# What checkov asks of the stacks and does not get, by check, with the reason. A check that is not listed may not fail.
NOT_FOLLOWED = {
    "CKV2_AWS_10": "the trail's files go to a bucket with validation; a second copy in CloudWatch is paid for twice",
    "CKV2_AWS_5": "nodes that Karpenter buys carry these groups, by their ids in an EC2NodeClass",
    "CKV2_AWS_62": "nobody acts on events of these buckets",
    "CKV_AWS_144": "only checkpoints are worth a copy in another region; the rest can be had again",
    "CKV_AWS_190": "scratch file systems know only the service's own key",
    "CKV_AWS_18": "the bucket that receives logs can't log into itself",
    "CKV_AWS_252": "findings of the trail are alarms' business, not a topic's",
    "CKV_AWS_297": "a schedule holds the name and size of a node group, no secret",
    "CKV_AWS_338": "a year is kept of audit logs only; checkov asks it of all",
    "CKV_AWS_355": "actions that only describe have no narrower resource, or name any file system that a claim may use",
}


@cache
def _judged(stack: str, pack: str, known: bool) -> Report:
    whole = {each.name: each for each in (SECURITY, COST)}[pack]
    return evaluate(records_of(stack, known=known), whole, load(pack, stack, environment_of(stack)), today=TODAY)


def judged(stack: str, pack: Pack, *, known: bool) -> Report:
    return _judged(stack, pack.name, known)


@each_stack
@each_pack
@pytest.mark.parametrize("known", [False, True], ids=["first preview", "outputs known"])
def test_a_stack_breaks_no_mandatory_rule(stack: str, pack: Pack, known: bool) -> None:
    assert [(each.rule, each.urn, each.message) for each in judged(stack, pack, known=known).mandatory] == []


@each_stack
@each_pack
def test_a_stack_has_a_configuration_of_its_own_whose_exemptions_are_all_used(stack: str, pack: Pack) -> None:
    assert path_of(pack.name, stack) is not None
    report = judged(stack, pack, known=False)
    assert report.exemptions_unused == ()
    assert report.exemptions_expired == ()


@each_stack
def test_with_all_outputs_known_nothing_about_access_is_left_unjudged(stack: str) -> None:
    assert [str(each) for each in judged(stack, SECURITY, known=True).could_not_judge] == []


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, bool], list[tuple[str, str]]]:
    """What checkov holds against each stack, all in one process of its own: its start takes longer than its checks."""
    folder = tmp_path_factory.mktemp("plans")
    paths = {
        (stack, known): folder / f"{stack}-{'known' if known else 'first'}.json"
        for stack in STACKS
        for known in (False, True)
    }
    for (stack, known), path in paths.items():
        path.write_text(plan(records_of(stack, known=known)))
    ran = subprocess.run(
        [str(python("checkov")), str(RUN_CHECKOV), *map(str, paths.values())],
        capture_output=True,
        text=True,
        check=True,
    )
    judged_plans = json.loads(ran.stdout)
    for (stack, _), path in paths.items():
        assert judged_plans[str(path)]["passed"] or stack == "onprem", "checkov saw nothing in the plan"
    return {
        key: [(check, address) for check, address in judged_plans[str(path)]["failed"]] for key, path in paths.items()
    }


@pytest.mark.checkov
@each_stack
@pytest.mark.parametrize("known", [False, True], ids=["first preview", "outputs known"])
def test_checkov_finds_nothing_in_a_stack_that_is_not_listed_with_a_reason(
    stack: str, known: bool, findings: dict[tuple[str, bool], list[tuple[str, str]]]
) -> None:
    assert [found for found in findings[stack, known] if found[0] not in NOT_FOLLOWED] == []


@pytest.mark.checkov
def test_every_reason_not_to_follow_checkov_is_still_needed(
    findings: dict[tuple[str, bool], list[tuple[str, str]]],
) -> None:
    assert set(NOT_FOLLOWED) == {check for found in findings.values() for check, _ in found}
