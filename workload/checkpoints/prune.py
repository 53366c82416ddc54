"""Old checkpoints taken away: the last few stay, and the newest good one always.

All that goes is known, and can be shown, before anything goes. A folder loses the file that makes it complete first, so
that a kill in the middle leaves no folder that looks complete. What is being copied stays.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from workload.atomic_files import sync_folder
from workload.checkpoints import checkpoint_folder, foreign, lease
from workload.checkpoints.checkpoint_folder import MANIFEST


class NothingGood(RuntimeError):
    """No checkpoint verifies, so none may go."""


@dataclass(frozen=True)
class Condemned:
    """A folder to delete, and why."""

    folder: Path
    size: int
    why: str


def size_of(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())


def plan(root: Path, keep_last: int, *, good: Path | None = None) -> tuple[Path, list[Condemned]]:
    """The newest checkpoint that verifies, and what may go. Raises NothingGood.

    Complete ones beyond the last `keep_last` go; so do folders that never completed of steps before the newest good one
    (a later step was sealed, so nobody writes them any more). One whose sizes are wrong does not count among the kept.
    `good` is one that was verified just now, part by part by the ranks that wrote it: then nothing is read here.
    """
    if keep_last < 1:
        raise ValueError(f"keep-last {keep_last}: at least 1 is kept")
    newest, skipped = (good, []) if good is not None else checkpoint_folder.latest(root)
    if newest is None:
        raise NothingGood("\n".join([f"{root}: no checkpoint verifies, so nothing is deleted", *skipped]))
    complete = [folder for folder, _ in checkpoint_folder.complete(root)]
    sound = [folder for folder in complete if not any(checkpoint_folder.faults(folder, deep=False))]
    kept = {newest, *sound[:keep_last]}
    oldest_kept = min(checkpoint_folder.step_of(folder) for folder in kept)
    condemned = []
    for folder in checkpoint_folder.folders(root):
        if folder in kept:
            continue
        if folder in sound:
            why = f"complete, older than the last {keep_last}"
        elif folder in complete:
            if checkpoint_folder.step_of(folder) >= oldest_kept:
                continue  # damaged but young: a person may still want to look at it
            why = "complete but damaged, older than the last kept"
        elif checkpoint_folder.step_of(folder) < checkpoint_folder.step_of(newest):
            why = "never completed, and a later step is"
        else:
            continue
        if not lease.being_copied(folder):
            condemned.append(Condemned(folder, size_of(folder), why))
    return newest, condemned


def abandoned(root: Path) -> list[Condemned]:
    """Folders of ours that never completed. For who holds the lease of `root` and writes nothing at the moment: then
    nobody else writes them either.
    """
    names = checkpoint_folder.FOLDER_NAME
    found = [folder for folder in checkpoint_folder.folders(root) if names.match(folder.name)]
    return [
        Condemned(folder, size_of(folder), "never completed, and its gang has ended")
        for folder in found
        if not (folder / MANIFEST).exists() and not lease.being_copied(folder)
    ]


def delete(condemned: Condemned) -> None:
    """Delete one folder, first what makes it complete."""
    for name in (MANIFEST, foreign.METADATA):
        marker = condemned.folder / name
        if marker.exists():
            os.unlink(marker)  # through `os`, where tests count the calls they kill at
            sync_folder(condemned.folder)
            break
    shutil.rmtree(condemned.folder)
