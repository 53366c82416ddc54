"""`trainshed preview`: what a stack declares, for a person, a program or a browser."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trainshed.cli import terminal
from trainshed.cli.options import Json, Stack

if TYPE_CHECKING:
    from trainshed.preview.run import Preview


def preview(
    stack: Stack,
    json_output: Json = False,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE.html", help="write a report to look at in a browser")
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="list every default that the stack file leaves to Trainshed, and why")
    ] = False,
) -> None:
    """Everything `pulumi preview` would declare, offline: tree, plans, cost and policy verdicts."""
    raise typer.Exit(run(stack, json_output=json_output, report=report, explain=explain))


def run(stack: str, *, json_output: bool = False, report: Path | None = None, explain: bool = False) -> int:
    """Run the command; returns its exit code. The result goes to standard output, problems to standard error."""
    from components.problems import errors
    from trainshed.preview.run import preview as make

    made = make(stack)
    if report is not None:
        from trainshed.preview.report import write

        problem = write(made, report)
        if problem:
            terminal.say(problem)
            return 2
    if json_output:
        print(json.dumps(made.as_json(), ensure_ascii=False))
        return made.exit_code
    if errors(made.problems):
        _show_problems(made)
        return made.exit_code
    from trainshed.preview.text import show

    show(made, explain=explain)
    if report is not None:
        terminal.say(f"report: {report}")
    return made.exit_code


def _show_problems(made: Preview) -> None:
    for line in terminal.lines(made.problems, made.settings.document, carets=sys.stderr.isatty()):
        terminal.say(line)
    terminal.say(f"{made.settings.name}: {terminal.counted(made.problems)}; nothing was declared")
