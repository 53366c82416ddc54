"""Names: fitted to a service's limit without collisions, and matched to what a misspelling meant.

A long name keeps a readable head, and a hash of the whole name keeps it different from its neighbours.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Iterable

_HASH = 8


def fit(text: str, limit: int) -> str:
    """`text` when it fits `limit` characters; else its head, a dash and eight hex digits of its SHA-256.

    Raises ValueError when the limit leaves no room for the hash.
    """
    if len(text) <= limit:
        return text
    if limit <= _HASH + 1:
        raise ValueError(f"a limit of {limit} characters leaves no room for a name and its hash")
    digest = hashlib.sha256(text.encode()).hexdigest()[:_HASH]
    return f"{text[: limit - _HASH - 1].rstrip('-_.')}-{digest}"


def nearest(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate that `word` most likely meant, or None when nothing is close."""
    known = sorted(set(candidates))
    folded = {name.casefold().replace("-", "_"): name for name in reversed(known)}
    key = word.casefold().replace("-", "_")
    if key in folded:
        return folded[key]
    inside = [
        name for name in folded if len(name) >= 3 and (key.startswith(name) or (len(key) >= 3 and name.startswith(key)))
    ]
    if len(inside) == 1:
        return folded[inside[0]]
    close = difflib.get_close_matches(key, folded, n=1, cutoff=0.6)
    return folded[close[0]] if close else None


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """`did you mean "x"?` or the list of what is known, for a hint."""
    known = sorted(set(candidates))
    match = nearest(word, known)
    if match:
        return f'did you mean "{match}"?'
    return f"use one of: {', '.join(known)}" if known else ""


def listed(words: Iterable[object], conjunction: str = "and") -> str:
    """`a, b and c`."""
    items = [str(word) for word in words]
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {conjunction} {items[-1]}"
