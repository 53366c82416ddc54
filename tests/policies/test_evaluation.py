"""The evaluator: what it reports, what exemptions do, and that neither secrets nor odd values get through."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policies.cost.pack import PACK as COST
from policies.declared.resources import resources_from
from policies.packs.configuration import ConfigurationError, load, parse
from policies.packs.evaluation import evaluate
from policies.packs.pack import Pack
from policies.packs.policy_rule import Finding, Settings, rule
from policies.security.pack import PACK as SECURITY
from tests.policies.cases import TODAY, put
from tests.policies.good import good_stack, record, urn

CLUSTER = "aws:eks/cluster:Cluster"
OPEN = record(
    CLUSTER,
    "c",
    {"vpcConfig": {"endpointPrivateAccess": True, "publicAccessCidrs": ["0.0.0.0/0", "<unknown>", "10.0.0.0/8"]}},
)
RULE = "cluster-endpoint-not-open"


def only(name: str, **values: Any) -> dict[str, Any]:
    return {
        "all": "disabled",
        name: {"enforcementLevel": "mandatory", **values},
        "exemptions": {"enforcementLevel": "mandatory"},
    }


def exempted(entry: dict[str, str]) -> dict[str, Any]:
    return {**only(RULE), "exemptions": {"enforcementLevel": "mandatory", "entries": [entry]}}


ENTRY = {"rule": RULE, "urn_glob": "*::c", "reason": "a demonstration", "owner": "ml-platform", "expires": "2026-12-31"}


def test_a_message_says_what_against_what_how_to_fix_it_and_how_to_be_excused() -> None:
    (violation,) = evaluate([OPEN], SECURITY, only(RULE)).violations
    assert (
        violation.message
        == 'vpcConfig.publicAccessCidrs[0] is "0.0.0.0/0"; wanted: a range that isn\'t the whole world. Fix: set'
        " vpcConfig.endpointPublicAccess to false, or list the offices' ranges in vpcConfig.publicAccessCidrs."
        ' Exemption: {"rule": "cluster-endpoint-not-open", "urn_glob":'
        ' "urn:pulumi:good::trainshed::aws:eks/cluster:Cluster::c", "reason": "...", "owner": "TEAM", "expires":'
        ' "YYYY-MM-DD"}'
    )
    assert violation.as_json() == {
        "pack": "security",
        "rule": RULE,
        "level": "mandatory",
        "resource": urn(CLUSTER, "c"),
        "message": violation.message,
        "severity": "critical",
        "property": "vpcConfig.publicAccessCidrs[0]",
    }


def test_an_unknown_element_is_a_doubt_and_does_not_hide_its_neighbours() -> None:
    report = evaluate([OPEN], SECURITY, only(RULE))
    assert [str(doubt) for doubt in report.could_not_judge] == [
        f"{RULE} could not be judged: vpcConfig.publicAccessCidrs[1] is not known before the update"
    ]
    assert len(report.violations) == 1


@pytest.mark.parametrize("ranges", [[], None, "absent"])
def test_no_public_ranges_mean_the_whole_world(ranges: Any) -> None:
    config = (
        {"endpointPublicAccess": True}
        if ranges == "absent"
        else {"endpointPublicAccess": True, "publicAccessCidrs": ranges}
    )
    (violation,) = evaluate([record(CLUSTER, "c", {"vpcConfig": config})], SECURITY, only(RULE)).violations
    assert violation.path == "vpcConfig.publicAccessCidrs"


@pytest.mark.parametrize(
    "marker", ["<unknown>", "04da6b54-80e4-46f7-96ec-b56ff0331ba9", "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2"]
)
def test_unknown_values_of_a_preview_and_of_the_wire_are_the_same(marker: str) -> None:
    item = record(CLUSTER, "c", {"vpcConfig": {"endpointPublicAccess": True, "publicAccessCidrs": marker}})
    report = evaluate([item], SECURITY, only(RULE))
    assert report.violations == ()
    assert [doubt.path for doubt in report.could_not_judge] == ["vpcConfig.publicAccessCidrs"]


def test_a_secret_whose_content_is_elsewhere_is_a_doubt() -> None:
    item = record("aws:iam/policy:Policy", "p", {"policy": "<secret>"})
    report = evaluate([item], SECURITY, only("iam-no-wildcard-actions"))
    assert [doubt.why for doubt in report.could_not_judge] == ["is secret"]


def test_a_secret_on_the_wire_is_judged_and_never_shown() -> None:
    secret = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "value": "hunter2hunter2"}
    report = evaluate([record(CLUSTER, "c", {"version": secret})], SECURITY, only("cluster-version-supported"))
    (violation,) = report.violations
    assert "version is <secret>; wanted: one of" in violation.message
    assert "hunter2" not in repr(report)


def test_credentials_in_user_data_are_not_repeated() -> None:
    key = "AKIA" + "IOSFODNN7EXAMPLE"
    template = record("aws:ec2/launchTemplate:LaunchTemplate", "t", {"userData": f"export AWS_ACCESS_KEY_ID={key}"})
    report = evaluate([template], SECURITY, only("machines-no-secrets-in-user-data"))
    assert [violation.message.split(". ")[0] for violation in report.violations] == [
        "userData is <secret>; wanted: no credentials, but it holds an AWS access key"
    ]
    assert key not in repr(report)


def test_an_exemption_is_used_and_reported() -> None:
    report = evaluate([OPEN], SECURITY, exempted(ENTRY), today=TODAY)
    assert report.violations == ()
    ((exemption, where),) = report.exemptions_used
    assert where == urn(CLUSTER, "c")
    assert str(exemption) == f"{RULE} on *::c: a demonstration (owner ml-platform, expires 2026-12-31)"


def test_an_exemption_holds_on_its_last_day_and_is_a_violation_after_it() -> None:
    assert evaluate([OPEN], SECURITY, exempted(ENTRY), today=date(2026, 12, 31)).violations == ()
    report = evaluate([OPEN], SECURITY, exempted(ENTRY), today=date(2027, 1, 1))
    assert [(violation.rule, violation.level) for violation in report.violations] == [
        (RULE, "mandatory"),
        ("exemptions", "mandatory"),
    ]
    assert report.violations[1].message.startswith(
        f"the exemption from {RULE} on *::c: a demonstration (owner ml-platform, expires 2026-12-31) is over. Fix: "
    )
    assert report.exemptions_expired != ()


@pytest.mark.parametrize("missing", ["rule", "urn_glob", "reason", "owner", "expires"])
def test_an_incomplete_exemption_excuses_nothing_and_is_a_violation(missing: str) -> None:
    report = evaluate(
        [OPEN], SECURITY, exempted({key: value for key, value in ENTRY.items() if key != missing}), today=TODAY
    )
    assert [violation.rule for violation in report.violations] == [RULE, "exemptions"]
    assert f"exemptions.entries[0] has no {missing}: it excuses nothing until it names" in report.violations[1].message


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"rule": "no-such-rule"}, "names the rule no-such-rule, which is not in this pack"),
        ({"expires": "next year"}, 'expires on "next year", which is not a date; write YYYY-MM-DD'),
        ({"urnGlob": "*"}, "has an unknown key urnGlob; the keys are rule, urn_glob, reason, owner, expires"),
    ],
)
def test_a_mistaken_exemption_says_what_is_mistaken(change: dict[str, str], said: str) -> None:
    report = evaluate([OPEN], SECURITY, exempted({**ENTRY, **change}), today=TODAY)
    assert said in report.violations[-1].message


def test_an_exemption_that_nothing_needed_is_listed() -> None:
    report = evaluate([OPEN], SECURITY, exempted({**ENTRY, "urn_glob": "*::other"}), today=TODAY)
    assert [entry.urn_glob for entry in report.exemptions_unused] == ["*::other"]
    assert len(report.violations) == 1


def test_the_day_in_the_configuration_comes_before_the_callers() -> None:
    configuration = exempted(ENTRY)
    configuration["exemptions"]["today"] = "2027-06-01"
    assert [violation.rule for violation in evaluate([OPEN], SECURITY, configuration, today=TODAY).violations] == [
        RULE,
        "exemptions",
    ]


def test_a_rule_with_a_fault_is_reported_and_the_others_still_speak() -> None:
    @rule("broken", types=(CLUSTER,), says="x", fix="x", severity="low")
    def broken(_: Any, __: Settings) -> list[Finding]:
        raise KeyError("hunter2")

    pack = Pack("trial", "1.0.0", "x", (broken, SECURITY.rule(RULE)))
    report = evaluate([OPEN], pack)
    assert "broken could not be judged: the resource made the rule fail with KeyError" in [
        str(doubt) for doubt in report.could_not_judge
    ]
    assert [violation.rule for violation in report.violations] == [RULE]
    assert "hunter2" not in repr(report)


def test_every_level_of_the_engines_file_is_read() -> None:
    configuration = parse(
        {"all": "advisory", RULE: {"enforcementLevel": "disabled"}, "cluster-logs": {"log_types": ["api"]}}
    )
    assert configuration.level(SECURITY.rule(RULE)) == "disabled"
    assert configuration.level(SECURITY.rule("cluster-logs")) == "advisory"
    assert configuration.parameters(SECURITY.rule("cluster-logs")) == {"log_types": ["api"]}


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ({"x": "strict"}, 'x: the level "strict" is not one of mandatory, advisory, remediate, disabled'),
        ({"x": 3}, "x: neither a level nor a map of parameters"),
    ],
)
def test_a_configuration_that_cannot_be_read_is_refused(written: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        parse(written)
    assert str(error.value) == said


def test_a_day_that_is_no_date_is_refused() -> None:
    with pytest.raises(ConfigurationError) as error:
        evaluate([], SECURITY, {"exemptions": {"today": "tomorrow"}})
    assert str(error.value) == 'exemptions.today is "tomorrow", which is not a date; write YYYY-MM-DD'


def test_a_stack_without_a_file_of_its_own_takes_its_environments() -> None:
    assert load("security", "my-branch", "dev") == load("security", "dev")
    assert load("security", "nowhere").levels == {}


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 70000)
    | st.floats(allow_nan=False)
    | st.text(max_size=8)
    | st.just("<unknown>")
    | st.just("<secret>"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "containers", "Statement", "Principal", "tags"]), inner, max_size=3)
    ),
    max_leaves=6,
)
PLACES = [
    (item["urn"], path)
    for item in good_stack()
    for path in [(key,) for key in item["inputs"]]
    + [(key, inner) for key, value in item["inputs"].items() if isinstance(value, dict) for inner in value]
]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(PLACES), ANYTHING)
def test_no_value_makes_a_rule_fail(place: tuple[str, tuple[str, ...]], value: Any) -> None:
    records = good_stack()
    put(next(item for item in records if item["urn"] == place[0])["inputs"], place[1], value)
    stack = resources_from(records)
    for pack in (SECURITY, COST):
        for doubt in evaluate(stack, pack, today=TODAY).could_not_judge:
            assert "made the rule fail" not in doubt.why


@pytest.mark.parametrize("pack", [SECURITY, COST], ids=["security", "cost"])
def test_the_order_of_resources_changes_nothing(pack: Pack) -> None:
    records = good_stack()
    put(records[0]["inputs"], ("tags",), {})
    there = evaluate(records, pack, today=TODAY)
    back = evaluate(records[::-1], pack, today=TODAY)
    assert sorted(map(str, there.violations)) == sorted(map(str, back.violations))
