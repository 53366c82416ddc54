"""fio's job files and results.

Other modules know neither fio's options nor its JSON: a load is readers over shards or writers of a checkpoint; a
result is bandwidth, operations and latency percentiles of one window of time.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MIB = 1 << 20
PERCENTILES = (50.0, 99.0, 99.9)


@dataclass(frozen=True)
class Load:
    """What is done to the storage in each window. `shards` are real files, only read; without them each reader has a
    file of its own.
    """

    kind: str  # read | write
    workers: int
    block_bytes: int
    file_bytes: int
    folder: Path
    seconds: float
    direct: bool
    engine: str
    shards: tuple[Path, ...] = ()


def escaped(path: Path) -> str:
    """A path in fio's `filename`, where a colon separates files."""
    return str(path).replace("\\", "\\\\").replace(":", "\\:")


def slices(shards: Sequence[Path], workers: int) -> list[tuple[Path, ...]]:
    """Each reader's shards. Fewer shards than readers: several readers share one, as a data loader's do."""
    return [tuple(shards[number::workers]) or (shards[number % len(shards)],) for number in range(workers)]


def job_file(load: Load) -> str:
    """The job file of one window."""
    lines = [
        "[global]",
        f"ioengine={load.engine}",
        f"direct={int(load.direct)}",
        f"bs={load.block_bytes}",
        "group_reporting=1",
        "thread=1",
        "randrepeat=1",
        "percentile_list=" + ":".join(f"{percentile:g}" for percentile in PERCENTILES),
    ]
    if load.kind == "read":
        # Samples are read in a shuffled order: whole blocks at random places.
        lines += ["rw=randread", "norandommap=1", "time_based=1", f"runtime={load.seconds:g}"]
    else:
        # A checkpoint counts once it is on the disk, so the flush belongs to the time. Written once a window, not for a
        # time.
        lines += [
            "rw=write",
            "end_fsync=1",
            "overwrite=0",
            f"size={load.file_bytes}",
            f"directory={escaped(load.folder)}",
        ]
    if load.kind == "read" and load.shards:
        for number, names in enumerate(slices(load.shards, load.workers)):
            lines += [
                f"[reader-{number}]",
                "filename=" + ":".join(escaped(name) for name in names),
                "file_service_type=random",
            ]
    elif load.kind == "read":
        lines += [
            f"size={load.file_bytes}",
            f"directory={escaped(load.folder)}",
            "[readers]",
            f"numjobs={load.workers}",
        ]
    else:
        lines += ["[writers]", f"numjobs={load.workers}"]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Window:
    """One run's figures. Latencies are of one block, in milliseconds, by percentile."""

    mb_per_s: float
    operations_per_s: float
    latency_ms: dict[float, float]

    def as_json(self) -> dict[str, Any]:
        latency = {f"p{percentile:g}": round(value, 3) for percentile, value in self.latency_ms.items()}
        return {
            "mb_per_s": round(self.mb_per_s, 1),
            "operations_per_s": round(self.operations_per_s, 1),
            "latency_ms": latency,
        }


class BadResult(ValueError):
    """fio failed, or printed something else than a result."""


def parse(text: str, kind: str) -> Window:
    """The figures of a run with `--output-format=json`; notes that fio prints before the JSON are passed over. Raises
    BadResult.
    """
    begin = text.find("{\n")
    if begin < 0:
        raise BadResult(f"fio printed no JSON: {text.strip()[:200]!r}")
    try:
        value, _ = json.JSONDecoder().raw_decode(text, begin)
        jobs = value["jobs"]
    except (ValueError, KeyError) as error:
        raise BadResult(f"fio's JSON can't be read: {error!r}") from None
    failed = [job for job in jobs if job["error"]]
    if failed:
        raise BadResult(f"fio job {failed[0]['jobname']} failed with error {failed[0]['error']}")
    if len(jobs) != 1:
        raise BadResult(f"expected one group of jobs, found {len(jobs)}")
    part = jobs[0][kind]
    if not part["io_bytes"] or not part["runtime"]:
        raise BadResult(f"fio's {kind} moved no bytes")
    # The slowest thread's time; fio flushes inside it (`end_fsync`), so a write's time ends on the disk.
    seconds = part["runtime"] / 1000
    latency = {
        float(percentile): nanoseconds / 1e6
        for percentile, nanoseconds in part["clat_ns"].get("percentile", {}).items()
    }
    window = Window(part["io_bytes"] / 1e6 / seconds, part["total_ios"] / seconds, latency)
    doubt = _doubt(part, window)
    if doubt:
        raise BadResult(f"fio's {kind} figures contradict each other: {doubt}")
    return window


def _doubt(part: dict[str, Any], window: Window) -> str | None:
    """Why one window's figures can't all be true: a cut or edited result must not pass for a fast file system."""
    if not part["total_ios"] or not window.latency_ms:
        return "bytes moved, yet no operation was timed"
    stated = part["bw_bytes"] / 1e6
    # fio's own rate is of the group's time, which may begin a little before the slowest thread's.
    if not window.mb_per_s / 1.1 <= stated <= window.mb_per_s * 1.1:
        return f"it says {stated:.1f} MB/s, its bytes and time make {window.mb_per_s:.1f}"
    values = [window.latency_ms[percentile] for percentile in sorted(window.latency_ms)]
    if values != sorted(values):
        return "a higher percentile of latency is lower"
    return None
