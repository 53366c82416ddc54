"""How well the planner predicts published runs, with the constants in use and with each family held out in turn.

Only the given rows are fitted; `--check` also predicts other published rows, which no constant ever saw.
Run `python bench/planner.py [--rows] [--check] [--advice] [--fit]`: `--advice` follows the advice to 200 random tasks,
`--fit` prints the constants fitted on the given rows beside those in use.
"""

from __future__ import annotations

import math
import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from components import catalog
from components.sizing.advice.advice import advise, better
from components.sizing.advice.change import changed
from components.sizing.calibration import rows as calibration
from components.sizing.calibration.rows import CalibrationRow
from components.sizing.plan import reading, request
from components.sizing.plan.plan import plan
from components.sizing.step import band as uncertainty
from components.sizing.tuning.constants import DEFAULT, FITTED
from tests.components.sizing.asked import random_task

Errors = dict[str, float]


def held_out(rows: Sequence[CalibrationRow]) -> dict[str, float]:
    """Seconds by row, each family by constants that never saw it."""
    predicted: dict[str, float] = {}
    for family in dict.fromkeys(row.family.name for row in rows):
        tuning = calibration.fit(row for row in rows if row.family.name != family)
        predicted |= {row.id: row.predict(tuning).total for row in rows if row.family.name == family}
    return predicted


def six_n_d(row: CalibrationRow, utilization: float) -> float:
    """Seconds by 6 N tokens at a share of the 16-bit peak."""
    return 6 * row.shape.multiplied * row.tokens / (utilization * row.machine.card.tflops * 1e12 * row.cards)


def constant_mfu(rows: Sequence[CalibrationRow]) -> dict[str, float]:
    """Seconds by the median MFU of all other families, attention and recomputation-free model FLOPs counted."""
    predicted: dict[str, float] = {}
    for family in dict.fromkeys(row.family.name for row in rows):
        others = [_mfu(row) for row in rows if row.family.name != family]
        share = statistics.median(others)
        predicted |= {row.id: row.seconds * _mfu(row) / share for row in rows if row.family.name == family}
    return predicted


def _mfu(row: CalibrationRow) -> float:
    return row.shape.flops_per_token * row.tokens / (row.seconds * row.machine.card.tflops * 1e12 * row.cards)


def quantile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    at = share * (len(ordered) - 1)
    low = math.floor(at)
    return ordered[low] + (ordered[min(low + 1, len(ordered) - 1)] - ordered[low]) * (at - low)


def summary(name: str, rows: Sequence[CalibrationRow], predicted: Callable[[CalibrationRow], float]) -> str:
    errors = [abs(predicted(row) / row.seconds - 1) for row in rows]
    return f"{name:34} {len(rows):4} {statistics.median(errors):8.1%} {quantile(errors, 0.9):8.1%} {max(errors):8.1%}"


def inside(row: CalibrationRow, seconds: float) -> bool:
    band = uncertainty.of_step(*row.options[0])
    return seconds * band.low <= row.seconds <= seconds * band.high


Sets = dict[str, list[CalibrationRow]]


def classes(rows: Sequence[CalibrationRow]) -> Sets:
    """Rows by what the limits are set for; a row may be in several."""
    return {
        "dense": [row for row in rows if not row.shape.experts],
        "experts": [row for row in rows if row.shape.experts],
        "8 bits": [row for row in rows if row.options[0][0].recipe.narrow],
        "Blackwell": [row for row in rows if row.machine.card.generation == "blackwell"],
    }


def steps(rows: Sequence[CalibrationRow], predicted: dict[str, dict[str, float]], *, every: bool) -> None:
    """The table of rows, and of errors by class, for each way in which the rows were predicted."""
    naive = constant_mfu(rows)
    if every:
        heads = "".join(f"{name:>12}" for name in predicted)
        print(f"{'row':44} {'actual':>9}{heads} {'6ND@40%':>8} {'const.':>7}  in band")
        for row in rows:
            seconds = [found[row.id] for found in predicted.values()]
            errors = "".join(f"{value / row.seconds - 1:+12.1%}" for value in seconds)
            rest = f"{six_n_d(row, 0.4) / row.seconds - 1:+8.1%} {naive[row.id] / row.seconds - 1:+7.1%}"
            said = " (from memory)" if row.family.recalled else ""
            print(f"{row.id:44} {row.seconds:9.3f}{errors} {rest}  {'yes' if inside(row, seconds[-1]) else 'no'}{said}")
        print()
    print(f"{'step time':34} {'rows':>4} {'median':>8} {'p90':>8} {'max':>8}  in band")
    for name, some in {**classes(rows), "all": list(rows)}.items():
        if not some:
            continue
        for way, found in predicted.items():
            covered = sum(inside(row, found[row.id]) for row in some)
            print(
                summary(f"  {name}: {way}", some, lambda row, found=found: found[row.id])
                + f"  {covered} of {len(some)}"
            )
        print(summary(f"  {name}: 6ND at 40 %", some, lambda row: six_n_d(row, 0.4)))
        print(summary(f"  {name}: constant MFU", some, lambda row: naive[row.id]))


