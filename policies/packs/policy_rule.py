"""A policy rule: one thing that must hold of a resource or of the whole stack, and all that a reader of its violation
needs.

A rule is data around a plain function, so the engine, the preview and the tests ask it in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from types import MappingProxyType, ModuleType
from typing import Any, Literal, TypeVar

from policies.declared.resources import Resource
from policies.declared.values import ABSENT, LEFT_OUT, SIGNATURE, Node, Unjudged, WrongType

T = TypeVar("T")
Severity = Literal["critical", "high", "medium", "low"]
Level = Literal["mandatory", "advisory", "remediate", "disabled"]
Scope = Literal["resource", "stack"]
SEVERITIES: tuple[Severity, ...] = ("critical", "high", "medium", "low")
LEVELS: tuple[Level, ...] = ("mandatory", "advisory", "remediate", "disabled")


@dataclass(frozen=True)
class Finding:
    """What a rule found: the value, and what was wanted instead. A stack rule names the resource it means."""

    node: Node
    wanted: str
    urn: str = ""
    fix: str = ""


@dataclass(frozen=True)
class Doubt:
    """A property that a rule could not judge."""

    path: str
    why: str
    urn: str = ""


Outcome = Finding | Doubt


@dataclass(frozen=True, kw_only=True)
class Settings:
    """A rule's parameters (its schema's defaults under the configured values), today's date, and what the caller
    estimated.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    today: date | None = None
    estimate: Mapping[str, Any] | None = None

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    def require_today(self) -> date:
        if self.today is None:
            raise Unjudged("today", "was not given, so dates can't be compared")
        return self.today


Check = Callable[[Any, Settings], Iterable[Outcome]]
Remedy = Callable[[dict[str, Any]], bool]


@dataclass(frozen=True, kw_only=True)
class PolicyRule:
    """One rule. `types` are type tokens or patterns of them; a stack rule lists those it reads."""

    name: str
    summary: str
    fix: str
    severity: Severity
    level: Level
    types: tuple[str, ...]
    check: Check
    scope: Scope = "resource"
    ids: tuple[str, ...] = ()
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    # Corrects the inputs in place and says whether it changed any; only where one right value exists.
    remedy: Remedy | None = None

    def defaults(self) -> dict[str, Any]:
        return {name: schema["default"] for name, schema in self.parameters.items() if "default" in schema}


def rule(
    name: str,
    *,
    types: tuple[str, ...],
    says: str,
    fix: str,
    severity: Severity,
    ids: tuple[str, ...] = (),
    level: Level | None = None,
    scope: Scope = "resource",
    parameters: Mapping[str, Mapping[str, Any]] | None = None,
    remedy: Remedy | None = None,
) -> Callable[[Check], PolicyRule]:
    """Makes a rule of a check function. Without a level, critical and high rules are mandatory and the others
    advisory.
    """

    def declare(check: Check) -> PolicyRule:
        return PolicyRule(
            name=name,
            summary=says,
            fix=fix,
            severity=severity,
            level=level or ("mandatory" if severity in ("critical", "high") else "advisory"),
            types=types,
            check=check,
            scope=scope,
            ids=ids,
            parameters=MappingProxyType(dict(parameters or {})),
            remedy=remedy,
        )

    return declare


def rules_of(*modules: ModuleType) -> tuple[PolicyRule, ...]:
    """The rules that modules declare, in the order in which they stand there."""
    return tuple(value for module in modules for value in vars(module).values() if isinstance(value, PolicyRule))


def each(things: Iterable[T], check: Callable[[T], Iterable[Outcome]], *, urn: str = "") -> Iterator[Outcome]:
    """Checks each thing on its own, so that one that is unknown or of the wrong type doesn't stop the others.

    Outcomes that name no resource are about `urn`.
    """
    for thing in things:
        try:
            for outcome in check(thing):
                yield replace(outcome, urn=urn) if urn and not outcome.urn else outcome
        except Unjudged as doubt:
            yield Doubt(doubt.path, doubt.why, urn)
        except WrongType as wrong:
            yield Finding(wrong.node, f"a {wrong.wanted}", urn)


def each_resource(resources: Iterable[Resource], check: Callable[[Resource], Iterable[Outcome]]) -> Iterator[Outcome]:
    """As `each`, for stack rules. A resource that the update leaves out has no properties: it is a doubt."""
    for resource in resources:
        if resource.left_out:
            yield Doubt("", LEFT_OUT, resource.urn)
        else:
            yield from each([resource], check, urn=resource.urn)


def missing(path: str) -> Node:
    """A node for what a stack lacks."""
    return Node(ABSENT, path)


def editable(inputs: dict[str, Any], key: str) -> dict[str, Any] | None:
    """The map under a key of the inputs as the engine sends them, made where it is missing.

    None where it is unknown, secret or of another type.
    """
    if inputs.get(key) is None:
        inputs[key] = {}
    return inputs[key] if _is_plain_map(inputs[key]) else None


def editable_elements(inputs: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """The maps of a list in the inputs as the engine sends them, without those that are unknown or secret."""
    listed = inputs.get(key)
    return [element for element in listed if _is_plain_map(element)] if isinstance(listed, list) else []


def _is_plain_map(value: object) -> bool:
    return isinstance(value, dict) and SIGNATURE not in value
