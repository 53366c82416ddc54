"""One preview: the settings, what they declare, what that costs and what the policies say.

`Preview` is the whole answer as one value; `as_json` is the one object that `--json` prints, in the same shape for a
stack with errors.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from math import ceil
from typing import Any

from components.planning import blocks
from components.planning.cost.estimate import Estimate
from components.planning.summary import StackPlan, summary
from components.problems import Problem, errors
from components.record import STACK_TYPE, Record
from infra.settings import Settings, from_file
from trainshed.preview import declared_limits
from trainshed.preview.policies import Verdict, doubt_as_json


@dataclass(frozen=True, kw_only=True)
class Preview:
    """What one stack declares; without records when the stack file has errors."""

    settings: Settings
    cost: Estimate
    plan: StackPlan = field(default_factory=StackPlan)
    records: tuple[Record, ...] = ()
    outputs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    verdict: Verdict = field(default_factory=Verdict)

    @property
    def problems(self) -> tuple[Problem, ...]:
        return self.settings.problems

    @property
    def exit_code(self) -> int:
        """0 fine, 1 when the stack has errors or breaks a mandatory policy."""
        return 1 if errors(self.problems) or self.verdict.mandatory else 0

    def as_json(self) -> dict[str, Any]:
        """The object that `--json` prints."""
        return {
            "stack": self.settings.name,
            "resources": [each.as_json() for each in self.records],
            "problems": [each.as_json() for each in self.problems],
            "policies": [each.as_json() for each in self.verdict.violations],
            "policies_unjudged": [doubt_as_json(each) for each in self.verdict.unjudged],
            "policies_exempted": [each.as_json() for each in self.verdict.exempted],
            "cost": self.cost.as_json(),
            "plan": self.plan.as_json(),
            "outputs": dict(self.outputs),
        }


def preview(stack: str) -> Preview:
    """Read, check, declare, price and judge a stack, by name or path."""
    settings = from_file(stack)
    if settings.stack is None or errors(settings.problems):
        return Preview(settings=settings, cost=Estimate(prices_as_of=settings.catalog.prices.as_of))
    # Pulumi takes its time to import: errors of a stack file are shown before that.
    from components.planning.cost.estimate import estimate
    from infra.offline import aws_stand_in

    if (why := aws_stand_in.install()) and aws_stand_in.PACKAGE not in sys.modules:
        print(f"the AWS SDK itself is imported, which takes some seconds: {why}", file=sys.stderr)
    from infra.build import build
    from infra.offline.recorder import run
    from trainshed.preview.policies import policy_verdict

    try:
        recording = run(lambda: build(settings), stack=settings.name)
    except Exception as error:  # a fault of the program, reported in the form of every other answer
        traceback.print_exc()
        return Preview(settings=_with_fault(settings, error), cost=Estimate(prices_as_of=settings.catalog.prices.as_of))
    records = tuple(each for each in recording.records if each.type != STACK_TYPE)
    spec = settings.valid
    cost = estimate(records, spec, settings.catalog)
    verdict = policy_verdict(
        records,
        stack=settings.name,
        environment=spec.environment,
        monthly=cost.monthly,
        unpriced=cost.without_price,
    )
    return Preview(
        settings=_with_later_problems(settings, cost.monthly.expected),
        records=records,
        outputs=recording.outputs,
        plan=_with_declared_limits(summary(spec, settings.catalog), records),
        cost=cost,
        verdict=verdict,
    )


def _with_declared_limits(plan: StackPlan, records: tuple[Record, ...]) -> StackPlan:
    return replace(plan, quotas=(*plan.quotas, *declared_limits.rows(records)))


def _with_fault(settings: Settings, error: Exception) -> Settings:
    said = f"the program fails with {type(error).__name__}: {error}"
    hint = "the stack file has no error: report this with the lines on standard error"
    return replace(settings, problems=(Problem(id="program-fails", path="", said=said, hint=hint), *settings.problems))


def _with_later_problems(settings: Settings, monthly_usd: float) -> Settings:
    """Problems that only a preview can see: those of this moment, of the cost, and of the task that the stack is
    planned for.
    """
    assert settings.stack is not None
    found = [*blocks.out_of_time(settings.stack.pools, datetime.now(tz=UTC)), *_over_budget(settings, monthly_usd)]
    if settings.stack.plan is not None and settings.folder is not None:
        from trainshed.preview.plan_check import check

        found = [*found, *check(settings.stack, settings.catalog, settings.folder, monthly_usd)]
    return settings.with_later(found)


def _over_budget(settings: Settings, monthly_usd: float) -> Iterator[Problem]:
    """The stack's own budget is the one figure that its cost is held against."""
    budget = settings.stack.budget if settings.stack else None
    if budget is None or monthly_usd <= float(budget.monthly_usd):
        return
    said = f"{monthly_usd:,.0f} USD a month are expected, {monthly_usd / float(budget.monthly_usd):,.1f} x the budget"
    whole = ceil(monthly_usd)
    hint = f"buy less, or set monthly_usd to {whole} or more"
    yield Problem(id="budget-exceeded", path="budget.monthly_usd", said=said, hint=hint, severity="warning")
