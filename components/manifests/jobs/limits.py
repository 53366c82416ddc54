"""How long a gang may take to start, in one place: the probe of a worker and Kueue's limits follow the same numbers."""

from __future__ import annotations

from typing import Final

# From a worker's start to its first heartbeat: collective set-up, compilation, the load of a large checkpoint.
FIRST_HEARTBEAT_SECONDS: Final = 3600
# The gate's own limits (workload/preflight/gate.py): all workers join, then every test of the gang.
GATE_JOIN_SECONDS: Final = 900
GATE_TEST_SECONDS: Final = 1800
# A large image on every node, the first time.
PULL_SECONDS: Final = 900


def start_seconds(*, gate: bool, collective: bool, hang_timeout_seconds: int | None) -> int:
    """From the start of a worker's container to its first heartbeat, with the gate before it where there is one."""
    first = max(FIRST_HEARTBEAT_SECONDS, hang_timeout_seconds or 0)
    return first + (gate_seconds(collective=collective) if gate else 0)


def gate_seconds(*, collective: bool) -> int:
    return GATE_JOIN_SECONDS + (GATE_TEST_SECONDS if collective else 0)


def queue_minutes(boot_minutes: int) -> int:
    """Kueue's limit on a gang that isn't ready: never before a worker's own probe gives up."""
    longest = PULL_SECONDS + start_seconds(gate=True, collective=True, hang_timeout_seconds=None)
    return boot_minutes + -(-longest // 60)
