"""The calendar of a pool's Capacity Blocks: when nodes come, when the queue stops, when jobs leave, when nodes go.

EC2 takes the machines back 30 minutes before a block's end and EKS drains them itself from 40 minutes before (EKS User
Guide, capacity-blocks-mng), so everything of the project's own is over by 60 minutes before. No clock is read here: the
calendar is the same whenever it is planned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from components.problems import Problem
from components.spec.pools import Block, PoolSpec

COME_AFTER = timedelta(minutes=1)  # a request before the reservation is active leaves a failed scaling activity behind
HOLD_BEFORE = timedelta(minutes=120)
DRAIN_BEFORE = timedelta(minutes=90)
GONE_BEFORE = timedelta(minutes=60)
EC2_TAKES_BACK_BEFORE = timedelta(minutes=30)
SHORTEST = timedelta(days=1)
LONGEST = timedelta(days=182)
# Another year is a typing error, and near the ends of the calendar date arithmetic overflows.
_YEARS = range(2000, 3000)


@dataclass(frozen=True, kw_only=True)
class Window:
    """One block's times, all UTC. `nodes` is how many machines it holds."""

    pool: str
    reservation: str
    nodes: int
    start: datetime
    end: datetime
    running: bool = False

    @property
    def nodes_come(self) -> datetime:
        return self.start + COME_AFTER

    @property
    def queue_held(self) -> datetime:
        """No job is admitted from here on."""
        return self.end - HOLD_BEFORE

    @property
    def jobs_told(self) -> datetime:
        """Running jobs get SIGTERM from here on, write a checkpoint and go back to the queue."""
        return self.end - DRAIN_BEFORE

    @property
    def nodes_gone(self) -> datetime:
        """The node group is set to zero nodes."""
        return self.end - GONE_BEFORE

    def as_plan(self) -> dict[str, object]:
        return {
            "pool": self.pool,
            "reservation": self.reservation,
            "nodes": self.nodes,
            "start": stamp(self.start),
            "nodes_come": "at once" if self.running else stamp(self.nodes_come),
            "queue_held": stamp(self.queue_held),
            "jobs_told": stamp(self.jobs_told),
            "nodes_gone": stamp(self.nodes_gone),
            "end": stamp(self.end),
            "usable_hours": round((self.jobs_told - self.start) / timedelta(hours=1), 2),
        }


def stamp(moment: datetime) -> str:
    """`2026-12-10T11:30:00Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def of_this_age(moment: datetime) -> bool:
    """Whether a block may lie there at all."""
    return moment.year in _YEARS


def windows(pool: PoolSpec) -> tuple[Window, ...]:
    """The pool's blocks by start, then id; none for a pool that isn't bought in blocks or whose block lacks an id or a
    time.

    A block with an impossible time is left out: a rule reports it.
    """
    capacity = pool.capacity
    if not isinstance(capacity, Block):
        return ()
    found = [
        Window(
            pool=pool.name,
            reservation=part.id,
            nodes=part.nodes,
            start=part.start.astimezone(UTC),
            end=part.end.astimezone(UTC),
            running=part.running,
        )
        for part in capacity.blocks
        if of_this_age(part.start) and of_this_age(part.end)
    ]
    if capacity.id and capacity.start and capacity.end and of_this_age(capacity.start) and of_this_age(capacity.end):
        start, end = capacity.start.astimezone(UTC), capacity.end.astimezone(UTC)
        found.append(
            Window(
                pool=pool.name,
                reservation=capacity.id,
                nodes=pool.max_nodes,
                start=start,
                end=end,
                running=capacity.running,
            )
        )
    return tuple(sorted(found, key=lambda window: (window.start, window.reservation)))


def calendar(pools: Sequence[PoolSpec]) -> tuple[Window, ...]:
    """Every block of the stack in the order of time."""
    found = [window for pool in pools for window in windows(pool)]
    return tuple(sorted(found, key=lambda window: (window.start, window.pool, window.reservation)))


def most_at_once(found: Sequence[Window]) -> int:
    """Most machines that the blocks hold at one time."""
    return max(
        (sum(other.nodes for other in found if other.start <= window.start < other.end) for window in found), default=0
    )


def out_of_time(pools: Sequence[PoolSpec], now: datetime) -> list[Problem]:
    """Warnings on blocks whose times don't fit `now`. Only `trainshed preview` asks: the engine's own
    preview has no clock.

    EventBridge Scheduler doesn't promise to run a schedule whose moment is past when it is made, so a pool
    first deployed inside its block needs `running` in the stack file.
    """
    found: list[Problem] = []
    for index, pool in enumerate(pools):
        for window in windows(pool):
            path = _path(index, pool, window)
            if now >= window.end:
                said = f"the block {window.reservation} ended at {stamp(window.end)}; its node group stays at zero"
                found.append(
                    Problem(id="block-over", path=f"{path}.end", said=said, hint="take it out", severity="warning")
                )
            elif window.nodes_come <= now < window.nodes_gone and not window.running:
                said = f"the block {window.reservation} began at {stamp(window.start)}; "
                said += "first deployed now, the schedule that brings its nodes may never fire"
                hint = "set running: true if it isn't deployed yet"
                found.append(Problem(id="block-began", path=f"{path}.start", said=said, hint=hint, severity="warning"))
            elif window.running and now < window.start:
                said = (
                    f"running is set, and the block {window.reservation} begins at {stamp(window.start)}: launches fail"
                    " until then"
                )
                found.append(
                    Problem(
                        id="block-not-begun", path=f"{path}.running", said=said, hint="take it out", severity="warning"
                    )
                )
    return found


def _path(index: int, pool: PoolSpec, window: Window) -> str:
    parts = pool.capacity.blocks if isinstance(pool.capacity, Block) else ()
    place = next((at for at, part in enumerate(parts) if part.id == window.reservation), None)
    return f"pools[{index}].capacity" + (f".blocks[{place}]" if place is not None else "")
