"""`trainshed size`: the capacity plan for a model, as tables, as JSON, or as a page.

Hides where the answer goes: one object on standard output with --json, tables otherwise, problems on standard error.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from components.problems import Problem
    from components.sizing.plan.plan import Plan
    from components.sizing.plan.reading import SizingReading
    from components.sizing.plan.what_if import Sweep
    from components.sizing.report.tables import Table

Task = Annotated[
    Path, typer.Argument(metavar="TASK", help="a task file (YAML or JSON) with at least model and training.tokens")
]
Json = Annotated[bool, typer.Option("--json", help="print one JSON object and nothing else on standard output")]
WhatIf = Annotated[
    list[str] | None,
    typer.Option(
        "--what-if",
        metavar="KEY=VALUE,VALUE",
        help="ask again with other values: nodes, instance_type, accelerator, precision, days, ...",
    ),
]
Explain = Annotated[
    bool, typer.Option("--explain", help="show every formula with its numbers, and every assumption with its source")
]
Report = Annotated[
    Path | None, typer.Option("--report", metavar="FILE.html", help="write a page with tables and plots")
]


def size_command(
    task: Task, json_output: Json = False, what_if: WhatIf = None, explain: Explain = False, report: Report = None
) -> None:
    """The capacity plan for a model: cards, days, memory, storage and money, before anything is bought."""
    raise typer.Exit(size(task, json_output=json_output, what_if=what_if or [], explain=explain, report=report))


def size(task: Path, json_output: bool, what_if: list[str], explain: bool, report: Path | None) -> int:
    """Plan a task file; 0 fine, 1 the task is wrong or fits nowhere, 2 the command was used wrongly."""
    from components import catalog
    from components.problems import in_file_order
    from components.sizing.plan import reading
    from components.sizing.plan import what_if as sweeping
    from components.sizing.plan.plan import plan

    try:
        asked = [sweeping.parse(words) for words in what_if]
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    cat = catalog.load()
    read = reading.read(task, cat)
    made, found = plan(read.request, cat) if read.request else (None, [])
    problems = in_file_order([*read.problems, *read.placed([*found, *(made.problems if made else ())])])
    sweeps = [sweeping.sweep(read.data, key, values, cat) for key, values in asked] if made else []
    if made is None:
        if json_output:
            print(json.dumps({"problems": [problem.as_json() for problem in problems]}, indent=2))
        _tell(read, problems)
        return 1
    if json_output:
        print(json.dumps(_object(made, sweeps, problems, explain=explain), indent=2))
    else:
        _tell(read, problems)
        _show(made, sweeps, explain=explain)
    if report is not None:
        from components.sizing.report.page import html

        try:
            report.write_text(html(made, sweeps, problems, stack_text(made)), encoding="utf-8")
        except OSError as error:
            print(f"the report {report} can't be written: {error.strerror}", file=sys.stderr)
            return 2
        print(f"report: {report}", file=sys.stderr)
    return 0


def stack_text(made: Plan) -> str:
    """The stack file's sections as YAML, each under the project's prefix; empty for machines that AWS does not sell."""
    import yaml

    from components.sizing.report.answer import as_json

    section: dict[str, Any] | None = as_json(made)["stack"]
    if section is None:
        return ""
    return yaml.safe_dump({f"trainshed:{key}": value for key, value in section.items()}, sort_keys=False, width=120)


def _object(made: Plan, sweeps: list[Sweep], problems: list[Problem], *, explain: bool) -> dict[str, Any]:
    from components.sizing.report.answer import as_json

    answer = as_json(made)
    answer["problems"] = [problem.as_json() for problem in problems]
    if sweeps:
        answer["what_if"] = [
            {"key": sweep.key, "rows": [{"value": value, **(_row(found))} for value, found in sweep.rows]}
            for sweep in sweeps
        ]
    if explain:
        from components.sizing.report.explain import explain as lines

        answer["explain"] = [
            {
                "part": line.group,
                "name": line.name,
                "formula": line.formula,
                "numbers": line.numbers,
                "result": line.result,
            }
            for line in lines(made)
        ]
    return answer


def _row(found: Plan | str) -> dict[str, Any]:
    from components.sizing.report.answer import as_json

    if isinstance(found, str):
        return {"problem": found}
    whole = as_json(found)
    keys = (
        "nodes",
        "cards",
        "days",
        "step_seconds",
        "mfu",
        "tokens_per_second_per_card",
        "memory_gib",
        "parallelism",
        "cost",
        "problems",
    )
    return {key: whole[key] for key in keys}


def _tell(read: SizingReading, problems: list[Problem]) -> None:
    from trainshed.cli.terminal import counted, lines

    for text in lines(problems, read.document, carets=sys.stderr.isatty()):
        print(text, file=sys.stderr)
    if problems:
        print(counted(problems), file=sys.stderr)


def _show(made: Plan, sweeps: list[Sweep], *, explain: bool) -> None:
    from rich.console import Console

    from components.sizing.report.assumptions import assumptions
    from components.sizing.report.explain import explain as lines
    from components.sizing.report.page import headline
    from components.sizing.report.tables import Table, sweep_table, tables

    console = Console(highlight=False, soft_wrap=False, width=None if sys.stdout.isatty() else 160)
    console.print(f"[bold]{made.request.name}[/bold]: {headline(made)}")
    for words in made.request.filled:
        console.print(f"[dim]{words}[/dim]")
    for table in [*tables(made), *map(sweep_table, sweeps)]:
        _print(console, table)
    if text := stack_text(made):
        console.print()
        console.print("[bold]To paste into a stack file[/bold]")
        console.print(text, markup=False, soft_wrap=True)
    if explain:
        rows = tuple((line.group, line.name, line.formula, line.numbers, line.result) for line in lines(made))
        _print(console, Table("Every formula with its numbers", ("part", "what", "formula", "numbers", "result"), rows))
        assumed = tuple(
            (
                str(one["name"]),
                str(one["value"]),
                "" if one["low"] is None else f"{one['low']:g} to {one['high']:g}",
                str(one["unit"]),
                str(one["source"]),
            )
            for one in assumptions()
        )
        _print(console, Table("Assumptions", ("constant", "value", "range", "unit", "source"), assumed))


def _print(console: Console, table: Table) -> None:
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    shown = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in table.columns:
        shown.add_column(column)
    for row in table.rows:
        shown.add_row(*(Text(cell) for cell in row))
    console.print()
    console.print(Text(table.title, style="bold"))
    console.print(shown)
