#!/usr/bin/env python3
"""The heartbeat program: every rank leaves its step and time, a watcher tells when one has stopped, and on which node.

A watcher that keeps running trusts only what it saw change, by its own clock: clocks of a thousand nodes differ. A
single look compares the boot clock in the files with the node's own, which a change of the date does not move.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import socket
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

if not __package__:  # run as a file: the folder above holds the package
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from workload import boot_clock
from workload.atomic_files import write_file
from workload.progress import seconds_in_words

FILE_NAME = re.compile(r"^rank-(?P<rank>\d{6,})\.json$")
# A thousand nodes that write at every step would load the file system's metadata more than training does.
WRITE_EVERY_SECONDS = 5.0


def node_name() -> str:
    """The Kubernetes node where the pod says it, else the host's name. `NODE_NAME` comes from the downward API
    (`spec.nodeName`).
    """
    return os.environ.get("NODE_NAME") or socket.gethostname()


@dataclass(frozen=True)
class Beat:
    """A rank's last sign of life."""

    rank: int
    step: int
    time: float  # seconds since 1970, of the rank's clock: for people
    host: str
    boottime: float = 0.0  # seconds of the node's boot clock: for comparing
    boot: str = ""  # which boot that was
    working: str = ""  # what the rank does between two steps, such as "checkpoint"

    def silent_seconds(self, now: float, boot: str) -> float:
        """Seconds since this beat, on the node that wrote it. One from before the node's last boot is as old as the
        boot at least.
        """
        return max(0.0, now - self.boottime) if self.boot == boot else now


def file_name(rank: int) -> str:
    return f"rank-{rank:06d}.json"


