"""The folded diff: every change by component, with alike changes listed once.

One edited tag touches every resource, and a reviewer wants to read that as one line.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from trainshed.review.comment.markdown import code
from trainshed.review.differences import OPS, Change
from trainshed.review.values import Difference, shown

_MOST_LINES = 25


def change_blocks(changes: Sequence[Change]) -> list[str]:
    """Blocks of the components in the order of their names; a component's worst changes first."""
    blocks: list[str] = []
    ordered = sorted(
        changes, key=lambda each: (each.component, OPS.index(each.op), _holder(each), each.type, each.name)
    )
    for component, found in groupby(ordered, key=lambda each: each.component):
        of = list(found)
        blocks.append(f"\n**{code(component)}** ({len(of):,})\n")
        blocks += _alike(of)
    return blocks


def _holder(change: Change) -> bool:
    """Components after real resources, but before them among updates: they say it in the stack file's words."""
    return change.either.custom


def _alike(changes: Sequence[Change]) -> list[str]:
    groups: dict[tuple[str, tuple[str, ...]], list[Change]] = {}
    for each in changes:
        key = (each.op, tuple(_line(difference) for difference in each.differences))
        # Creations and deletions have no differences: alike are those of one type.
        groups.setdefault(key if each.differences else (f"{each.op} {each.type} {each.renamed_from}", ()), []).append(
            each
        )
    return [_block(found) for found in groups.values()]


def _block(changes: Sequence[Change]) -> str:
    first = changes[0]
    if len(changes) == 1:
        renamed = f", renamed from {code(first.renamed_from.rsplit('::', 1)[-1])}" if first.renamed_from else ""
        head = f"- **{first.op}** {first.short_type} {code(first.name)}{renamed}"
    else:
        kinds = sorted({each.short_type for each in changes})
        names = ", ".join(code(each.name, 80) for each in changes[:6]) + (
            f" and {len(changes) - 6:,} more" if len(changes) > 6 else ""
        )
        head = f"- **{first.op}** {len(changes):,} of {', '.join(kinds[:4])}{' …' if len(kinds) > 4 else ''}: {names}"
    causes = {each.path for each in first.reasons}
    lines = [
        f"  - {_line(each)}{' **(replaces it)**' if each.path in causes else ''}"
        for each in first.differences[:_MOST_LINES]
    ]
    more = (
        [f"  - … and {len(first.differences) - _MOST_LINES:,} more values"]
        if len(first.differences) > _MOST_LINES
        else []
    )
    return "\n".join([head, *lines, *more])


def _line(difference: Difference) -> str:
    return f"{code(difference.path)}: {code(shown(difference.old))} → {code(shown(difference.new))}"
