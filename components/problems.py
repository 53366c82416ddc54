"""One thing that is wrong with what the user wrote, with where it stands and what would be right.

Every command and the engine order and print problems through this module, so that they look alike everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

Severity = Literal["error", "warning", "note"]
_RANK = {"error": 0, "warning": 1, "note": 2}


@dataclass(frozen=True, kw_only=True)
class Where:
    """A place in a file; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, kw_only=True)
class Problem:
    """What is wrong (`said`), at which key (`path`, as written in the stack file), and the nearest right answer
    (`hint`).
    """

    id: str
    path: str
    said: str
    hint: str = ""
    severity: Severity = "error"
    where: Where | None = None

    def at(self, where: Where | None) -> Problem:
        return replace(self, where=where)

    def as_json(self) -> dict[str, object]:
        place = self.where
        return {
            "id": self.id,
            "severity": self.severity,
            "path": self.path,
            "said": self.said,
            "hint": self.hint,
            "file": place.file if place else "",
            "line": place.line if place else 0,
            "column": place.column if place else 0,
        }


def render(problem: Problem) -> str:
    """`FILE:LINE:COLUMN PATH: SAID; HINT`; the parts that are missing leave no gap."""
    place = f"{problem.where} " if problem.where else ""
    hint = f"; {problem.hint}" if problem.hint else ""
    label = "" if problem.severity == "error" else f"{problem.severity}: "
    path = f"{problem.path}: " if problem.path else ""
    return f"{place}{path}{label}{problem.said}{hint}"


def in_file_order(problems: Iterable[Problem]) -> list[Problem]:
    """Sorted as the file reads; what has no place comes last, in the order of its path (numbers by value)."""

    def key(problem: Problem) -> tuple[object, ...]:
        place = problem.where
        natural = [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", problem.path)]
        spot = (0, place.file, place.line, place.column) if place else (1, "", 0, 0)
        return (*spot, natural, _RANK[problem.severity], problem.id, problem.said)

    return sorted(dict.fromkeys(problems), key=key)


def by_severity(problems: Iterable[Problem]) -> list[Problem]:
    """Errors first, then warnings, then notes; each as it was ordered before."""
    return sorted(problems, key=lambda each: _RANK[each.severity])


def errors(problems: Iterable[Problem]) -> list[Problem]:
    return [problem for problem in problems if problem.severity == "error"]
