"""A run's checkpoints from the trainer's side: go on from the newest good one, write in the background, seal, prune.

All ranks call the same methods at the same steps. Training stands still only while the state is copied to memory. A
save that fails leaves the run going: its folder is cleared, and a full disk first gives up the oldest checkpoints.
"""

from __future__ import annotations

import errno
import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Callable

import torch.distributed.checkpoint as dcp

from workload.atomic_files import write_file
from workload.checkpoints import checkpoint_folder, foreign, lease, prune, tiers
from workload.checkpoints.checkpoint_folder import MANIFEST
from workload.checkpoints.dcp import SealingWriter
from workload.checkpoints.object_copies import ObjectCopies
from workload.checkpoints.partners import Group, Observer, as_one
from workload.checkpoints.prune import NothingGood
from workload.checkpoints.resuming import Resuming
from workload.checkpoints.tiers import LOCAL, SHARED, Tiers

_FULL = (errno.ENOSPC, errno.EDQUOT)


@dataclass
class _Pending:
    step: int
    tier: str
    writer: SealingWriter
    future: Any
    began: float


@dataclass(frozen=True)
class Outcome:
    """How a save ended, alike on all ranks."""

    step: int
    tier: str
    name: str
    fault: str = ""
    full: bool = False


def _is_full(error: BaseException | None) -> bool:
    """Whether a full disk is at the bottom of it; torch wraps each rank's error."""
    seen = 0
    while error is not None and seen < 20:
        if isinstance(error, OSError) and error.errno in _FULL:
            return True
        for inner in getattr(error, "failures", {}).values():
            if _is_full(inner[0] if isinstance(inner, tuple) else inner):
                return True
        error, seen = error.__cause__ or error.__context__, seen + 1
    return False


def _in_words(error: BaseException) -> str:
    """A rank's own error; torch wraps those of all ranks in one."""
    failures = getattr(error, "failures", {})
    for rank, inner in sorted(failures.items()):
        inside = inner[0] if isinstance(inner, tuple) else inner
        return f"rank {rank}: {_in_words(inside)}"
    return f"{type(error).__name__}: {error}"


