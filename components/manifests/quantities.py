"""Kubernetes quantities in the form in which the API server stores them.

The server rewrites `5120Mi` as `5Gi` and `3000` as `3k`. An object written otherwise would differ from itself at every
refresh.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_BINARY = ("Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = ("", "k", "M", "G", "T", "P")
_AMOUNT = re.compile(r"^([0-9]+)(m|k|M|G|T|P|Mi|Gi|Ti|Pi|Ei)?$")


def mebi(amount: int) -> str:
    """MiB in the largest binary unit that divides them."""
    step = 0
    while amount and amount % 1024 == 0 and step < len(_BINARY) - 1:
        amount, step = amount // 1024, step + 1
    return f"{amount}{_BINARY[step]}" if amount else "0"


def whole(amount: int) -> str:
    """A count in the largest decimal unit that divides it."""
    step = 0
    while amount and amount % 1000 == 0 and step < len(_DECIMAL) - 1:
        amount, step = amount // 1000, step + 1
    return f"{amount}{_DECIMAL[step]}"


def millis(amount: int) -> str:
    """Thousandths, as CPU is counted."""
    return whole(amount // 1000) if amount % 1000 == 0 else f"{amount}m"


def times(amount: str, count: int) -> str:
    """A quantity taken so many times. Raises ValueError for one in another spelling."""
    match = _AMOUNT.match(amount)
    if not match:
        raise ValueError(f"{amount!r} is no quantity of whole units")
    number, unit = int(match[1]) * count, match[2] or ""
    if unit == "m":
        return millis(number)
    if unit in _BINARY:
        return mebi(number * 1024 ** _BINARY.index(unit))
    return whole(number * 1000 ** _DECIMAL.index(unit))


def plain(value: Any) -> Any:
    """A deep copy made of dicts, lists and scalars only, in which no part stands twice: YAML writes it without
    anchors.
    """
    if isinstance(value, Mapping):
        pairs: Mapping[str, Any] = value
        return {key: plain(inner) for key, inner in pairs.items()}
    if isinstance(value, list | tuple):
        items: tuple[Any, ...] = tuple(value)
        return [plain(inner) for inner in items]
    return value
