"""A gang of real gate processes on this machine, with one bad member: throttled, hung, killed or of another version.

The gate itself knows nothing of it: a throttled member runs `throttled_member.py`, a hung one is stopped by SIGSTOP, a
killed one by SIGKILL when the first worker says that a stage begins.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workload.preflight import report

ROOT = Path(__file__).resolve().parents[4]
GATE = ROOT / "workload/preflight/gate.py"
THROTTLED = Path(__file__).with_name("throttled_member.py")
FAULTS = ("throttled", "hung", "killed", "version-skewed")
STAGES = ("join", "nodes", "clocks", "inside", "collectives", "pairs")
# Seconds. A machine shared by many needs room; none of them is waited for where nothing hangs.
LIMITS = {"--join-limit": 6, "--node-limit": 10, "--test-limit": 4, "--grace": 3, "--patience": 8, "--limit": 60}


@dataclass
class Run:
    """What a gang's gates said: exit codes by rank, the named ranks, seconds until the last sound worker ended."""

    codes: dict[int, int]
    named: list[dict[str, Any]]
    seconds: float
    log: str = ""
    messages: dict[int, dict[str, Any]] = field(default_factory=dict)


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def node_root(folder: Path, driver: str) -> Path:
    """The part of a node's file system that the gate reads versions from."""
    module = folder / driver / "sys/module/nvidia"
    module.mkdir(parents=True, exist_ok=True)
    (module / "version").write_text(f"{driver}\n")
    return folder / driver


def run(
    folder: Path,
    *,
    members: int = 8,
    fault: str | None = None,
    bad: int = 0,
    stage: str = "join",
    more: Sequence[object] = ("--transport", "sockets", "--mib", "1", "--wire-gbps", "0.08"),
    limits: Mapping[str, float] | None = None,
    python: str = sys.executable,
) -> Run:
    """Run the gang to its end. Sound workers that outlive every limit together are a failure of the gate."""
    port, messages = free_port(), folder / "messages"
    messages.mkdir(parents=True, exist_ok=True)
    chosen = {**LIMITS, **(limits or {})}
    started = time.monotonic()
    processes = {
        rank: _started(python, rank, members, fault if rank == bad else None, folder, port, chosen, more)
        for rank in range(members)
    }
    log: list[str] = []

    def follow() -> None:
        struck = False
        assert processes[0].stderr is not None
        for line in processes[0].stderr:
            log.append(line)
            wanted = "gate: waiting" if stage == "join" else f"gate: {stage}:"
            if fault in ("hung", "killed") and not struck and line.startswith(wanted):
                struck = True
                processes[bad].send_signal(signal.SIGSTOP if fault == "hung" else signal.SIGKILL)

    follower = threading.Thread(target=follow, daemon=True)
    follower.start()
    sound = {rank: process for rank, process in processes.items() if not (fault in ("hung", "killed") and rank == bad)}
    longest = chosen["--join-limit"] + chosen["--limit"] + chosen["--patience"] + 30
    try:
        codes = {
            rank: process.wait(max(longest - (time.monotonic() - started), 0.1)) for rank, process in sound.items()
        }
        seconds = time.monotonic() - started
    finally:
        for process in processes.values():
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.wait()
    follower.join(5)
    found = _messages(messages, members)
    return Run(codes, report.agreed(found.values()), seconds, "".join(log), found)


def _started(
    python: str,
    rank: int,
    members: int,
    fault: str | None,
    folder: Path,
    port: int,
    limits: Mapping[str, float],
    more: Sequence[object],
) -> subprocess.Popen[str]:
    """One worker's gate; `fault` is its own."""
    driver = "570.1" if fault == "version-skewed" else "580.2"
    program = THROTTLED if fault == "throttled" else GATE
    command = [python, program, "--gang", "--rank", rank, "--nodes", members, "--host", "127.0.0.1", "--port", port]
    command += ["--message", folder / "messages" / str(rank), "--root", node_root(folder, driver)]
    command += [word for pair in limits.items() for word in pair]
    if rank == 0:
        command += ["--report", folder / "report.json"]
    environment = {**os.environ, "NODE_NAME": f"node-{rank}", "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [str(word) for word in [*command, *more]],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE if rank == 0 else subprocess.DEVNULL,
        text=True,
        env=environment,
    )


def _messages(folder: Path, members: int) -> dict[int, Any]:
    """What each worker left as its last word, by rank; those that wrote none are left out."""
    found: dict[int, Any] = {}
    for rank in range(members):
        file = folder / str(rank)
        value = report.read(file.read_text()) if file.exists() else None
        if value is not None:
            found[rank] = value
    return found


def case(seed: int, members: int = 8) -> dict[str, Any]:
    """The fault, the bad member and the stage of one seed; each fault comes as often as the others."""
    chance = random.Random(seed)
    return {"fault": FAULTS[seed % len(FAULTS)], "bad": chance.randrange(members), "stage": chance.choice(STAGES)}
