"""Checkpoints of other writers in the format of torch.distributed.checkpoint: `.metadata` and the files it names.

torchtitan, Megatron-LM and NeMo write such folders. `.metadata` is a pickle, and a pickle can run anything: here every
class in it is replaced by an inert stand-in, so reading it runs nothing, needs no torch, and tells which files there
must be and how long each is at least.
"""

from __future__ import annotations

import io
import pickle
import re
from collections import OrderedDict
from pathlib import Path
from typing import Any

METADATA = ".metadata"
_NUMBER = re.compile(r"\d+")
# Plain containers that do nothing when made.
_PLAIN = {("collections", "OrderedDict"): OrderedDict, ("builtins", "set"): set, ("builtins", "frozenset"): frozenset}


class Unreadable(ValueError):
    """The metadata is no pickle, or not of a checkpoint."""


class _Inert:
    """Takes the place of any object of the pickle: takes what it is given and does nothing with it."""

    def __new__(cls, *words: object, **named: object) -> Any:
        return object.__new__(cls)

    def __init__(self, *words: object, **named: object) -> None:
        self.words = words

    def __setstate__(self, state: object) -> None:
        parts = state if isinstance(state, tuple) else (state,)
        for part in parts:
            if isinstance(part, dict):
                self.__dict__.update({str(key): value for key, value in part.items()})

    def __setitem__(self, key: object, value: object) -> None:
        """Items of a stand-in are not kept."""

    def append(self, value: object) -> None:
        """Nor are its elements."""

    def extend(self, values: object) -> None:
        """Nor are its elements."""

    def add(self, value: object) -> None:
        """Nor are its elements."""


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        return _PLAIN.get((module, name)) or type(name.rpartition(".")[2], (_Inert,), {})

    def persistent_load(self, pid: object) -> Any:
        return _Inert()


def least_sizes(data: bytes, where: str) -> dict[str, int]:
    """Files that a `.metadata` names, and how many bytes each has at least. Raises Unreadable."""
    try:
        found = _Reader(io.BytesIO(data)).load()
        stored = found.storage_data
        sizes: dict[str, int] = {}
        for entry in stored.values():
            name, end = str(entry.relative_path), int(entry.offset) + int(entry.length)
            if name.startswith("/") or ".." in Path(name).parts:
                raise Unreadable(f"{where}: names a file outside its folder: {name!r}")
            sizes[name] = max(sizes.get(name, 0), end)
    except Unreadable:
        raise
    except Exception as error:  # a damaged pickle raises anything
        raise Unreadable(f"{where}: is no metadata of torch.distributed.checkpoint: {error}") from None
    return sizes


def contents(data: bytes, where: str) -> tuple[str, ...]:
    """The names before the first dot of everything in the checkpoint. Raises Unreadable."""
    try:
        names = _Reader(io.BytesIO(data)).load().state_dict_metadata
        return tuple(sorted({str(name).split(".", 1)[0] for name in names}))
    except Exception as error:
        raise Unreadable(f"{where}: is no metadata of torch.distributed.checkpoint: {error}") from None


def step_in(name: str) -> int | None:
    """`iter_0001000`, `step-1000`, `global_step1000`, `checkpoint-1000`: the last number in a folder's name."""
    numbers = _NUMBER.findall(name)
    return int(numbers[-1]) if numbers else None


def looks_like(folder: Path) -> bool:
    """Whether a folder is another writer's checkpoint, complete or not."""
    if step_in(folder.name) is None or folder.is_symlink() or not folder.is_dir():
        return False
    return (folder / METADATA).is_file() or any(folder.glob("*.distcp"))
