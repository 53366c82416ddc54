"""What a run reads and writes a second against what its file system was bought with.

Hides the reckoning of both sides, and how much more must be bought than is needed on average: reads come in bursts, and
a checkpoint is written while they go on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from components.catalog import Catalog
from components.planning import file_systems
from components.problems import Problem
from components.spec.stack import StackSpec
from components.spec.storage import LustreSpec

if TYPE_CHECKING:
    # A preview without a planned run need not load the planner.
    from components.sizing.plan.plan import Plan

MARGIN = 1.5
_GB = 1e9


@dataclass(frozen=True, kw_only=True)
class Need:
    """What one task moves, in bytes a second. `reckoning` is the arithmetic in words."""

    task: str
    read: float
    write: float
    reckoning: str

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
    reckoning: str


@dataclass(frozen=True, kw_only=True)
class Demand:
    """Both sides, and the warnings that follow."""

    supplies: tuple[Supply, ...]
    needs: tuple[Need, ...]
    problems: tuple[Problem, ...]

    def as_plan(self) -> dict[str, object]:
        """For the preview: gigabytes a second."""
        bought = max((each.bytes_per_second for each in self.supplies), default=0.0)
        return {
            "bought": [
                {
                    "name": each.system,
                    "gb_per_second": round(each.bytes_per_second / _GB, 3),
                    "reckoning": each.reckoning,
                }
                for each in self.supplies
            ],
            "needed": [
                {
                    "task": each.task,
                    "read_gb_per_second": round(each.read / _GB, 3),
                    "write_gb_per_second": round(each.write / _GB, 3),
                    "times_bought": round(bought / each.most, 2) if each.most else None,
                    "reckoning": each.reckoning,
                }
                for each in self.needs
            ],
        }


def need(plan: Plan) -> Need:
    """What the planned run moves: its tokens, its checkpoint within the planned time, and the checkpoint read again
    after a restart.
    """
    store, saved = plan.store, plan.checkpoint
    rate = plan.tokens_per_second_per_card * plan.cards
    return Need(
        task=plan.request.name,
        read=store.read_bandwidth,
        write=store.write_bandwidth,
        reckoning=(
            f"{rate:,.0f} tokens/s x {store.token_bytes} bytes = {rate * store.token_bytes / 1e6:,.1f} MB/s; a"
            f" checkpoint of {saved.bytes / 1e12:,.2f} TB in {saved.write_seconds:,.0f} s ="
            f" {store.write_bandwidth / _GB:,.1f} GB/s; reading it again after a restart:"
            f" {store.read_bandwidth / _GB:,.1f} GB/s"
        ),
    )


def supplies(stack: StackSpec, cat: Catalog) -> tuple[Supply, ...]:
    """Each file system's throughput, in the order of the stack file."""
    return tuple(_supply(index, system, stack, cat) for index, system in enumerate(stack.storage.lustre))


def _supply(index: int, system: LustreSpec, stack: StackSpec, cat: Catalog) -> Supply:
    path = f"storage.lustre[{index}]"
    plan = file_systems.plan(system, cat, stack.storage.datasets.size_gib)
    total = plan.total_mbps * 1e6
    if system.tiered:
        return Supply(
            system=system.name,
            path=f"{path}.throughput_mbps",
            bytes_per_second=total,
            reckoning=f"{plan.total_mbps:,.0f} MB/s",
        )
    rate = system.throughput_mbps_per_tib or (plan.total_mbps * 1024 / plan.capacity_gib if plan.capacity_gib else 0)
    key = "capacity_gib" if system.scratch else "throughput_mbps_per_tib"
    words = f"{plan.capacity_gib or 0:,} GiB at {rate:,.0f} MB/s/TiB = {total / _GB:,.1f} GB/s"
    return Supply(system=system.name, path=f"{path}.{key}", bytes_per_second=total, reckoning=words)


def compare(stack: StackSpec, cat: Catalog, needs: Sequence[Need]) -> Demand:
    """Warnings where less than half again of a task's need was bought. Without file systems nothing is compared."""
    found = supplies(stack, cat)
    return Demand(supplies=found, needs=tuple(needs), problems=tuple(_problems(stack, found, needs, cat)))


def _problems(stack: StackSpec, found: Sequence[Supply], needs: Sequence[Need], cat: Catalog) -> Iterator[Problem]:
    if not found:
        return
    # Tasks run from the fastest one; a slower one beside it serves others.
    best = max(found, key=lambda each: each.bytes_per_second)
    system = next(each for each in stack.storage.lustre if each.name == best.system)
    for each in needs:
        wanted = MARGIN * each.most
        if best.bytes_per_second >= wanted:
            continue
        times = best.bytes_per_second / each.most
        said = (
            f'"{best.system}" moves {best.reckoning}, {times:.2g} x the {each.most / _GB:,.1f} GB/s that {each.task}'
            " needs"
        )
        yield Problem(
            id="lustre-demand",
            path=best.path,
            said=f"{said} ({each.reckoning})",
            hint=f"{MARGIN} x are {wanted / _GB:,.1f} GB/s: {_remedy(system, wanted, stack, cat)}",
            severity="warning",
        )


def _remedy(system: LustreSpec, wanted: float, stack: StackSpec, cat: Catalog) -> str:
    """The nearest words that would do: a higher throughput at this size, or more of it."""
    if system.tiered:
        step = cat.lustre.intelligent_tiering.throughput_step_mbps
        return f"use throughput_mbps: {-(-int(wanted / 1e6) // step) * step}"
    deployment = cat.lustre.deployment(system.deployment, system.storage)
    size = file_systems.plan(system, cat, stack.storage.datasets.size_gib).capacity_gib or 0
    if deployment is None:
        return "use a file system that FSx offers"
    for rate in deployment.throughputs:
        sizes = deployment.sizes_for(rate, efa=system.efa)
        if sizes and sizes.legal(size) and size / 1024 * rate * 1e6 >= wanted:
            return f"use throughput_mbps_per_tib: {rate}"
    fastest = max(deployment.throughputs, default=deployment.fixed_throughput or 0)
    sizes = deployment.sizes_for(fastest if deployment.throughputs else None, efa=system.efa)
    more = sizes.at_least(wanted / 1e6 / fastest * 1024) if sizes and fastest else 0
    return f"use capacity_gib: {more} at {fastest} MB/s/TiB"
