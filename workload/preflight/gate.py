#!/usr/bin/env python3
"""The gate: what must be true on a node, and between the nodes of a gang, before a training job may start.

Without `--gang` it checks this node alone. With it every worker's gate joins the first worker's: they check themselves,
compare versions and clocks, measure, and name the node or link that is at fault. What the job renders for it:

- an init container named `preflight` with the worker's resources, environment and mounts, that runs
  `python3 -m workload.preflight.gate --gang` and the options of `--help` that say what the node must have;
- the environment NODE_RANK, NNODES, NODE_NAME, MASTER_ADDR, MASTER_PORT, NPROC_PER_NODE, COLLECTIVE_BACKEND, TASK_NAME,
  RESTART_ATTEMPT, PREFLIGHT_COLLECTIVE_TEST and PREFLIGHT_MINIMUM_OF_BASELINE;
- open ports between the gang's pods: MASTER_PORT + 1 on the first worker, and any port among them, as NCCL wants too;
- `terminationMessagePath` at its default, /dev/termination-log: the quarantine controller reads the report there.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

if not __package__:  # run as a file: the folder above holds the package
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from workload.heartbeat import node_name
from workload.preflight import node_checks
from workload.preflight.findings import (
    CLOCK,
    COLLECTIVE,
    CUDA,
    DEVICES,
    HEALTH,
    MEANINGS,
    MEMLOCK,
    MISSING,
    MOUNTS,
    NETWORK,
    OPEN,
    OTHERS,
    SHARED_MEMORY,
    SILENT,
    SLOW,
    USAGE,
    VERSIONS,
    Finding,
)
from workload.preflight.gang import facts
from workload.preflight.gang.options import add_gang_options, run_gang
from workload.preflight.node_checks import DEVICE_NAMES, MEMLOCK_GIB

__all__ = [
    "CLOCK",
    "COLLECTIVE",
    "CUDA",
    "DEVICES",
    "HEALTH",
    "MEMLOCK",
    "MISSING",
    "MOUNTS",
    "NETWORK",
    "OPEN",
    "OTHERS",
    "SHARED_MEMORY",
    "SILENT",
    "SLOW",
    "USAGE",
    "VERSIONS",
]

CODES = "\n".join(f"  {code:<3} {meaning}" for code, meaning in MEANINGS.items())
EPILOG = f"exit codes: (the first that fits)\n{CODES}"


def positive(text: str) -> float:
    value = float(text)
    if not value > 0:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return value


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="gate",
        description=(
            "Check a node, the log of a collective test, or with --gang all nodes of a job together, before training."
            " All checks that are asked for run."
        ),
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument(
        "--memlock",
        action="store_true",
        help=f"the limit on locked memory is unlimited or at least {MEMLOCK_GIB:g} GiB",
    )
    top.add_argument("--memlock-gib", type=positive, default=MEMLOCK_GIB, help="another bound for --memlock")
    top.add_argument("--shm-gib", type=positive, help="/dev/shm has at least this size")
    top.add_argument("--shm-folder", type=Path, default=Path("/dev/shm"))
    top.add_argument("--devices", type=int, help="the node shows this many cards")
    top.add_argument("--device-kind", choices=sorted(DEVICE_NAMES), default="nvidia")
    top.add_argument("--device-folder", type=Path, default=Path("/dev"))
    top.add_argument("--cuda-log", type=Path, help="this log of a CUDA program shows no error 802")
    top.add_argument("--cuda-probe", metavar="COMMAND", help="this command line ends well and shows no error 802")
    top.add_argument("--cuda-timeout", type=positive, default=120.0, help="seconds for --cuda-probe (default 120)")
    top.add_argument(
        "--network-log", type=Path, help="this log of a collective test (NCCL_DEBUG=INFO) shows the fabric in use"
    )
    top.add_argument("--fabric", choices=("efa", "infiniband", "roce", "tcp"), help="default efa; tcp over a gang")
    top.add_argument("--nics", type=int, help="interfaces of the fabric on each node; needed by --network-log")
    top.add_argument("--collective-result", type=Path, help="output of nccl-tests, or a JSON object with bus_gb_per_s")
    top.add_argument(
        "--baseline-gb-per-s", type=positive, help="bus bandwidth of the baseline; needed by --collective-result"
    )
    top.add_argument(
        "--minimum-of-baseline",
        type=positive,
        default=os.environ.get("PREFLIGHT_MINIMUM_OF_BASELINE", "0.8"),
        help="share of the baseline that is asked (default PREFLIGHT_MINIMUM_OF_BASELINE or 0.8)",
    )
    top.add_argument("--health", action="store_true", help="no card has memory errors, no link is down")
    top.add_argument("--interfaces", type=int, help="the node shows this many fabric interfaces")
    top.add_argument(
        "--mount",
        action="append",
        default=[],
        metavar="PATH:ro|rw[:TYPE]",
        help="this path is mounted like this, and answers; may be given again",
    )
    top.add_argument("--root", type=Path, default=Path("/"), help="folder that /sys, /proc and mounts are read below")
    add_gang_options(top)
    return top


def findings(arguments: argparse.Namespace) -> list[Finding]:
    found = []
    if arguments.memlock:
        found.append(node_checks.memlock(arguments.memlock_gib))
    if arguments.shm_gib is not None:
        found.append(node_checks.shared_memory(arguments.shm_gib, arguments.shm_folder))
    if arguments.devices is not None:
        found.append(node_checks.devices(arguments.device_kind, arguments.devices, arguments.device_folder))
    if arguments.cuda_log is not None:
        try:
            found.append(node_checks.cuda_log(arguments.cuda_log.read_text(errors="replace")))
        except OSError as error:
            found.append(Finding("cuda", MISSING, f"{arguments.cuda_log} can't be read: {error.strerror}"))
    if arguments.cuda_probe is not None:
        found.append(node_checks.cuda_probe(["/bin/sh", "-c", arguments.cuda_probe], arguments.cuda_timeout))
    if arguments.network_log is not None:
        found += node_checks.network(arguments.network_log, arguments.fabric, arguments.nics)
    if arguments.collective_result is not None:
        found.append(
            node_checks.collective_test(
                arguments.collective_result, arguments.baseline_gb_per_s, arguments.minimum_of_baseline
            )
        )
    if arguments.interfaces is not None:
        found.append(facts.interfaces(arguments.interfaces, arguments.root))
    for declared in arguments.mount:
        found.append(facts.mount(declared, arguments.root))
    if arguments.health and not arguments.gang:  # a gang's member always looks
        found += facts.health(arguments.device_kind, arguments.root)
    return found


def main(words: list[str] | None = None) -> int:
    top = parser()
    arguments = top.parse_args(words)
    if arguments.network_log is not None and (arguments.nics is None or arguments.nics < 1):
        top.error("--network-log needs --nics, 1 or more")
    if arguments.collective_result is not None and arguments.baseline_gb_per_s is None:
        top.error("--collective-result needs --baseline-gb-per-s")
    for declared in arguments.mount:
        if declared.partition(":")[2].partition(":")[0] not in ("ro", "rw"):
            top.error(f"--mount {declared}: PATH:ro or PATH:rw is wanted, and :TYPE where the kind matters")
    if arguments.network_log is not None and arguments.fabric == "tcp":
        top.error("--network-log looks for a fast fabric: give --fabric efa, infiniband or roce")
    arguments.fabric = arguments.fabric or ("tcp" if arguments.gang else "efa")
    if arguments.gang:
        return run_gang(top, arguments, lambda: findings(arguments))
    found = findings(arguments)
    if not found:
        top.error("no check was asked for")
    node = node_name()
    for one in found:
        print(
            f"{'FAIL' if one.code else 'ok'}  {one.check}  {node}: {one.said}",
            file=sys.stderr if one.code else sys.stdout,
        )
    return min((one.code for one in found if one.code), default=OPEN)


if __name__ == "__main__":
    sys.exit(main())
