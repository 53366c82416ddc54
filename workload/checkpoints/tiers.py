"""The places a run keeps checkpoints in, each with its interval: the node's own disks, the shared file system, object
storage. A run goes on from the newest complete checkpoint of any of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from workload import contract
from workload.checkpoints import bucket, checkpoint_folder
from workload.checkpoints.checkpoint_folder import Manifest, NotACheckpoint

LOCAL, SHARED, OBJECT = "local", "shared", "object"
_ORDER = (LOCAL, SHARED, OBJECT)  # of two equally new ones the nearer is loaded


@dataclass(frozen=True)
class Tiers:
    """Intervals are steps; a tier that is not there is None."""

    shared: Path
    every: int
    local: Path | None = None
    local_every: int = 0
    url: str | None = None
    url_every: int = 0

    def due(self, step: int) -> str | None:
        """Where the checkpoint after a step goes. One that is due in both goes to the shared tier: it is the safer."""
        if step % self.every == 0:
            return SHARED
        return LOCAL if self.local is not None and step % self.local_every == 0 else None

    def copied(self, step: int) -> bool:
        """Whether a shared checkpoint of this step goes on into object storage."""
        return self.url is not None and step % self.url_every == 0


def from_environment(shared: Path, every: int, environment: Mapping[str, str]) -> Tiers:
    """By the contract's names. Raises ValueError, with what would do."""
    local, url = environment.get(contract.CHECKPOINT_LOCAL_PATH), environment.get(contract.CHECKPOINT_OBJECT_URL)
    local_every = int(environment.get(contract.CHECKPOINT_LOCAL_INTERVAL_STEPS) or max(1, every // 5))
    url_every = int(environment.get(contract.CHECKPOINT_OBJECT_INTERVAL_STEPS) or every)
    if local_every < 1 or url_every < 1:
        raise ValueError("intervals of checkpoints start at 1 step")
    if url and url_every % every:
        raise ValueError(
            f"CHECKPOINT_OBJECT_INTERVAL_STEPS is {url_every}: copies are made of shared checkpoints, so it is"
            f" a multiple of their interval {every}"
        )
    return Tiers(shared, every, Path(local) if local else None, local_every, url or None, url_every)


@dataclass(frozen=True)
class Candidate:
    """A checkpoint to go on from."""

    tier: str
    name: str
    step: int
    created: float = 0.0

    @property
    def newest_first(self) -> tuple[int, int, float]:
        return (-self.step, _ORDER.index(self.tier), -self.created)


@dataclass(frozen=True)
class Holding:
    """What one rank's node has of a checkpoint in its local tier."""

    name: str
    step: int
    created: float
    parts: frozenset[str]
    missing: frozenset[str]


def holdings(root: Path | None) -> list[Holding]:
    """The local tier of this node, by sizes."""
    if root is None or not root.is_dir():
        return []
    found = []
    for folder, manifest in checkpoint_folder.complete(root):
        there = {part.name for part in manifest.parts if checkpoint_folder.part_fault(folder, part, deep=False) is None}
        everything = {part.name for part in manifest.parts}
        found.append(
            Holding(folder.name, manifest.step, manifest.created, frozenset(there), frozenset(everything - there))
        )
    return found


def whole_together(by_rank: Sequence[Sequence[Holding]]) -> list[Candidate]:
    """Local checkpoints that every node knows and of which the nodes together have every part."""
    found = []
    for name in sorted({one.name for held in by_rank for one in held}):
        each = [next((one for one in held if one.name == name), None) for held in by_rank]
        if any(one is None for one in each):
            continue
        known = [one for one in each if one is not None]
        together = frozenset().union(*(one.parts for one in known))
        if not any(one.missing - together for one in known):
            found.append(Candidate(LOCAL, name, known[0].step, known[0].created))
    return found


def in_shared(root: Path) -> list[Candidate]:
    """Complete by manifest and sizes."""
    if not root.is_dir():
        return []
    return [
        Candidate(SHARED, folder.name, manifest.step, manifest.created)
        for folder, manifest in checkpoint_folder.complete(root)
        if manifest.sealed and not any(checkpoint_folder.faults(folder, deep=False))
    ]


def in_bucket(url: str | None, newer_than: int) -> list[Candidate]:
    """Complete ones of later steps than what is nearer. Raises CopyFailed."""
    if url is None:
        return []
    found = bucket.checkpoints(url, only_above=newer_than)
    return [
        Candidate(OBJECT, one.name, one.step)
        for one in found
        if one.state == "complete" and one.ours and one.step > newer_than
    ]


def share_of(manifest: Manifest, folder: Path, rank: int, ranks: int, worked: checkpoint_folder.Worked) -> list[str]:
    """What is wrong with this rank's share of a checkpoint's parts: every rank reads some, together all."""
    found = []
    for part in sorted(manifest.parts, key=lambda one: (-one.size, one.name))[rank::ranks]:
        fault = checkpoint_folder.part_fault(folder, part, deep=True, worked=worked)
        if fault:
            found.append(fault)
    return found


def manifest_or_none(folder: Path) -> Manifest | None:
    try:
        return checkpoint_folder.read_manifest(folder)
    except NotACheckpoint:
        return None
