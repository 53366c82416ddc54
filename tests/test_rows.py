"""A table's rows are tests of their own."""

from __future__ import annotations

import pytest

from tests.rows import each_row


@each_row([("a", 1, 1), ("b", 2, 4)])
def test_a_row_is_spread_over_the_arguments(name: str, root: int, square: int) -> None:
    assert root * root == square, name


def test_every_row_has_its_own_name(request: pytest.FixtureRequest) -> None:
    rows = [each.name for each in request.session.items if "spread_over_the_arguments" in each.name]
    assert rows in ([], [f"test_a_row_is_spread_over_the_arguments[{name}]" for name in ("a-1-1", "b-2-4")])


def test_a_table_without_rows_is_a_mistake() -> None:
    with pytest.raises(AssertionError, match="without rows"):
        each_row([])
