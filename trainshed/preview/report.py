"""The preview as one HTML file that needs nothing else: no script from elsewhere, no font, no server.

The bars' lengths are computed here; the page is a template beside this module.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from components.planning.cost.estimate import Estimate
from components.planning.cost.lines import Line
from components.problems import by_severity
from components.record import Record, owners
from components.spec.reading.partial import whole
from trainshed.cli.terminal import counted
from trainshed.preview.run import Preview
from trainshed.preview.words import short


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
        unpriced=made.cost.without_price,
        problems=by_severity(made.problems),
        counted=counted(made.problems) or "no problems",
        policies=(*made.verdict.mandatory, *made.verdict.advisory),
        unjudged=made.verdict.unjudged,
        exemptions=tuple(dict.fromkeys(each.exemption for each in made.verdict.exempted)),
        defaults=made.settings.defaults,
        groups=_groups(made.records),
        resources=sum(each.custom for each in made.records),
        exit_code=made.exit_code,
    )


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One line of the cost with the places of its range and its mark, in percent of the scale."""

    line: Line
    start: float
    end: float
    mark: float


def _bars(cost: Estimate, most: int = 14) -> list[Bar]:
    """The largest lines on one logarithmic scale: 17 M and 8 k are both seen."""
    lines = [each for each in cost.lines if each.high > 0][:most]
    if not lines:
        return []
    top = max(each.high for each in lines)
    bottom = max(1.0, min(each.expected for each in lines) / 10)

    def place(usd: float) -> float:
        if usd <= bottom or top <= bottom:
            return 0.0 if top > bottom else 100.0
        return 100 * math.log(usd / bottom) / math.log(top / bottom)

    return [Bar(line=each, start=place(each.low), end=place(each.high), mark=place(each.expected)) for each in lines]


def _groups(records: Sequence[Record]) -> list[tuple[str, list[tuple[str, str, bool]]]]:
    """Leaves by the outermost component that holds them: name, type, protection."""
    holder = owners(records)
    groups: dict[str, list[tuple[str, str, bool]]] = defaultdict(list)
    for record in records:
        if record.custom:
            groups[holder[record.urn] or "providers"].append((record.name, short(record.type), record.protect))
    return sorted((name, sorted(leaves)) for name, leaves in groups.items())
