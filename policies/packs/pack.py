"""A pack: rules under one name, with the rule about exemptions that every pack has.

Which rules apply to a type is worked out once for each type, so a resource is only shown to the rules that can
concern it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property

from policies.packs.configuration import EXEMPTIONS
from policies.packs.policy_rule import Outcome, PolicyRule, Settings, rule

ENTRY = {
    "type": "object",
    "properties": {key: {"type": "string"} for key in ("rule", "urn_glob", "reason", "owner", "expires")},
}


def _nothing(_: object, __: Settings) -> Iterable[Outcome]:
    """The evaluator reads the entries for all rules and reports what is wrong with them under this rule's name."""
    return ()


EXEMPTIONS_RULE = rule(
    EXEMPTIONS,
    types=(),
    scope="stack",
    severity="high",
    says="Every exemption names its rule, resources, reason, owner and end, and has not expired.",
    fix="complete the entry, extend its date with the owner's word, or remove it together with what it excused",
    parameters={
        "entries": {
            "type": "array",
            "items": ENTRY,
            "default": [],
            "description": "{rule, urn_glob, reason, owner, expires} each",
        },
        "today": {
            "type": "string",
            "default": "",
            "description": "the date that entries and reservations are compared with",
        },
    },
)(_nothing)


@dataclass(frozen=True)
class Pack:
    """A named set of rules."""

    name: str
    version: str
    summary: str
    own_rules: tuple[PolicyRule, ...]
    # Entries that hold wherever the pack runs: what is right about the project's own resources and breaks a rule.
    exemptions: tuple[Mapping[str, str], ...] = ()
    _applying: dict[str, tuple[PolicyRule, ...]] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def rules(self) -> tuple[PolicyRule, ...]:
        return (*self.own_rules, EXEMPTIONS_RULE)

    @cached_property
    def stack_rules(self) -> tuple[PolicyRule, ...]:
        return tuple(rule for rule in self.rules if rule.scope == "stack" and rule is not EXEMPTIONS_RULE)

    def applying_to(self, type_: str) -> tuple[PolicyRule, ...]:
        """The resource rules for a type."""
        if type_ not in self._applying:
            self._applying[type_] = tuple(
                rule
                for rule in self.rules
                if rule.scope == "resource" and any(fnmatchcase(type_, pattern) for pattern in rule.types)
            )
        return self._applying[type_]

    def rule(self, name: str) -> PolicyRule:
        return next(rule for rule in self.rules if rule.name == name)
