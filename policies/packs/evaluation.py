"""An evaluation: a pack asked about resources, and the report of what it said.

Unknown values become doubts, values of the wrong type become violations, exemptions take violations away and are
listed, and no secret reaches a message. The engine and the offline preview both come through here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

from policies.declared.resources import Resource, Stack, resources_from
from policies.declared.values import LEFT_OUT, SECRET, SECRET_SIGNATURE, SIGNATURE, Unjudged, WrongType, shown
from policies.packs.configuration import EXEMPTIONS, Configuration, parse
from policies.packs.exemptions import SYNTAX, Exemption, Reading
from policies.packs.exemptions import read as read_exemptions
from policies.packs.pack import Pack
from policies.packs.policy_rule import Doubt, Finding, Level, Outcome, PolicyRule, Settings, Severity

# What a rule raises when it has a fault of its own: reported, so that one rule can't stop a whole preview.
_FAULTS = (TypeError, ValueError, KeyError, IndexError, AttributeError, RecursionError, ArithmeticError)


@dataclass(frozen=True, kw_only=True)
class Violation:
    """One broken rule."""

    pack: str
    rule: str
    level: Level
    severity: Severity
    urn: str
    path: str
    message: str

    def as_json(self) -> dict[str, str]:
        """An entry of the `policies` list of `trainshed preview --json`."""
        return {
            "pack": self.pack,
            "rule": self.rule,
            "level": self.level,
            "resource": self.urn,
            "message": self.message,
            "severity": self.severity,
            "property": self.path,
        }


@dataclass(frozen=True, kw_only=True)
class NotJudged:
    """One property that a rule could say nothing about."""

    pack: str
    rule: str
    urn: str
    path: str
    why: str

    def __str__(self) -> str:
        return f"{self.rule} could not be judged: {self.path or 'the resource'} {self.why}"


@dataclass(frozen=True)
class Report:
    """All that a pack said. `mandatory` decides an exit code; the rest is to be shown."""

    pack: str
    violations: tuple[Violation, ...] = ()
    could_not_judge: tuple[NotJudged, ...] = ()
    exemptions_used: tuple[tuple[Exemption, str], ...] = ()
    exemptions_unused: tuple[Exemption, ...] = ()
    exemptions_expired: tuple[Exemption, ...] = ()

    @property
    def mandatory(self) -> tuple[Violation, ...]:
        return tuple(violation for violation in self.violations if violation.level == "mandatory")


@dataclass
class Evaluator:
    """A configured pack. The adapter of the engine asks it resource by resource, `evaluate` everything at once."""

    pack: Pack
    configuration: Configuration = field(default_factory=Configuration)
    today: date | None = None
    estimate: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        self.today = self.configuration.today or self.today
        names = [rule.name for rule in self.pack.rules]
        own = read_exemptions(self.pack.exemptions, names, self.today, shipped=True)
        configured = read_exemptions(self.configuration.exemptions, names, self.today)
        self.exemptions: Reading = own + configured
        self._settings: dict[str, Settings] = {}

    def settings(self, rule: PolicyRule) -> Settings:
        if rule.name not in self._settings:
            values = self.configuration.parameters(rule)
            self._settings[rule.name] = Settings(values=values, today=self.today, estimate=self.estimate)
        return self._settings[rule.name]

    def level(self, rule: PolicyRule) -> Level:
        """The level of the rule's violations: what a remediation has not put right is mandatory."""
        level = self.configuration.level(rule)
        return "mandatory" if level == "remediate" else level

    def resource(self, resource: Resource) -> Report:
        """What the resource rules say of one resource."""
        asked = [rule for rule in self.pack.applying_to(resource.type) if self.configuration.level(rule) != "disabled"]
        return self._report((rule, resource, _outcomes(rule, resource, self.settings(rule))) for rule in asked)

    def stack(self, stack: Stack) -> Report:
        """What the stack rules say, and what is wrong with the exemptions."""
        asked = [rule for rule in self.pack.stack_rules if self.configuration.level(rule) != "disabled"]
        report = self._report((rule, None, _outcomes(rule, stack, self.settings(rule))) for rule in asked)
        doubts = tuple(_summed(report.could_not_judge))
        return Report(self.pack.name, (*report.violations, *self._faults()), doubts, report.exemptions_used)

    def _faults(self) -> Iterator[Violation]:
        rule = self.pack.rule(EXEMPTIONS)
        if self.configuration.level(rule) == "disabled":
            return
        for fault in self.exemptions.faults:
            yield self._violation(rule, "", "entries", f"{fault}. Fix: {rule.fix}.")
        for expired in self.exemptions.expired:
            if expired.shipped:
                # The rule speaks for itself again, where something breaks it.
                continue
            yield self._violation(rule, "", "entries", f"the exemption from {expired} is over. Fix: {rule.fix}.")

    def _violation(self, rule: PolicyRule, urn: str, path: str, message: str) -> Violation:
        level, severity = self.level(rule), rule.severity
        return Violation(
            pack=self.pack.name, rule=rule.name, level=level, severity=severity, urn=urn, path=path, message=message
        )

    def _report(self, judged: Iterable[tuple[PolicyRule, Resource | None, Iterable[Outcome]]]) -> Report:
        violations: list[Violation] = []
        doubts: list[NotJudged] = []
        used: list[tuple[Exemption, str]] = []
        for rule, resource, outcomes in judged:
            for outcome in outcomes:
                urn = outcome.urn or (resource.urn if resource else "")
                if isinstance(outcome, Doubt):
                    doubts.append(
                        NotJudged(pack=self.pack.name, rule=rule.name, urn=urn, path=outcome.path, why=outcome.why)
                    )
                elif excuse := next(
                    (entry for entry in self.exemptions.standing if entry.covers(rule.name, urn)), None
                ):
                    used.append((excuse, urn))
                else:
                    text = masked(message(rule, outcome, urn, resource), resource)
                    violations.append(self._violation(rule, urn, outcome.node.path, text))
        return Report(self.pack.name, tuple(violations), tuple(dict.fromkeys(doubts)), tuple(dict.fromkeys(used)))


