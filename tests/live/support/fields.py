"""Whether an API server kept every field that was declared.

The Pulumi provider leaves out fields of built-in kinds that it doesn't know, without a word, before the server could
refuse them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def lost(declared: Any, kept: Any, path: str = "") -> Iterator[str]:
    """Paths of declared fields that the kept object lacks; values may differ, as a server writes quantities its
    own way.
    """
    if isinstance(declared, Mapping):
        for key, value in declared.items():
            if key.startswith("__") or value is None or value in ({}, [], "", False):
                continue  # the engine's own marks, and what a server takes for left out (0 is False here)
            where = f"{path}.{key}"
            if not isinstance(kept, Mapping) or key not in kept:
                yield where
            else:
                yield from lost(value, kept[key], where)
    elif isinstance(declared, list) and isinstance(kept, list):
        if len(kept) < len(declared):
            yield f"{path}: {len(declared)} declared, {len(kept)} kept"
        for index, (mine, theirs) in enumerate(zip(declared, kept, strict=False)):
            yield from lost(mine, theirs, f"{path}[{index}]")
