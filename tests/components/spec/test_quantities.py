"""Nodes, cards and workers never meet in one sum."""

from __future__ import annotations

from typing import Any

import pytest

from components.spec.quantities import Cards, Nodes, Workers


def test_1600_nodes_of_8_cards_are_12800_cards():
    assert Nodes(1600).cards(Cards(8)) == Cards(12800)


def test_a_whole_node_belongs_to_one_worker():
    assert Nodes(1232).workers == Workers(1232)


def test_cards_fill_whole_nodes_and_leave_a_rest():
    assert Cards(12).whole_nodes(Cards(8)) == Nodes(1)
    assert Cards(12).rest(Cards(8)) == Cards(4)
    assert Cards(0).whole_nodes(Cards(0)) == Nodes(0)


@pytest.mark.parametrize("other", [Cards(1), Workers(1), 1])
def test_nodes_can_not_be_added_to_anything_else(other: Any):
    with pytest.raises(TypeError):
        _ = Nodes(1) + other


def test_cards_can_not_be_compared_with_nodes():
    with pytest.raises(TypeError):
        _ = Cards(1) < Nodes(2)  # pyright: ignore[reportOperatorIssue] - this is what the types refuse


def test_counts_are_whole_and_never_negative():
    with pytest.raises(ValueError, match=r"^nodes can't be fewer than 0: -1$"):
        Nodes(-1)
    with pytest.raises(TypeError, match=r"^cards are counted in whole numbers, not True$"):
        Cards(True)
    with pytest.raises(TypeError, match=r"^workers are counted in whole numbers, not 1\.5$"):
        Workers(1.5)  # pyright: ignore[reportArgumentType] - this is what the types refuse
