"""Checks of one node: limits, shared memory, cards, CUDA, and the logs of programs that ran before.

Every check answers with one line that says what was found, what was wanted, and the remedy.
"""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import tempfile
from pathlib import Path

from workload.preflight import collective, fabric_log
from workload.preflight.findings import (
    COLLECTIVE,
    CUDA,
    DEVICES,
    MEMLOCK,
    MISSING,
    NETWORK,
    OPEN,
    SHARED_MEMORY,
    Finding,
)
from workload.progress import bytes_in_words

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