class Keeper:
    """The checkpoints of one run on one rank."""

    def __init__(
        self,
        where: Tiers,
        group: Group,
        *,
        versions: Mapping[str, str],
        keep_last: int,
        run: str,
        attempt: int,
        node: str,
        observer: Observer,
        say: Callable[..., None],
        progress: Callable[[], None] = lambda: None,
    ) -> None:
        self._tiers, self._group, self._versions, self._keep_last = where, group, versions, keep_last
        self._observer, self._say, self._progress = observer, say, progress
        self._lease = lease.Lease(where.shared, run, attempt, node)
        self._pending: _Pending | None = None
        self._copies = ObjectCopies(where.url, group, keep_last, observer, say) if where.url is not None else None

    def _worked(self, count: int) -> None:
        self._progress()
        self._observer.working("checkpoint")

    def resume(
        self, wanted: Callable[[set[str]], dict[str, Any]], take: Callable[[dict[str, Any]], None]
    ) -> str | None:
        """As `Resuming.resume`."""
        found = Resuming(self._tiers, self._group, self._lease, self._worked, self._say)
        return found.resume(wanted, take)

    def begin(self, step: int, tier: str, tree: dict[str, Any]) -> None:
        """Copy the state to memory and write it in the background. None may be pending."""
        assert self._pending is None
        began = time.monotonic()
        root = self._tiers.shared if tier == SHARED else self._tiers.local
        assert root is not None
        writer = SealingWriter(
            root,
            step=step,
            attempt=self._group.from_first(secrets.token_hex(4)),
            versions=self._versions,
            rank=self._group.rank,
            world_size=self._group.size,
            shared=tier == SHARED,
            worked=self._worked,
            before_sealing=self._lease.check,
        )
        future = dcp.async_save(tree, storage_writer=writer, process_group=self._group.checkpoint_group)
        self._pending = _Pending(step, tier, writer, future, began)
        self._observer.checkpoint_stalled(time.monotonic() - began)

    @property
    def written(self) -> bool:
        """Whether this rank's background write has ended; all ranks must be before `conclude`."""
        return self._pending is not None and self._pending.future.done()

    def due(self, step: int) -> str | None:
        return self._tiers.due(step)

    @property
    def pending(self) -> bool:
        return self._pending is not None

    def conclude(self) -> Outcome:
        """All ranks, after their writes: agree on the result, then seal other nodes' folders, prune, copy on."""
        pending = self._pending
        assert pending is not None
        self._pending = None
        error = pending.future.exception()
        name = pending.writer.folder.name
        mine = "" if error is None else _in_words(error)
        reported = self._group.gathered((mine, _is_full(error), isinstance(error, lease.Held)))
        faults = [fault for fault, _, _ in reported if fault]
        if faults:
            self._observer.checkpoint_failed()
            self._clear(pending)
            return Outcome(
                pending.step, pending.tier, name, faults[0].splitlines()[0], any(full for _, full, _ in reported)
            )
        if pending.tier == LOCAL:
            self._spread(pending.writer)
        self._observer.checkpoint_done(pending.step, time.monotonic() - pending.began)
        if self._group.rank == 0 or (pending.tier == LOCAL and self._group.local_rank == 0):
            self._prune(pending)
        if self._copies is not None and pending.tier == SHARED and self._tiers.copied(pending.step):
            self._copies.begin(pending.writer.folder)
        return Outcome(pending.step, pending.tier, name)

    def save(self, step: int, tier: str, tree: Callable[[], dict[str, Any]]) -> Outcome:
        """Write and wait. A full disk is tried once more after old checkpoints were given up."""
        self.begin(step, tier, tree())
        outcome = self.wait()
        if outcome.full and self.make_room():
            self.begin(step, tier, tree())
            outcome = self.wait()
        return outcome

    def wait(self) -> Outcome:
        """Until this rank's write has ended, then `conclude`."""
        assert self._pending is not None
        self._pending.future.exception()  # torch's own error is no Exception, and is looked at below
        return self.conclude()

    def make_room(self) -> bool:
        """Give up the oldest checkpoints of the shared tier, one more than is kept; gives whether any went."""

        def act() -> bool:
            with suppress(NothingGood):
                for keep in range(self._keep_last - 1, 0, -1):
                    newest = tiers.in_shared(self._tiers.shared)
                    if not newest:
                        return False
                    good = self._tiers.shared / min(newest, key=lambda one: one.newest_first).name
                    _, condemned = prune.plan(self._tiers.shared, keep, good=good)
                    for one in condemned:
                        self._say(event="delete", checkpoint=one.folder.name, why="the disk is full")
                        prune.delete(one)
                    if condemned:
                        return True
            return False

        return bool(as_one(self._group, act))

    def _clear(self, pending: _Pending) -> None:
        first = self._group.rank == 0 or (pending.tier == LOCAL and self._group.local_rank == 0)
        folder = pending.writer.folder
        if first and folder.is_dir() and not (folder / MANIFEST).exists():
            with suppress(OSError):
                prune.delete(prune.Condemned(folder, 0, "its save failed"))

    def _spread(self, writer: SealingWriter) -> None:
        """The other nodes get what makes the checkpoint complete; their parts lie there already."""
        folder = writer.folder
        data = None
        if self._group.rank == 0:
            data = [(name, (folder / name).read_bytes()) for name in (foreign.METADATA, MANIFEST)]
        for name, content in self._group.from_first(data):
            if self._group.local_rank == 0 and not (folder / name).exists():
                write_file(folder / name, content)

    def _prune(self, pending: _Pending) -> None:
        root, good = pending.writer.folder.parent, pending.writer.folder
        if pending.tier == LOCAL:
            # The newest two: one may be half there when a node dies.
            for old, _ in checkpoint_folder.complete(root)[2:]:
                prune.delete(prune.Condemned(old, 0, "older than the last two of its node"))
            return
        self._lease.renew()
        for one in prune.plan(root, self._keep_last, good=good)[1]:
            self._say(event="delete", checkpoint=one.folder.name, why=one.why)
            prune.delete(one)

    def tick(self) -> None:
        """At every step, on rank 0: the lease stays ours. Raises Held."""
        if self._group.rank == 0:
            self._lease.renew()

    def close(self) -> None:
        """The run ends: what is under way is waited for, the lease is free at once."""
        if self._copies is not None:
            self._copies.wait()
        if self._group.rank == 0:
            self._lease.give_back()
