"""What a training run must carry over a restart, as one tree for torch.distributed.checkpoint.

Weights and optimizer state go by parameter name, so they fit any number of ranks and any layout. Random states differ
by rank: each writes its own, and a rank that did not exist before starts from the run's seed.
"""

from __future__ import annotations

import json
import random
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import torch
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_optimizer_state_dict,
    set_optimizer_state_dict,
)

from workload.data.sample_order import Cursor
from workload.trainer.model import LanguageModel

_FLAT = StateDictOptions(flatten_optimizer_state_dict=True)


@dataclass
class State:
    """A run between two steps."""

    model: LanguageModel
    optimizer: torch.optim.Optimizer
    cursor: Cursor
    rank: int
    step: int = 0


def random_key(rank: int) -> str:
    return f"rank{rank:06d}"


def random_state() -> dict[str, Any]:
    found: dict[str, Any] = {"python": json.dumps(random.getstate()), "torch": torch.get_rng_state()}
    if torch.cuda.is_available():
        found["cuda"] = torch.cuda.get_rng_state()
    return found


def set_random_state(kept: dict[str, Any]) -> None:
    version, numbers, following = json.loads(kept["python"])
    random.setstate((version, tuple(numbers), following))
    torch.set_rng_state(kept["torch"])
    if "cuda" in kept and torch.cuda.is_available():
        torch.cuda.set_rng_state(kept["cuda"])


def tree(state: State) -> dict[str, Any]:
    """The whole state; tensors in it are the run's own, not copies."""
    return {
        "weights": state.model.state_dict(),
        "optimizer": get_optimizer_state_dict(state.model, state.optimizer, options=_FLAT),
        "scheduler": {"step": state.step},
        "data_position": state.cursor.as_json(),
        "random_state": {random_key(state.rank): random_state()},
    }


def wanted(state: State, held: Collection[str]) -> dict[str, Any]:
    """The tree to load into, without the random state that a checkpoint of fewer ranks has not."""
    found = tree(state)
    if f"random_state.{random_key(state.rank)}.torch" not in held:
        del found["random_state"]
    return found


def take(state: State, loaded: dict[str, Any]) -> None:
    """Go on from a loaded tree. Raises OtherData."""
    state.cursor = state.cursor.resume(loaded["data_position"])
    state.step = int(loaded["scheduler"]["step"])
    state.model.load_state_dict(loaded["weights"])
    set_optimizer_state_dict(state.model, state.optimizer, loaded["optimizer"], options=_FLAT)
    kept = loaded.get("random_state", {}).get(random_key(state.rank))
    if kept:
        set_random_state(kept)
