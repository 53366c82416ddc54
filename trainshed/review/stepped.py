"""Puts the engine's own decisions over a comparison: the engine asked the providers, which no table can replace.

The engine says what happens and why; the comparison says which values differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from components.record import Record
from trainshed.review.differences import Change, component_of
from trainshed.review.engine_files import Step
from trainshed.review.values import ABSENT, Difference, at

_OPS = ("create", "update", "replace", "delete")


def stepped(
    changes: Sequence[Change], steps: Mapping[str, Step], before: Sequence[Record], after: Sequence[Record]
) -> tuple[Change, ...]:
    """The changes that the engine named; what it calls the same stays out, whatever the comparison thought."""
    compared = {each.urn: each for each in changes}
    old = {each.urn: each for each in before}
    new = {each.urn: each for each in after}
    parents = {**old, **new}
    found: list[Change] = []
    for urn, step in steps.items():
        if step.op not in _OPS or (urn not in old and urn not in new):
            continue
        resource = parents[urn]
        base = compared.get(urn) or Change(
            op="update",
            urn=urn,
            type=resource.type,
            name=resource.name,
            component=component_of(resource, parents),
            old=old.get(urn),
            new=new.get(urn),
        )
        op = step.op
        found.append(replace(base, op=op, reasons=_reasons(base, step) if op == "replace" else ()))
    return tuple(sorted(found, key=lambda each: (each.component, each.type, each.name)))


def _reasons(change: Change, step: Step) -> tuple[Difference, ...]:
    if not step.reasons:
        return change.reasons
    sides = [each.inputs if each else {} for each in (change.old, change.new)]
    reported: list[Difference] = []
    for path in step.reasons:
        exact = [
            each for each in change.differences if each.path == path or each.path.startswith((f"{path}.", f"{path}["))
        ]
        reported += exact or [
            Difference(
                path=path,
                old=at(sides[0], path) if sides[0] else ABSENT,
                new=at(sides[1], path) if sides[1] else ABSENT,
            )
        ]
    return tuple(dict.fromkeys(reported)) if all(_hashable(each) for each in reported) else tuple(reported)


def _hashable(difference: Difference) -> bool:
    return not isinstance(difference.old, dict | list) and not isinstance(difference.new, dict | list)
