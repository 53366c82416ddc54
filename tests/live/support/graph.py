"""Questions about a state's dependency graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def needs(resource: Mapping[str, Any]) -> set[str]:
    """What a resource depends on, by its dependencies, its provider and, for the order of deletion, nothing of
    its parent.
    """
    direct = set[str](resource.get("dependencies") or ())
    for urns in (resource.get("propertyDependencies") or {}).values():
        direct |= set(urns or ())
    return direct


def deleted_before_what_it_needs(state: Iterable[Mapping[str, Any]], deleted: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs (resource, what it needs) in which the needed one was deleted first; an empty list is the right order."""
    at = {urn: number for number, urn in enumerate(deleted)}
    return [
        (resource["urn"], needed)
        for resource in state
        if resource["urn"] in at
        for needed in needs(resource)
        if needed in at and at[needed] < at[resource["urn"]]
    ]
