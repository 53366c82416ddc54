"""A checkpoint taken to another path or into S3, or back from there, verified where it arrives.

Parts go in parallel. What makes the copy complete goes last, and is taken back if a part is gone by then: so a copy cut
short never looks complete, and a second run carries only what is not there yet.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from workload import contract
from workload.checkpoints import checkpoint_folder, foreign, lease
from workload.checkpoints.checkpoint_folder import FOLDER_NAME, MANIFEST, Manifest, NotACheckpoint, Part, Worked
from workload.checkpoints.places import CopyFailed, Folder, NoS3Client, Place, place

__all__ = ["CopyFailed", "NoS3Client", "condemn", "copy", "describe", "fault", "place"]

PARTS_AT_ONCE = 8
CONDEMNED = "condemned.json"


def fault(at: Place, part: Part, worked: Worked | None = None) -> str | None:
    """What is wrong with a part at a place, every byte read."""
    digest, size = hashlib.sha256(), 0
    try:
        for data in at.read(part.name):
            digest.update(data)
            size += len(data)
            if worked is not None:
                worked(len(data))
    except FileNotFoundError:
        return f"{at.name(part.name)}: is missing"
    if size != part.size:
        return f"{at.name(part.name)}: {size} bytes, the manifest says {part.size}"
    if digest.hexdigest() != part.sha256:
        return f"{at.name(part.name)}: sha256 is {digest.hexdigest()}, the manifest says {part.sha256}"
    return None


def _bytes(at: Place, file: str) -> bytes | None:
    try:
        return b"".join(at.read(file))
    except FileNotFoundError:
        return None


def describe(source: Place, name: str) -> tuple[Manifest, bytes]:
    """What a place holds, and the bytes of the file that makes it complete. Raises NotACheckpoint.

    Another writer's files have no checksums: they are read here once to have some for the way.
    """
    data = _bytes(source, MANIFEST)
    if data is not None:
        return checkpoint_folder.parse_manifest(data, source.name(MANIFEST)), data
    data = None if FOLDER_NAME.match(name) else _bytes(source, foreign.METADATA)
    if data is None:
        raise NotACheckpoint(f"{source.name(MANIFEST)} is missing: the checkpoint is not complete")
    manifest = checkpoint_folder.plain_manifest(
        data, source.name(foreign.METADATA), foreign.step_in(name) or 0, time.time()
    )
    there = source.sizes()
    for part in manifest.parts:
        if there.get(part.name, -1) < part.size:
            said = "is missing" if part.name not in there else f"{there[part.name]} bytes of at least {part.size}"
            raise NotACheckpoint(f"{source.name(part.name)}: {said}: the checkpoint is not complete")
    others = sorted(
        file for file in there if file != foreign.METADATA and not Path(file).name.startswith(lease.COPYING)
    )
    with ThreadPoolExecutor(PARTS_AT_ONCE) as pool:
        parts = tuple(pool.map(lambda file: _summed(source, file), others))
    return replace(manifest, parts=parts), data


def _summed(source: Place, file: str) -> Part:
    digest, size = hashlib.sha256(), 0
    for data in source.read(file):
        digest.update(data)
        size += len(data)
    return Part(file, -1, "state", size, digest.hexdigest())


def carry(source: Place, target: Place, part: Part, there: int | None, worked: Worked | None = None) -> bool:
    """One part; gives False where it was there already. Raises CopyFailed."""
    if there == part.size and fault(target, part, worked) is None:
        return False
    try:
        origin = source.path / part.name if isinstance(source, Folder) else None
        target.put(part.name, _watched(source.read(part.name), worked), origin)
    except FileNotFoundError as error:
        raise CopyFailed(f"not copied: {error.filename or error}: is missing") from None
    wrong = fault(target, part, worked)
    if wrong:
        # Terabytes are read twice, not three times: the source is looked at again only to say whose fault it is.
        at_source = fault(source, part)
        raise CopyFailed(f"not copied: {at_source}" if at_source else f"arrived damaged: {wrong}")
    return True


def _watched(chunks: Iterator[bytes], worked: Worked | None) -> Iterator[bytes]:
    for data in chunks:
        if worked is not None:
            worked(len(data))
        yield data


def finish(source: Place, target: Place, name: str, manifest: Manifest, data: bytes) -> None:
    """All parts are there: the file that makes the copy complete is put, and looked at once more. Raises CopyFailed."""
    target.settle()
    target.put(manifest.marker, iter([data]), None)
    target.settle()
    there = target.sizes()
    gone = [part.name for part in manifest.parts if there.get(part.name) != part.size]
    if _bytes(target, manifest.marker) != data:
        gone.append(manifest.marker)
    if gone:
        target.remove(manifest.marker)
        raise CopyFailed(f"arrived damaged: {target.name(gone[0])}: something took it away during the copy")
    if _bytes(source, manifest.marker) != data:
        target.remove(manifest.marker)
        raise CopyFailed(f"not copied: {source.name(manifest.marker)} changed or went during the copy of {name}")


def copy(source: Place, target: Place, name: str = "", parts_at_once: int = PARTS_AT_ONCE) -> tuple[int, int]:
    """Carry a checkpoint; gives parts carried and parts that were there already. Raises NotACheckpoint, CopyFailed.

    `name` is the checkpoint's folder name. Where source or target is a folder no prune deletes it meanwhile.
    """
    name = name or (source.path.name if isinstance(source, Folder) else "")
    manifest, data = describe(source, name)
    with ExitStack() as held:
        for one in (source, target):
            if isinstance(one, Folder):
                held.enter_context(lease.copying(one.path))
        there = target.sizes()
        with ThreadPoolExecutor(max(1, parts_at_once)) as pool:
            carried = sum(pool.map(lambda part: carry(source, target, part, there.get(part.name)), manifest.parts))
        finish(source, target, name, manifest, data)
    return carried, len(manifest.parts) - carried


def condemn(at: Place, why: str) -> int:
    """Give up a checkpoint in object storage: nothing is deleted, every object is tagged for a lifecycle rule. Gives
    the number of objects. The mark comes first, so that a checkpoint half expired is never taken for a good one.
    """
    at.put(CONDEMNED, iter([json.dumps({"why": why, "at": time.time()}).encode()]), None)
    key, value = contract.CONDEMNED_TAG
    files = sorted(at.sizes(), key=lambda file: file != MANIFEST)
    with ThreadPoolExecutor(PARTS_AT_ONCE) as pool:
        list(pool.map(lambda file: at.tag(file, key, value), files))
    return len(files)
