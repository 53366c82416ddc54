"""The rule of kinds: what is declared in a way that the packs can't read would pass every other rule."""

from __future__ import annotations

from collections.abc import Iterator

from policies.declared.resources import Resource
from policies.declared.types import CLOUD_CONTROL, COMMAND, DYNAMIC, NATIVE, TEMPLATES
from policies.declared.values import Node
from policies.packs.policy_rule import Finding, Outcome, Settings, rule


@rule(
    "resources-of-readable-kinds",
    types=(NATIVE, TEMPLATES, CLOUD_CONTROL, COMMAND, DYNAMIC),
    severity="high",
    says="Nothing is declared inside a template, a command or another provider, where no rule can read it.",
    fix="declare it by a type of the aws or kubernetes provider",
)
def resources_of_readable_kinds(resource: Resource, _: Settings) -> Iterator[Outcome]:
    yield Finding(Node(resource.type, "type"), "a type of the aws or kubernetes provider")
