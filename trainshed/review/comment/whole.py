"""The review as one comment on a pull request, worst first.

It must stay under what GitHub and GitLab take, however large the change is.
"""

from __future__ import annotations

from collections.abc import Sequence

from components.problems import Problem, errors
from trainshed.review.comment import money, pools
from trainshed.review.comment.changes import change_blocks
from trainshed.review.comment.dangers import danger_block, how_to_accept, refusal_block, weaker_blocks
from trainshed.review.comment.markdown import Section, code, count, text, written
from trainshed.review.comment.policies import excused, not_judged, violations
from trainshed.review.sources import Side
from trainshed.review.tasks import TaskFinding
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
            title="Data in danger",
            blocks=[danger_block(each) for each in review.dangers],
            after=how_to_accept(review.pending),
        ),
        Section(
            title="What the services refuse, or take only so", blocks=[refusal_block(each) for each in review.refusals]
        ),
        Section(title="Tasks that do not fit", blocks=_tasks(review.tasks)),
        Section(title="Protection that gets weaker", blocks=weaker_blocks(review.weaker)),
        Section(title="Secrets that change", blocks=_secrets(review.secrets)),
        Section(title="Node pools", blocks=pools.blocks(review.rolls)),
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
            blocking.append(f"{count(len(pending), 'stateful resource')} would be {verb}, and nobody acknowledged it")
    if review.refused:
        blocking.append(f"{count(len(review.refused), 'change')} would be refused by the service")
    if review.unfit:
        blocking.append(f"{count(len({each.task for each in review.unfit}), 'task')} would no longer run")
    if review.mandatory:
        blocking.append(count(len(review.mandatory), "mandatory policy violation"))
    if blocking:
        return f"⛔ **Don't merge yet:** {'; '.join(blocking)}."
    if review.changes == () and review.secrets:
        paths = ", ".join(code(each) for each in review.secrets)
        return f"⚠️ **A secret changes:** {paths}. What that does can't be told from here."
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
        *([f"{count(len(accepted), 'acknowledged danger')}"] if accepted else []),
        *(
            [f"{count(len(review.refusals), 'change')} the service takes only under conditions"]
            if review.refusals
            else []
        ),
        *([f"{count(len(review.secrets), 'secret')} changed"] if review.secrets else []),
        *(["protection gets weaker"] if review.weaker else []),
        *([f"{count(len(moving), 'node group')} {'loses' if len(moving) == 1 else 'lose'} machines"] if moving else []),
    ]
    if attention:
        return f"⚠️ **May be merged with care:** {'; '.join(attention)}."
    created = " It is a new stack." if review.base.absent else ""
    return f"✅ **Nothing stands against it.**{created}"


def _tasks(found: Sequence[TaskFinding]) -> list[str]:
    return [f"- {'⛔' if each.new else '⚠️ before this change too:'} {_problem(each.problem)[2:]}" for each in found]


def _secrets(paths: Sequence[str]) -> list[str]:
    """Their values are never shown, and what is declared reads `<secret>` on both sides."""
    return [f"- {code(each)}: another value; nothing else of it can be told" for each in paths]


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
