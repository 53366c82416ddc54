"""A review: two sides of a stack, what lies between them, and whether the change may pass.

A side that can't be previewed leaves out what needs it: there are no changes, no dangers and no cost of it then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from components import catalog
from components.catalog import Catalog
from components.planning.cost.estimate import Estimate, Monthly, estimate
from components.spec.stack import StackSpec
from infra.settings import from_file
from policies.packs.evaluation import NotJudged, Violation
from trainshed.preview.policies import Verdict, doubt_as_json, policy_verdict
from trainshed.review.danger import Acknowledgement, Danger, Weaker, dangers, unused, weaker
from trainshed.review.differences import Change, compare, counts
from trainshed.review.engine_files import Step
from trainshed.review.money import Money, drivers
from trainshed.review.refusals import Refusal, refusals
from trainshed.review.rolls import Roll, cards, rolls
from trainshed.review.sources import Side, secrets_changed
from trainshed.review.stepped import stepped
from trainshed.review.tasks import TaskFinding, task_findings

DELTA_RULE = "cost-change-within-ceiling"
_WHY_NOT = "leaves out what this change adds without a known price"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A violation of the head; `new` says whether the base had it not (None where nobody could ask there)."""

    violation: Violation
    new: bool | None

    @property
    def mandatory(self) -> bool:
        return self.violation.level == "mandatory"

    def as_json(self) -> dict[str, Any]:
        return {**self.violation.as_json(), "new": self.new}


@dataclass(frozen=True, kw_only=True)
class Review:
    """Everything that the comment says."""

    stack: str
    base: Side
    head: Side
    changes: tuple[Change, ...] | None
    dangers: tuple[Danger, ...]
    weaker: tuple[Weaker, ...]
    rolls: tuple[Roll, ...]
    refusals: tuple[Refusal, ...]
    tasks: tuple[TaskFinding, ...]
    secrets: tuple[str, ...]
    money: Money
    findings: tuple[Finding, ...]
    verdict: Verdict
    acknowledged: tuple[Acknowledgement, ...]
    unused: tuple[Acknowledgement, ...]
    notes: tuple[str, ...]

    @property
    def mandatory(self) -> tuple[Finding, ...]:
        return tuple(each for each in self.findings if each.mandatory)

    @property
    def pending(self) -> tuple[Danger, ...]:
        """Dangers that nobody acknowledged. What stays in the account when the stack lets go of it isn't lost."""
        return tuple(each for each in self.dangers if not each.acknowledged and not each.retained)

    @property
    def refused(self) -> tuple[Refusal, ...]:
        """What the services surely don't do."""
        return tuple(each for each in self.refusals if each.certain)

    @property
    def unfit(self) -> tuple[TaskFinding, ...]:
        """Tasks that this change breaks."""
        return tuple(each for each in self.tasks if each.new)

    @property
    def passes(self) -> bool:
        broken = self.head.broken or self.base.broken
        return not (self.mandatory or self.pending or self.refused or self.unfit or broken)

    @property
    def exit_code(self) -> int:
        return 0 if self.passes else 1

    @property
    def counts(self) -> dict[str, int]:
        return counts(self.changes or ())

    def as_json(self) -> dict[str, Any]:
        return {
            "stack": self.stack,
            "base": _side(self.base),
            "head": _side(self.head),
            "passes": self.passes,
            "exit_code": self.exit_code,
            "counts": self.counts,
            "dangers": [each.as_json() for each in self.dangers],
            "weaker_protection": [each.as_json() for each in self.weaker],
            "pools": [each.as_json() for each in self.rolls],
            "refusals": [each.as_json() for each in self.refusals],
            "tasks": [each.as_json() for each in self.tasks],
            "secrets_changed": list(self.secrets),
            "cost": self.money.as_json(),
            "policies": [each.as_json() for each in self.findings],
            "policies_unjudged": [doubt_as_json(each) for each in self.verdict.unjudged],
            "policies_exempted": [each.as_json() for each in self.verdict.exempted],
            "acknowledged": [each.as_json() for each in self.acknowledged],
            "acknowledged_unused": [each.as_json() for each in self.unused],
            "notes": list(self.notes),
            "changes": None if self.changes is None else [each.as_json() for each in self.changes],
        }


def _side(side: Side) -> dict[str, Any]:
    return {
        "label": side.label,
        "exists": not side.absent,
        "resources": len(side.resources),
        "problems": [each.as_json() for each in side.problems],
        "failure": side.failure,
    }


def review(
    stack: str, base: Side, head: Side, *, notes: Sequence[str] = (), steps: Mapping[str, Step] | None = None
) -> Review:
    """Put the two sides together; `steps` are an engine's own decisions about the same two states."""
    cat = catalog.load()
    whole = not (base.broken or head.broken)
    changes = None
    if whole:
        changes = compare(base.resources, head.resources, comparable=base.known == head.known)
        if steps:
            changes = stepped(changes, steps, base.resources, head.resources)
    accepted = _accepted(head, base)
    found = dangers(changes or (), accepted)
    money = _money(base, head, cat, {each.renamed_from: each.urn for each in changes or () if each.renamed_from})
    verdict = _judged(stack, head, money)
    return Review(
        stack=stack,
        base=base,
        head=head,
        changes=changes,
        dangers=found,
        weaker=weaker(changes or ()),
        rolls=rolls(changes, head.resources, cat) if changes is not None else (),
        refusals=refusals(changes, head.resources) if changes is not None else (),
        tasks=task_findings(base, head, _spec(base, cat), _spec(head, cat), cat) if whole else (),
        secrets=secrets_changed(base.settings, head.settings),
        money=money,
        findings=_marked(verdict.violations, _known_before(stack, base)),
        verdict=verdict,
        acknowledged=accepted,
        unused=unused(accepted, found) if changes is not None else (),
        notes=tuple(notes),
    )


