"""Old checkpoints taken away: the last few stay, and the newest good one always.

It hides two safeguards: all that goes is known, and can be shown, before anything goes; and a folder loses its manifest
first, so that a kill in the middle leaves no folder that looks complete.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from workload.atomic_files import sync_folder
from workload.checkpoints import checkpoint_folder
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
    return sum(path.lstat().st_size for path in folder.iterdir())


def plan(root: Path, keep_last: int) -> tuple[Path, list[Condemned]]:
    """The newest checkpoint that verifies, and what may go. Raises NothingGood.

    Complete ones beyond the last `keep_last` go; so do folders without a manifest of steps before the newest good one
    (a later step was sealed, so nobody writes them any more). One whose sizes are wrong does not count among the kept.
    """
    if keep_last < 1:
        raise ValueError(f"keep-last {keep_last}: at least 1 is kept")
    newest, skipped = checkpoint_folder.latest(root)
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
        condemned.append(Condemned(folder, size_of(folder), why))
    return newest, condemned


def delete(condemned: Condemned) -> None:
    """Delete one folder, its manifest first."""
    manifest = condemned.folder / MANIFEST
    if manifest.exists():
        os.unlink(manifest)  # through `os`, where tests count the calls they kill at
        sync_folder(condemned.folder)
    shutil.rmtree(condemned.folder)
