"""The plan as one HTML page without outside parts: verdict, tables, pictures, sweeps, formulas, assumptions.

Every text from a task file is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from components.problems import Problem, render
from components.sizing.advice.frontier import Frontier
from components.sizing.plan.plan import Plan
from components.sizing.plan.what_if import Sweep
from components.sizing.report import answer, charts
from components.sizing.report.assumptions import assumptions
from components.sizing.report.explain import explain
from components.sizing.report.tables import sweep_table, tables
from components.sizing.report.terms import TERMS
from components.sizing.report.words import NAMES, PlanTable, count

_STYLE = """
:root{--ink:#1c2430;--soft:#5b6675;--line:#d9dee5;--page:#fff;--mark:#3b6fb6;--warn:#9a5b00}
@media(prefers-color-scheme:dark){:root{--ink:#e6eaf0;--soft:#9aa6b5;--line:#333c48;--page:#14181e;--mark:#7fb0ee;--warn:#f0b45a}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--page);
max-width:62rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem;margin-bottom:.2rem}h2{font-size:1.1rem;margin-top:2rem;border-bottom:1px solid var(--line)}
table{border-collapse:collapse;width:100%;margin:.6rem 0}
th,td{text-align:left;padding:.25rem .6rem .25rem 0}th,td{border-bottom:1px solid var(--line);vertical-align:top}
th{color:var(--soft);font-weight:600}.scroll{overflow-x:auto}.warn{color:var(--warn)}.soft{color:var(--soft)}
svg{width:100%;height:auto}svg text{font:12px system-ui,sans-serif;fill:var(--ink)}
.grid{stroke:var(--line)}.curve{fill:none;stroke:var(--mark);stroke-width:2}
.band{stroke:var(--mark);stroke-width:7;stroke-opacity:.25}
.point{fill:var(--mark)}.limit{stroke:var(--ink);stroke-width:2;stroke-dasharray:4 3}
pre{overflow-x:auto;background:rgba(127,127,127,.12);padding:.8rem}
"""


def html(
    plan: Plan,
    sweeps: list[Sweep],
    problems: list[Problem],
    stack_text: str,
    more: Sequence[PlanTable] = (),
    drawn: Frontier | None = None,
) -> str:
    """The whole page."""
    data = answer.as_json(plan)
    memory: dict[str, Any] = data["memory_gib"]
    held = [(name, float(memory[name])) for name in ("weights", "gradients", "optimizer", "activations", "overhead")]
    out = [
        (
            '<!doctype html><html lang="en"><meta charset="utf-8"><meta '
            'name="viewport" content="width=device-width,initial-scale=1">'
        )
    ]
    out.append(f"<title>{escape(plan.request.name)}: capacity plan</title><style>{_STYLE}</style><body>")
    out.append(f"<h1>{escape(plan.request.name)}</h1><p>{escape(headline(plan))}</p>")
    out += [f'<p class="warn">{escape(render(problem))}</p>' for problem in problems]
    out += [_table(table) for table in (*tables(plan)[:1], *more)]
    if drawn and len(drawn.points) > 1:
        points = [(f"{point.nodes} {point.buying}", point.days, point.usd / 1e6, point.best) for point in drawn.points]
        out.append("<h2>Days against money</h2>" + charts.scatter("Days against money", points, "days", "million USD"))
    out.append("<h2>One step</h2>" + charts.bar("One step", _named(plan), "s"))
    out.append("<h2>Memory of a card</h2>" + charts.bar("Memory of a card", held, "GiB", plan.memory.usable))
    out += [_table(table) for table in tables(plan)[1:]]
    for sweep in sweeps:
        out.append(f"<h2>What if {escape(sweep.key)}</h2>" + _plots(sweep) + _table(sweep_table(sweep), heading=False))
    if stack_text:
        out.append(f"<h2>To paste into a stack file</h2><pre>{escape(stack_text)}</pre>")
    rows = tuple((line.group, line.name, line.formula, line.numbers, line.result) for line in explain(plan))
    out.append(
        _table(PlanTable("Every formula with its numbers", ("part", "what", "formula", "numbers", "result"), rows))
    )
    out.append(_table(PlanTable("Terms", ("term", "meaning"), TERMS)))
    assumed = tuple(
        (str(one["name"]), _value(one["value"]), _range(one), str(one["unit"]), str(one["source"]))
        for one in assumptions()
    )
    out.append(_table(PlanTable("Assumptions", ("constant", "value", "range", "unit", "source"), assumed)))
    out.append(f'<p class="soft">{escape(answer.MFU_CONVENTION)}</p></body></html>')
    return "".join(out)


def _named(plan: Plan) -> list[tuple[str, float]]:
    return [(NAMES[key], seconds) for key, seconds in answer.parts(plan.best.step, plan.factor).items()]


def headline(plan: Plan) -> str:
    """The answer in one sentence."""
    spare = f"{plan.nodes + plan.spares:,} with spares" if plan.spares else "no spares"
    return (
        f"{count(plan.request.spec.training.tokens)} tokens on {plan.cards:,} cards in {plan.nodes:,} nodes of "
        f"{plan.request.machine.name} ({spare}): "
        f"{_days(plan.days.expected)} ({_days(plan.days.low)} to {_days(plan.days.high)})"
    )


def _days(days: float) -> str:
    return f"{days:.1f} days" if days >= 2 else f"{days * 24:.1f} hours"


def _plots(sweep: Sweep) -> str:
    made = [(label, plan) for label, plan in sweep.rows if isinstance(plan, Plan)]
    if not made:
        return ""
    days = charts.line(
        f"days over {sweep.key}",
        [(label, plan.days.low, plan.days.expected, plan.days.high) for label, plan in made],
        "days",
    )
    priced = [(label, plan.money.total) for label, plan in made if plan.money.total]
    if len(priced) != len(made):
        return days
    money = [(label, total.low / 1e6, total.expected / 1e6, total.high / 1e6) for label, total in priced if total]
    return days + charts.line(f"cost over {sweep.key}", money, "million USD")


def _table(table: PlanTable, *, heading: bool = True) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in table.columns)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows)
    title = f"<h2>{escape(table.title)}</h2>" if heading else ""
    return f'{title}<div class="scroll"><table><tr>{head}</tr>{body}</table></div>'


def _value(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _range(one: dict[str, Any]) -> str:
    return "" if one["low"] is None else f"{one['low']:g} to {one['high']:g}"
