#!/usr/bin/env python3
"""The gate program: what must be true on a node, and between nodes, before a training job may start.

It hides how each is looked up; every check answers with one line that names the node, what was found, what was wanted,
and the remedy.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

if not __package__:  # run as a file: the folder above holds the package
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from workload.heartbeat import node_name
from workload.preflight import collective, fabric_log
from workload.progress import bytes_in_words

OPEN, USAGE, MISSING = 0, 2, 3
MEMLOCK, SHARED_MEMORY, DEVICES, CUDA, NETWORK, COLLECTIVE = 10, 11, 12, 13, 14, 15
GIB = 1 << 30
# What EFA endpoints and NCCL's buffers pin, with room. Limits met in practice are 64 KiB or 8 MiB, so the exact bound
# matters little.
MEMLOCK_GIB = 16.0
DEVICE_NAMES = {"nvidia": re.compile(r"^nvidia\d+$"), "neuron": re.compile(r"^neuron\d+$")}
CUDA_NOT_READY = re.compile(
    r"(cuda (?:failure|error|init\w*)?[^\n]{0,40}\b802\b|error (?:code"
    r" )?802\b|cudaErrorSystemNotReady|CUDA_ERROR_SYSTEM_NOT_READY"
    r"|system not yet initialized)",
    re.IGNORECASE,
)
CUDA_REMEDY = "the fabric manager is not running or is of another version than the driver: cordon and replace the node"

EPILOG = f"""\
exit codes: (the first that fits)
  {OPEN}   the gate is open
  {USAGE}   used wrongly
  {MISSING}   a file or program it needs is missing
  {MEMLOCK}  the limit on locked memory is too low
  {SHARED_MEMORY}  /dev/shm is too small
  {DEVICES}  the node does not show the expected number of cards
  {CUDA}  CUDA can't start (error 802) or its probe hung
  {NETWORK}  the collective library does not use the fabric, or not all of its interfaces
  {COLLECTIVE}  the collective test was wrong or slower than asked"""


@dataclass(frozen=True)
class Finding:
    """One check's answer; `code` 0 means it passed."""

    check: str
    code: int
    said: str


def memlock(minimum_gib: float) -> Finding:
    soft, hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if soft == resource.RLIM_INFINITY:
        return Finding("memlock", OPEN, "locked memory is unlimited")
    if soft >= minimum_gib * GIB:
        return Finding("memlock", OPEN, f"locked memory may grow to {bytes_in_words(soft)}")
    hard_words = "unlimited" if hard == resource.RLIM_INFINITY else bytes_in_words(hard)
    said = (
        f"`ulimit -l` is {bytes_in_words(soft)} (hard limit {hard_words}), RDMA needs {minimum_gib:g} GiB or unlimited"
    )
    remedy = "give the container runtime LimitMEMLOCK=infinity (a containerd drop-in in the node's user data)"
    remedy += "; IPC_LOCK does not help a non-root user"
    return Finding("memlock", MEMLOCK, f"{said}; {remedy}")


def shared_memory(minimum_gib: float, folder: Path) -> Finding:
    try:
        status = os.statvfs(folder)
    except OSError as error:
        return Finding("shm", MISSING, f"{folder} can't be asked for its size: {error.strerror}")
    size = status.f_blocks * status.f_frsize
    if size >= minimum_gib * GIB:
        return Finding("shm", OPEN, f"{folder} has {bytes_in_words(size)}")
    remedy = "mount an emptyDir with medium Memory and that sizeLimit there, and count it in the pod's memory"
    return Finding(
        "shm", SHARED_MEMORY, f"{folder} has {bytes_in_words(size)}, {minimum_gib:g} GiB are wanted; {remedy}"
    )


def devices(kind: str, expected: int, folder: Path) -> Finding:
    try:
        found = sorted(name for name in os.listdir(folder) if DEVICE_NAMES[kind].match(name))  # noqa: PTH208
    except OSError as error:
        return Finding("devices", MISSING, f"{folder} can't be listed: {error.strerror}")
    if len(found) == expected:
        return Finding("devices", OPEN, f"{expected} {kind} cards")
    names = f" ({', '.join(found)})" if found else ""
    return Finding(
        "devices", DEVICES, f"{len(found)} {kind} cards{names}, {expected} are expected; cordon and replace the node"
    )


def cuda_log(text: str) -> Finding:
    for line in text.splitlines():
        if CUDA_NOT_READY.search(line):
            return Finding(
                "cuda", CUDA, f"CUDA error 802, system not yet initialized: {line.strip()[:200]}; {CUDA_REMEDY}"
            )
    return Finding("cuda", OPEN, "no CUDA error 802")


