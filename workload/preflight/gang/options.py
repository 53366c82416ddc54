"""The gang's part of the gate's command line: who this worker is, what is measured, and how long anything may take."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from workload.heartbeat import node_name
from workload.preflight.findings import COLLECTIVE, OPEN, OTHERS, SILENT, Finding
from workload.preflight.gang import baseline
from workload.preflight.gang.asked import Asked, Limits
from workload.preflight.gang.attendance import Attendance
from workload.preflight.gang.coordinator import GateCoordinator
from workload.preflight.gang.member import GateMember, GateWorker, LostCoordinator
from workload.preflight.gang.wire import Message
from workload.preflight.report import Link, Named, Report, write

BACKENDS = {"nvidia": "nccl", "neuron": "xla"}
MIB = 1 << 20


def _whole(name: str, default: int) -> int:
    text = os.environ.get(name, "")
    return int(text) if text.isdigit() else default


def add_gang_options(top: argparse.ArgumentParser) -> None:
    gang = top.add_argument_group("over the gang")
    add = gang.add_argument
    limits = Limits()
    add("--gang", action="store_true", help="join the gates of all workers; the options below belong to it")
    add("--rank", type=int, default=_whole("NODE_RANK", 0), help="this worker's number (default NODE_RANK)")
    add("--nodes", type=int, default=_whole("NNODES", 1), help="how many workers there are (default NNODES)")
    add("--host", default=os.environ.get("MASTER_ADDR", "127.0.0.1"), help="the first worker (default MASTER_ADDR)")
    add(
        "--port",
        type=int,
        default=_whole("MASTER_PORT", 29500) + 1,
        help="the first worker's port for the gate (default MASTER_PORT + 1)",
    )
    add("--cards", type=int, default=_whole("NPROC_PER_NODE", 1), help="processes in a test (default NPROC_PER_NODE)")
    add("--backend", default=os.environ.get("COLLECTIVE_BACKEND"), help="nccl or gloo (default COLLECTIVE_BACKEND)")
    add("--transport", choices=("auto", "torch", "sockets"), default="auto", help="what carries the tests")
    add("--python", default=sys.executable, help="the Python that has torch (default: this one)")
    add("--instance-type", default="", help="the node's type, which a baseline belongs to")
    add("--wire-gbps", type=float, default=0.0, help="a node's network rate in Gbit/s; 80 %% of it is asked of a pair")
    add("--baselines", type=Path, help="folder on the shared file system with the baselines")
    add("--record-baseline", action="store_true", help="a healthy run replaces the baseline that stands")
    add(
        "--no-collective-test",
        action="store_true",
        default=os.environ.get("PREFLIGHT_COLLECTIVE_TEST") == "false",
        help="leave out what moves data between nodes (default: as PREFLIGHT_COLLECTIVE_TEST says)",
    )
    add("--mib", type=float, default=64.0, help="MiB that a process sends in a test (default 64)")
    add("--repeats", type=int, default=3, help="times a test runs; the best counts (default 3)")
    add("--join-limit", type=float, default=limits.join, help="seconds until all must have come (default 900)")
    add("--node-limit", type=float, default=limits.node, help="seconds for a node's own checks (default 180)")
    add("--test-limit", type=float, default=limits.test, help="seconds for one test (default 180)")
    add("--grace", type=float, default=limits.grace, help="seconds that an answer may be late by (default 10)")
    add("--limit", type=float, default=limits.whole, help="seconds for all tests together (default 1800)")
    add("--patience", type=float, default=30.0, help="seconds of the first worker's silence (default 30)")
    add("--clock-skew", type=float, default=limits.clock, help="seconds that clocks may differ by (default 1)")
    add("--report", type=Path, help="the first worker writes the whole report here")
    add(
        "--message",
        type=Path,
        default=Path("/dev/termination-log"),
        help="every worker writes its short report here (default /dev/termination-log)",
    )


def _reported(line: str) -> None:
    print(f"gate: {line}", file=sys.stderr, flush=True)


class _Coordination(threading.Thread):
    """The first worker's other half, beside its own membership."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        super().__init__(name="coordinator", daemon=True)
        self.arguments = arguments
        self.attendance = Attendance(arguments.port, arguments.nodes, node_name(), max(arguments.patience / 5, 0.2))
        self.report: Report | None = None
        self.failure: BaseException | None = None

    def run(self) -> None:
        a = self.arguments
        limits = Limits(a.join_limit, a.node_limit, a.test_limit, a.grace, a.limit, a.clock_skew)
        asked = Asked(
            task=os.environ.get("TASK_NAME", ""),
            attempt=os.environ.get("RESTART_ATTEMPT", ""),
            key=baseline.Key(a.instance_type or "unknown", a.fabric, a.nodes),
            baselines=a.baselines,
            record=a.record_baseline,
            minimum=float(a.minimum_of_baseline),
            wire_gb_per_s=a.wire_gbps / 8,
            collectives=not a.no_collective_test,
            size=int(a.mib * MIB),
            repeats=a.repeats,
            cards=a.cards,
        )
        try:
            self.report = GateCoordinator(self.attendance, asked, limits, _reported).run()
            write(self.report, a.report, None)
            self.attendance.end(self.report.as_json())
        except (
            BaseException
        ) as error:  # the main thread reports it; its membership would otherwise wait until its time runs out
            self.failure = error
        finally:
            self.attendance.close()


