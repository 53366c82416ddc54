"""Paths of keys, as tuples inside and as text outside (`pools[1].instance_type`).

Only this module writes and reads the text form.
"""

from __future__ import annotations

import re

Path = tuple[str | int, ...]


def written(path: Path) -> str:
    """`("pools", 1, "instance_type")` as `pools[1].instance_type`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


def parsed(text: str) -> Path:
    """The inverse of `written`, for keys without dots and brackets."""
    parts: list[str | int] = []
    for name, index in re.findall(r"([^.\[\]]+)|\[(\d+)\]", text):
        parts.append(int(index) if index else name)
    return tuple(parts)
