"""Seconds since this machine booted: a clock that no change of the date moves and that counts sleep.

All processes of a machine read the same clock, in containers too, so times in files of one node can be compared.
"""

from __future__ import annotations

import time
from pathlib import Path

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
# Linux has a clock that counts sleep; elsewhere (a developer's machine) the monotonic one is as near as it gets.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def now() -> float:
    return time.clock_gettime(_CLOCK)


def boot_id() -> str:
    """Tells this boot of this machine from every other; empty where the system has no such thing."""
    try:
        return BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""