def run_gang(top: argparse.ArgumentParser, arguments: argparse.Namespace, checks: Callable[[], list[Finding]]) -> int:
    """Run this worker's gate to its exit code."""
    a = arguments
    if a.nodes < 1 or not 0 <= a.rank < a.nodes:
        top.error(f"--rank {a.rank} of --nodes {a.nodes}: ranks run from 0 to --nodes - 1")
    if a.repeats < 1 or int(a.mib * MIB) < 1 or a.cards < 0:
        top.error("--repeats, --mib and --cards: a positive number is wanted")
    kind = a.device_kind if a.devices else "none"
    coordination = _Coordination(a) if a.rank == 0 else None
    if coordination is not None:
        coordination.start()
    with tempfile.TemporaryDirectory(prefix="gate-") as scratch:
        worker = GateWorker(
            rank=a.rank,
            nodes=a.nodes,
            host=a.host,
            port=a.port,
            node=node_name(),
            cards=a.cards,
            backend=a.backend or BACKENDS.get(kind, "gloo"),
            kind=kind,
            fabric=a.fabric,
            nics=a.nics or 0,
            transport=a.transport,
            python=a.python,
            scratch=Path(scratch),
            checks=checks,
            join_seconds=a.join_limit,
            patience_seconds=a.patience,
            root=a.root,
        )
        try:
            report = GateMember(worker).run()
        except LostCoordinator as lost:
            if coordination is not None and coordination.failure is not None:
                raise coordination.failure from None
            return _lost(lost, a)
    if coordination is not None:
        coordination.join(a.grace)
    return _conclude(report, a)


def _lost(lost: LostCoordinator, arguments: argparse.Namespace) -> int:
    accused = Named(0, lost.node, "silent", SILENT, str(lost))
    own = Report(
        task=os.environ.get("TASK_NAME", ""),
        attempt=os.environ.get("RESTART_ATTEMPT", ""),
        nodes=arguments.nodes,
        by=arguments.rank,
        node=node_name(),
        at=time.time(),
        accused=accused,
    )
    write(own, None, arguments.message)
    print("\n".join(own.lines()), file=sys.stderr, flush=True)
    return SILENT


def _conclude(value: Message, arguments: argparse.Namespace) -> int:
    """The coordinator's report as this worker's lines, message and exit code. Only the first worker's message carries
    the names: one voice is enough, and a thousand would fill the API server.
    """
    report = from_json(value)
    own = next((each for each in report.blamed if each.rank == arguments.rank), None)
    if arguments.rank == 0:
        write(report, None, arguments.message)
        print("\n".join(report.lines()), file=sys.stdout if report.open else sys.stderr, flush=True)
    elif own is not None:
        print(f"FAIL  {own.check}  {own.node}: {own.said}", file=sys.stderr, flush=True)
    if report.open:
        return OPEN
    if own is not None:
        return own.code
    if report.blamed or report.links:
        return OTHERS
    return COLLECTIVE


def from_json(value: Message) -> Report:
    return Report(
        task=value["task"],
        attempt=value["attempt"],
        nodes=value["nodes"],
        by=value["by"]["rank"],
        node=value["by"]["node"],
        at=value["at"],
        blamed=tuple(Named(**each) for each in value["blamed"]),
        links=tuple(Link((each["nodes"][0], each["nodes"][1]), each["said"]) for each in value["links"]),
        said=tuple(value["said"]),
        figures=value["figures"],
        members=value["members"],
    )
