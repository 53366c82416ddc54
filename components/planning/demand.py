"""What a run reads and writes a second against what its file system was bought with.

More must be bought than is needed on average: reads come in bursts, and a checkpoint is written while they go on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from components import file_systems
from components.catalog import Catalog
from components.problems import Problem
from components.spec.stack import StackSpec

if TYPE_CHECKING:
    # A preview without a planned run need not load the planner.
    from components.sizing.plan.plan import Plan

MARGIN = 1.5
_GB = 1e9


@dataclass(frozen=True, kw_only=True)
class StorageNeed:
    """What one task moves, in bytes a second. `arithmetic` is how it was computed, in words."""

    task: str
    read: float
    write: float
    arithmetic: str

    @property
    def most(self) -> float:
        """The larger of the two: FSx sells one throughput, and a checkpoint's minute and a restart's reading don't fall
        together.
        """
        return max(self.read, self.write)


@dataclass(frozen=True, kw_only=True)
class Supply:
    """One file system's throughput in bytes a second; `path` is where the stack file sets it."""

    system: str
    path: str
    bytes_per_second: float
    arithmetic: str


@dataclass(frozen=True, kw_only=True)
class Demand:
    """Both sides, and the warnings that follow."""

    supplies: tuple[Supply, ...]
    needs: tuple[StorageNeed, ...]
    problems: tuple[Problem, ...]

    def as_plan(self) -> dict[str, object]:
        """For the preview: gigabytes a second."""
        bought = max((each.bytes_per_second for each in self.supplies), default=0.0)
        return {
            "bought": [
                {
                    "name": each.system,
                    "gb_per_second": round(each.bytes_per_second / _GB, 3),
                    "reckoning": each.arithmetic,
                }
                for each in self.supplies
            ],
            "needed": [
                {
                    "task": each.task,
                    "read_gb_per_second": round(each.read / _GB, 3),
                    "write_gb_per_second": round(each.write / _GB, 3),
                    "times_bought": round(bought / each.most, 2) if each.most else None,
                    "reckoning": each.arithmetic,
                }
                for each in self.needs
            ],
        }


def need(plan: Plan) -> StorageNeed:
    """What the planned run moves: its tokens, its checkpoint within the planned time, and the checkpoint read again
    after a restart.
    """
    store, saved = plan.store, plan.checkpoint
    rate = plan.tokens_per_second_per_card * plan.cards
    return StorageNeed(
        task=plan.request.name,
        read=store.read_bandwidth,
        write=store.write_bandwidth,
        arithmetic=(
            f"{rate:,.0f} tokens/s x {store.token_bytes} bytes = {rate * store.token_bytes / 1e6:,.1f} MB/s; a"
            f" checkpoint of {saved.bytes / 1e12:,.2f} TB in {saved.write_seconds:,.0f} s ="
            f" {store.write_bandwidth / _GB:,.1f} GB/s; reading it again after a restart:"
            f" {store.read_bandwidth / _GB:,.1f} GB/s"
        ),
    )


def supplies(stack: StackSpec, cat: Catalog) -> tuple[Supply, ...]:
    """The throughput of each file system whose throughput is known, in the order of the stack file."""
    return tuple(
        Supply(
            system=each.name,
            path=each.throughput_path,
            bytes_per_second=each.total_mbps * 1e6,
            arithmetic=each.throughput_words,
        )
        for each in file_systems.systems(stack, cat)
        if each.total_mbps is not None
    )


def compare(stack: StackSpec, cat: Catalog, needs: Sequence[StorageNeed]) -> Demand:
    """Warnings where less than half again of a task's need was bought. Without file systems nothing is compared."""
    found = supplies(stack, cat)
    return Demand(supplies=found, needs=tuple(needs), problems=tuple(_problems(stack, found, needs, cat)))


def _problems(
    stack: StackSpec, found: Sequence[Supply], needs: Sequence[StorageNeed], cat: Catalog
) -> Iterator[Problem]:
    if not found:
        return
    # Tasks run from the fastest one; a slower one beside it serves others.
    best = max(found, key=lambda each: each.bytes_per_second)
    system = next(each for each in file_systems.systems(stack, cat) if each.name == best.system)
    kind = file_systems.KINDS[system.kind]
    for each in needs:
        wanted = MARGIN * each.most
        if best.bytes_per_second >= wanted:
            continue
        times = best.bytes_per_second / each.most
        said = (
            f'"{best.system}" moves {best.arithmetic}, {times:.2g} x the {each.most / _GB:,.1f} GB/s that {each.task}'
            " needs"
        )
        yield Problem(
            id="lustre-demand",
            path=best.path,
            said=f"{said} ({each.arithmetic})",
            hint=f"{MARGIN} x are {wanted / _GB:,.1f} GB/s: {kind.faster(system, wanted / 1e6, stack, cat)}",
            severity="warning",
        )
