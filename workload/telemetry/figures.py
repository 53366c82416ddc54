"""A rank's last figures as a file in memory, which the node's server reads: a hung rank can't stop a scrape."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from workload.atomic_files import write_file

FILE_NAME = re.compile(r"^metrics-(?P<rank>\d{6,})\.json$")


@dataclass(frozen=True)
class Figures:
    """Values by the word of the contract; `since` holds moments of the boot clock that are shown as ages."""

    rank: int
    node: str
    values: Mapping[str, float] = field(default_factory=dict)
    since: Mapping[str, float] = field(default_factory=dict)


def write(folder: Path, figures: Figures) -> None:
    write_file(folder / f"metrics-{figures.rank:06d}.json", json.dumps(asdict(figures)).encode(), sync=False)


def read(folder: Path) -> list[Figures]:
    """Of every rank that has a readable file, by rank."""
    found = []
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        if FILE_NAME.match(path.name):
            try:
                found.append(Figures(**json.loads(path.read_bytes())))
            except (OSError, ValueError, TypeError):
                continue
    return sorted(found, key=lambda one: one.rank)
