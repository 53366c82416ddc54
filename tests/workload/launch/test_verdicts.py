"""What follows from a failure."""

from __future__ import annotations

import pytest

from workload import contract
from workload.heartbeat import Beat
from workload.launch import termination, verdicts
from workload.launch.verdicts import Failure


def failure(code: int, rank: int = 0) -> Failure:
    return verdicts.of_process(code, rank, rank, "node-a", ())


def test_a_failure_that_tells_its_reason_comes_before_what_may_be_its_consequence() -> None:
    assert verdicts.first([failure(1, 0), failure(134, 1), failure(139, 2)]).rank == 2
    assert verdicts.first([failure(1, 3), failure(1, 0)]).rank == 3


@pytest.mark.parametrize("code", sorted(contract.EXIT_MEANINGS))
def test_only_codes_that_the_contract_names_start_again_in_place(code: int) -> None:
    assert verdicts.again(failure(code), 0, 3) == (code in contract.IN_PLACE)
    assert not verdicts.again(failure(code), 3, 3)


def test_a_program_without_heartbeats_never_hangs() -> None:
    assert verdicts.hung({}, {}, 8, waited=10_000, timeout=60) == []


def test_a_rank_that_never_beat_while_others_fell_silent_is_the_first_to_look_at() -> None:
    beats = {0: Beat(0, 3, 0, "a"), 1: Beat(1, 2, 0, "b")}
    found = verdicts.hung(beats, {0: 70.0, 1: 71.0}, 3, waited=200, timeout=60)
    assert [one.rank for one in found] == [2, 1, 0]
    assert len(verdicts.hang_table(found, most=2)) == 4


def test_ranks_that_beat_are_no_hang_though_one_has_not_begun() -> None:
    assert verdicts.hung({0: Beat(0, 3, 0, "a")}, {0: 1.0}, 2, waited=200, timeout=60) == []


def test_a_termination_message_fits_what_the_kubelet_reads_and_keeps_the_last_lines() -> None:
    long = Failure(1, "ended", 0, 0, "a", tuple(f"{number} {'x' * 500}" for number in range(20)))
    data = termination.message(long)
    assert len(data) <= 4096
    assert data.count(b"\n") == 1
    assert b'"19 xxx' in data and b'"0 xxx' not in data
