"""The checkpoints below a prefix in object storage: which are there, which are whole, which may be given up."""

from __future__ import annotations

from dataclasses import dataclass

from workload.checkpoints import checkpoint_folder, foreign
from workload.checkpoints.checkpoint_folder import FOLDER_NAME, MANIFEST, NotACheckpoint
from workload.checkpoints.places import place
from workload.checkpoints.prune import NothingGood
from workload.checkpoints.transfer import CONDEMNED


@dataclass(frozen=True)
class StoredObject:
    """One checkpoint of a bucket, as its listing tells."""

    url: str
    name: str
    step: int
    size: int
    state: str  # complete | incomplete | damaged | condemned
    ours: bool


def checkpoints(url: str, endpoint_url: str | None = None, only_above: int = -1) -> list[StoredObject]:
    """All below `url`, the newest step first; manifests of steps up to `only_above` are not read. Raises CopyFailed."""
    root = place(url, endpoint_url)
    files: dict[str, dict[str, int]] = {}
    for path, size in root.sizes().items():
        name, _, file = path.partition("/")
        if file:
            files.setdefault(name, {})[file] = size
    found = []
    for name, held in files.items():
        match = FOLDER_NAME.match(name)
        step = int(match["step"]) if match else foreign.step_in(name)
        if step is None or not (match or foreign.METADATA in held):
            continue
        where = f"{url.rstrip('/')}/{name}"
        state = _state(where, endpoint_url, held, bool(match)) if step > only_above else "complete"
        found.append(StoredObject(where, name, step, sum(held.values()), state, bool(match)))
    return sorted(found, key=lambda one: (one.step, one.name), reverse=True)


def _state(where: str, endpoint_url: str | None, held: dict[str, int], ours: bool) -> str:
    if CONDEMNED in held:
        return "condemned"
    marker = MANIFEST if ours else foreign.METADATA
    if marker not in held:
        return "incomplete"
    data = b"".join(place(where, endpoint_url).read(marker))
    try:
        if ours:
            manifest = checkpoint_folder.parse_manifest(data, where)
            whole = all(held.get(part.name) == part.size for part in manifest.parts)
        else:
            whole = all(held.get(name, -1) >= size for name, size in foreign.least_sizes(data, where).items())
    except (NotACheckpoint, foreign.Unreadable):
        return "damaged"
    return "complete" if whole else "damaged"


def plan(found: list[StoredObject], keep_last: int) -> tuple[StoredObject, list[tuple[StoredObject, str]]]:
    """The newest complete one, and what may be given up with the reason. Raises NothingGood."""
    complete = [one for one in found if one.state == "complete"]
    if not complete:
        raise NothingGood("no checkpoint in the bucket is complete, so nothing is given up")
    kept = complete[:keep_last]
    condemned = [(one, f"complete, older than the last {keep_last}") for one in complete[keep_last:]]
    for one in found:
        if one.state == "incomplete" and one.step < kept[0].step:
            condemned.append((one, "never completed, and a later step is"))
        elif one.state == "damaged" and one.step < kept[-1].step:
            condemned.append((one, "damaged, older than the last kept"))
    return complete[0], condemned
