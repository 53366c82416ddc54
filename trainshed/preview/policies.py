"""What the policy packs say of a preview's resources, in this process.

Each pack runs with its configuration for the stack, or else for the environment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from components.planning.cost.estimate import Monthly
from components.record import Record
from policies.packs.evaluation import NotJudged, Violation
from policies.packs.exemptions import Exemption


@dataclass(frozen=True, kw_only=True)
class Exempted:
    """An exemption and the resource that it excused."""

    exemption: Exemption
    urn: str

    def as_json(self) -> dict[str, Any]:
        """An entry of the `policies_exempted` list of `trainshed preview --json`."""
        return {
            "rule": self.exemption.rule,
            "resource": self.urn,
            "urn_glob": self.exemption.urn_glob,
            "reason": self.exemption.reason,
            "owner": self.exemption.owner,
            "expires": self.exemption.expires.isoformat(),
        }


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What both packs said."""

    violations: tuple[Violation, ...] = ()
    unjudged: tuple[NotJudged, ...] = ()
    exempted: tuple[Exempted, ...] = ()

    @property
    def mandatory(self) -> tuple[Violation, ...]:
        return tuple(each for each in self.violations if each.level == "mandatory")

    @property
    def advisory(self) -> tuple[Violation, ...]:
        return tuple(each for each in self.violations if each.level != "mandatory")


def doubt_as_json(each: NotJudged) -> dict[str, Any]:
    """An entry of the `policies_unjudged` list of `trainshed preview --json`."""
    return {"pack": each.pack, "rule": each.rule, "resource": each.urn, "property": each.path, "why": each.why}


def today() -> date:
    """The day that exemptions and reservations are compared with."""
    return datetime.now(tz=UTC).date()


def policy_verdict(
    resources: Sequence[Record],
    *,
    stack: str,
    environment: str,
    monthly: Monthly,
    unpriced: Sequence[str],
    delta: float | None = None,
) -> Verdict:
    """Ask both packs. `unpriced` is what the monthly cost leaves out, `delta` the difference to the stack before."""
    # The rules of the packs take their time to import, and a stack file with errors never asks them.
    from policies.cost.pack import PACK as COST
    from policies.declared.resources import resources_from
    from policies.packs.configuration import load
    from policies.packs.evaluation import evaluate
    from policies.security.pack import PACK as SECURITY

    estimate = {**monthly.as_json(), "unpriced": list(unpriced), "delta": delta}
    declared = resources_from(each.as_json() for each in resources)
    reports = [
        evaluate(declared, pack, load(pack.name, stack, environment), today=today(), estimate=estimate)
        for pack in (SECURITY, COST)
    ]
    return Verdict(
        violations=tuple(each for report in reports for each in report.violations),
        unjudged=tuple(each for report in reports for each in report.could_not_judge),
        exempted=tuple(Exempted(exemption=each, urn=urn) for report in reports for each, urn in report.exemptions_used),
    )
