"""A table's rows as tests of their own, each named by its first cells, so that one can be run with `-k`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest

_LONGEST_NAME = 60


def each_row(rows: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The decorated function takes one row; a tuple is spread over its arguments."""
    listed: list[tuple[Any, ...]] = [row if isinstance(row, tuple) else (row,) for row in rows]
    assert listed, "a table without rows tests nothing"

    def over(check: Callable[..., None]) -> Callable[..., None]:
        names = list(inspect.signature(check).parameters)
        return pytest.mark.parametrize(names, listed, ids=[_name(row) for row in listed])(check)

    return over


def _name(row: tuple[Any, ...]) -> str:
    cells = [str(cell) for cell in row if isinstance(cell, str | int) and "\n" not in str(cell)]
    return "-".join(cells)[:_LONGEST_NAME] or "row"
