"""Every rule: it passes the good stack, catches its case, and is never silent about what is absent, unknown or
of the wrong type.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from policies.cost.pack import PACK as COST_PACK
from policies.packs.evaluation import Report, evaluate
from policies.packs.pack import EXEMPTIONS_RULE, Pack
from policies.security.pack import PACK as SECURITY_PACK
from tests.policies.cases import COST, REMOVE, SECURITY, TODAY, UNKNOWN, Case
from tests.policies.good import good_stack
from tests.rows import each_row

CASES = [(SECURITY_PACK, name, case) for name, case in SECURITY.items()] + [
    (COST_PACK, name, case) for name, case in COST.items()
]
each_case = each_row(CASES)
ESTIMATE = {"monthly": {"expected": 900_000}, "delta": 900_000, "unpriced": []}


@cache
def _alone(pack: str, name: str) -> Pack:
    whole = {each.name: each for each in (SECURITY_PACK, COST_PACK)}[pack]
    return Pack(name=whole.name, version=whole.version, summary=whole.summary, own_rules=(whole.rule(name),))


def alone(pack: Pack, name: str) -> Pack:
    """The pack with one rule of its own: what the others say of a case is theirs to test."""
    return _alone(pack.name, name)


def judge(pack: Pack, name: str, case: Case, value: Any, **more: Any) -> Report:
    # A delta between two states can only be handed in.
    estimate = ESTIMATE if name == "cost-change-within-ceiling" else None
    configuration = {**case.configuration, **more}
    return evaluate(case.records(value), alone(pack, name), configuration, today=TODAY, estimate=estimate)


def verdict(report: Report, name: str) -> str:
    if any(violation.rule == name for violation in report.violations):
        return "fail"
    return "doubt" if any(doubt.rule == name for doubt in report.could_not_judge) else "pass"


def test_every_rule_has_a_case() -> None:
    assert set(SECURITY) == {rule.name for rule in SECURITY_PACK.rules} - {EXEMPTIONS_RULE.name}
    assert set(COST) == {rule.name for rule in COST_PACK.rules} - {EXEMPTIONS_RULE.name}


@pytest.mark.parametrize("pack", [SECURITY_PACK, COST_PACK], ids=["security", "cost"])
def test_the_good_stack_passes_every_rule(pack: Pack) -> None:
    report = evaluate(good_stack(), pack, today=TODAY)
    assert report.violations == ()
    assert {(doubt.rule, doubt.why) for doubt in report.could_not_judge} <= {
        ("monthly-cost-within-ceiling", "is priced by its use")
    }


@each_case
def test_a_rule_passes_the_good_stack_and_catches_its_case(pack: Pack, name: str, case: Case) -> None:
    configuration = {**case.configuration}
    before = evaluate(good_stack(), alone(pack, name), configuration, today=TODAY)
    assert not [violation for violation in before.violations if violation.rule == name]
    found = [violation for violation in judge(pack, name, case, case.bad).violations if violation.rule == name]
    assert found
    if case.subject:
        assert case.subject in {violation.urn for violation in found}


@each_case
def test_a_violation_says_what_is_wanted_how_to_fix_it_and_how_to_be_excused(pack: Pack, name: str, case: Case) -> None:
    found = [violation for violation in judge(pack, name, case, case.bad).violations if violation.rule == name]
    for violation in found:
        assert "; wanted: " in violation.message
        assert f" Fix: {pack.rule(name).fix}. Exemption: " in violation.message
        assert (
            f'{{"rule": "{name}", "urn_glob": "{violation.urn or "*"}", "reason": "...", "owner": "TEAM"'
            in violation.message
        )


WITH_VALUE = [entry for entry in CASES if entry[2].path]
each_value = each_row(WITH_VALUE)


@each_value
def test_an_absent_value_is_judged(pack: Pack, name: str, case: Case) -> None:
    assert verdict(judge(pack, name, case, REMOVE), name) == case.absent


@each_value
def test_null_is_the_same_as_absent(pack: Pack, name: str, case: Case) -> None:
    assert verdict(judge(pack, name, case, None), name) == case.absent


@each_value
def test_an_unknown_value_is_reported_as_not_judged(pack: Pack, name: str, case: Case) -> None:
    assert verdict(judge(pack, name, case, UNKNOWN), name) == case.unknown


@each_value
def test_a_value_of_the_wrong_type_never_passes(pack: Pack, name: str, case: Case) -> None:
    assert verdict(judge(pack, name, case, case.wrong_value), name) == case.wrong


@each_case
def test_an_exemption_takes_the_violation_away_and_is_reported(pack: Pack, name: str, case: Case) -> None:
    entry = {"rule": name, "urn_glob": "*", "reason": "a trial", "owner": "ml-platform", "expires": "2026-12-31"}
    report = judge(pack, name, case, case.bad, exemptions={"entries": [entry]})
    assert not [violation for violation in report.violations if violation.rule == name]
    assert name in {exemption.rule for exemption, _ in report.exemptions_used}
    assert report.exemptions_unused == ()


@each_case
def test_a_disabled_rule_says_nothing(pack: Pack, name: str, case: Case) -> None:
    report = judge(
        pack, name, case, case.bad, **{name: {**case.configuration.get(name, {}), "enforcementLevel": "disabled"}}
    )
    assert verdict(report, name) == "pass"


LEVELS = [("advisory", "advisory"), ("mandatory", "mandatory"), ("remediate", "mandatory")]


@each_row((*case, *level) for case in CASES for level in LEVELS)
def test_the_configured_level_is_the_violations_level(
    pack: Pack, name: str, case: Case, level: str, shown: str
) -> None:
    values = {**case.configuration.get(name, {}), "enforcementLevel": level}
    report = judge(pack, name, case, case.bad, **{name: values})
    assert {violation.level for violation in report.violations if violation.rule == name} == {shown}
