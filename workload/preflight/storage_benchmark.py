#!/usr/bin/env python3
"""The storage benchmark: many readers over shards, then a checkpoint written in parallel, against the bandwidth that
was bought.

The verdict is whether the bandwidth is enough and whether it is steady, since a mean over minutes hides the seconds
in which cards wait. Each load runs in several windows one after another; steadiness is judged by comparing them.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if not __package__:  # run as a file: the folder above holds the package
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from workload.preflight import fio
from workload.preflight.fio import MIB, BadResult, Load, Window

PASSED, FAILED, USAGE, MISSING_TOOL = 0, 1, 2, 3
EPILOG = f"""\
exit codes:
  {PASSED}  bandwidth and steadiness are as asked
  {FAILED}  they are not, or fio failed; each reason is named
  {USAGE}  used wrongly
  {MISSING_TOOL}  fio is not installed"""


@dataclass(frozen=True)
class BenchmarkRequest:
    """What the storage must show. Speeds in MB/s (10^6 bytes), as file systems are sold."""

    bought_mb_per_s: float
    minimum: float = 0.8
    latency_factor: float = 3.0
    operations_share: float = 0.7


def verdict(kind: str, windows: list[Window], asked: BenchmarkRequest) -> list[str]:
    """What is wrong with the windows of one load; empty when nothing is."""
    said = []
    speed = statistics.mean(window.mb_per_s for window in windows)
    wanted = asked.bought_mb_per_s * asked.minimum
    if speed < wanted:
        share = f"{speed:.0f} MB/s is {speed / asked.bought_mb_per_s:.0%} of the {asked.bought_mb_per_s:g} MB/s bought"
        said.append(f"{kind}: {share}; at least {asked.minimum:.0%} ({wanted:.0f} MB/s) is asked")
    for percentile in fio.PERCENTILES:
        values = [window.latency_ms[percentile] for window in windows if percentile in window.latency_ms]
        # The highest percentile of a short window is a single block; it is shown, not judged.
        if not values or percentile > 99:
            continue
        middle, worst = statistics.median(values), max(values)
        if worst > asked.latency_factor * middle:
            where = f"in window {values.index(worst) + 1} of {len(values)}"
            words = (
                f"p{percentile:g} latency is {worst:.1f} ms {where}, {worst / middle:.1f} times the median"
                f" {middle:.1f} ms"
            )
            said.append(f"{kind}: {words}; at most {asked.latency_factor:g} times is steady")
    operations = [window.operations_per_s for window in windows]
    middle, worst = statistics.median(operations), min(operations)
    if worst < asked.operations_share * middle:
        where = f"in window {operations.index(worst) + 1} of {len(operations)}"
        words = f"{worst:.0f} operations/s {where} are {worst / middle:.0%} of the median {middle:.0f}"
        said.append(f"{kind}: {words}; at least {asked.operations_share:.0%} is steady")
    return said


def run(load: Load, program: str, scratch: Path) -> Window:
    """One window. Raises BadResult."""
    job, output = scratch / f"{load.kind}.fio", scratch / f"{load.kind}.json"
    job.write_text(fio.job_file(load))
    output.unlink(missing_ok=True)
    # `--readonly` keeps a mistake in a job file from ever writing into the dataset.
    readonly = ["--readonly"] if load.kind == "read" and load.shards else []
    words = [program, "--output-format=json", f"--output={output}", *readonly, str(job)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    text = output.read_text() if output.exists() else ""
    if done.returncode and "{\n" not in text:
        raise BadResult(f"fio ended with {done.returncode}: {(done.stderr or done.stdout or text).strip()[:500]}")
    return fio.parse(text, load.kind)


def clean(folder: Path) -> None:
    """Remove the benchmark's own files, named first."""
    for path in sorted(folder.iterdir()):
        print(f"removing {path}", file=sys.stderr)
    shutil.rmtree(folder)


def positive(text: str) -> float:
    value = float(text)
    if not (value > 0 and math.isfinite(value)):
        raise argparse.ArgumentTypeError(f"{text} is not a number above 0")
    return value


