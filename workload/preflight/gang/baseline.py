"""The healthy figures of (type, fabric, nodes), one JSON file each in a folder of the shared file system.

A figure between two nodes or inside one doesn't depend on how many nodes there are, so a gang without a baseline of its
own size borrows those from the nearest; the collective figures are of its own size or not judged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from workload.atomic_files import write_json

COLLECTIVES = ("all_reduce_gb_per_s", "broadcast_gb_per_s")
ANY_SIZE = ("pair_gb_per_s", "inside_gb_per_s")


@dataclass(frozen=True)
class Key:
    """What a baseline belongs to."""

    instance_type: str
    fabric: str
    nodes: int

    @property
    def name(self) -> str:
        return f"{re.sub(r'[^A-Za-z0-9.-]', '-', self.instance_type)}_{self.fabric}_{self.nodes}.json"


def _figures(path: Path) -> dict[str, float]:
    """Empty when the file is missing, cut or of another form: the gate then compares with the wire's rate."""
    try:
        value = json.loads(path.read_text())["figures"]
        return {name: float(value[name]) for name in (*COLLECTIVES, *ANY_SIZE) if float(value.get(name) or 0) > 0}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def read(folder: Path | None, key: Key) -> dict[str, float]:
    if folder is None or not folder.is_dir():
        return {}
    own = _figures(folder / key.name)
    prefix, sizes = key.name.rpartition("_")[0], []
    for path in folder.glob(f"{prefix}_*.json"):
        count = path.stem.rpartition("_")[2]
        if count.isdigit():
            sizes.append((abs(int(count) - key.nodes), path))
    for _, path in sorted(sizes):
        borrowed = _figures(path)
        own = {**{name: borrowed[name] for name in ANY_SIZE if name in borrowed}, **own}
    return own


def record(folder: Path, key: Key, figures: Mapping[str, float], *, at: float, task: str, replace: bool) -> bool:
    """Write the figures of a healthy run; one that stands is only replaced when asked to."""
    path = folder / key.name
    if path.exists() and _figures(path) and not replace:
        return False
    folder.mkdir(parents=True, exist_ok=True)
    kept = {name: round(figures[name], 4) for name in (*COLLECTIVES, *ANY_SIZE) if name in figures}
    write_json(path, {"figures": kept, "recorded": at, "task": task, "nodes": key.nodes})
    return True
