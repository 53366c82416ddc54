"""What every command does before its first import: how often garbage is collected, and which modules wait.

Both are here for their measured effect on `trainshed preview prod` (docs/decisions/startup.md): without the settings of
the collector it takes 1.4 times the processor time, without the waiting modules 1.16 times. Nothing is replaced: a
module that waits is the library's own, loaded when something first asks it for anything.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType
from typing import Final

WAITING: Final = frozenset(
    {
        "dill",  # pulumi's dynamic providers pickle themselves with it
        "google.protobuf.internal.python_message",  # messages in Python, where the compiled ones are missing
        "grpc.aio",
        "pulumi.automation",
    }
)
# Pulumi's tracing begins while it is imported, and only where this variable is set.
_TRACED: Final = "TRACEPARENT"
_TRACING: Final = "pulumi.runtime._instrumentation"


class _Finder:
    def __init__(self, names: frozenset[str]) -> None:
        self._names = names

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in self._names:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


def prepare() -> None:
    """Call once, before other modules are imported."""
    # Nearly all objects of a command live to its end: looking through them again and again finds nothing to free.
    gc.set_threshold(400_000, 50, 100)
    # The last collection, at the exit, looks through all of them once more.
    atexit.register(gc.freeze)
    _let_wait()


def _let_wait() -> None:
    """From here on the waiting modules are loaded at their first use; what is loaded already stays."""
    names = WAITING if os.environ.get(_TRACED) else WAITING | {_TRACING}
    sys.meta_path.insert(0, _Finder(names))
