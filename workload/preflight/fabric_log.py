"""What a collective library's log says about the network it chose.

It reads all forms of that log: the prefix of launchers, NCCL's own lines, the wording of the OFI plugin's releases,
InfiniBand and RoCE. A library that finds no fast network says so in one line among thousands and goes on over TCP at a
small part of the speed; here that is a fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

# host:pid:tid [device] NCCL INFO text; launchers put `[1,3]<stdout>:` or a time before it. Neuron's library writes
# CCOM.
LINE = re.compile(
    r"(?P<host>[\w.-]+):(?P<process>\d+):\d+ \[(?P<device>\d+)\] (?:[\w./:]+ )?(?:NCCL|CCOM) (?P<level>INFO|WARN)"
    r" (?P<text>.*)$"
)
# Plugin 1.x: "Selected Provider is efa (found 16 nics)"; later: "Selected provider is efa, fabric is efa-direct (found
# 16 nics)".
OFI = re.compile(
    r"NET/OFI Selected [Pp]rovider is (?P<provider>[\w;-]+?)(?:, fabric is [\w-]+)? \(found (?P<nics>\d+) nics\)"
)
IB = re.compile(r"NET/IB\s*: Using (?P<devices>\[0\].*)")
IB_DEVICE = re.compile(r"\[\d+\](?P<device>[\w-]+:\d+)/(?P<layer>IB|RoCE)")
NETWORK = re.compile(r"Using network (?P<network>.+?)\s*$")
OFI_NETWORKS = ("AWS Libfabric", "Libfabric", "OFI", "NCCL OFI")
LAYERS = {"infiniband": "IB", "roce": "RoCE"}


@dataclass
class RankLog:
    """What one process said."""

    host: str
    process: str
    network: str | None = None
    provider: str | None = None
    nics: int = 0
    layers: tuple[str, ...] = ()
    reason: str | None = None  # why a fast network was not taken, in the library's words

    def __str__(self) -> str:
        return f"process {self.process} on {self.host}"


REASONS = re.compile(
    r"No plugin found|Could not find:? |cannot open shared object|fi_getinfo\(\) call failed|NET/IB : No device"
    r" found|Failed to initialize"
)


def parse(lines: Iterable[str]) -> list[RankLog]:
    """Each process of the log, in the order of its first line."""
    found: dict[tuple[str, str], RankLog] = {}
    for line in lines:
        match = LINE.search(line.rstrip())
        if not match:
            continue
        key = (match["host"], match["process"])
        rank = found.setdefault(key, RankLog(*key))
        text = match["text"]
        ofi, ib, network = OFI.search(text), IB.search(text), NETWORK.search(text)
        if ofi:
            rank.provider, rank.nics = ofi["provider"], int(ofi["nics"])
        elif ib:
            devices = IB_DEVICE.findall(ib["devices"])
            rank.provider, rank.nics, rank.layers = "ib", len(devices), tuple(sorted({layer for _, layer in devices}))
        elif network:
            rank.network = network["network"]
        elif REASONS.search(text) and "tuner" not in text.lower() and "profiler" not in text.lower():
            rank.reason = text
    return list(found.values())


def fault(rank: RankLog, fabric: str, nics: int) -> str | None:
    """Why a process does not run over `fabric` (efa, infiniband, roce) with `nics` interfaces on its node."""
    because = f" ({rank.reason})" if rank.reason else ""
    if rank.network is None and rank.provider is None:
        return f"{rank} does not say which network it uses{because}"
    if rank.network == "Socket":
        return f"{rank} uses plain sockets (TCP), not {fabric}{because}"
    if fabric == "efa":
        if rank.network is not None and not rank.network.startswith(OFI_NETWORKS):
            return f"{rank} uses network {rank.network}, not the OFI plugin{because}"
        if rank.provider not in ("efa", "efa-direct"):
            return f"{rank} uses the OFI provider {rank.provider or 'none'}, not efa{because}"
    else:
        if rank.network is not None and not rank.network.startswith("IB"):
            return f"{rank} uses network {rank.network}, not {fabric}{because}"
        if LAYERS[fabric] not in rank.layers:
            return f"{rank} uses {', '.join(rank.layers) or 'no'} devices, not {LAYERS[fabric]}"
    if rank.nics != nics:
        return f"{rank} found {rank.nics} network interfaces, expected {nics}"
    return None


def faults(lines: Iterable[str], fabric: str, nics: int) -> tuple[list[RankLog], list[str]]:
    """The processes of the log, and what is wrong."""
    ranks = parse(lines)
    # A process that only helps (a launcher) says nothing of networks; if none says anything the log itself is at fault.
    speaking = [rank for rank in ranks if rank.network is not None or rank.provider is not None]
    if not speaking:
        return ranks, [
            "no process says which network it uses: run the test with NCCL_DEBUG=INFO and give its whole output"
        ]
    return speaking, [said for said in (fault(rank, fabric, nics) for rank in speaking) if said]