def memories() -> None:
    print(f"\n{'memory of a card, GiB':34} {'published':>9} {'planner':>9} {'error':>7}")
    for held in calibration.memories():
        for what, published, planned in (
            ("activations", held.activations, held.planned_activations),
            ("states", held.state, held.planned_state),
        ):
            print(f"  {held.id} {what:12} {published:9.2f} {planned:9.2f} {planned / published - 1:+7.1%}")


def runs() -> None:
    cat = catalog.load()
    print(f"\n{'whole runs, days':18} {'published':>9} {'planner':>8} {'low':>7} {'high':>7} {'error':>7}")
    core: list[float] = []
    rest: list[float] = []
    covered = 0
    for run in calibration.runs():
        asked, problems = request.build(run.spec, cat, name=run.id)
        made = plan(asked, cat)[0] if asked else None
        if made is None:
            print(f"  {run.id}: {problems}")
            continue
        error = made.days.expected / run.days - 1
        (core if run.core else rest).append(abs(error))
        covered += made.days.low <= run.days <= made.days.high
        print(
            f"  {run.id:16} {run.days:9.1f} {made.days.expected:8.1f} "
            f"{made.days.low:7.1f} {made.days.high:7.1f} {error:+7.1%}"
        )
    print(
        f"median error: {statistics.median(core):.1%} on {len(core)} core runs, "
        f"{statistics.median(rest):.1%} on {len(rest)} others"
    )
    print(f"inside low..high: {covered} of {len(core) + len(rest)}")


def advice(count: int) -> None:
    """Random tasks: every piece of advice written into its task and planned again, with the seconds that it took."""
    cat = catalog.load()
    reported = wrong = planned_tasks = 0
    seconds: list[float] = []
    kinds: dict[str, int] = {}
    for seed in range(count):
        read = reading.read_text(random_task(seed), "task.yaml", cat)
        made = plan(read.request, cat)[0] if read.request else None
        if made is None:
            continue
        planned_tasks += 1
        started = time.process_time()
        found = advise(made, cat)
        seconds.append(time.process_time() - started)
        for each in found:
            reported += 1
            kinds[each.change.kind] = kinds.get(each.change.kind, 0) + 1
            request_after = changed(made.request, each.change, cat)
            again = plan(request_after, cat)[0] if request_after else None
            if again is None or not again.memory.fits or abs(again.days.expected / each.plan.days.expected - 1) > 1e-6:
                wrong += 1
                print(f"  seed {seed}: {each.change.words} does not plan as told")
            elif not better(made, again):
                wrong += 1
                print(f"  seed {seed}: {each.change.words} is no better")
    print(f"\nadvice: {reported} pieces for {planned_tasks} of {count} random tasks, {wrong} wrong; {kinds}")
    print(f"seconds of one processor: median {statistics.median(seconds):.2f}, max {max(seconds):.2f}")


def main() -> None:
    print(f"{platform.machine()}, Python {platform.python_version()}, {platform.system()}")
    started = time.perf_counter()
    given = [row for row in calibration.rows() if row.family.fit]
    in_use = {row.id: row.predict(DEFAULT).total for row in given}
    print("the given rows, which the constants are fitted on")
    steps(given, {"in use": in_use, "held out": held_out(given)}, every="--rows" in sys.argv)
    if "--check" in sys.argv:
        others = [row for row in calibration.rows() if not row.family.fit]
        print("\nother published rows, which no constant was fitted on")
        steps(others, {"in use": {row.id: row.predict(DEFAULT).total for row in others}}, every="--rows" in sys.argv)
    memories()
    runs()
    if "--advice" in sys.argv:
        advice(200)
    if "--fit" in sys.argv:
        tuning = calibration.fit(given)
        print(f"\n{'constant':26} {'before':>9} {'fitted':>9} {'in use':>9}")
        for constant in FITTED:
            values = (constant.prior, getattr(tuning, constant.name), getattr(DEFAULT, constant.name))
            print(f"  {constant.name:24} " + " ".join(f"{value:9.3g}" for value in values))
    print(f"\n{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