def cuda_probe(command: list[str], timeout: float) -> Finding:
    """Run a small CUDA program; one that hangs is ended, with all it started, and reported instead of waited for."""
    with tempfile.TemporaryFile() as output:
        running = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            code = running.wait(timeout)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()
            return Finding(
                "cuda", CUDA, f"the probe `{command[-1]}` gave no answer within {timeout:g} s; {CUDA_REMEDY}"
            )
        output.seek(0)
        text = output.read().decode(errors="replace")
    found = cuda_log(text)
    if found.code or code == 0:
        return found
    last = (text.strip().splitlines() or ["it printed nothing"])[-1]
    return Finding("cuda", CUDA, f"the probe `{command[-1]}` ended with {code}: {last[:200]}")


def network(file: Path, fabric: str, nics: int) -> list[Finding]:
    try:
        with file.open(errors="replace") as lines:
            ranks, said = fabric_log.faults(lines, fabric, nics)
    except OSError as error:
        return [Finding("network", MISSING, f"{file} can't be read: {error.strerror}")]
    if said:
        return [Finding("network", NETWORK, one) for one in said]
    hosts = len({rank.host for rank in ranks})
    return [
        Finding("network", OPEN, f"{len(ranks)} processes on {hosts} nodes use {fabric} with {nics} interfaces each")
    ]


def collective_test(file: Path, baseline: float, minimum: float) -> Finding:
    try:
        result = collective.parse(file.read_text(errors="replace"))
    except OSError as error:
        return Finding("collective", MISSING, f"{file} can't be read: {error.strerror}")
    except ValueError as error:
        return Finding("collective", COLLECTIVE, f"{file}: {error}")
    wanted = baseline * minimum
    speed = f"{result.bus_gb_per_s:.1f} GB/s bus bandwidth at {bytes_in_words(result.size)}"
    share = f"{speed}, {result.bus_gb_per_s / baseline:.0%} of the baseline"
    if result.wrong:
        remedy = "a card or link corrupts data; find it by testing halves of the nodes"
        return Finding("collective", COLLECTIVE, f"{result.wrong} values came out wrong: {remedy}")
    if result.bus_gb_per_s < wanted:
        return Finding(
            "collective",
            COLLECTIVE,
            f"{share} of {baseline:g} GB/s; at least {minimum:.0%} ({wanted:.1f} GB/s) is asked",
        )
    return Finding("collective", OPEN, f"{share} of {baseline:g} GB/s")


def positive(text: str) -> float:
    value = float(text)
    if not value > 0:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return value


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="gate",
        description=(
            "Check a node, or the log of a collective test, before training. All checks that are asked for run."
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
    top.add_argument("--fabric", choices=("efa", "infiniband", "roce"), default="efa")
    top.add_argument("--nics", type=int, help="interfaces of the fabric on each node; needed by --network-log")
    top.add_argument("--collective-result", type=Path, help="output of nccl-tests, or a JSON object with bus_gb_per_s")
    top.add_argument(
        "--baseline-gb-per-s", type=positive, help="bus bandwidth of the baseline; needed by --collective-result"
    )
    top.add_argument(
        "--minimum-of-baseline", type=positive, default=0.8, help="share of the baseline that is asked (default 0.8)"
    )
    return top


def findings(arguments: argparse.Namespace) -> list[Finding]:
    found = []
    if arguments.memlock:
        found.append(memlock(arguments.memlock_gib))
    if arguments.shm_gib is not None:
        found.append(shared_memory(arguments.shm_gib, arguments.shm_folder))
    if arguments.devices is not None:
        found.append(devices(arguments.device_kind, arguments.devices, arguments.device_folder))
    if arguments.cuda_log is not None:
        try:
            found.append(cuda_log(arguments.cuda_log.read_text(errors="replace")))
        except OSError as error:
            found.append(Finding("cuda", MISSING, f"{arguments.cuda_log} can't be read: {error.strerror}"))
    if arguments.cuda_probe is not None:
        found.append(cuda_probe(["/bin/sh", "-c", arguments.cuda_probe], arguments.cuda_timeout))
    if arguments.network_log is not None:
        found += network(arguments.network_log, arguments.fabric, arguments.nics)
    if arguments.collective_result is not None:
        found.append(
            collective_test(arguments.collective_result, arguments.baseline_gb_per_s, arguments.minimum_of_baseline)
        )
    return found


def main(words: list[str] | None = None) -> int:
    top = parser()
    arguments = top.parse_args(words)
    if arguments.network_log is not None and (arguments.nics is None or arguments.nics < 1):
        top.error("--network-log needs --nics, 1 or more")
    if arguments.collective_result is not None and arguments.baseline_gb_per_s is None:
        top.error("--collective-result needs --baseline-gb-per-s")
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
