"""A checkpoint on disk: one folder of parts, complete from the moment its manifest has its name.

A folder of ours without `manifest.json` is no checkpoint, whatever else it holds; one with it is as good as its
checksums. Another writer's folder is complete once `.metadata` is there, and as good as the sizes that it tells.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Callable

from workload import checksums
from workload.checkpoints import foreign

FORMAT = 2
READABLE = (1, 2)
MANIFEST = "manifest.json"
# What a run needs to go on as if it had never stopped. Each must be there at least once before a checkpoint is sealed.
REQUIRED = ("weights", "optimizer", "scheduler", "data_position", "random_state")
VERSIONS = ("image", "code", "data")
THREADS = 8
FOLDER_NAME = re.compile(r"^step-(?P<step>\d{12})-(?P<attempt>[0-9a-z]{1,32})$")
PART_NAME = re.compile(r"^(\.metadata|[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})$")
# Called after each piece that was read or written, with the number of its bytes.
Worked = Callable[[int], None]


class NotACheckpoint(ValueError):
    """The folder's manifest is missing or can't be believed; the text says which."""


@dataclass(frozen=True)
class Part:
    """One file: `holds` says what of the run is inside, `rank` who wrote it. Without `sha256` only a least size is
    known, as of another writer's file.
    """

    name: str
    rank: int
    holds: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """What a complete checkpoint consists of."""

    step: int
    attempt: str
    world_size: int
    created: float  # seconds since 1970, of rank 0's clock
    versions: Mapping[str, str]
    parts: tuple[Part, ...]
    contents: tuple[str, ...] = ()  # what files that hold several things have inside
    marker: str = MANIFEST  # the file that makes the checkpoint complete

    @property
    def sealed(self) -> bool:
        """Whether checksums are known, or only sizes."""
        return self.marker == MANIFEST

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts)

    def holding(self, holds: str) -> list[Part]:
        """The parts of one kind, by rank."""
        return sorted((part for part in self.parts if part.holds == holds), key=lambda part: (part.rank, part.name))

    def as_bytes(self) -> bytes:
        value = {**asdict(self), "parts": [asdict(part) for part in self.parts], "contents": list(self.contents)}
        del value["marker"]
        return signed({"format": FORMAT, **value})


def signed(value: dict[str, Any]) -> bytes:
    """JSON with a checksum over itself, so that a flipped byte in a manifest is found too."""
    text = json.dumps(value, sort_keys=True)
    return (
        json.dumps({**value, "checksum": hashlib.sha256(text.encode()).hexdigest()}, sort_keys=True, indent=1) + "\n"
    ).encode()


def unsigned(data: bytes, where: str) -> dict[str, Any]:
    """The value inside `signed` bytes."""
    try:
        value = json.loads(data)
    except ValueError as error:
        raise NotACheckpoint(f"{where}: not JSON: {error}") from None
    checksum = value.pop("checksum", None) if isinstance(value, dict) else None
    if checksum != hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest():
        raise NotACheckpoint(f"{where}: its own checksum is wrong")
    return value


def parse_manifest(data: bytes, where: str) -> Manifest:
    value = unsigned(data, where)
    if value.get("format") not in READABLE:
        raise NotACheckpoint(f"{where}: format {value.get('format')!r}, this program reads {FORMAT}")
    parts = tuple(Part(**part) for part in value["parts"])
    for part in parts:
        if not PART_NAME.match(part.name):
            raise NotACheckpoint(f"{where}: part {part.name!r} is no plain file name")
    fields = {name: value[name] for name in ("step", "attempt", "world_size", "created", "versions")}
    return Manifest(**fields, parts=parts, contents=tuple(value.get("contents", ())))


def plain_manifest(data: bytes, where: str, step: int, created: float) -> Manifest:
    """What another writer's `.metadata` tells. Raises NotACheckpoint."""
    try:
        sizes = foreign.least_sizes(data, where)
        contents = foreign.contents(data, where)
    except foreign.Unreadable as error:
        raise NotACheckpoint(str(error)) from None
    parts = tuple(Part(name, -1, "state", size, "") for name, size in sorted(sizes.items()))
    return Manifest(step, "", 0, created, {}, parts, contents, foreign.METADATA)


