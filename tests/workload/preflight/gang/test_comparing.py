"""Versions and clocks over a gang: the odd one is named with both values; without a majority nobody is."""

from __future__ import annotations

from workload.preflight.gang import comparing
from workload.preflight.gang.comparing import Odd, Reading


def test_the_node_with_another_driver_is_named_with_both_versions() -> None:
    gang = {rank: {"NVIDIA driver": "580.2", "NCCL": "2.27.3"} for rank in range(4)}
    gang[2]["NVIDIA driver"] = "570.1"
    assert comparing.versions(gang) == ([Odd(2, "NVIDIA driver is 570.1, the other 3 nodes have 580.2")], [])


def test_a_node_that_lacks_what_the_others_have_is_named() -> None:
    gang = {0: {"EFA driver": "2.1"}, 1: {}, 2: {"EFA driver": "2.1"}}
    assert comparing.versions(gang) == ([Odd(1, "EFA driver is nothing, the other 2 nodes have 2.1")], [])


def test_halves_that_differ_close_the_gate_and_name_nobody() -> None:
    gang = {rank: {"NCCL_ALGO": "Ring" if rank % 2 else "Tree"} for rank in range(4)}
    said = "NCCL_ALGO differs and no version is on more than half of the nodes: Ring on 2 nodes, Tree on 2 nodes"
    assert comparing.versions(gang) == ([], [said])


def readings(offsets: dict[int, float], way: float = 0.01) -> dict[int, list[Reading]]:
    return {rank: [Reading(100.0, 100.0 + way, 100.0 + way / 2 + offset)] for rank, offset in offsets.items()}


def test_a_clock_that_is_off_is_named() -> None:
    odd, torn = comparing.clocks(readings({0: 0.0, 1: 0.1, 2: -7.0, 3: 0.0}), 1.0)
    assert ([each.rank for each in odd], torn) == ([2], [])
    assert odd[0].said == "its clock is -7.0 s off the others'; at most 1 s are allowed; see chrony on the node"


def test_when_all_others_are_off_alike_it_is_the_first_ones_clock() -> None:
    odd, _ = comparing.clocks(readings({0: 0.0, 1: 9.0, 2: 9.1, 3: 8.9}), 1.0)
    assert [each.rank for each in odd] == [0]
    assert odd[0].said == "its clock is -9.0 s off the others'; at most 1 s are allowed"


def test_a_slow_answer_is_no_wrong_clock() -> None:
    assert comparing.clocks({0: [], 1: [Reading(100.0, 104.0, 103.9)], 2: [Reading(100.0, 100.1, 100.0)]}, 1.0) == (
        [],
        [],
    )


def test_two_clocks_that_differ_name_nobody() -> None:
    odd, torn = comparing.clocks(readings({0: 0.0, 1: 5.0}), 1.0)
    assert (odd, torn) == ([], ["the clocks of both nodes differ by 5.0 s; at most 1 s are allowed"])
