"""The partners of a run's checkpoints: the ranks that must agree, and the listeners to what happens."""

from __future__ import annotations

from typing import Any, Callable, Protocol


class Group(Protocol):
    """The ranks of the run, as far as checkpoints need them."""

    rank: int
    size: int
    local_rank: int
    checkpoint_group: Any

    def gathered(self, value: Any) -> list[Any]: ...

    def from_first(self, value: Any) -> Any: ...


class Observer(Protocol):
    """Who hears what happens; `Telemetry` is one."""

    def working(self, what: str) -> None: ...

    def checkpoint_stalled(self, seconds: float) -> None: ...

    def checkpoint_done(self, step: int, seconds: float) -> None: ...

    def checkpoint_failed(self) -> None: ...


def as_one(group: Group, act: Callable[[], Any]) -> Any:
    """Rank 0 acts, all hear of its result or its error."""
    result: Any = None
    error: Exception | None = None
    if group.rank == 0:
        try:
            result = act()
        except Exception as raised:
            error = raised
    result, error = group.from_first((result, error))
    if error is not None:
        raise error
    return result
