"""The review as one comment on a pull request, worst first.

Hides its order and its words, and that it stays under what GitHub and GitLab take, however large the change is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trainshed.review.comment_changes import change_blocks
from trainshed.review.comment_policies import excused, not_judged, violations
from trainshed.review.danger import Danger
from trainshed.review.markdown import Section, code, text, written
from trainshed.review.money import Money
from trainshed.review.rolls import Roll
from trainshed.review.sources import Side
from trainshed.review.values import Difference, shown
from trainshed.review.verdict import Review

LIMIT = 59_000  # under 60,000 characters with room for what a CI puts around it; GitHub takes 65,536


def marker(stack: str) -> str:
    """By this line the CI finds the comment that it wrote before."""
    return f"<!-- trainshed-review: {''.join(each for each in stack if each.isalnum() or each in '-_.')} -->"


def comment(review: Review) -> str:
    """Markdown that always ends with one line feed."""
    sections = [
        Section(title="The preview fails", blocks=_broken(review)),
        Section(
            title="Data in danger", blocks=[_danger(each) for each in review.dangers], after=_how_to_accept(review)
        ),
        Section(title="Protection that gets weaker", blocks=_weaker(review)),
        Section(title="Node pools", blocks=_pools(review.rolls)),
        Section(title="Cost a month", blocks=_money(review.money)),
        *violations(review.violations),
        Section(title="Warnings of the stack file", blocks=_warnings(review.head)),
        not_judged(review.unjudged),
        excused(review.exempted, review.acknowledged, review.unused),
        Section(
            title="Every change, by component", blocks=change_blocks(review.changes or ()), folded=True, most=LIMIT
        ),
    ]
    return written(_head(review), sections, _foot(review), LIMIT) + "\n"


def _head(review: Review) -> str:
    found = review.counts
    verdict = _verdict(review)
    numbers = ", ".join(f"{found[op]:,} to {op}" for op in ("create", "update", "replace", "delete") if found[op])
    said = [marker(review.stack), f"## Trainshed review of {code(review.stack)}", "", verdict, ""]
    said.append(f"{code(review.base.label)} → {code(review.head.label)}" + (f": {numbers}" if numbers else ""))
    said += [f"\n> {text(each)}" for each in review.notes]
    return "\n".join(said)


def _verdict(review: Review) -> str:
    blocking: list[str] = []
    if review.head.broken or review.base.broken:
        blocking.append(
            "the preview fails" if review.head.broken else f"the base {code(review.base.label)} can't be previewed"
        )
    for kind, verb in (("review-deletes", "deleted"), ("review-replaces", "replaced")):
        pending = [each for each in review.pending if each.kind == kind]
        if pending:
            blocking.append(f"{_count(len(pending), 'stateful resource')} would be {verb}, and nobody acknowledged it")
    if review.mandatory:
        blocking.append(_count(len(review.mandatory), "mandatory policy violation"))
    if blocking:
        return f"⛔ **Don't merge yet:** {'; '.join(blocking)}."
    if review.changes == ():
        return "✅ **Nothing changes.**"
    if review.head.absent:
        return (
            "⚠️ **The stack file is gone.** Nothing is deleted by that alone: `pulumi destroy` deletes what the stack"
            " holds."
        )
    accepted = [each for each in review.dangers if each.acknowledged]
    moving = [each for each in review.rolls if each.how in ("goes", "is replaced", "rolls", "shrinks")]
    attention = [
        *([f"{_count(len(accepted), 'acknowledged danger')}"] if accepted else []),
        *(["protection gets weaker"] if review.weaker else []),
        *(
            [f"{_count(len(moving), 'node group')} {'loses' if len(moving) == 1 else 'lose'} machines"]
            if moving
            else []
        ),
    ]
    if attention:
        return f"⚠️ **May be merged with care:** {'; '.join(attention)}."
    created = " It is a new stack." if review.base.absent else ""
    return f"✅ **Nothing stands against it.**{created}"


def _count(number: int, noun: str) -> str:
    return (
        f"{number:,} {noun}"
        if number == 1
        else f"{number:,} {noun[:-1]}ies"
        if noun.endswith("y")
        else f"{number:,} {noun}s"
    )


def _broken(review: Review) -> list[str]:
    blocks: list[str] = []
    for side in (review.head, review.base):
        if not side.broken:
            continue
        found = [each for each in side.problems if each["severity"] == "error"]
        blocks.append(f"**{code(side.label)}**: nothing can be said of what changes until this is put right.")
        blocks += [_problem(each) for each in found]
        if side.failure:
            blocks.append("\n".join(f"    {line[:300]}" for line in side.failure.split("\n")))
    return blocks


def _problem(problem: Mapping[str, Any]) -> str:
    spot = f"{problem.get('file')}:{problem.get('line')}"
    place = f"{code(spot)} " if problem.get("file") and problem.get("line") else ""
    hint = f" **{text(problem['hint'])}**" if problem.get("hint") else ""
    path = f"{code(problem['path'])}: " if problem.get("path") else ""
    return f"- {place}{path}{text(problem['said'])};{hint}" if hint else f"- {place}{path}{text(problem['said'])}"


def _warnings(side: Side) -> list[str]:
    return [_problem(each) for each in side.problems if each["severity"] == "warning"]


def _danger(danger: Danger) -> str:
    verb = "replaced" if danger.kind == "review-replaces" else "deleted"
    mark = "⚠️" if danger.acknowledged or danger.retained else "⛔"
    lines = [f"- {mark} {danger.noun} {code(danger.name)} would be **{verb}**: {danger.lost} would be lost."]
    if danger.retained:
        lines = [
            (
                f"- {mark} {danger.noun} {code(danger.name)} would leave the stack but **stay in the account**, billed "
                "and no longer managed."
            )
        ]
    lines += [f"  - {_difference(each)}" for each in danger.reasons[:8]]
    keeps = [
        "the engine refuses as long as it is protected" if danger.protected else "it is **not protected**",
        *danger.keeps,
    ]
    lines.append(f"  - {'; '.join(keeps)}")
    if danger.acknowledged:
        lines.append(f"  - acknowledged: {text(danger.acknowledged)}")
    return "\n".join(lines)


def _how_to_accept(review: Review) -> str:
    if not review.pending:
        return ""
    rows = [
        f'    - {{id: {each.kind}, path: {each.name}, reason: "why this may happen"}}' for each in review.pending[:10]
    ]
    more = ["    # … and so on for the others above"] if len(review.pending) > 10 else []
    first = "Whoever means it acknowledges it in the stack file, for this change only:"
    return "\n".join(["", first, "```yaml", "  trainshed:acknowledged:", *rows, *more, "```"])


def _difference(difference: Difference) -> str:
    return f"{code(difference.path)}: {code(shown(difference.old))} → {code(shown(difference.new))}"


def _weaker(review: Review) -> list[str]:
    """One block for all that lose the same: one switch in the stack file takes the protection of many."""
    alike: dict[tuple[str, str], list[str]] = {}
    for each in review.weaker:
        alike.setdefault((_difference(each.difference), each.means), []).append(
            f"{each.type.rsplit(':', 1)[-1]} {code(each.name, 80)}"
        )
    return [f"- {difference}: {text(means)}. On {_some(names)}." for (difference, means), names in alike.items()]


def _some(names: Sequence[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")


def _pools(rolls: Sequence[Roll]) -> list[str]:
    """Groups of one pool that fare alike are told together."""
    alike: dict[tuple[str, ...], list[Roll]] = {}
    for each in rolls:
        same = each.why if each.how in ("is replaced", "rolls") else ()
        alike.setdefault((each.pool, each.how, each.slowly, *same), []).append(each)
    return [_roll(each) for each in alike.values()]


def _roll(rolls: Sequence[Roll]) -> str:
    first = rolls[0]
    nodes, cards = sum(each.nodes for each in rolls), sum(each.cards for each in rolls)
    size = _count(nodes, "node") + (f" with {cards:,} cards" if cards else "")
    groups = ", ".join(code(each.group, 80) for each in rolls[:4]) + (
        f" and {len(rolls) - 4} more" if len(rolls) > 4 else ""
    )
    said = {
        "goes": f"**goes** with up to {size}",
        "is replaced": f"**is replaced**: {size}, and the jobs on them end",
        "rolls": (
            f"**rolls**: up to {size} get replaced{f' {first.slowly}' if first.slowly else ''}, and a job that loses"
            " one restarts"
        ),
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


def _money(money: Money) -> list[str]:
    rows = ["| USD | low | expected | high |", "|---|--:|--:|--:|"]
    for label, side in (("before", money.before), ("after", money.after)):
        rows.append(
            f"| {label} | "
            + " | ".join(f"{side[key]:,.0f}" if side else "unknown" for key in ("low", "expected", "high"))
            + " |"
        )
    delta = money.delta
    if delta and not money.complete:
        rows.append("| **change** | **not known** | **not known** | **not known** |")
    elif delta:
        rows.append(
            "| **change** | " + " | ".join(f"**{_signed(delta[key])}**" for key in ("low", "expected", "high")) + " |"
        )
    blocks = [
        "\n".join(rows),
        f"\nCards: {_cards(money)}. Prices as of {money.prices_as_of}, before discounts and taxes.",
    ]
    if not money.complete:
        missing = _count(len(money.unpriced_new), "thing")
        blocks.append(
            f"\n⚠️ This change brings {missing} without a known price (see below): the sum after it leaves them out."
        )
    if money.drivers:
        blocks.append("\nWhere it comes from:")
    for each in money.drivers:
        after = "not known" if each.unpriced else f"{each.after:,.0f}"
        change = "not known" if each.unpriced else _signed(each.delta)
        lines = [f"- {code(each.component)} **{change}** ({each.before:,.0f} → {after})"]
        blocks.append("\n".join([*lines, *(f"  - {text(line, 240)}" for line in each.lines)]))
    if money.commitments:
        blocks.append("\nNew commitments, owed whether used or not:")
        blocks += [f"- {text(_commitment(each), 300)}" for each in money.commitments]
    if money.unpriced:
        blocks.append("\nNot in the sums, because no price is known:")
        blocks += [f"- {'**new** ' if each in money.unpriced_new else ''}{text(each, 300)}" for each in money.unpriced]
    return blocks


def _commitment(commitment: Mapping[str, Any]) -> str:
    return f"{commitment['what']}: {commitment['said']}"


def _signed(amount: float) -> str:
    # Cents would only look exact; what rounds to nothing is no change.
    return f"{amount:+,.0f}" if abs(amount) >= 0.5 else "0"


def _cards(money: Money) -> str:
    before, after = money.cards_before, money.cards_after
    if before is None or after is None:
        known = after if after is not None else before
        return "unknown" if known is None else f"{known:,}"
    if before == after:
        return f"{after:,}, as before"
    return f"{before:,} → {after:,} ({_signed(after - before)})"


def _foot(review: Review) -> str:
    ways = "the engine's own files" if review.head.known or review.head.steps else "an offline preview of both"
    notes: Sequence[str] = [f"Made by `trainshed review` from {ways}; the comment is replaced when the change is."]
    if not (review.head.known or review.head.steps):
        notes = [
            *notes,
            (
                "What replaces a resource is read from the providers' published schemas; `pulumi preview` has the last"
                " word."
            ),
        ]
    return f"\n<sub>{' '.join(notes)}</sub>"
