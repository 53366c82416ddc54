"""`trainshed preview`: what a stack declares, for a person, a program or a browser."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trainshed.cli import terminal
from trainshed.cli.options import Json, Stack

if TYPE_CHECKING:
    from trainshed.preview.details import Section
    from trainshed.preview.run import Preview


def preview(
    stack: Stack,
    json_output: Json = False,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE.html", help="write a report to look at in a browser")
    ] = None,
    problems: Annotated[bool, typer.Option("--problems", help="every error, warning and note whole")] = False,
    policies: Annotated[
        bool, typer.Option("--policies", help="what the policies found, could not judge, and excused")
    ] = False,
    cost: Annotated[bool, typer.Option("--cost", help="every line of the cost, and what has no known price")] = False,
    quotas: Annotated[bool, typer.Option("--quotas", help="every limit of AWS that the stack counts against")] = False,
    addresses: Annotated[bool, typer.Option("--addresses", help="node groups, subnets, storage and calendars")] = False,
    tree: Annotated[bool, typer.Option("--tree", help="every component and what it declares")] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="list every default that the stack file leaves to Trainshed, and why")
    ] = False,
) -> None:
    """Everything `pulumi preview` would declare, offline: verdict, cost, problems and quotas on one screen."""
    chosen: dict[Section, bool] = {
        "problems": problems,
        "policies": policies,
        "cost": cost,
        "quotas": quotas,
        "addresses": addresses,
        "tree": tree,
        "explain": explain,
    }
    sections: list[Section] = [name for name, wanted in chosen.items() if wanted]
    raise typer.Exit(run(stack, json_output=json_output, report=report, sections=sections))


def run(stack: str, *, json_output: bool = False, report: Path | None = None, sections: Sequence[Section] = ()) -> int:
    """Run the command; returns its exit code. The result goes to standard output, problems to standard error."""
    from components.problems import errors
    from trainshed.preview.run import preview as make

    made = make(stack)
    failed = report is not None and not _write(made, report)
    if json_output:
        print(json.dumps(made.as_json(), ensure_ascii=False))
    elif errors(made.problems):
        _show_problems(made)
    else:
        _show(made, sections)
        if report is not None and not failed:
            terminal.say(f"report: {report}")
    return 2 if failed else made.exit_code


def _write(made: Preview, report: Path) -> bool:
    from trainshed.preview.report import write

    problem = write(made, report)
    if problem:
        terminal.say(problem)
    return not problem


def _show(made: Preview, sections: Sequence[Section]) -> None:
    if not sections:
        from trainshed.preview.screen import first_screen

        print("\n".join(first_screen(made)))
        return
    from rich.console import Console

    from trainshed.preview.details import show

    # A pipe has no width of its own: whoever searches it finds each row on one line.
    console = Console(width=None if sys.stdout.isatty() else 400, highlight=False, soft_wrap=False)
    for section in sections:
        show(made, section, console)


def _show_problems(made: Preview) -> None:
    from components.problems import by_severity

    for line in terminal.lines(by_severity(made.problems), made.settings.document, carets=sys.stderr.isatty()):
        terminal.say(line)
    terminal.say(f"{made.settings.name}: {terminal.counted(made.problems)}; nothing was declared")
