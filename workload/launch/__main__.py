#!/usr/bin/env python3
"""`python3 -m workload.launch -- COMMAND...`: a node's processes, as the environment says."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

if not __package__:  # run as a file: the folder above holds the package
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from workload import contract
from workload.launch import settings as launch_settings
from workload.launch import termination
from workload.launch.channel import ChannelClosed
from workload.launch.coordinator import Coordinator, say
from workload.launch.member import Member, connect
from workload.launch.settings import Settings
from workload.launch.verdicts import Failure
from workload.telemetry import server

CAUGHT = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGCHLD)
_CODES = "\n".join(f"  {code:<4} {meaning}" for code, meaning in sorted(contract.EXIT_MEANINGS.items()))
EPILOG = f"""\
It reads NNODES, NODE_RANK, NPROC_PER_NODE, MASTER_ADDR, MASTER_PORT, LAUNCH_PORT, GRACE_SECONDS, PROCESS_RESTARTS,
HANG_TIMEOUT_SECONDS, HEARTBEAT_FOLDER, METRICS_PORT and more (docs/job-contract.md); without any it starts one process.

exit codes: that of the first rank that failed, on every node; they mean
{_CODES}"""


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="launch",
        description="Start the processes of one node of a gang, and end with the first failure's code.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--termination-message", type=Path, help="file for it (default /dev/termination-log, if there)")
    top.add_argument(
        "--kill-after",
        type=float,
        default=5.0,
        metavar="SECONDS",
        help="between SIGTERM and SIGKILL of processes whose peer is dead (default 5)",
    )
    top.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="what each process runs")
    return top


def listen_for_signals() -> int:
    """A pipe that gives the number of each signal that came."""
    reading, writing = os.pipe()
    for end in (reading, writing):
        os.set_blocking(end, False)
    for number in CAUGHT:
        signal.signal(number, lambda number, frame: None)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    return reading


def launch(settings: Settings) -> Failure:
    wakeup = listen_for_signals()
    served = None
    if settings.metrics_port is not None and settings.heartbeats is not None:
        served = server.serve(settings.metrics_port, settings.heartbeats)
    coordinator = Coordinator(settings) if settings.node_rank == 0 else None
    if coordinator:
        coordinator.start()
    try:
        channel = connect(settings, coordinator.port if coordinator else settings.launch_port)
        ended = Member(settings, os.environ, channel, wakeup).run()
    except ChannelClosed as error:
        return Failure(contract.GANG_LOST, str(error))
    finally:
        if served:
            served.shutdown()
    if coordinator:
        coordinator.join(settings.kill_after + 15.0)
    channel.close()
    return ended


def main(words: list[str] | None = None) -> int:
    arguments = parser().parse_args(words)
    command = arguments.command[1:] if arguments.command[:1] == ["--"] else arguments.command
    try:
        settings = launch_settings.from_environment(os.environ, command, arguments.termination_message)
        settings = replace(settings, kill_after=arguments.kill_after)
    except launch_settings.WrongSettings as error:
        for line in str(error).splitlines():
            say(line)
        termination.write(arguments.termination_message, Failure(contract.USAGE, str(error)))
        return contract.USAGE
    try:
        ended = launch(settings)
    except OSError as error:
        ended = Failure(contract.FAILED, f"the launcher itself failed: {error}", node=settings.node)
        say(str(ended))
    if ended.code:
        termination.write(settings.termination, ended)
    return ended.code


if __name__ == "__main__":
    sys.exit(main())
