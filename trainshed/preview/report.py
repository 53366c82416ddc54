"""The preview as one HTML file that needs nothing else: no script from elsewhere, no font, no server.

Hides the template and the arithmetic of its bars.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from components.spec.reading.partial import whole
from infra.offline.recorder import Record
from trainshed.cli.terminal import counted
from trainshed.preview.run import Preview
from trainshed.preview.text import short


def write(made: Preview, path: Path) -> str:
    """Write the report; the answer is what went wrong, or empty."""
    try:
        path.write_text(render(made), encoding="utf-8")
    except OSError as error:
        return f"the report can't be written to {path}: {error.strerror}"
    return ""


def render(made: Preview) -> str:
    """The report's HTML."""
    environment = Environment(
        loader=PackageLoader("trainshed.preview"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = lambda value: f"{value:,.0f}" if isinstance(value, int | float) else str(value)
    return environment.get_template("report.html.j2").render(
        name=made.settings.name,
        stack=made.settings.stack if whole(made.settings.stack) else None,
        plan=made.plan,
        cost=made.cost,
        bars=_bars(made.cost),
        problems=made.problems,
        counted=counted(made.problems) or "no problems",
        policies=made.policies,
        unjudged=made.unjudged,
        exemptions=made.exemptions,
        defaults=made.settings.defaults,
        groups=_groups(made.records),
        resources=sum(each.custom for each in made.records),
        exit_code=made.exit_code,
    )


def _bars(cost: dict[str, Any], most: int = 14) -> list[dict[str, Any]]:
    """The largest lines with their share of the largest, in percent."""
    lines = sorted(cost["lines"], key=lambda each: -each["expected"])[:most]
    top = max((each["high"] for each in lines), default=0) or 1
    return [
        {**each, "share": 100 * each["expected"] / top, "from": 100 * each["low"] / top, "to": 100 * each["high"] / top}
        for each in lines
    ]


def _groups(records: tuple[Record, ...]) -> list[tuple[str, list[tuple[str, str, bool]]]]:
    """Leaves by the outermost component that holds them: name, type, protection."""
    by_urn = {each.urn: each for each in records}
    groups: dict[str, list[tuple[str, str, bool]]] = defaultdict(list)
    for record in records:
        if not record.custom:
            continue
        top = record
        while top.parent in by_urn:
            top = by_urn[top.parent]
        groups[top.name if top is not record else "providers"].append((record.name, short(record.type), record.protect))
    return sorted((name, sorted(leaves)) for name, leaves in groups.items())
