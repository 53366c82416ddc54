"""`trainshed size`: the capacity plan for a model, as tables, as JSON, or as a page.

With --json one object goes to standard output, tables otherwise; problems go to standard error.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trainshed.cli.options import Json, Task

if TYPE_CHECKING:
    from rich.console import Console

    from components.catalog import Catalog
    from components.problems import Problem
    from components.sizing.advice.advice import Advice
    from components.sizing.advice.frontier import Frontier
    from components.sizing.calibration.ledger import Ledger
    from components.sizing.plan.plan import Plan
    from components.sizing.plan.reading import SizingReading
    from components.sizing.plan.what_if import Sweep
    from components.sizing.report.words import PlanTable

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


Calibrate = Annotated[
    Path | None,
    typer.Option(
        "--calibrate", metavar="LEDGER", help="correct the plan by your own measured runs: a ledger of JSON lines"
    ),
]
OnStack = Annotated[
    str | None,
    typer.Option("--stack", metavar="STACK", help="take machines, region and prices from the task's pool in a stack"),
]
NoAdvice = Annotated[bool, typer.Option("--no-advice", help="leave out what would save most")]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What the command line asks besides the task."""

    what_if: tuple[str, ...] = ()
    explain: bool = False
    report: Path | None = None
    json_output: bool = False
    stack: str | None = None
    ledger: Path | None = None
    advice: bool = True


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Everything there is to show of one task."""

    plan: Plan
    sweeps: list[Sweep]
    problems: list[Problem]
    advice: list[Advice]
    frontier: Frontier | None
    ledger: Ledger | None = None
    before: Plan | None = None


def size_command(
    task: Task,
    json_output: Json = False,
    what_if: WhatIf = None,
    explain: Explain = False,
    report: Report = None,
    stack: OnStack = None,
    calibrate: Calibrate = None,
    no_advice: NoAdvice = False,
) -> None:
    """The capacity plan for a model: cards, days, memory, storage and money, before anything is bought."""
    asked = Asked(
        what_if=tuple(what_if or ()),
        explain=explain,
        report=report,
        json_output=json_output,
        stack=stack,
        ledger=calibrate,
        advice=not no_advice,
    )
    raise typer.Exit(size(task, asked))


def size(task: str, asked: Asked) -> int:
    """Plan a task file; 0 fine, 1 the task is wrong or fits nowhere, 2 the command was used wrongly."""
    from components import catalog
    from components.problems import errors, in_file_order
    from components.sizing.plan import reading
    from components.sizing.plan import what_if as sweeping
    from trainshed.cli.job import task_path

    try:
        sweeps = [sweeping.parse(words) for words in asked.what_if]
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    cat = catalog.load()
    read = reading.read(task_path(task), cat)
    if asked.stack is not None:
        placed = _on_stack(read, asked.stack, cat)
        if placed is None:
            return 1
        read = placed
    found = _planned(read, asked, sweeps, cat)
    if isinstance(found, list):
        problems = in_file_order([*read.problems, *read.placed(found)])
        if asked.json_output:
            print(json.dumps({"problems": [problem.as_json() for problem in problems]}, indent=2))
        _tell(read, problems)
        return 1
    _tell(read, [problem for problem in found.problems if not asked.json_output or errors([problem])])
    if asked.json_output:
        print(json.dumps(_object(found, explain=asked.explain), indent=2))
    else:
        _show(found, explain=asked.explain)
    return _write(found, asked.report) if asked.report is not None else 0


def _on_stack(read: SizingReading, stack: str, cat: Catalog) -> SizingReading | None:
    """The task on a stack's pool; None after the stack's own errors were printed."""
    from components.problems import errors
    from components.sizing.stack.pool import on_stack
    from infra.settings import from_file
    from trainshed.cli.terminal import counted, lines

    settings = from_file(stack, cat)
    wrong = errors(settings.problems)
    if settings.stack is None or wrong:
        for line in lines(wrong, settings.document, carets=sys.stderr.isatty()):
            print(line, file=sys.stderr)
        print(counted(wrong), file=sys.stderr)
        return None
    return on_stack(read, settings.stack, cat)


def _planned(
    read: SizingReading, asked: Asked, sweeps: list[tuple[str, list[str]]], cat: Catalog
) -> Answer | list[Problem]:
    """The answer, or why there is none."""
    from components.sizing.advice.advice import advise
    from components.sizing.advice.frontier import frontier
    from components.sizing.calibration import ledger as ledgers
    from components.sizing.plan import what_if as sweeping
    from components.sizing.plan.plan import plan

    if read.request is None:
        return []
    made, found = plan(read.request, cat)
    if made is None:
        return found
    before, ledger = made, None
    problems = [*read.problems, *read.placed([*found, *made.problems])]
    if asked.ledger is not None:
        ledger = ledgers.read(asked.ledger, read.request, cat)
        problems += ledger.problems
        corrected = plan(replace(read.request, measured=ledger.measured), cat)[0] if ledger.measured else None
        made = corrected or made
    return Answer(
        plan=made,
        sweeps=[sweeping.sweep(read.data, key, values, cat) for key, values in sweeps],
        problems=problems,
        advice=advise(made, cat) if asked.advice else [],
        frontier=frontier(made, cat) if asked.advice and made.money.total else None,
        ledger=ledger,
        before=before,
    )


def _write(found: Answer, path: Path) -> int:
    from components.sizing.report.advised import advice_table, frontier_table, ledger_table
    from components.sizing.report.page import html

    more = [advice_table(found.advice)] if found.advice else []
    if found.frontier:
        more.append(frontier_table(found.frontier))
    if found.ledger and found.before:
        more.append(ledger_table(found.ledger, found.before, found.plan))
    page = html(found.plan, found.sweeps, found.problems, stack_text(found.plan), more, found.frontier)
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        print(f"the report {path} can't be written: {error.strerror}", file=sys.stderr)
        return 2
    print(f"report: {path}", file=sys.stderr)
    return 0


def stack_text(made: Plan) -> str:
    """The stack file's sections as YAML, indented as they stand under `config:`.

    Empty for machines AWS does not sell.
    """
    import yaml

    from components.sizing.report.answer import as_json

    section: dict[str, Any] | None = as_json(made)["stack"]
    if section is None:
        return ""
    text = yaml.safe_dump({f"trainshed:{key}": value for key, value in section.items()}, sort_keys=False, width=116)
    return "".join(f"  {line}\n" for line in text.splitlines())


def _object(found: Answer, *, explain: bool) -> dict[str, Any]:
    from components.sizing.report.advised import advice_json, frontier_json, ledger_json
    from components.sizing.report.answer import as_json

    answer = as_json(found.plan)
    answer["problems"] = [problem.as_json() for problem in found.problems]
    answer["advice"] = advice_json(found.advice)
    if found.frontier:
        answer["frontier"] = frontier_json(found.frontier)
    if found.ledger and found.before:
        answer["calibration"] = ledger_json(found.ledger, found.before, found.plan)
    if found.sweeps:
        answer["what_if"] = [
            {"key": sweep.key, "rows": [{"value": value, **(_row(row))} for value, row in sweep.rows]}
            for sweep in found.sweeps
        ]
    if explain:
        from components.sizing.report.explain import explain as lines
        from components.sizing.report.terms import TERMS

        answer["terms"] = dict(TERMS)
        answer["explain"] = [
            {
                "part": line.group,
                "name": line.name,
                "formula": line.formula,
                "numbers": line.numbers,
                "result": line.result,
            }
            for line in lines(found.plan)
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


def _show(found: Answer, *, explain: bool) -> None:
    from rich.console import Console

    from components.sizing.report.advised import advice_table, frontier_table, ledger_table
    from components.sizing.report.assumptions import assumptions
    from components.sizing.report.explain import explain as lines
    from components.sizing.report.page import headline
    from components.sizing.report.tables import sweep_table, tables
    from components.sizing.report.terms import TERMS
    from components.sizing.report.words import PlanTable

    made = found.plan
    console = Console(highlight=False, soft_wrap=False, width=None if sys.stdout.isatty() else 160)
    console.print(f"[bold]{made.request.name}[/bold]: {headline(made)}")
    for words in made.request.filled:
        console.print(f"[dim]{words}[/dim]")
    first, *rest = tables(made)
    shown = [first]
    if found.ledger and found.before:
        shown.append(ledger_table(found.ledger, found.before, made))
    if found.frontier or found.advice:
        shown.append(advice_table(found.advice))
    if found.frontier:
        shown.append(frontier_table(found.frontier))
    for table in [*shown, *rest, *map(sweep_table, found.sweeps)]:
        _print(console, table)
    if text := stack_text(made):
        console.print()
        console.print("[bold]To paste into a stack file, under config:[/bold]")
        console.print(text, markup=False, soft_wrap=True)
    if explain:
        _print(console, PlanTable("Terms", ("term", "meaning"), TERMS))
    if explain:
        rows = tuple((line.group, line.name, line.formula, line.numbers, line.result) for line in lines(made))
        _print(
            console, PlanTable("Every formula with its numbers", ("part", "what", "formula", "numbers", "result"), rows)
        )
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
        _print(console, PlanTable("Assumptions", ("constant", "value", "range", "unit", "source"), assumed))


def _print(console: Console, table: PlanTable) -> None:
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
