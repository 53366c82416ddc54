"""The result of a collective test: bus bandwidth at the largest size, and whether the sums were right.

It reads the table that nccl-tests print, or a JSON object of another tool. A table that ended early, that was not
checked for wrong sums, or whose figures contradict each other is refused: a figure taken from it could open a gate that
ought to stay shut.
"""

from __future__ import annotations

import json
import math
import re
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# size count type redop root | time algbw busbw #wrong (out of place) | time algbw busbw #wrong (in place)
FIGURES = r"(?P<{0}_time>[\d.]+)\s+(?P<{0}_algorithm>[\d.]+)\s+(?P<{0}_bus>[\d.]+)\s+(?P<{0}_wrong>\d+|N/A)"
ROW = re.compile(
    r"^\s*(?P<size>\d+)\s+\d+\s+\w+(?:\s+\w+)?(?:\s+-?\d+)?\s+"
    + FIGURES.format("out")
    + r"\s+"
    + FIGURES.format("into")
    + r"\s*$"
)
ROW_BEGINS = re.compile(r"^\s*\d+\s+\d+\s+\w+\s")
LARGEST_ASKED = re.compile(r"\bmaxBytes (?P<size>\d+)")
STEP = re.compile(r"\bstep: (?P<step>\d+)\((?P<kind>factor|bytes)\)")
OUT_OF_BOUNDS = re.compile(r"^# Out of bounds values : (?P<count>\d+) ", re.MULTILINE)
AVERAGE = re.compile(r"^# Avg bus bandwidth\s+: (?P<average>[\d.]+)", re.MULTILINE)
# Below it a transfer shows the latency of the network, not what it can carry.
SMALLEST_BYTES = 1 << 20
# Both forms send the same bytes over the same links; runs on healthy nodes differ by a few per cent.
MOST_APART = 2.0
EARLY = "holds no result of a collective test: it ended early or is another program's output"


@dataclass(frozen=True)
class Result:
    """`bus_gb_per_s` is nccl-tests' busbw: what the slowest link carried, comparable over any number of ranks. It is
    the lower of the two figures at the largest size.
    """

    size: int
    bus_gb_per_s: float
    wrong: int


def parse(text: str) -> Result:
    """Raises ValueError when the text holds no result, or one that can't be believed."""
    if text.lstrip().startswith("{"):
        return _from_json(text)
    lines = text.splitlines()
    rows = [match for match in map(ROW.match, lines) if match]
    if not rows:
        raise ValueError(EARLY)
    broken = next((line for line in lines if ROW_BEGINS.match(line) and not ROW.match(line)), None)
    if broken is not None:
        raise ValueError(f"has a row that is cut short or is no row of nccl-tests: {broken.strip()!r}")
    stated, average = OUT_OF_BOUNDS.search(text), AVERAGE.search(text)
    if stated is None or average is None:
        raise ValueError("ended early: its last lines, `# Out of bounds values` and `# Avg bus bandwidth`, are missing")
    doubt = next(_doubts(text, rows, float(average["average"])), None)
    if doubt:
        raise ValueError(doubt)
    wrong = sum(int(row[name]) for row in rows for name in ("out_wrong", "into_wrong"))
    largest = rows[-1]
    bus = min(float(largest["out_bus"]), float(largest["into_bus"]))
    return Result(int(largest["size"]), bus, max(wrong, int(stated["count"])))


def _doubts(text: str, rows: Sequence[re.Match[str]], average: float) -> Iterator[str]:
    """Why the figures of a whole table can't be believed."""
    sizes = [int(row["size"]) for row in rows]
    if any(later <= earlier for earlier, later in zip(sizes, sizes[1:])):
        yield "holds more than one table, or rows out of order: give one test's output"
    asked, step = LARGEST_ASKED.search(text), STEP.search(text)
    if asked and step:
        grown = sizes[-1] * int(step["step"]) if step["kind"] == "factor" else sizes[-1] + int(step["step"])
        if grown <= int(asked["size"]):
            yield f"ended early: its last row has {sizes[-1]} bytes, it was asked for {asked['size']}"
    if sizes[-1] < SMALLEST_BYTES:
        yield f"its largest transfer has {sizes[-1]} bytes; below {SMALLEST_BYTES} latency is measured, not bandwidth"
    for row in rows:
        yield from _doubts_of_row(row)
    mean = statistics.mean(float(row[name]) for row in rows for name in ("out_bus", "into_bus"))
    if not math.isclose(mean, average, rel_tol=0.02, abs_tol=0.02):
        yield f"contradicts itself: its rows have {mean:.2f} GB/s on average, its last line says {average:g}"


def _doubts_of_row(row: re.Match[str]) -> Iterator[str]:
    size = int(row["size"])
    for form in ("out", "into"):
        if row[f"{form}_wrong"] == "N/A":
            yield f"did not check its sums (#wrong is N/A at {size} bytes): run it with `-c 1`"
        time, algorithm, bus = (float(row[f"{form}_{name}"]) for name in ("time", "algorithm", "bus"))
        carried = size / time / 1e3 if time else math.inf
        if not math.isclose(carried, algorithm, rel_tol=0.03, abs_tol=0.01):
            yield f"contradicts itself: {size} bytes in {time:g} us are {carried:.2f} GB/s, its row says {algorithm:g}"
        if bus > 2.01 * algorithm + 0.01:
            yield f"contradicts itself: {bus:g} GB/s on the bus are more than twice {algorithm:g} at {size} bytes"
    out, into = float(row["out_bus"]), float(row["into_bus"])
    if size >= SMALLEST_BYTES and max(out, into) > MOST_APART * min(out, into):
        yield f"contradicts itself: {out:g} GB/s out of place and {into:g} in place at {size} bytes"


def _from_json(text: str) -> Result:
    expected = "expected a JSON object with bus_gb_per_s, size in bytes and wrong, the count of wrong values"
    try:
        value = json.loads(text)
        bus, size, wrong = value["bus_gb_per_s"], value["size"], value["wrong"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"is no result: {error!r}; {expected}") from None
    for name, found, kinds in (("bus_gb_per_s", bus, (int, float)), ("size", size, (int,)), ("wrong", wrong, (int,))):
        if isinstance(found, bool) or not isinstance(found, kinds) or not math.isfinite(found) or found < 0:
            raise ValueError(f"is no result: {name} is {found!r}; {expected}")
    if size < SMALLEST_BYTES:
        raise ValueError(f"its transfer has {size} bytes; below {SMALLEST_BYTES} latency is measured, not bandwidth")
    return Result(size, float(bus), wrong)
