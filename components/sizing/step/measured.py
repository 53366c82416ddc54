"""How a team's own measured runs correct the step time: a factor, its trend with the number of nodes, and what stays uncertain."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """`log_factor` at `nodes`, changing by `log_slope` with each doubling; `width` is the half-width of the band around it."""

    runs: int
    log_factor: float
    log_slope: float
    nodes: float
    width: float

    def factor(self, nodes: int) -> float:
        """Measured over planned step time on so many nodes."""
        return math.exp(self.log_factor + self.log_slope * math.log2(max(1, nodes) / self.nodes))
