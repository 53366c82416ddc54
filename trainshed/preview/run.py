"""One preview: settings, what they declare, what that costs and what the policies say.

Hides the order in which these are made, and gives the one JSON object of the contract.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from components.planning import blocks
from components.planning.summary import EMPTY, summary
from components.problems import Problem, errors
from infra.offline.recorder import Record
from infra.settings import Settings, from_file

_EMPTY_COST: dict[str, Any] = {
    "currency": "USD",
    "monthly": {"low": 0, "expected": 0, "high": 0},
    "prices_as_of": None,
    "unpriced": [],
    "lines": [],
}


@dataclass(frozen=True, kw_only=True)
class Preview:
    """What one stack declares; without records when the stack file has errors."""

    settings: Settings
    records: tuple[Record, ...] = ()
    outputs: dict[str, Any]
    plan: dict[str, Any]
    cost: dict[str, Any]
    policies: tuple[dict[str, Any], ...] = ()
    unjudged: tuple[dict[str, Any], ...] = ()
    exemptions: tuple[dict[str, Any], ...] = ()

    @property
    def problems(self) -> tuple[Problem, ...]:
        return self.settings.problems

    @property
    def exit_code(self) -> int:
        """0 fine, 1 when the stack has errors or breaks a mandatory policy."""
        mandatory = any(each["level"] == "mandatory" for each in self.policies)
        return 1 if errors(self.problems) or mandatory else 0

    def as_json(self) -> dict[str, Any]:
        """The object that `--json` prints."""
        return {
            "stack": self.settings.name,
            "resources": [resource(each) for each in self.records],
            "problems": [each.as_json() for each in self.problems],
            "policies": list(self.policies),
            "policies_unjudged": list(self.unjudged),
            "policies_exempted": list(self.exemptions),
            "cost": self.cost,
            "plan": self.plan,
            "outputs": self.outputs,
        }


def resource(record: Record) -> dict[str, Any]:
    """A record in the words of the contract."""
    return {
        "urn": record.urn,
        "type": record.type,
        "name": record.name,
        "parent": record.parent,
        "inputs": record.inputs,
        "depends_on": list(record.depends_on),
        "property_dependencies": {key: list(urns) for key, urns in record.property_dependencies.items()},
        "protect": record.protect,
        "ignore_changes": list(record.ignore_changes),
        "provider": record.provider,
        "custom": record.custom,
        "retain_on_delete": record.retain_on_delete,
        "aliases": list(record.aliases),
    }


def preview(stack: str) -> Preview:
    """Read, check, declare, price and judge a stack, by name or path."""
    settings = from_file(stack)
    if settings.stack is None or errors(settings.problems):
        return Preview(settings=settings, outputs={}, plan=dict(EMPTY), cost=dict(_EMPTY_COST))
    # Pulumi takes its time to import: a stack file with errors is told sooner.
    from components.planning.cost.estimate import estimate
    from infra.offline import aws_stand_in

    aws_stand_in.install()
    from infra.build import build
    from infra.offline.recorder import run
    from trainshed.preview.policies import judge

    recording = run(lambda: build(settings), stack=settings.name)
    records = tuple(each for each in recording.records if each.type != "pulumi:pulumi:Stack")
    plain = [resource(each) for each in records]
    stack_spec = settings.valid
    priced = estimate(plain, stack_spec, settings.catalog)
    verdict = judge(plain, stack=settings.name, environment=stack_spec.environment, cost=priced)
    return Preview(
        settings=_with_later_problems(settings, priced["monthly"]["expected"]),
        records=records,
        outputs=recording.outputs,
        plan=summary(stack_spec, settings.catalog),
        cost=priced,
        policies=verdict.violations,
        unjudged=verdict.unjudged,
        exemptions=verdict.exempted,
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
