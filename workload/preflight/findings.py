"""What a check of the gate found, and the exit codes that report it to whoever runs the gate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

OPEN, USAGE, MISSING = 0, 2, 3
MEMLOCK, SHARED_MEMORY, DEVICES, CUDA, NETWORK, COLLECTIVE = 10, 11, 12, 13, 14, 15
VERSIONS, HEALTH, MOUNTS, CLOCK, SILENT, OTHERS, SLOW = 16, 17, 18, 19, 20, 21, 22

MEANINGS = {
    OPEN: "the gate is open",
    USAGE: "used wrongly",
    MISSING: "a file or program it needs is missing",
    MEMLOCK: "the limit on locked memory is too low",
    SHARED_MEMORY: "/dev/shm is too small",
    DEVICES: "the node does not show the expected number of cards",
    CUDA: "CUDA can't start (error 802) or its probe hung",
    NETWORK: "the collective library does not use the fabric, or not all of its interfaces",
    COLLECTIVE: "the collective test was wrong or slower than asked, and no node or link stands out",
    VERSIONS: "this node's driver, runtime or library differs from the gang's",
    HEALTH: "a card has memory errors, or a link of this node is down",
    MOUNTS: "a mount is missing, of another kind than declared, or does not answer",
    CLOCK: "this node's clock is off",
    SILENT: "this worker lost the first one, which coordinates the gate, or was itself given up as silent",
    OTHERS: "this node is sound; the gate is closed because of another node or link, which is named",
    SLOW: "this node, or a link at it, is slower than asked or corrupts data",
}


@dataclass(frozen=True)
class Finding:
    """One check's answer; `code` 0 means it passed."""

    check: str
    code: int
    said: str

    def as_json(self) -> dict[str, Any]:
        return {"check": self.check, "code": self.code, "said": self.said}
