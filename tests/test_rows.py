"""The helper for tables: it fails for every row that fails, and passes when all do."""

from __future__ import annotations

import pytest

from tests.rows import each_row


def test_every_row_that_fails_is_named() -> None:
    @each_row([("a", 1), ("b", 2), ("c", 1)])
    def ones(name: str, number: int) -> None:
        assert number == 2, f"{name} has {number}"

    with pytest.raises(
        AssertionError, match=r"2 of 3 rows fail\na, 1: AssertionError: a has 1[\s\S]*\nc, 1: AssertionError: c has 1"
    ):
        ones()


def test_a_row_that_raises_counts_as_failed() -> None:
    @each_row(["x"])
    def broken(name: str) -> None:
        raise KeyError(name)

    with pytest.raises(AssertionError, match="1 of 1 rows fail\nx: KeyError: 'x'"):
        broken()


def test_all_rows_may_pass_and_none_is_a_mistake() -> None:
    each_row(["x"])(lambda name: None)()
    with pytest.raises(AssertionError, match="without rows"):
        each_row([])
