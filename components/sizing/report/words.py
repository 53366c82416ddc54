"""Numbers and tables as people read them: thousands apart, bytes and money in the unit that keeps them short."""

from __future__ import annotations

from typing import NamedTuple

NAMES = {
    "compute": "arithmetic",
    "tensor": "tensor traffic",
    "pipeline_bubble": "pipeline bubble",
    "pipeline_send": "stage traffic",
    "data_parallel": "data-parallel traffic",
    "expert": "expert traffic",
    "context": "context traffic",
    "optimizer": "optimizer",
    "scale": "stragglers",
    "host": "waiting for launches",
    "offload": "traffic to the host",
    "measured": "correction by own runs",
}
"""The parts of a step, as tables and plots call them."""


class PlanTable(NamedTuple):
    """A title, column heads and rows of text."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def count(number: float) -> str:
    """Parameters or tokens in words: 405.9 B, 15.6 T."""
    for limit, word in ((1e12, "T"), (1e9, "B"), (1e6, "M")):
        if number >= 0.99995 * limit:
            return f"{number / limit:.4g} {word}"
    return f"{number:,.0f}"


def size(number: float) -> str:
    """Bytes in decimal units."""
    for limit, word in ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        if number >= 0.9995 * limit:
            return f"{number / limit:.3g} {word}"
    return f"{number / 1e3:.3g} kB"


def hours(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172800 else f"{seconds / 86400:.1f} days"


def dollars(amount: float) -> str:
    for limit, word in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if amount >= limit:
            return f"{amount / limit:.3g} {word} USD"
    return f"{amount:.0f} USD"
