"""Bandwidth and latency between the cards of a group, by how the group lies in nodes and fast domains.

In a ring, a group that leaves its domain crosses the network once a node, on as many network cards as it has ranks
there.
"""

from __future__ import annotations

from dataclasses import dataclass

from components.sizing.machine.profiles import NodeProfile
from components.sizing.tuning.constants import Tuning


@dataclass(frozen=True, slots=True)
class RingPath:
    """What one rank of a group sees: bytes/s one way, seconds a ring step, and ranks of the group in one domain."""

    bytes_per_s: float
    latency: float
    steps: int
    together: int
    size: int

    def gather(self, total_bytes: float) -> float:
        """Seconds of an all-gather or reduce-scatter whose whole result is `total_bytes`."""
        if self.size == 1:
            return 0.0
        return total_bytes * (self.size - 1) / self.size / self.bytes_per_s + self.steps * self.latency

    def reduce(self, total_bytes: float) -> float:
        """Seconds of an all-reduce of `total_bytes`."""
        return 2 * self.gather(total_bytes)


def path(machine: NodeProfile, tuning: Tuning, stride: int, size: int) -> RingPath:
    """The path of a group of `size` ranks, `stride` cards apart."""
    link = machine.card.link_gb_per_s * 1e9 * tuning.link_efficiency
    together = max(1, min(size, machine.domain // stride if stride <= machine.domain else 1))
    if together >= size:
        return RingPath(link, tuning.link_latency, size - 1, size, size)
    network = machine.network_bytes_per_card * tuning.network_efficiency
    groups = -(-size // together)
    return RingPath(min(link, network * together), tuning.network_latency, groups - 1, together, size)
