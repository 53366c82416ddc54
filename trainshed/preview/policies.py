"""What the policy packs say of a preview's resources, in this process.

Hides where packs and their configuration for an environment lie.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from policies.configuration import load
from policies.cost.pack import PACK as COST
from policies.evaluation import NotJudged, evaluate
from policies.exemptions import Exemption
from policies.resources import resources_from
from policies.security.pack import PACK as SECURITY


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What both packs said, as plain entries."""

    violations: tuple[dict[str, Any], ...]
    unjudged: tuple[dict[str, Any], ...]
    exempted: tuple[dict[str, Any], ...]


def today() -> date:
    """The day that exemptions and reservations are compared with."""
    return datetime.now(tz=UTC).date()


def judge(
    resources: Sequence[Mapping[str, Any]],
    *,
    stack: str,
    environment: str,
    cost: Mapping[str, Any],
    delta: float | None = None,
) -> Verdict:
    """Ask both packs, each with its configuration for the stack or else the environment."""
    estimate = {**cost["monthly"], "unpriced": cost["unpriced"], "delta": delta}
    declared = resources_from(resources)
    reports = [
        evaluate(declared, pack, load(pack.name, stack, environment), today=today(), estimate=estimate)
        for pack in (SECURITY, COST)
    ]
    return Verdict(
        violations=tuple(each.as_json() for report in reports for each in report.violations),
        unjudged=tuple(_doubt(each) for report in reports for each in report.could_not_judge),
        exempted=tuple(_exemption(each, urn) for report in reports for each, urn in report.exemptions_used),
    )


def _doubt(each: NotJudged) -> dict[str, Any]:
    return {"pack": each.pack, "rule": each.rule, "resource": each.urn, "property": each.path, "why": each.why}


def _exemption(each: Exemption, urn: str) -> dict[str, Any]:
    return {
        "rule": each.rule,
        "resource": urn,
        "urn_glob": each.urn_glob,
        "reason": each.reason,
        "owner": each.owner,
        "expires": each.expires.isoformat(),
    }
