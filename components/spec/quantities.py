"""Nodes, cards and workers as three kinds of number that can't be added or compared with each other.

Conversions are methods: 1,232 nodes of 8 cards are 9,856 cards and run 1,232 workers, one on each node.
"""

from __future__ import annotations

from dataclasses import dataclass


def _whole(value: object, word: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{word} are counted in whole numbers, not {value!r}")
    if value < 0:
        raise ValueError(f"{word} can't be fewer than 0: {value}")


@dataclass(frozen=True, slots=True, order=True)
class Cards:
    """Accelerator devices; also processes (ranks), as there is one on each."""

    count: int

    def __post_init__(self) -> None:
        _whole(self.count, "cards")

    def __add__(self, other: Cards) -> Cards:
        return Cards(self.count + other.count) if type(other) is Cards else NotImplemented

    def whole_nodes(self, per_node: Cards) -> Nodes:
        """Nodes that these cards fill completely; a rest too small for a node is left over."""
        return Nodes(self.count // per_node.count) if per_node.count else Nodes(0)

    def rest(self, per_node: Cards) -> Cards:
        """Cards left over when whole nodes are filled."""
        return Cards(self.count % per_node.count) if per_node.count else Cards(0)


@dataclass(frozen=True, slots=True, order=True)
class Workers:
    """Worker pods."""

    count: int

    def __post_init__(self) -> None:
        _whole(self.count, "workers")


@dataclass(frozen=True, slots=True, order=True)
class Nodes:
    """Machines."""

    count: int

    def __post_init__(self) -> None:
        _whole(self.count, "nodes")

    def __sub__(self, other: Nodes) -> Nodes:
        return Nodes(self.count - other.count) if type(other) is Nodes else NotImplemented

    def __add__(self, other: Nodes) -> Nodes:
        return Nodes(self.count + other.count) if type(other) is Nodes else NotImplemented

    def cards(self, per_node: Cards) -> Cards:
        return Cards(self.count * per_node.count)

    @property
    def workers(self) -> Workers:
        """A whole node belongs to one worker."""
        return Workers(self.count)