def read_manifest(folder: Path) -> Manifest:
    """Raises NotACheckpoint."""
    file = folder / MANIFEST
    ours = FOLDER_NAME.match(folder.name) or file.exists()
    if not ours and (folder / foreign.METADATA).is_file():
        file = folder / foreign.METADATA
        return plain_manifest(file.read_bytes(), str(file), step_of(folder), file.stat().st_mtime)
    try:
        data = file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise NotACheckpoint(f"{folder}: has no {MANIFEST}: the checkpoint is not complete") from None
    except OSError as error:
        raise NotACheckpoint(f"{file}: can't be read: {error.strerror}") from None
    return parse_manifest(data, str(file))


def folder_name(step: int, attempt: str) -> str:
    """The folder of a step. The attempt keeps parts that a killed run left apart from those of the run that repeats the
    step.
    """
    name = f"step-{step:012d}-{attempt}"
    if not FOLDER_NAME.match(name):
        raise ValueError(
            f"step {step} and attempt {attempt!r} make no folder name: a step from 0, 1 to 32 of 0-9 and a-z"
        )
    return name


def folders(root: Path) -> list[Path]:
    """Every checkpoint folder below `root`, complete or not, ours or another writer's, the newest step first."""
    found = [
        path
        for path in root.iterdir()
        if path.is_dir() and not path.is_symlink() and (FOLDER_NAME.match(path.name) or foreign.looks_like(path))
    ]
    return sorted(found, key=lambda path: (step_of(path), path.name), reverse=True)


def step_of(folder: Path) -> int:
    match = FOLDER_NAME.match(folder.name)
    step = int(match["step"]) if match else foreign.step_in(folder.name)
    if step is None:
        raise ValueError(f"{folder} is no checkpoint folder")
    return step


def complete(root: Path) -> list[tuple[Path, Manifest]]:
    """The folders whose manifest can be believed, newest first: by step, then, where a step was written twice,
    by time.
    """
    found = []
    for folder in folders(root):
        try:
            found.append((folder, read_manifest(folder)))
        except NotACheckpoint:
            continue
    return sorted(found, key=lambda pair: (pair[1].step, pair[1].created), reverse=True)


def part_fault(folder: Path, part: Part, deep: bool, worked: Worked | None = None) -> str | None:
    """What is wrong with a part; `deep` reads every byte from the disk, otherwise only the size is compared."""
    path = folder / part.name
    try:
        if not deep or not part.sha256:
            size, sha256 = path.stat().st_size, part.sha256
        else:
            size, sha256 = checksums.of_file(path, "sha256", from_disk=True, worked=worked)
    except FileNotFoundError:
        return f"{path}: is missing"
    except OSError as error:
        return f"{path}: can't be read: {error.strerror}"
    if size < part.size and not part.sha256:
        return f"{path}: {size} bytes, {foreign.METADATA} says at least {part.size}"
    if size != part.size and part.sha256:
        return f"{path}: {size} bytes, the manifest says {part.size}"
    if sha256 != part.sha256:
        return f"{path}: sha256 is {sha256}, the manifest says {part.sha256}"
    return None


def faults(folder: Path, deep: bool = True, threads: int = THREADS) -> Iterator[str]:
    """Everything that keeps a folder from being a good checkpoint. Parts are read by several threads."""
    try:
        manifest = read_manifest(folder)
    except NotACheckpoint as error:
        yield str(error)
        return
    with ThreadPoolExecutor(max_workers=threads) as pool:
        found = pool.map(lambda part: part_fault(folder, part, deep), manifest.parts)
        yield from (fault for fault in found if fault)


def latest(root: Path, deep: bool = True) -> tuple[Path | None, list[str]]:
    """The newest complete checkpoint that verifies, and what was wrong with those newer than it."""
    skipped: list[str] = []
    for folder, _ in complete(root):
        found = list(faults(folder, deep))
        if not found:
            return folder, skipped
        skipped += found
    return None, skipped
