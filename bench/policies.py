"""The packs beside checkov on the same resources: in process as the preview runs them, and over the engine's wire.

Run it with `python bench/policies.py [STACK]`. checkov is asked through its own command in its own environment
(`python -m policies.external_tools.install checkov`), with a plan rendered from the same records.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bench import machine  # noqa: E402
from policies.cost.pack import PACK as COST  # noqa: E402
from policies.declared.resources import resources_from  # noqa: E402
from policies.external_tools.install import command  # noqa: E402
from policies.packs.configuration import load  # noqa: E402
from policies.packs.evaluation import evaluate  # noqa: E402
from policies.security.pack import PACK as SECURITY  # noqa: E402
from tests.policies.engine import Analyzer, running  # noqa: E402
from tests.policies.plan_json import plan  # noqa: E402
from tests.policies.stacks import environment_of, records_of  # noqa: E402

RUNS = 3
NAMES = ("security", "cost")
OPTIONS = ("--framework", "terraform_plan", "--skip-download", "--compact", "--quiet", "--output", "json")


def timed(work: Callable[[], Any]) -> float:
    start = time.monotonic()
    work()
    return time.monotonic() - start


def median(work: Callable[[], Any]) -> float:
    return statistics.median(timed(work) for _ in range(RUNS))


def in_process(stack: str) -> None:
    today = datetime.now(tz=UTC).date()
    declared = resources_from(records_of(stack))
    for pack in (SECURITY, COST):
        evaluate(declared, pack, load(pack.name, stack, environment_of(stack)), today=today)


def over_the_wire(stack: str) -> tuple[float, float]:
    """Seconds with the packs' own start, and seconds of judging alone; both packs at once, as the engine asks them."""
    records = records_of(stack)
    start = time.monotonic()
    with ExitStack() as started, ThreadPoolExecutor() as pool:
        packs: list[Analyzer] = list(
            pool.map(lambda name: started.enter_context(running(name, stderr=subprocess.DEVNULL)), NAMES)
        )
        ready = time.monotonic()
        list(pool.map(lambda analyzer: analyzer.everything(records), packs))
        done = time.monotonic()
    return done - start, done - ready


def checkov(stack: str) -> float | None:
    program = command("checkov")
    if program is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plan.json"
        path.write_text(plan(records_of(stack)))
        words = [str(program), "--file", str(path), *OPTIONS]
        return median(lambda: subprocess.run(words, capture_output=True, check=False))


def main() -> int:
    stack = sys.argv[1] if len(sys.argv) > 1 else "prod"
    print("\n".join(machine.described()))
    records = records_of(stack)
    aws = sum(record["type"].startswith("aws:") for record in records)
    rules = len(SECURITY.rules) + len(COST.rules)
    print(
        f"stack     {stack}: {len(records)} resources, {aws} of them AWS's (checkov sees only those); {rules} rules\n"
    )
    first = timed(lambda: in_process(stack))
    warm = median(lambda: in_process(stack))
    whole, judging = map(statistics.median, zip(*(over_the_wire(stack) for _ in range(RUNS)), strict=True))
    other = checkov(stack)
    rows: list[list[object]] = [
        ["packs in process, first time", f"{first:.3f}", _times(other, first)],
        ["packs in process, again", f"{warm:.3f}", _times(other, warm)],
        ["packs over the wire, with their start", f"{whole:.2f}", _times(other, whole)],
        ["packs over the wire, judging alone", f"{judging:.2f}", _times(other, judging)],
        ["checkov, its command", f"{other:.2f}" if other else "not installed", "1.0" if other else "-"],
    ]
    print(machine.table(["what", "seconds", "times faster than checkov"], rows))
    return 0


def _times(other: float | None, own: float) -> str:
    return f"{other / own:.1f}" if other else "-"


if __name__ == "__main__":
    sys.exit(main())
