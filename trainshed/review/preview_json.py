"""Reads what `trainshed preview --json` of any commit printed, into the types that this commit's preview is made of.

An older commit prints fewer keys: what it leaves out is as if there were none, and a record that doesn't tell which
input comes from which resource is wired by the usual type of each input.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, cast

from components.catalog.replacing import REFERS_TO
from components.problems import Problem, Severity, Where
from components.record import Record, from_json
from policies.packs.evaluation import NotJudged, Violation
from policies.packs.exemptions import Exemption
from trainshed.preview.policies import Exempted, Verdict

_SEVERITIES: Mapping[str, Severity] = {"error": "error", "warning": "warning", "note": "note"}


@dataclass(frozen=True, kw_only=True)
class PreviewAnswer:
    """The parts of a preview that a review reads."""

    resources: tuple[Record, ...]
    problems: tuple[Problem, ...]
    verdict: Verdict


def read(printed: Mapping[str, Any]) -> PreviewAnswer:
    """Raises KeyError, TypeError or ValueError for an object that is no preview's."""
    return PreviewAnswer(
        resources=tuple(record(each) for each in _entries(printed, "resources")),
        problems=tuple(problem(each) for each in _entries(printed, "problems")),
        verdict=Verdict(
            violations=tuple(violation(each) for each in _entries(printed, "policies")),
            unjudged=tuple(doubt(each) for each in _entries(printed, "policies_unjudged")),
            exempted=tuple(exempted(each) for each in _entries(printed, "policies_exempted")),
        ),
    )


def _entries(printed: Mapping[str, Any], key: str) -> Iterator[Mapping[str, Any]]:
    yield from cast("Sequence[Mapping[str, Any]]", printed.get(key) or ())


def record(entry: Mapping[str, Any]) -> Record:
    """One entry of `resources`."""
    found = from_json(entry)
    if "property_dependencies" in entry:
        return found
    wired = {key: tuple(_usual(key, found.depends_on)) for key in found.inputs if key in REFERS_TO}
    return replace(found, property_dependencies=wired)


def _usual(key: str, urns: Sequence[str]) -> Iterator[str]:
    yield from (urn for urn in urns if urn.split("::")[2].rsplit("$", 1)[-1] == REFERS_TO[key])


def problem(entry: Mapping[str, Any]) -> Problem:
    """One entry of `problems`."""
    place = None
    if entry.get("file") and entry.get("line"):
        place = Where(file=str(entry["file"]), line=int(entry["line"]), column=int(entry.get("column") or 1))
    return Problem(
        id=str(entry.get("id", "")),
        path=str(entry.get("path", "")),
        said=str(entry.get("said", "")),
        hint=str(entry.get("hint") or ""),
        severity=_SEVERITIES.get(str(entry.get("severity")), "error"),
        where=place,
    )


def violation(entry: Mapping[str, Any]) -> Violation:
    """One entry of `policies`."""
    return Violation(
        pack=str(entry.get("pack", "")),
        rule=str(entry["rule"]),
        level=entry["level"],
        severity=entry.get("severity") or "medium",
        urn=str(entry.get("resource", "")),
        path=str(entry.get("property", "")),
        message=str(entry.get("message", "")),
    )


def doubt(entry: Mapping[str, Any]) -> NotJudged:
    """One entry of `policies_unjudged`."""
    return NotJudged(
        pack=str(entry.get("pack", "")),
        rule=str(entry["rule"]),
        urn=str(entry.get("resource", "")),
        path=str(entry.get("property", "")),
        why=str(entry.get("why", "")),
    )


def exempted(entry: Mapping[str, Any]) -> Exempted:
    """One entry of `policies_exempted`."""
    return Exempted(
        urn=str(entry.get("resource", "")),
        exemption=Exemption(
            rule=str(entry["rule"]),
            urn_glob=str(entry.get("urn_glob", "")),
            reason=str(entry.get("reason", "")),
            owner=str(entry.get("owner", "")),
            expires=date.fromisoformat(str(entry["expires"])),
        ),
    )
