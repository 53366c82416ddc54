"""Going on: the newest good checkpoint of any tier, read by all ranks together, each its share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Callable

import torch.distributed.checkpoint as dcp

from workload.checkpoints import checkpoint_folder, local_reader, prune, tiers, transfer
from workload.checkpoints.checkpoint_folder import NotACheckpoint, Worked
from workload.checkpoints.dcp import SafePlanner, SafeReader
from workload.checkpoints.lease import Lease
from workload.checkpoints.partners import Group, as_one
from workload.checkpoints.places import CopyFailed, place
from workload.checkpoints.prune import NothingGood
from workload.checkpoints.tiers import LOCAL, OBJECT, SHARED, Candidate, Tiers


class Resuming:
    """One rank's part in finding and loading a checkpoint. All ranks call the same methods."""

    def __init__(self, where: Tiers, group: Group, held: Lease, worked: Worked, say: Callable[..., None]) -> None:
        self._tiers, self._group, self._lease = where, group, held
        self._worked, self._say = worked, say

    def resume(
        self, wanted: Callable[[set[str]], dict[str, Any]], take: Callable[[dict[str, Any]], None]
    ) -> str | None:
        """Load the newest good checkpoint of any tier; gives its name, or None where the run begins.

        `wanted` makes the tree to fill from the names in a checkpoint, `take` goes on from it. Raises Held, NothingGood
        where checkpoints exist and none is good: starting over would throw the run away.
        """
        as_one(self._group, self._prepare)
        candidates = self._candidates()
        passed: list[str] = []
        for one in candidates:
            folder = self._fetch(one, passed)
            if folder is None or not self._sound(one, folder, passed):
                continue
            self._load(one, folder, wanted, take)
            return one.name
        if candidates:
            raise NothingGood("\n".join(["checkpoints are there, and none is good:", *passed]))
        return None

    def _prepare(self) -> None:
        """What a killed gang left would fill the disk, one folder a restart."""
        self._lease.take()
        for one in prune.abandoned(self._tiers.shared):
            self._say(event="delete", checkpoint=one.folder.name, why=one.why)
            prune.delete(one)

    def _candidates(self) -> list[Candidate]:
        local: list[Candidate] = []
        if self._tiers.local is not None:
            if self._group.local_rank == 0 and self._tiers.local.is_dir():
                for one in prune.abandoned(self._tiers.local):
                    prune.delete(one)
            local = tiers.whole_together(self._group.gathered(tiers.holdings(self._tiers.local)))

        def list_all() -> list[Candidate]:
            near = [*local, *tiers.in_shared(self._tiers.shared)]
            newest = max((one.step for one in near), default=-1)
            try:
                far = tiers.in_bucket(self._tiers.url, newest)
            except CopyFailed as error:
                if not near:
                    raise  # an empty shared tier and a bucket that does not answer: the run may not start over
                self._say(event="bucket", fault=str(error))
                far = []
            return sorted([*near, *far], key=lambda one: one.newest_first)

        return as_one(self._group, list_all)

    def _fetch(self, one: Candidate, passed: list[str]) -> Path | None:
        """The folder of a candidate; one in object storage is brought to the shared tier by all ranks together."""
        if one.tier == LOCAL:
            assert self._tiers.local is not None
            return self._tiers.local / one.name
        folder = self._tiers.shared / one.name
        if one.tier == SHARED:
            return folder
        fault, described = "", None
        source, target = place(f"{self._tiers.url}/{one.name}"), place(str(folder))
        try:
            described = transfer.describe(source, one.name)
            there = target.sizes()
            for part in described[0].parts[self._group.rank :: self._group.size]:
                transfer.carry(source, target, part, there.get(part.name), self._worked)
        except (CopyFailed, NotACheckpoint, OSError) as error:
            fault = str(error)
        faults = [found for found in self._group.gathered(fault) if found]
        if described is not None and not faults:  # without a fault every rank has read the description
            manifest, data = described
            fault = as_one(
                self._group, lambda: _reported(lambda: transfer.finish(source, target, one.name, manifest, data))
            )
            faults = [fault] if fault else []
        passed += faults[:5]
        for found in faults[:5]:
            self._say(event="passed over", checkpoint=one.name, tier=one.tier, fault=found)
        return None if faults else folder

    def _sound(self, one: Candidate, folder: Path, passed: list[str]) -> bool:
        """All ranks read the checkpoint together, each its share, and agree."""
        manifest = tiers.manifest_or_none(folder)
        if manifest is None:
            found = [f"{folder}: its manifest is gone"]
        elif one.tier == LOCAL:
            there = [part for part in manifest.parts if (folder / part.name).is_file()]
            mine = [part for number, part in enumerate(there) if number % self._ranks_here() == self._group.local_rank]
            found = [checkpoint_folder.part_fault(folder, part, deep=True, worked=self._worked) or "" for part in mine]
        elif one.tier == OBJECT:
            found = []  # each part was verified where it arrived
        else:
            found = tiers.share_of(manifest, folder, self._group.rank, self._group.size, self._worked)
        faults = sorted({fault for faults in self._group.gathered(found) for fault in faults if fault})
        passed += faults[:5]
        for fault in faults[:5]:
            self._say(event="passed over", checkpoint=one.name, tier=one.tier, fault=fault)
        return not faults

    def _ranks_here(self) -> int:

        return int(os.environ.get("LOCAL_WORLD_SIZE") or 1)

    def _load(
        self, one: Candidate, folder: Path, wanted: Callable[[set[str]], Any], take: Callable[[Any], None]
    ) -> None:
        group = self._group.checkpoint_group
        if one.tier == LOCAL:
            reader: SafeReader = local_reader.LocalReader(folder, group, self._worked)
        else:
            reader = SafeReader(folder, self._worked)
        tree = wanted(set(reader.read_metadata().state_dict_metadata))
        dcp.load(tree, storage_reader=reader, planner=SafePlanner(), process_group=group)
        take(tree)


def _reported(act: Callable[[], None]) -> str:
    try:
        act()
    except CopyFailed as error:
        return str(error)
    return ""
