"""Pictures of a plan as hand-drawn SVG: what a step and a card's memory are made of, and how a sweep comes out.

Colours come from the page's style, so that the pictures follow it into the dark.
"""

from __future__ import annotations

import math
from html import escape

_WIDTH, _BAR = 760, 34
_COLOURS = ("#3b6fb6", "#d97706", "#8e5bb5", "#2f9e6e", "#c2414b", "#6b7280", "#0e9aa7", "#b5892f", "#9aa1ab")


def bar(title: str, parts: list[tuple[str, float]], unit: str, limit: float | None = None) -> str:
    """One stacked bar with its legend; `limit` draws a line, as for usable memory."""
    shown = [(name, value) for name, value in parts if value > 0]
    total = sum(value for _, value in shown) or 1.0
    scale = _WIDTH / max(total, limit or 0.0)
    out = [
        (
            f'<svg viewBox="0 0 {_WIDTH + 4} {_BAR + 26 + 22 * math.ceil(len(shown) / 3)}" '
            f'role="img" aria-label="{escape(title)}">'
        )
    ]
    x = 0.0
    for index, (name, value) in enumerate(shown):
        width = value * scale
        colour = _COLOURS[index % len(_COLOURS)]
        tip = f"{name}: {value:.3g} {unit} ({value / total:.0%})"
        out.append(
            f'<rect x="{x:.1f}" y="4" width="{max(0.5, width):.1f}" height="{_BAR}" '
            f'fill="{colour}"><title>{escape(tip)}</title></rect>'
        )
        x += width
        column, row = index % 3, index // 3
        left, top = column * 255, _BAR + 30 + row * 22
        out.append(f'<rect x="{left}" y="{top - 11}" width="12" height="12" fill="{colour}"/>')
        out.append(f'<text x="{left + 18}" y="{top}">{escape(tip)}</text>')
    if limit:
        at = limit * scale
        out.append(
            f'<line x1="{at:.1f}" x2="{at:.1f}" y1="0" y2="{_BAR + 8}" class="limit">'
            f"<title>usable: {limit:.1f} {escape(unit)}</title></line>"
        )
    out.append("</svg>")
    return "".join(out)


def line(title: str, points: list[tuple[str, float, float, float]], unit: str) -> str:
    """Values with their bands over the labels of a sweep: (label, low, expected, high)."""
    height, left, bottom = 260, 70, 40
    top = max(high for _, _, _, high in points) * 1.08 or 1.0
    inner_w, inner_h = _WIDTH - left - 20, height - bottom - 14

    def spot(index: int, value: float) -> tuple[float, float]:
        x = left + inner_w * ((index + 0.5) / len(points))
        return x, 14 + inner_h * (1 - value / top)

    out = [f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(title)}">']
    for tick in _ticks(top):
        _, y = spot(0, tick)
        out.append(f'<line x1="{left}" x2="{_WIDTH - 20}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>')
        out.append(f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (spot(i, expected) for i, (_, _, expected, _) in enumerate(points)))
    out.append(f'<polyline points="{path}" class="curve"/>')
    for index, (label, low, expected, high) in enumerate(points):
        x, y = spot(index, expected)
        _, y_low = spot(index, low)
        _, y_high = spot(index, high)
        out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y_low:.1f}" y2="{y_high:.1f}" class="band"/>')
        tip = f"{label}: {expected:.3g} {unit} ({low:.3g} to {high:.3g})"
        out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" class="point"><title>{escape(tip)}</title></circle>')
        out.append(f'<text x="{x:.1f}" y="{height - bottom + 20}" text-anchor="middle">{escape(label)}</text>')
    out.append(f'<text x="4" y="12">{escape(unit)}</text></svg>')
    return "".join(out)


def scatter(title: str, points: list[tuple[str, float, float, bool]], x_unit: str, y_unit: str) -> str:
    """Points as (label, x, y, whether it lies on the frontier); the frontier is joined by a line."""
    height, left, bottom = 300, 70, 40
    right_most = max(x for _, x, _, _ in points) * 1.08 or 1.0
    top = max(y for _, _, y, _ in points) * 1.08 or 1.0
    inner_w, inner_h = _WIDTH - left - 20, height - bottom - 14

    def spot(x: float, y: float) -> tuple[float, float]:
        return left + inner_w * x / right_most, 14 + inner_h * (1 - y / top)

    out = [f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(title)}">']
    for tick in _ticks(top):
        _, y = spot(0, tick)
        out.append(f'<line x1="{left}" x2="{_WIDTH - 20}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>')
        out.append(f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
    for tick in _ticks(right_most):
        x, _ = spot(tick, 0)
        out.append(f'<text x="{x:.1f}" y="{height - bottom + 20}" text-anchor="middle">{tick:g}</text>')
    path = " ".join("{:.1f},{:.1f}".format(*spot(x, y)) for _, x, y, best in points if best)
    out.append(f'<polyline points="{path}" class="curve"/>')
    for label, days, money, best in points:
        x, y = spot(days, money)
        tip = f"{label}: {days:.3g} {x_unit}, {money:.3g} {y_unit}"
        size = 6 if best else 3
        mark = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" class="point"><title>{escape(tip)}</title></circle>'
        out.append(mark)
    out.append(f'<text x="4" y="12">{escape(y_unit)}</text>')
    out.append(f'<text x="{_WIDTH - 20}" y="{height - 4}" text-anchor="end">{escape(x_unit)}</text></svg>')
    return "".join(out)


def _ticks(top: float) -> list[float]:
    step = 10 ** math.floor(math.log10(top))
    for factor in (0.2, 0.5, 1.0):
        if top / (step * factor) <= 6:
            step *= factor
            break
    return [step * index for index in range(int(top / step) + 1)]
