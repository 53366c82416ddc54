"""One test over many rows of a table: every row that fails is told, and a row costs no test of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def each_row(rows: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """The decorated function takes one row (a tuple is spread over its arguments); the test fails once, with all rows
    that failed.
    """
    listed = [row if isinstance(row, tuple) else (row,) for row in rows]
    assert listed, "a table without rows tests nothing"

    def over(check: Callable[..., None]) -> Callable[[], None]:
        def whole() -> None:
            failed: list[str] = []
            for row in listed:
                try:
                    check(*row)
                except Exception as problem:
                    named = ", ".join(str(cell) for cell in row if isinstance(cell, str | int))
                    failed.append(f"{named}: {type(problem).__name__}: {problem}")
            assert not failed, f"{len(failed)} of {len(listed)} rows fail\n" + "\n".join(failed)

        # No `__wrapped__`: pytest would look for fixtures by the names of the row's cells.
        whole.__name__, whole.__doc__, whole.__module__ = check.__name__, check.__doc__, check.__module__
        return whole

    return over
