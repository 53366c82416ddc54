"""What a training run must carry over a restart, put into a checkpoint and taken out again.

It hides which rank holds what: weights, optimizer, scheduler and data position are alike on all data-parallel ranks, so
rank 0 writes them; random states differ, so each rank writes its own, and a rank that did not exist before starts from
the run's seed.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from workload.checkpoints import checkpoint
from workload.data.sample_order import Cursor


@dataclass
class State:
    """A run between two steps."""

    model: torch.nn.Module
    optimizer: torch.optim.Optimizer
    scheduler: Any  # torch's scheduler base class is private in 1.13 and public in 2
    cursor: Cursor
    step: int = 0


def random_state() -> dict[str, Any]:
    return {
        "python": random.getstate(),
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }


def set_random_state(kept: dict[str, Any]) -> None:
    random.setstate(kept["python"])
    torch.set_rng_state(kept["torch"])
    if torch.cuda.is_available() and kept["cuda"]:
        torch.cuda.set_rng_state_all(kept["cuda"])


def save(writer: checkpoint.Writer, state: State) -> None:
    """Write this rank's parts and its record."""
    if writer.rank == 0:
        for holds, value in (
            ("weights", state.model.state_dict()),
            ("optimizer", state.optimizer.state_dict()),
            ("scheduler", state.scheduler.state_dict()),
            ("data_position", state.cursor.as_json()),
        ):
            with writer.part(holds, "pt") as file:
                torch.save(value, file)
    with writer.part("random_state", "pt") as file:
        torch.save(random_state(), file)
    writer.finish()


def _load(folder: Path, part: checkpoint.Part, device: str) -> Any:
    return torch.load(folder / part.name, map_location=device, **_whole_objects())


def _whole_objects() -> dict[str, bool]:
    """torch from 2.6 on reads only tensors unless told otherwise, 1.13 does not know the word. The files are the run's
    own.
    """
    return {"weights_only": False} if tuple(int(part) for part in torch.__version__.split(".")[:2]) >= (2, 0) else {}


def load(folder: Path, state: State, rank: int, device: str) -> bool:
    """Put a checkpoint's contents into `state`. True when this rank's own random state was in it."""
    manifest = checkpoint.read_manifest(folder)
    only = {holds: manifest.holding(holds)[0] for holds in ("weights", "optimizer", "scheduler", "data_position")}
    state.model.load_state_dict(_load(folder, only["weights"], device))
    state.optimizer.load_state_dict(_load(folder, only["optimizer"], device))
    state.scheduler.load_state_dict(_load(folder, only["scheduler"], device))
    state.cursor = state.cursor.resume(_load(folder, only["data_position"], "cpu"))
    state.step = manifest.step
    own = [part for part in manifest.holding("random_state") if part.rank == rank]
    if own:
        set_random_state(_load(folder, own[0], "cpu"))
    return bool(own)
