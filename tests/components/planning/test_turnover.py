"""How long the engine waits for a node group: as long as its machines take at their slowest, and no default is ever too
slow.
"""

from __future__ import annotations

import pytest

from components.catalog import Catalog
from components.planning import turnover
from components.planning.turnover import Waits, of_group
from components.spec.pools import PoolSpec
from tests.components.planning.pool_stacks import FINETUNE, PREPROCESS, PRETRAIN, reported


@pytest.mark.parametrize(
    ("nodes", "at_once"), [(1, 1), (3, 1), (10, 1), (11, 2), (200, 20), (417, 42), (450, 45), (5000, 100)]
)
def test_a_tenth_of_the_group_is_replaced_at_once_within_what_eks_takes(nodes: int, at_once: int) -> None:
    assert turnover.at_once(nodes) == at_once


def test_what_the_user_says_is_replaced_at_once() -> None:
    assert turnover.at_once(417, 1) == 1
    assert of_group(417, wanted=3, has_cards=True).at_once == 3


def test_a_large_group_of_cards_is_waited_for_turn_by_turn() -> None:
    pace = of_group(417, has_cards=True)
    assert (pace.turns, pace.turn_minutes) == (10, 15 + 1 + 15 + 20)
    assert pace.arithmetic == "10 turns x 51 minutes + 30 = 9.0 hours"
    # 5 waves: 5 x 20 + 30 minutes to come, 5 x 31 + 30 to go.
    assert pace.waits == Waits(create="3h", update="9h", delete="4h")


def test_a_small_group_is_never_waited_for_shorter_than_the_provider_does_by_itself() -> None:
    pace = of_group(1, has_cards=False)
    assert pace.update_minutes == 61
    assert pace.waits == Waits(create="1h", update="2h", delete="1h")


def test_no_group_of_any_size_outlives_the_wait_unless_the_user_slows_it_down(cat: Catalog) -> None:
    for nodes in range(1, cat.limits.nodes_per_node_group.value + 1):
        assert of_group(nodes, has_cards=True).update_minutes <= turnover.LONGEST_MINUTES


def test_no_wait_is_longer_than_a_session() -> None:
    assert of_group(450, wanted=1, has_cards=True).waits.update == "12h"


def test_the_fewest_at_once_that_end_in_time() -> None:
    least = of_group(417, wanted=1, has_cards=True).least_at_once
    assert of_group(417, wanted=least, has_cards=True).update_minutes <= turnover.LONGEST_MINUTES
    assert of_group(417, wanted=least - 1, has_cards=True).update_minutes > turnover.LONGEST_MINUTES


def test_reserved_and_training_pools_take_old_machines_away_first() -> None:
    assert [turnover.old_first(PoolSpec.model_validate(raw)) for raw in (PRETRAIN, FINETUNE, PREPROCESS)] == [
        True,
        True,
        False,
    ]


def test_an_update_that_outlives_the_wait_is_told_with_its_arithmetic(cat: Catalog) -> None:
    (said,) = reported(cat, {**PRETRAIN, "update_max_unavailable": 1})
    assert (
        said
        == "pools[0].update_max_unavailable: warning: an update of a node group of 417 nodes takes up to 417 turns x 51"
        " minutes + 30 = 354.9 hours at 1 at a time; the engine waits 12 hours, and fails while the update goes on;"
        " use at least 33, or leave it out for 42; change it in an update of its own, because new machines come"
        " before a new number counts"
    )


def test_a_number_that_ends_in_time_is_the_users_to_choose(cat: Catalog) -> None:
    assert reported(cat, {**PRETRAIN, "update_max_unavailable": 33}) == []
    assert reported(cat, {**PRETRAIN, "update_max_unavailable": 100}) == []