def _accepted(head: Side, base: Side) -> tuple[Acknowledgement, ...]:
    """The stack file's acknowledgements of what a review finds, in the file's order."""
    before = {(each.get("id"), each.get("path"), each.get("reason")) for each in _written(base)}
    return tuple(
        Acknowledgement(
            id=str(each["id"]),
            path=str(each["path"]),
            reason=str(each["reason"]),
            old=(each["id"], each["path"], each["reason"]) in before,
        )
        for each in _written(head)
        if str(each.get("id", "")).startswith("review-") and each.get("path") and str(each.get("reason") or "").strip()
    )


def _written(side: Side) -> list[Mapping[str, Any]]:
    written = (side.settings or {}).get("trainshed:acknowledged")
    return (
        [cast("Mapping[str, Any]", each) for each in cast("list[object]", written) if isinstance(each, Mapping)]
        if isinstance(written, list)
        else []
    )


def _money(base: Side, head: Side, cat: Catalog, renamed: Mapping[str, str]) -> Money:
    old = None if base.broken else _priced(base, cat)
    new = None if head.broken else _priced(head, cat)
    both = (*base.resources, *head.resources)
    spec = _spec(head, cat)
    return Money(
        before=old,
        after=new,
        drivers=drivers(old, new, both, renamed=renamed) if old and new else (),
        prices_as_of=cat.prices.as_of.isoformat(),
        cards_before=None if base.broken else cards(base.resources, cat),
        cards_after=None if head.broken else cards(head.resources, cat),
        budget=float(spec.budget.monthly_usd) if spec and spec.budget else None,
    )


def _priced(side: Side, cat: Catalog) -> Estimate:
    spec = _spec(side, cat)
    return estimate(side.resources, spec, cat, region=None if spec else _region(side))


def _spec(side: Side, cat: Catalog) -> StackSpec | None:
    """The stack as today's code reads it; older files that it can't read are priced by their resources alone."""
    if side.stack_file is None or not side.stack_file.is_file():
        return None
    return from_file(str(side.stack_file), cat).stack


def _region(side: Side) -> str | None:
    written = (side.settings or {}).get("aws:region")
    declared = (each.inputs.get("region") for each in side.resources if each.type == "pulumi:providers:aws")
    return str(written) if written else next((str(each) for each in declared if each), None)


def _judged(stack: str, head: Side, money: Money) -> Verdict:
    """The head's own verdict, and this one's on what only a review knows: the difference in cost."""
    if head.broken or money.after is None:
        return Verdict()
    environment = str((head.settings or {}).get("trainshed:environment") or stack)
    found = policy_verdict(
        head.resources,
        stack=stack,
        environment=environment,
        monthly=money.after.monthly,
        unpriced=money.after.without_price,
        delta=money.delta.expected if money.delta else None,
    )
    # A rise that can't be priced must not pass the ceiling as a saving.
    doubt = NotJudged(pack="cost", rule=DELTA_RULE, urn="", path="delta", why=_WHY_NOT)
    doubts = (doubt,) if money.unpriced_new else ()
    own = head.verdict
    if own is None:
        return Verdict(violations=found.violations, unjudged=(*found.unjudged, *doubts), exempted=found.exempted)
    return Verdict(
        violations=(
            *(each for each in own.violations if each.rule != DELTA_RULE),
            *(each for each in found.violations if each.rule == DELTA_RULE),
        ),
        unjudged=(*own.unjudged, *doubts),
        exempted=(*own.exempted, *(each for each in found.exempted if each.exemption.rule == DELTA_RULE)),
    )


def _known_before(stack: str, base: Side) -> Sequence[Violation] | None:
    """What is reported on the base already; None when it can't be asked."""
    if base.broken:
        return None
    if base.verdict is not None:
        return base.verdict.violations
    if base.absent:
        return ()
    environment = str((base.settings or {}).get("trainshed:environment") or stack)
    found = policy_verdict(base.resources, stack=stack, environment=environment, monthly=Monthly(), unpriced=())
    return found.violations


def _marked(violations: Sequence[Violation], before: Sequence[Violation] | None) -> tuple[Finding, ...]:
    """Mandatory first, then new ones, then by severity."""
    known = None if before is None else {_identity(each) for each in before}
    severities = ("critical", "high", "medium", "low")

    def rank(each: Finding) -> tuple[Any, ...]:
        found = each.violation
        place = severities.index(found.severity) if found.severity in severities else len(severities)
        return (not each.mandatory, each.new is False, place, found.rule, found.urn)

    marked = (
        Finding(violation=each, new=None if known is None else _identity(each) not in known) for each in violations
    )
    return tuple(sorted(marked, key=rank))


def _identity(violation: Violation) -> tuple[str, ...]:
    return (violation.pack, violation.rule, violation.urn, violation.path)
