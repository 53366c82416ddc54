"""Sealed checkpoints taken on into object storage in the background: every rank its share, rank 0 the manifest last."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Callable

from workload.checkpoints import bucket, checkpoint_folder, lease, transfer
from workload.checkpoints.checkpoint_folder import NotACheckpoint
from workload.checkpoints.partners import Group, Observer
from workload.checkpoints.places import CopyFailed, place


class ObjectCopies:
    """The copies of one run on one rank, one at a time. A copy's progress is no sign that training lives."""

    def __init__(self, url: str, group: Group, keep_last: int, observer: Observer, say: Callable[..., None]) -> None:
        self._url, self._group, self._keep_last = url.rstrip("/"), group, keep_last
        self._observer, self._say = observer, say
        self._copying: threading.Thread | None = None

    def begin(self, folder: Path) -> None:
        """Into object storage, in the background: every rank its share, rank 0 the manifest after all of them."""
        if self._copying is not None and self._copying.is_alive():
            self._say(event="bucket", checkpoint=folder.name, fault="passed over: the copy before is still under way")
            return
        self._copying = threading.Thread(target=self._copy, args=(folder,), daemon=True, name="copy")
        self._copying.start()

    def _copy(self, folder: Path) -> None:
        rank, size = self._group.rank, self._group.size
        source, target = place(str(folder)), place(f"{self._url}/{folder.name}")
        try:
            # One mark is enough: rank 0 waits for all others.
            with lease.copying(folder) if rank == 0 else nullcontext():
                manifest, data = transfer.describe(source, folder.name)
                there = target.sizes()
                for part in manifest.parts[rank::size]:
                    transfer.carry(source, target, part, there.get(part.name))
                if rank == 0:
                    _until(lambda: _all_there(target.sizes(), manifest), limit=3600.0)
                    transfer.finish(source, target, folder.name, manifest, data)
                    self._say(event="copied", checkpoint=folder.name, to=f"{self._url}/{folder.name}")
                    self._give_up_old_copies()
        except (CopyFailed, NotACheckpoint, OSError, TimeoutError) as error:
            self._observer.checkpoint_failed()
            print(f"checkpoint copy: {error}", flush=True)

    def _give_up_old_copies(self) -> None:
        _, condemned = bucket.plan(bucket.checkpoints(self._url), self._keep_last)
        for one, why in condemned:
            transfer.condemn(place(one.url), why)

    def wait(self) -> None:
        if self._copying is not None:
            self._copying.join()


def _all_there(sizes: Mapping[str, int], manifest: checkpoint_folder.Manifest) -> bool:
    return all(sizes.get(part.name) == part.size for part in manifest.parts)


def _until(true: Callable[[], bool], limit: float) -> None:
    deadline = time.monotonic() + limit
    pause = 0.2
    while not true():
        if time.monotonic() > deadline:
            raise TimeoutError(f"other ranks' parts did not arrive within {limit:g} s")
        time.sleep(pause)
        pause = min(2 * pause, 10.0)
