"""The table of published controls is whole, current, and true of the rules that it names."""

from __future__ import annotations

from collections import Counter
from fnmatch import fnmatchcase

import pytest

from policies.cost.pack import PACK as COST
from policies.security.pack import PACK as SECURITY
from policies.tables.controls import (
    PAGE,
    ROOT,
    Control,
    Standard,
    declared_types,
    standards,
    types_without_controls,
    written,
)

RULES = {rule.name: rule for pack in (SECURITY, COST) for rule in pack.rules}
EVERY = [(standard, control) for standard in standards() for control in standard.controls]
each_control = pytest.mark.parametrize("control", [each for _, each in EVERY], ids=lambda each: each.id)
each_standard = pytest.mark.parametrize("standard", standards(), ids=lambda each: each.name)


def claimed(standard: Standard, id_: str) -> str:
    """How rules write the id of a control of this standard."""
    return f"CIS-EKS {id_}" if standard.name.startswith("CIS") else id_


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == written(), "run python -m policies.tables.controls"


@each_standard
def test_no_control_is_listed_twice(standard: Standard) -> None:
    ids = [control.id for control in standard.controls] + list(standard.accounts)
    assert [id_ for id_, count in Counter(ids).items() if count > 1] == []


@each_standard
def test_each_standard_names_its_source_and_the_day_it_was_read(standard: Standard) -> None:
    assert standard.source
    assert standard.read.startswith("20")


@each_control
def test_a_control_is_held_by_rules_that_read_what_it_touches_or_says_why_not(control: Control) -> None:
    assert set(control.rules) <= set(RULES)
    assert bool(control.rules) is (control.held == "rule")
    assert control.rules or control.why
    for name in control.rules:
        patterns = RULES[name].types
        assert any(
            fnmatchcase(touched, pattern) or fnmatchcase(pattern, touched)
            for touched in control.types
            for pattern in patterns
        ), f"{name} reads nothing that the control touches"


@each_control
def test_what_a_reason_names_exists(control: Control) -> None:
    paths = [word.strip(".,;:") for word in control.why.split() if word.startswith(("components/", "docs/"))]
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_every_declared_type_is_touched_or_says_why_not() -> None:
    touched = {type_ for _, control in EVERY for type_ in control.types if type_.startswith("aws:")}
    assert declared_types() - touched - set(types_without_controls()) == set()
    assert set(types_without_controls()) <= declared_types()
    # A type that is not declared may stand there where a rule refuses it.
    assert touched - declared_types() <= {type_ for rule in RULES.values() for type_ in rule.types}
    assert touched & set(types_without_controls()) == set()


def test_a_rule_that_names_a_control_stands_in_its_row() -> None:
    rows = {claimed(standard, control.id): control for standard in standards() for control in standard.controls}
    wrong = [
        (rule.name, id_)
        for rule in RULES.values()
        for id_ in rule.ids
        if id_ in rows and rule.name not in rows[id_].rules
    ]
    assert wrong == []
    # An id of the benchmark that isn't in the table would be one that the benchmark doesn't have.
    benchmark = {id_ for rule in RULES.values() for id_ in rule.ids if id_.startswith("CIS-EKS ")}
    assert benchmark <= set(rows)
