"""Benchmark of the sample order: time and memory of one rank's step against a shuffled list, which is what most loaders
hold.

Run as `python bench/shards.py`. The step is that of a 405B run: 2,002 sequences over 77 data-parallel ranks.
"""

from __future__ import annotations

import os
import platform
import random
import sys
import time
import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from workload.data.sample_order import Cursor, ShardIndex

BATCH, RANKS = 2002, 77


def timed(work: Callable[[], object], repeats: int) -> float:
    """Seconds of one call."""
    started = time.perf_counter()
    for _ in range(repeats):
        work()
    return (time.perf_counter() - started) / repeats


def held(work: Callable[[], object]) -> float:
    """MiB still held after a call, its result included."""
    tracemalloc.start()
    result = work()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del result
    return size / (1 << 20)


def shuffled(samples: int) -> list[int]:
    order = list(range(samples))
    random.Random(1).shuffle(order)
    return order


def main() -> None:
    load, python = os.getloadavg()[0], platform.python_version()
    print(
        f"machine: {platform.machine()}, {os.cpu_count()} CPUs, load {load:.1f}, Python {python},"
        f" {datetime.now(UTC):%Y-%m-%d}"
    )
    print(
        f"{'samples':>14} {'start, ms':>10} {'rank step, ms':>14} {'MiB held':>9}   shuffled list: {'start, ms':>10}"
        f" {'MiB held':>9}"
    )
    for samples in (10**6, 10**9, 10**12):
        cursor = Cursor(samples, 1, consumed=samples // 3)
        start = timed(lambda cursor=cursor: cursor.batch(1), 50)
        step = timed(lambda cursor=cursor: cursor.batch(BATCH, 5, RANKS), 20)
        memory = held(lambda cursor=cursor: cursor.batch(BATCH, 5, RANKS))
        row = f"{samples:14,} {start * 1e3:10.3f} {step * 1e3:14.3f} {memory:9.3f}"
        if samples <= 10**6:
            row += (
                f"                  {timed(lambda: shuffled(10**6), 1) * 1e3:10.0f}"
                f" {held(lambda: shuffled(10**6)):9.1f}"
            )
        print(row, flush=True)
    shards = 20_000
    where = ShardIndex([f"shard-{number:05}.bin" for number in range(shards)], [50_000] * shards, "")
    places = [random.Random(2).randrange(where.samples) for _ in range(1000)]
    print(
        f"locate in {shards:,} shards: {timed(lambda: [where.locate(place) for place in places], 20) * 1e3:.2f} us a"
        " sample"
    )


if __name__ == "__main__":
    main()
