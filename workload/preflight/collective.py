"""The result of a collective test: bus bandwidth at the largest size, and whether the sums were right.

It hides where it comes from: the table that nccl-tests (and Neuron's nccom-test in its like form) print, or a JSON
object of another tool.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass

# size count type redop root | time algbw busbw #wrong (out of place) | time algbw busbw #wrong (in place)
ROW = re.compile(
    r"^\s*(?P<size>\d+)\s+\d+\s+\w+(?:\s+\w+)?(?:\s+-?\d+)?"
    r"\s+[\d.]+\s+[\d.]+\s+(?P<out>[\d.]+)\s+(?P<out_wrong>\d+|N/A)"
    r"\s+[\d.]+\s+[\d.]+\s+(?P<into>[\d.]+)\s+(?P<into_wrong>\d+|N/A)\s*$"
)
OUT_OF_BOUNDS = re.compile(r"^# Out of bounds values : (?P<count>\d+) ", re.MULTILINE)


@dataclass(frozen=True)
class Result:
    """`bus_gb_per_s` is nccl-tests' busbw: what the slowest link carried, comparable over any number of ranks."""

    size: int
    bus_gb_per_s: float
    wrong: int


def parse(text: str) -> Result:
    """Raises ValueError when the text holds no result."""
    if text.lstrip().startswith("{"):
        return _from_json(text)
    rows = [match for match in map(ROW.match, text.splitlines()) if match]
    if not rows:
        raise ValueError("holds no result of a collective test: it ended early or is another program's output")
    largest = max(rows, key=lambda row: int(row["size"]))
    wrong = sum(int(row[name]) for row in rows for name in ("out_wrong", "into_wrong") if row[name] != "N/A")
    stated = OUT_OF_BOUNDS.search(text)
    return Result(int(largest["size"]), float(largest["out"]), max(wrong, int(stated["count"]) if stated else 0))


def _from_json(text: str) -> Result:
    try:
        value = json.loads(text)
        result = Result(int(value.get("size", 0)), float(value["bus_gb_per_s"]), int(value.get("wrong", 0)))
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"is no result: {error!r}; expected a JSON object with bus_gb_per_s, and size and wrong if known"
        ) from None
    if not math.isfinite(result.bus_gb_per_s) or result.bus_gb_per_s < 0:
        raise ValueError(f"bus_gb_per_s is {result.bus_gb_per_s}")
    return result
