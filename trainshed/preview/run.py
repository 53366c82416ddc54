"""One preview: the settings, what they declare, what that costs and what the policies say.

`Preview` is the whole answer as one value; `as_json` is the one object that `--json` prints, in the same shape for a
stack with errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from components.planning import blocks
from components.planning.cost.estimate import Estimate
from components.planning.summary import StackPlan, summary
from components.problems import Problem, errors
from components.record import STACK_TYPE, Record
from infra.settings import Settings, from_file
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
    # Pulumi takes its time to import: a stack file with errors is told sooner.
    from components.planning.cost.estimate import estimate
    from infra.offline import aws_stand_in

    aws_stand_in.install()
    from infra.build import build
    from infra.offline.recorder import run
    from trainshed.preview.policies import judge

    recording = run(lambda: build(settings), stack=settings.name)
    records = tuple(each for each in recording.records if each.type != STACK_TYPE)
    spec = settings.valid
    cost = estimate(records, spec, settings.catalog)
    verdict = judge(
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
        plan=summary(spec, settings.catalog),
        cost=cost,
        verdict=verdict,
    )


def _with_later_problems(settings: Settings, monthly_usd: float) -> Settings:
    """Problems that only a preview can see: those of this moment, and those of the task that the stack is
    planned for.
    """
    assert settings.stack is not None
    found = blocks.out_of_time(settings.stack.pools, datetime.now(tz=UTC))
    if settings.stack.plan is not None and settings.folder is not None:
        from trainshed.preview.plan_check import check

        found = [*found, *check(settings.stack, settings.catalog, settings.folder, monthly_usd)]
    return settings.with_later(found)
