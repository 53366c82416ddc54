"""Node pools in the comment: what becomes of their machines, and of the jobs on them."""

from __future__ import annotations

from collections.abc import Sequence

from trainshed.review.comment.markdown import code, count, text
from trainshed.review.rolls import Roll, together


def blocks(rolls: Sequence[Roll]) -> list[str]:
    """Groups of one pool that change alike are listed together."""
    alike: dict[tuple[object, ...], list[Roll]] = {}
    for each in rolls:
        same = each.why if each.how in ("is replaced", "rolls") else ()
        alike.setdefault((each.pool, each.how, each.old_first, *same), []).append(each)
    return [_block(each) for each in alike.values()]


def _block(rolls: Sequence[Roll]) -> str:
    first = rolls[0]
    nodes, cards = together(rolls, lambda each: each.nodes), together(rolls, lambda each: each.cards)
    size = count(nodes, "node") + (f" with {cards:,} cards" if cards else "")
    groups = ", ".join(code(each.group, 80) for each in rolls[:4]) + (
        f" and {len(rolls) - 4} more" if len(rolls) > 4 else ""
    )
    said = {
        "goes": f"**goes** with up to {size}",
        "is replaced": f"**is replaced**: {size}, and the jobs on them end",
        "rolls": f"**rolls**: up to {size} get replaced{_pace(rolls)}, and a job that loses one restarts",
        "shrinks": f"**shrinks** by {size}, and the jobs on them end",
        "grows": f"grows by {size}",
        "comes": f"comes with up to {size}",
    }[first.how]
    sizes = [
        f"  - {code(each.group, 80)}: {text(each.why[0])}"
        for each in rolls
        if each.how in ("shrinks", "grows") and each.why
    ]
    why = sizes if sizes else [f"  - {text(each, 300)}" for each in first.why[:6]]
    named = "" if sizes else f" ({groups})"
    return "\n".join([f"- {code(first.pool)}{named} {said}.", *why])


def _pace(rolls: Sequence[Roll]) -> str:
    """EKS updates node groups side by side: what counts is how many machines are away at once in all of them."""
    at_once = together(rolls, lambda each: each.at_once)
    if not at_once:
        return ""
    groups = f" over {len(rolls)} node groups side by side" if len(rolls) > 1 else ""
    order = ", the old machine before the new one" if rolls[0].old_first else ""
    return f" {at_once:,} at a time{groups}{order}"
