"""`trainshed preview`: what a stack declares, for a person, a program or a browser.

Hides which stream carries what: the result on standard output, problems of a broken stack on standard error.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from components.problems import errors
from trainshed.previewing import Preview
from trainshed.previewing import preview as make
from trainshed.problem_text import counted, lines


def preview(stack: str, *, json_output: bool = False, report: Path | None = None, explain: bool = False) -> int:
    """Run the command; returns its exit code."""
    made = make(stack)
    if report is not None:
        from trainshed.report import write

        problem = write(made, report)
        if problem:
            print(problem, file=sys.stderr)
            return 2
    if json_output:
        print(json.dumps(made.as_json(), ensure_ascii=False))
        return made.exit_code
    if errors(made.problems):
        _broken(made)
        return made.exit_code
    from trainshed.preview_text import show

    show(made, explain=explain)
    if report is not None:
        print(f"report: {report}", file=sys.stderr)
    return made.exit_code


def _broken(made: Preview) -> None:
    for line in lines(made.problems, made.settings.document, carets=sys.stderr.isatty()):
        print(line, file=sys.stderr)
    print(f"{made.settings.name}: {counted(made.problems)}; nothing was declared", file=sys.stderr)
