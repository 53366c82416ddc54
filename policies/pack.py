"""A pack: rules under one name, with the rule about exemptions that every pack has.

Hides which rules apply to a type: the table is made once a type is met, so a resource is only ever shown to the rules
that can concern it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property

from policies.configuration import EXEMPTIONS
from policies.rules import Outcome, Rule, Settings, rule

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
    own_rules: tuple[Rule, ...]
    _applying: dict[str, tuple[Rule, ...]] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        return (*self.own_rules, EXEMPTIONS_RULE)

    @cached_property
    def stack_rules(self) -> tuple[Rule, ...]:
        return tuple(rule for rule in self.rules if rule.scope == "stack" and rule is not EXEMPTIONS_RULE)

    def applying_to(self, type_: str) -> tuple[Rule, ...]:
        """The resource rules for a type."""
        if type_ not in self._applying:
            self._applying[type_] = tuple(
                rule
                for rule in self.rules
                if rule.scope == "resource" and any(fnmatchcase(type_, pattern) for pattern in rule.types)
            )
        return self._applying[type_]

    def rule(self, name: str) -> Rule:
        return next(rule for rule in self.rules if rule.name == name)