class Heart:
    """One rank's heartbeat file; `beat` costs nothing between two writes. Safe to call from several threads."""

    def __init__(self, folder: Path, rank: int, every: float = WRITE_EVERY_SECONDS, host: str | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = folder / file_name(rank)
        self._rank, self._every, self._host = rank, every, host or node_name()
        self._written: float | None = None
        self._boot = boot_clock.boot_id()
        self._step = 0
        self._lock = threading.Lock()

    def beat(self, step: int, *, now: bool = False, working: str = "") -> bool:
        """Write the step, unless the last write is younger than `every` seconds; `now` writes in any case."""
        clock = boot_clock.now()
        with self._lock:
            self._step = step
            if not now and self._written is not None and clock - self._written < self._every:
                return False
            beat = Beat(self._rank, step, time.time(), self._host, clock, self._boot, working)
            # Not flushed to the disk: after a power cut the run has ended anyway.
            write_file(self._file, json.dumps(asdict(beat)).encode(), sync=False)
            self._written = clock
        return True

    def working(self, what: str) -> bool:
        """A sign of life between two steps: call it whenever a piece of long work is done, never by a timer."""
        return self.beat(self._step, working=what)


def read(folder: Path) -> dict[int, Beat]:
    """The last beat of every rank that has one. A file that can't be read counts as none."""
    beats = {}
    for path in folder.iterdir() if folder.is_dir() else []:
        match = FILE_NAME.match(path.name)
        if not match:
            continue
        try:
            beat = Beat(**json.loads(path.read_bytes()))
        except (OSError, ValueError, TypeError):
            continue
        beats[int(match["rank"])] = beat
    return beats


@dataclass(frozen=True)
class Stale:
    """A rank that has stopped, or never began (`beat` is None)."""

    rank: int
    silent_seconds: float
    beat: Beat | None

    def __str__(self) -> str:
        silent = seconds_in_words(self.silent_seconds)
        if self.beat is None:
            return f"rank {self.rank}: no heartbeat after {silent}"
        during = f" during {self.beat.working}" if self.beat.working else ""
        return (
            f"rank {self.rank} on node {self.beat.host}: last heartbeat {silent} ago, at step {self.beat.step}{during}"
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "rank": self.rank,
            "silent_seconds": round(self.silent_seconds, 1),
            "node": self.beat.host if self.beat else None,
            "step": self.beat.step if self.beat else None,
            "working": self.beat.working if self.beat else None,
        }


def stale(
    beats: Mapping[int, Beat], silent: Mapping[int, float], ranks: Iterable[int], waited: float, timeout: float
) -> list[Stale]:
    """Ranks silent for longer than `timeout`, the likeliest culprit first.

    When one rank stops, the others stop with it at the next collective call: so the lowest step comes first, then the
    longest silence. A rank that never beat comes before all.
    """
    found = []
    for rank in ranks:
        if rank not in beats:
            if waited > timeout:
                found.append(Stale(rank, waited, None))
        elif silent[rank] > timeout:
            found.append(Stale(rank, silent[rank], beats[rank]))
    return sorted(found, key=lambda one: (-1 if one.beat is None else one.beat.step, -one.silent_seconds, one.rank))


def report(found: list[Stale], as_json: bool) -> None:
    if as_json:
        print(
            json.dumps({"hang": True, "node": found[0].as_json()["node"], "stale": [one.as_json() for one in found]}),
            flush=True,
        )
        return
    print(f"hang: {len(found)} ranks are silent; first to look at: {found[0]}", flush=True)
    for one in found[1:8]:
        print(f"  {one}")
    if len(found) > 8:
        print(f"  and {len(found) - 8} more")


class Watch:
    """What a running watcher has seen change, by its own clock."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self._seen: dict[int, tuple[Beat, float]] = {}

    def look(self, beats: Mapping[int, Beat]) -> dict[int, float]:
        """Seconds of silence of every rank, as this watcher observed it."""
        now = time.monotonic()
        for rank, beat in beats.items():
            if rank not in self._seen or self._seen[rank][0] != beat:
                self._seen[rank] = (beat, now)
        return {rank: now - since for rank, (_, since) in self._seen.items()}


def watch(
    folder: Path, ranks: Iterable[int], timeout: float, interval: float, as_json: bool, parent: int | None = None
) -> int:
    """Look until a rank is silent for longer than `timeout`. Ends with 0 when the process `parent` has ended."""
    ranks, seen = list(ranks), Watch()
    while parent is None or alive(parent):
        beats = read(folder)
        found = stale(beats, seen.look(beats), ranks, time.monotonic() - seen.started, timeout)
        if found:
            report(found, as_json)
            return 1
        time.sleep(interval)
    return 0


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def ages(beats: Mapping[int, Beat]) -> dict[int, float]:
    """Seconds of silence of ranks on this node."""
    now, boot = boot_clock.now(), boot_clock.boot_id()
    return {rank: beat.silent_seconds(now, boot) for rank, beat in beats.items()}


def look_once(folder: Path, ranks: list[int], timeout: float, as_json: bool) -> int:
    """One look, for a liveness probe: by the boot clock in the files, so of use on the node that wrote them."""
    if not folder.is_dir():
        print(f"heartbeat: {folder} is not there")
        return 1
    beats = read(folder)
    silent = ages(beats)
    # A rank that never beat is judged by the oldest of its neighbours; before any beat the startup probe counts.
    waited = max(silent.values(), default=0.0)
    found = stale(beats, silent, ranks, waited, timeout)
    if found:
        report(found, as_json)
        return 1
    return 0


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="heartbeat",
        description="Leave signs of life, and find the rank that stopped.",
        epilog=(
            "exit codes: 0 all ranks live, 1 a rank is silent for longer than the timeout (its node is named), 2 used"
            " wrongly"
        ),
    )
    verbs = top.add_subparsers(dest="verb", required=True, metavar="{watch,check,started,beat}")
    for verb, words in (("watch", "look until a rank has stopped"), ("check", "look once, for a liveness probe")):
        one = verbs.add_parser(verb, help=words)
        one.add_argument("folder", type=Path, help="folder of the heartbeat files")
        one.add_argument("--world-size", type=int, required=True, help="number of ranks that must beat")
        one.add_argument(
            "--first-rank", type=int, default=0, help="first rank, where the folder is one node's (default 0)"
        )
        one.add_argument("--hang-timeout", type=float, required=True, help="seconds of silence that mean a hang")
        one.add_argument("--json", action="store_true")
        if verb == "watch":
            one.add_argument("--interval", type=float, default=10.0, help="seconds between two looks (default 10)")
            one.add_argument(
                "--until-process-ends",
                type=int,
                metavar="PID",
                help="stop watching, with 0, when this process has ended",
            )
    one = verbs.add_parser("started", help="whether a rank has beaten yet, for a startup probe")
    one.add_argument("folder", type=Path, help="folder of the heartbeat files")
    one = verbs.add_parser("beat", help="write one heartbeat")
    one.add_argument("folder", type=Path)
    one.add_argument("--rank", type=int, required=True)
    one.add_argument("--step", type=int, required=True)
    return top


def main(words: list[str] | None = None) -> int:
    top = parser()
    arguments = top.parse_args(words)
    if arguments.verb == "beat":
        Heart(arguments.folder, arguments.rank).beat(arguments.step, now=True)
        return 0
    if arguments.verb == "started":
        return 0 if read(arguments.folder) else 1
    if arguments.world_size < 1 or arguments.hang_timeout <= 0:
        top.error("--world-size starts at 1 and --hang-timeout is above 0")
    ranks = list(range(arguments.first_rank, arguments.first_rank + arguments.world_size))
    if arguments.verb == "check":
        return look_once(arguments.folder, ranks, arguments.hang_timeout, arguments.json)
    return watch(
        arguments.folder,
        ranks,
        arguments.hang_timeout,
        arguments.interval,
        arguments.json,
        arguments.until_process_ends,
    )


if __name__ == "__main__":
    sys.exit(main())