def _summed(doubts: Iterable[NotJudged]) -> Iterator[NotJudged]:
    """One doubt a rule for all the resources that an update leaves out: `--target` leaves out hundreds."""
    left_out: dict[str, list[NotJudged]] = {}
    for doubt in doubts:
        if doubt.why == LEFT_OUT:
            left_out.setdefault(doubt.rule, []).append(doubt)
        else:
            yield doubt
    for many in left_out.values():
        first, more = many[0], len({doubt.urn for doubt in many}) - 1
        yield replace(first, why=f"{LEFT_OUT}, as are {more} more" if more else LEFT_OUT)


def _outcomes(rule: PolicyRule, subject: Resource | Stack, settings: Settings) -> Iterator[Outcome]:
    try:
        yield from rule.check(subject, settings)
    except Unjudged as doubt:
        yield Doubt(doubt.path, doubt.why)
    except WrongType as wrong:
        yield Finding(wrong.node, f"a {wrong.wanted}")
    except _FAULTS as fault:
        # Only the kind of fault is told: its text may quote a value.
        yield Doubt("", f"made the rule fail with {type(fault).__name__}")


def message(rule: PolicyRule, finding: Finding, urn: str, resource: Resource | None = None) -> str:
    """What is wrong, against what, how to put it right, and how to be excused."""
    subject = f"{finding.node.path or (resource.name if resource else 'the stack')} {shown(finding.node)}"
    excuse = SYNTAX.format(rule=rule.name, urn=urn or "*")
    return f"{subject}; wanted: {finding.wanted}. Fix: {finding.fix or rule.fix}. Exemption: {excuse}"


def masked(text: str, resource: Resource | None) -> str:
    """The message without any text that the resource holds as a secret."""
    for secret in _secrets(resource.inputs) if resource else ():
        text = text.replace(secret, SECRET)
    return text


def _secrets(value: object, inside: bool = False) -> Iterator[str]:
    if isinstance(value, Mapping):
        inside = inside or value.get(SIGNATURE) == SECRET_SIGNATURE
        for key, part in value.items():
            if key != SIGNATURE:
                yield from _secrets(part, inside)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _secrets(part, inside)
    elif inside and isinstance(value, str) and len(value) >= 4:
        yield value


def evaluate(
    records: Iterable[Mapping[str, Any]] | Stack,
    pack: Pack,
    configuration: Configuration | Mapping[str, Any] | None = None,
    *,
    today: date | None = None,
    estimate: Mapping[str, Any] | None = None,
) -> Report:
    """Asks every rule of the pack about the records of a preview.

    `today` is what exemptions and reservations are compared with (a date in the configuration comes first); `estimate`
    is the cost that the caller computed, `{"low", "expected", "high", "unpriced", "delta"}` in USD a month: without it
    the cost pack uses its own estimator.
    """
    stack = records if isinstance(records, Stack) else resources_from(records)
    settled = parse(configuration) if isinstance(configuration, Mapping) else configuration or Configuration()
    evaluator = Evaluator(pack, settled, today, estimate)
    reports = [evaluator.resource(resource) for resource in stack.resources]
    reports.append(evaluator.stack(stack))
    used = tuple(use for report in reports for use in report.exemptions_used)
    excusing = {entry for entry, _ in used}
    return Report(
        pack.name,
        tuple(violation for report in reports for violation in report.violations),
        tuple(doubt for report in reports for doubt in report.could_not_judge),
        used,
        tuple(entry for entry in evaluator.exemptions.standing if entry not in excusing and not entry.shipped),
        tuple(entry for entry in evaluator.exemptions.expired if not entry.shipped),
    )
