"""The URNs under which the engine looks for a resource that has none under its own: its aliases and its parents'.

A child inherits each alias of its parent: under the old parent, and with the old parent's name in its own where its
name begins with the parent's (pulumi/pulumi, `inheritedChildAlias`).
"""

from __future__ import annotations

from collections.abc import Mapping

from components.record import STACK_TYPE, Record


def former_urns(record: Record, after: Mapping[str, Record]) -> list[str]:
    """URNs of the same resource before, nearest first; `after` holds the new state by URN."""
    found = list(_own(record))
    parent = after.get(record.parent)
    if parent is not None:
        for above in former_urns(parent, after):
            names = [record.name, *(each.rsplit("::", 1)[-1] for each in _own(record))]
            found += [_under(above, record, _renamed(name, parent.name, above)) for name in names]
    return list(dict.fromkeys(found))


def _own(record: Record) -> list[str]:
    """A URN as it is; a name means the same type under the same parent."""
    head = record.urn.rsplit("::", 1)[0]
    return [each if each.startswith("urn:") else f"{head}::{each}" for each in record.aliases]


def _renamed(name: str, parent: str, above: str) -> str:
    old = above.rsplit("::", 1)[-1]
    return f"{old}{name[len(parent) :]}" if name.startswith(parent) else name


def _under(above: str, record: Record, name: str) -> str:
    head, project, chain, _ = above.split("::", 3)
    qualified = record.type if chain == STACK_TYPE else f"{chain}${record.type}"
    return f"{head}::{project}::{qualified}::{name}"
