"""The review as one comment on a pull request, worst first.

Hides its order and its words, and that it stays under what GitHub and GitLab take, however large the change is.
"""

from __future__ import annotations

from collections.abc import Sequence

from components.problems import Problem, errors
from trainshed.review.comment import money
from trainshed.review.comment.changes import change_blocks
from trainshed.review.comment.markdown import Section, code, text, written
from trainshed.review.comment.policies import excused, not_judged, violations
from trainshed.review.danger import Danger
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
        *money.sections(review.money),
        *violations(review.findings),
        Section(title="Warnings of the stack file", blocks=_warnings(review.head)),
        not_judged(review.verdict.unjudged),
        excused(review.verdict.exempted, review.acknowledged, review.unused),
        Section(
            title="Every change, by component", blocks=change_blocks(review.changes or ()), folded=True, most=LIMIT
        ),
    ]
    return written(_head(review), sections, _foot(review), LIMIT) + "\n"


def _head(review: Review) -> str:
    found = review.counts
    cost = money.headline(review.money)
    verdict = _verdict(review) + (f" Cost: {cost}." if cost else "")
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
        found = errors(side.problems)
        blocks.append(f"**{code(side.label)}**: nothing can be said of what changes until this is put right.")
        blocks += [_problem(each) for each in found]
        if side.failure:
            blocks.append("\n".join(f"    {line[:300]}" for line in side.failure.split("\n")))
    return blocks


def _problem(problem: Problem) -> str:
    place = f"{code(f'{problem.where.file}:{problem.where.line}')} " if problem.where else ""
    path = f"{code(problem.path)}: " if problem.path else ""
    hint = f"; **{text(problem.hint)}**" if problem.hint else ""
    return f"- {place}{path}{text(problem.said)}{hint}"


def _warnings(side: Side) -> list[str]:
    return [_problem(each) for each in side.problems if each.severity == "warning"]


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
