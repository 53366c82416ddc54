"""What commands print: words to standard error, and problems as a person reads them.

A problem is one line, and on a terminal the line of the file with a caret under it; a line that carries a secret is
never shown.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from components.problems import Problem, render
from components.spec.reading import secrets
from components.spec.reading.document import Document
from components.spec.stack import StackSpec

_WIDTH = 160


def say(text: str) -> None:
    """Print to standard error: standard output is kept for results."""
    print(text, file=sys.stderr)


def lines(problems: Iterable[Problem], source: Document, *, carets: bool) -> Iterator[str]:
    """Text lines, without colour; `carets` adds the line of the file under each problem that has a place."""
    known = secrets.names(StackSpec)
    hidden = secrets.lines(source, known) if carets else frozenset[int]()
    for problem in problems:
        yield render(problem)
        if not carets or problem.where is None or problem.where.file != source.file:
            continue
        line = source.line(problem.where.line)
        if problem.where.line in hidden or "secure:" in line or not line.strip():
            continue
        start = max(0, problem.where.column - _WIDTH // 2)
        yield f"    {line[start : start + _WIDTH]}"
        yield f"    {' ' * (problem.where.column - 1 - start)}^"


def counted(problems: Iterable[Problem]) -> str:
    """`2 errors, 1 warning`; empty when there is nothing."""
    found = list(problems)
    words: list[str] = []
    for severity in ("error", "warning", "note"):
        number = sum(each.severity == severity for each in found)
        if number:
            words.append(f"{number} {severity}{'s' if number > 1 else ''}")
    return ", ".join(words)
