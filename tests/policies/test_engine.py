"""Both packs over the engine's wire: the same verdicts as in process, every level on every rule, remediation,
unknowns and secrets.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from pulumi.runtime.proto import analyzer_pb2

from policies.cost.pack import PACK as COST
from policies.packs.evaluation import evaluate
from policies.packs.pack import Pack
from policies.security.pack import PACK as SECURITY
from tests.policies.cases import COST as COST_CASES
from tests.policies.cases import SECURITY as SECURITY_CASES
from tests.policies.cases import TODAY, Case
from tests.policies.engine import SECRET, Analyzer, running
from tests.policies.good import good_stack, record

pytestmark = pytest.mark.xdist_group("policies-wire")
PACKS: dict[str, tuple[Pack, dict[str, Case]]] = {"security": (SECURITY, SECURITY_CASES), "cost": (COST, COST_CASES)}
ON_THE_DAY = {"exemptions": {"today": TODAY.isoformat()}}
# A change between two states is never seen by the engine's analyzers.
REVIEW_ONLY = {"cost-change-within-ceiling"}


@pytest.fixture(scope="module", params=list(PACKS))
def pack(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def analyzer(pack: str) -> Iterator[Analyzer]:
    with running(pack) as started:
        yield started


def values(case: Case | None = None, **more: Any) -> dict[str, Any]:
    return {**ON_THE_DAY, **(case.configuration if case else {}), **more}


def test_the_pack_describes_every_rule(pack: str, analyzer: Analyzer) -> None:
    rules = PACKS[pack][0].rules
    info = analyzer.info()
    assert (info.name, info.supportsConfig) == (pack, True)
    assert [policy.name for policy in info.policies] == [rule.name for rule in rules]
    for policy, rule in zip(info.policies, rules, strict=True):
        assert policy.description == rule.summary
        assert policy.remediation_steps == rule.fix
        assert set(policy.configSchema.properties) == set(rule.parameters)
        assert policy.severity != analyzer_pb2.POLICY_SEVERITY_UNSPECIFIED
    written = yaml.safe_load(
        (Path(__file__).resolve().parents[2] / "policies" / pack / "PulumiPolicy.yaml").read_text()
    )
    assert written["version"] == info.version


def test_the_wire_says_what_the_evaluator_says(pack: str, analyzer: Analyzer) -> None:
    analyzer.configure({}, values())
    said = {(each.policyName, each.urn) for each in analyzer.everything(good_stack())}
    report = evaluate(good_stack(), PACKS[pack][0], values(), today=TODAY)
    assert said == {(each.rule, each.urn) for each in (*report.violations, *report.could_not_judge)}


@pytest.mark.parametrize("level", ["mandatory", "advisory", "remediate", "disabled"])
def test_every_rule_holds_at_every_level(pack: str, analyzer: Analyzer, level: str) -> None:
    shown = {
        "mandatory": analyzer_pb2.MANDATORY,
        "advisory": analyzer_pb2.ADVISORY,
        "remediate": analyzer_pb2.MANDATORY,
    }.get(level)
    for name, case in PACKS[pack][1].items():
        if name in REVIEW_ONLY:
            continue
        analyzer.configure({rule.name: "disabled" for rule in PACKS[pack][0].rules} | {name: level}, values(case))
        records = case.records(case.bad)
        if PACKS[pack][0].rule(name).scope == "resource":
            # The others are good, which other tests show: the engine would ask about each of them all the same.
            records = [each for each in records if each["urn"] == case.subject]
        found = [each for each in analyzer.everything(records) if "could not be judged" not in each.message]
        if shown is None:
            assert found == [], name
        else:
            assert {(each.policyName, each.enforcementLevel) for each in found} == {(name, shown)}, name
            assert all(each.message.startswith(PACKS[pack][0].rule(name).summary + "\n") for each in found)


def test_all_rules_set_to_remediate_at_once_still_answer(pack: str, analyzer: Analyzer) -> None:
    analyzer.configure({rule.name: "remediate" for rule in PACKS[pack][0].rules}, values())
    for item in good_stack():
        assert analyzer.remediate(item) == []


def test_a_remediation_puts_the_one_value_right_and_is_then_content(pack: str, analyzer: Analyzer) -> None:
    rules, cases = PACKS[pack]
    for rule in (rule for rule in rules.rules if rule.remedy is not None):
        case = cases[rule.name]
        broken = next(item for item in case.records(case.bad) if item["urn"] == case.at)
        analyzer.configure({each.name: "disabled" for each in rules.rules} | {rule.name: "remediate"}, values(case))
        (remediation,) = analyzer.remediate(broken)
        assert remediation.policyName == rule.name
        mended = {**broken, "inputs": _plain(remediation.properties)}
        assert analyzer.remediate(mended) == [], rule.name
        assert [each for each in analyzer.analyze(mended) if each.policyName == rule.name] == [], rule.name
        # Nothing else was touched.
        put_back = {key: value for key, value in mended["inputs"].items() if key != case.path[0]}
        assert put_back == {key: value for key, value in broken["inputs"].items() if key != case.path[0]}


def _plain(properties: Any) -> dict[str, Any]:
    from policies.engine import plain

    return plain(properties)


def test_only_resource_rules_have_a_remedy(pack: str) -> None:
    assert [rule.name for rule in PACKS[pack][0].rules if rule.remedy is not None and rule.scope == "stack"] == []


@pytest.fixture(scope="module")
def security() -> Iterator[Analyzer]:
    with running("security") as started:
        yield started


def test_a_remediation_leaves_unknown_and_secret_values_as_they_are(security: Analyzer) -> None:
    secret = {**SECRET, "value": "aGlkZGVu"}
    template = record(
        "aws:ec2/launchTemplate:LaunchTemplate",
        "t",
        {"imageId": "<unknown>", "userData": secret, "metadataOptions": {}},
    )
    security.configure({"machines-require-metadata-tokens": "remediate"})
    (remediation,) = security.remediate(template)
    assert _plain(remediation.properties) == {
        "imageId": "04da6b54-80e4-46f7-96ec-b56ff0331ba9",
        "userData": secret,
        "metadataOptions": {"httpTokens": "required"},
    }


def test_what_is_unknown_is_said_with_the_resource_and_never_blocks(security: Analyzer) -> None:
    security.configure({"cluster-logs": "mandatory"})
    item = record("aws:eks/cluster:Cluster", "c", {"enabledClusterLogTypes": "<unknown>"})
    (said,) = [each for each in security.analyze(item) if each.policyName == "cluster-logs"]
    assert said.urn == item["urn"]
    assert said.enforcementLevel == analyzer_pb2.ADVISORY
    assert said.message.endswith(
        "cluster-logs could not be judged: enabledClusterLogTypes is not known before the update"
    )


def test_secrets_arrive_in_clear_and_do_not_leave(security: Analyzer) -> None:
    security.configure({})
    item = record(
        "aws:iam/policy:Policy",
        "p",
        {
            "policy": {
                **SECRET,
                "value": '{"Statement": [{"Effect": "Allow", "Action": "hushhush:*", "Resource": "*"}]}',
            }
        },
    )
    said = security.analyze(item)
    assert "iam-no-wildcard-actions" in {each.policyName for each in said}
    assert not [each for each in said if "hushhush" in each.message]


def test_a_used_exemption_is_printed_once(tmp_path: Path) -> None:
    entry = {
        "rule": "cluster-logs",
        "urn_glob": "*::c",
        "reason": "a demonstration",
        "owner": "ml-platform",
        "expires": "2026-12-31",
    }
    item = record("aws:eks/cluster:Cluster", "c", {"enabledClusterLogTypes": []})
    with (tmp_path / "said").open("wb") as said, running("security", stderr=said) as analyzer:
        analyzer.configure({}, {"exemptions": {"entries": [entry], "today": "2026-11-30"}})
        assert "cluster-logs" not in {each.policyName for each in analyzer.analyze(item)}
        analyzer.analyze(item)
    lines = [line for line in (tmp_path / "said").read_text().splitlines() if line.startswith("exemption used")]
    assert lines == [
        (
            "exemption used in security: cluster-logs on *::c: a demonstration (owner "
            "ml-platform, expires 2026-12-31) for"
            f" {item['urn']}"
        )
    ]


def test_an_expired_exemption_stops_the_engine(security: Analyzer) -> None:
    entry = {"rule": "cluster-logs", "urn_glob": "*", "reason": "r", "owner": "ml-platform", "expires": "2026-11-29"}
    security.configure({}, {"exemptions": {"entries": [entry], "today": "2026-11-30"}})
    said = [each for each in security.analyze_stack([]) if each.policyName == "exemptions"]
    assert [each.enforcementLevel for each in said] == [analyzer_pb2.MANDATORY]
    security.configure({})
