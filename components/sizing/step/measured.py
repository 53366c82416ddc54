"""How a team's own measured runs correct the step time: a factor, its trend with the number of nodes, and its doubt."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_FACTOR_DOUBT = 0.15  # of the logarithm of the factor before any run: the spread of published runs
_SLOPE_DOUBT = 0.02  # of its change with each doubling of nodes
_NOISE = 0.04  # from run to run of the same layout
_COVER = 1.4  # standard deviations of a band that holds more than eight of ten


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """`log_factor` at `nodes`, changing by `log_slope` with each doubling.

    The two variances are what stays in doubt.
    """

    runs: int
    log_factor: float
    log_slope: float
    nodes: float
    factor_variance: float
    slope_variance: float

    def factor(self, nodes: int) -> float:
        """Measured over planned step time on so many nodes."""
        return math.exp(self.log_factor + self.log_slope * self._away(nodes))

    def width(self, nodes: int) -> float:
        """Half-width of the band around the corrected step time, which grows away from the nodes that were measured."""
        variance = self.factor_variance + self.slope_variance * self._away(nodes) ** 2 + _NOISE**2
        return math.exp(_COVER * math.sqrt(variance)) - 1

    def _away(self, nodes: int) -> float:
        return math.log2(max(1, nodes) / self.nodes)


def measured(runs: Sequence[tuple[int, float]]) -> Measured | None:
    """From (nodes, measured over planned time): a line through the logarithms, near 1 and flat while runs are few."""
    if not runs:
        return None
    places = [math.log2(max(1, nodes)) for nodes, _ in runs]
    centre = sum(places) / len(places)
    logs = [math.log(ratio) for _, ratio in runs]
    # Around their centre the two coefficients are independent, so each is a mean of its own with its prior.
    weight = len(runs) / _NOISE**2
    factor_variance = 1 / (weight + 1 / _FACTOR_DOUBT**2)
    spread = sum((place - centre) ** 2 for place in places) / _NOISE**2
    slope_variance = 1 / (spread + 1 / _SLOPE_DOUBT**2)
    pull = sum((place - centre) * log for place, log in zip(places, logs, strict=True)) / _NOISE**2
    return Measured(
        runs=len(runs),
        log_factor=factor_variance * sum(logs) / _NOISE**2,
        log_slope=slope_variance * pull,
        nodes=2.0**centre,
        factor_variance=factor_variance,
        slope_variance=slope_variance,
    )
