"""Modules that libraries import and a command hardly ever uses: they are loaded when something first asks them for
anything.

Hides the import hook. Nothing is replaced: each is the library's own module, later or never. Together they take a tenth
of a preview.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType
from typing import Final

SPARED: Final = frozenset(
    {
        "dill",  # pulumi's dynamic providers pickle themselves with it
        "google.protobuf.internal.python_message",  # messages in Python, where the compiled ones are missing
        "grpc.aio",
        "pulumi.automation",
    }
)
# Pulumi's tracing begins while it is imported, and only where this variable says so.
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


def install() -> None:
    """From here on the spared modules are loaded at their first use; what is loaded already stays."""
    names = SPARED if os.environ.get(_TRACED) else SPARED | {_TRACING}
    sys.meta_path.insert(0, _Finder(names))