def whole(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return value


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="storage_benchmark",
        description="Measure a file system with fio and judge it.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument(
        "folder",
        type=Path,
        help="folder on the file system; a folder of the benchmark's own is made in it, and removed",
    )
    top.add_argument(
        "--bought-mbps",
        type=positive,
        required=True,
        help="MB/s this node may expect: what was bought over the nodes that run this",
    )
    top.add_argument("--bought-write-mbps", type=positive, help="MB/s for the write, where it differs")
    top.add_argument(
        "--shards", type=Path, help="read the files of this folder (only read), instead of files of the benchmark's own"
    )
    top.add_argument("--kinds", default="read,write", help="loads to run (default read,write)")
    top.add_argument("--readers", type=whole, default=16)
    top.add_argument("--writers", type=whole, default=8)
    top.add_argument(
        "--file-mib", type=whole, default=1024, help="MiB of each reader's and writer's own file (default 1024)"
    )
    top.add_argument("--block-kib", type=whole, default=1024, help="KiB of a read or write (default 1024)")
    top.add_argument("--windows", type=whole, default=6, help="windows of each load (default 6)")
    top.add_argument("--seconds", type=positive, default=10.0, help="seconds of a read window (default 10)")
    top.add_argument(
        "--minimum", type=positive, default=0.8, help="share of the bandwidth bought that is asked (default 0.8)"
    )
    top.add_argument(
        "--latency-factor",
        type=positive,
        default=3.0,
        help="most that p50 and p99 of a window may exceed the median window's",
    )
    top.add_argument(
        "--buffered", action="store_true", help="through the page cache, where the file system takes no O_DIRECT"
    )
    top.add_argument("--engine", default="psync", help="fio's ioengine (default psync)")
    top.add_argument("--json", action="store_true", help="print one JSON object")
    top.add_argument("--print-jobs", action="store_true", help="print the job files and end")
    return top


def loads(arguments: argparse.Namespace, folder: Path) -> list[Load]:
    shards = sorted(path for path in arguments.shards.rglob("*") if path.is_file()) if arguments.shards else []
    made = []
    for kind in arguments.kinds.split(","):
        workers = arguments.readers if kind == "read" else arguments.writers
        block, size = arguments.block_kib * 1024, arguments.file_mib * MIB
        used = tuple(shards) if kind == "read" else ()
        made.append(
            Load(kind, workers, block, size, folder, arguments.seconds, not arguments.buffered, arguments.engine, used)
        )
    return made


def measure(arguments: argparse.Namespace, program: str, folder: Path) -> tuple[dict[str, Any], list[str]]:
    """Figures by kind of load, and what is wrong."""
    figures: dict[str, Any] = {}
    said: list[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        for load in loads(arguments, folder):
            bought = (
                arguments.bought_write_mbps
                if load.kind == "write" and arguments.bought_write_mbps
                else arguments.bought_mbps
            )
            windows: list[Window] = []
            try:
                for number in range(arguments.windows):
                    if sys.stderr.isatty():
                        print(
                            f"\r{load.kind} window {number + 1} of {arguments.windows}\x1b[K",
                            end="",
                            file=sys.stderr,
                            flush=True,
                        )
                    windows.append(run(load, program, Path(scratch)))
            except BadResult as error:
                said.append(f"{load.kind}: {error}")
            if sys.stderr.isatty():
                print(file=sys.stderr)
            figures[load.kind] = {"bought_mb_per_s": bought, "windows": [window.as_json() for window in windows]}
            if len(windows) == arguments.windows:
                figures[load.kind]["mb_per_s"] = round(statistics.mean(window.mb_per_s for window in windows), 1)
                said += verdict(
                    load.kind, windows, BenchmarkRequest(bought, arguments.minimum, arguments.latency_factor)
                )
    return figures, said


def show(figures: dict[str, Any]) -> None:
    for kind, values in figures.items():
        for number, window in enumerate(values["windows"], 1):
            latency = "  ".join(f"{name} {value:g} ms" for name, value in window["latency_ms"].items())
            print(
                f"{kind:5}  window {number}: {window['mb_per_s']:8.1f} MB/s  {window['operations_per_s']:8.1f}"
                f" operations/s  {latency}"
            )


def main(words: list[str] | None = None) -> int:
    top = parser()
    arguments = top.parse_args(words)
    if not set(arguments.kinds.split(",")) <= {"read", "write"}:
        top.error(f"--kinds {arguments.kinds}: read, write, or both with a comma")
    for path in (arguments.folder, arguments.shards):
        if path is not None and not path.is_dir():
            top.error(f"{path} is no folder")
    if arguments.shards is not None and not any(path.is_file() for path in arguments.shards.rglob("*")):
        top.error(f"{arguments.shards} holds no file")
    if arguments.print_jobs:
        print("\n".join(fio.job_file(load) for load in loads(arguments, arguments.folder)), end="")
        return PASSED
    program = shutil.which("fio")
    if program is None:
        print("storage_benchmark: fio is not installed: `apt-get install fio` or `dnf install fio`", file=sys.stderr)
        return MISSING_TOOL
    folder = Path(tempfile.mkdtemp(prefix="storage-benchmark-", dir=arguments.folder))
    try:
        figures, said = measure(arguments, program, folder)
    finally:
        clean(folder)
    if arguments.json:
        print(json.dumps({"passed": not said, "loads": figures, "said": said}))
    else:
        show(figures)
        print("passed" if not said else "failed:\n" + "\n".join(f"  {one}" for one in said))
    return FAILED if said else PASSED


if __name__ == "__main__":
    sys.exit(main())
