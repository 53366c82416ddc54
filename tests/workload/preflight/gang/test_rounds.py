"""Which node or link the pairs accuse: every planted set is named, and nothing else, in rounds that don't grow."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workload.preflight.gang import rounds
from workload.preflight.gang.rounds import Pair, RoundOutcome


def played(members: list[int], bad_nodes: set[int], bad_links: set[frozenset[int]]) -> tuple[rounds.Judgement, int]:
    """The verdict on a gang with these faults, and the rounds it took."""

    def outcome(pair: Pair) -> RoundOutcome:
        bad = bool(bad_nodes & set(pair)) or frozenset(pair) in bad_links
        return RoundOutcome(pair, 1.0 if bad else 10.0)

    taken = rounds.ring_rounds(members)
    outcomes = [outcome(pair) for pairs in taken for pair in pairs]
    count = len(taken)
    while True:
        verdict = rounds.judge(outcomes, 8.0)
        if not verdict.next_pairs:
            return verdict, count
        for pairs in rounds.disjoint(verdict.next_pairs):
            assert len({member for pair in pairs for member in pair}) == 2 * len(pairs)
            outcomes += [outcome(pair) for pair in pairs]
            count += 1


@given(st.integers(2, 40))
def test_the_rings_rounds_hold_each_edge_once_and_nobody_twice(count: int) -> None:
    members = list(range(0, 2 * count, 2))
    taken = rounds.ring_rounds(members)
    edges = [frozenset(pair) for pairs in taken for pair in pairs]
    assert len(edges) == len(set(edges)) == (count if count > 2 else 1)
    for pairs in taken:
        assert len({member for pair in pairs for member in pair}) == 2 * len(pairs)
    assert len(taken) <= 3


@given(st.integers(4, 64), st.data())
def test_the_bad_nodes_are_named_and_no_other(count: int, data: st.DataObject) -> None:
    # Fewer than a third: pairs of neighbours that are all bad would leave nobody to clear the rest.
    bad = data.draw(st.sets(st.integers(0, count - 1), max_size=max(count // 4, 1)))
    verdict, _ = played(list(range(count)), bad, set())
    sound_neighbours = [
        rank for rank in range(count) if rank not in bad and {(rank - 1) % count, (rank + 1) % count} <= bad
    ]
    if len(verdict.cleared) + len(bad) + len(sound_neighbours) >= count and verdict.cleared:
        assert set(verdict.nodes) == bad
    assert not set(verdict.nodes) - bad
    assert verdict.links == ()


@given(st.integers(4, 64), st.integers(0, 63))
def test_a_bad_link_is_named_and_neither_of_its_nodes(count: int, place: int) -> None:
    first = place % count
    link = frozenset({first, (first + 1) % count})
    verdict, _ = played(list(range(count)), set(), {link})
    assert verdict.nodes == ()
    assert [frozenset(pair) for pair in verdict.links] == [link]


def test_one_bad_node_of_twelve_hundred_costs_no_more_rounds_than_of_eight() -> None:
    assert played(list(range(8)), {3}, set())[1] == played(list(range(1232)), {700}, set())[1]
    assert played(list(range(1232)), {700}, set())[0].nodes == (700,)


def test_a_pair_that_failed_once_and_then_ran_well_accuses_nobody() -> None:
    ring = [RoundOutcome(pair, 10.0) for pairs in rounds.ring_rounds(list(range(6))) for pair in pairs]
    blip = RoundOutcome((0, 1), 1.0)
    first = rounds.judge([blip, *ring[1:]], 8.0)
    assert first.next_pairs == ((0, 1),)
    again = rounds.judge([blip, *ring[1:], RoundOutcome((0, 1), 10.0)], 8.0)
    assert (again.nodes, again.links, again.next_pairs) == ((), (), ())


def test_two_nodes_alone_cant_tell_which_end_is_slow() -> None:
    verdict, _ = played([4, 9], {9}, set())
    assert (verdict.nodes, verdict.links, verdict.unnamed) == ((), (), ((4, 9),))


def test_of_three_nodes_the_slow_one_is_named() -> None:
    assert played([0, 1, 2], {1}, set())[0].nodes == (1,)


def test_wrong_values_count_like_slowness() -> None:
    outcomes = [RoundOutcome(pair, 10.0, wrong=3 if 1 in pair else 0) for pair in ((0, 1), (1, 2), (2, 0))]
    assert rounds.judge(outcomes, 8.0).nodes == (1,)
