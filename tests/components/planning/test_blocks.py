"""The calendar of Capacity Blocks: everything of ours is over before EKS and EC2 act."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from components.planning import blocks
from components.problems import render
from components.spec.pools import PoolSpec
from tests.components.planning.pool_stacks import FINETUNE, IDS, PRETRAIN


def pool(**more: object) -> PoolSpec:
    return PoolSpec.model_validate({**FINETUNE, **more})


def test_the_times_of_a_block_in_order() -> None:
    (window,) = blocks.windows(pool())
    assert window.as_plan() == {
        "pool": "finetune",
        "reservation": "cr-3a1b2c3d4e5f60718",
        "nodes": 16,
        "start": "2026-12-10T11:30:00Z",
        "nodes_come": "2026-12-10T11:31:00Z",
        "queue_held": "2026-12-24T09:30:00Z",
        "jobs_told": "2026-12-24T10:00:00Z",
        "nodes_gone": "2026-12-24T10:30:00Z",
        "end": "2026-12-24T11:30:00Z",
        "usable_hours": 334.5,
    }
    assert window.start < window.nodes_come < window.queue_held < window.jobs_told < window.nodes_gone < window.end


def test_nodes_are_gone_60_minutes_before_the_end_and_before_eks_and_ec2_act() -> None:
    (window,) = blocks.windows(pool())
    assert window.end - window.nodes_gone == timedelta(minutes=60)
    assert window.end - window.nodes_gone > timedelta(minutes=40) > blocks.EC2_TAKES_BACK_BEFORE


def test_other_time_zones_mean_the_same_moment() -> None:
    capacity = {**FINETUNE["capacity"], "start": "2026-12-10T12:30:00+01:00", "end": "2026-12-24T03:30:00-08:00"}
    assert blocks.windows(pool(capacity=capacity)) == blocks.windows(pool())


def test_the_calendar_of_a_stack_is_in_the_order_of_time() -> None:
    parts = [
        {"id": IDS[1], "start": "2026-12-24T11:30:00Z", "end": "2027-01-07T11:30:00Z", "nodes": 32},
        {"id": IDS[0], "start": "2026-11-10T11:30:00Z", "end": "2026-12-01T11:30:00Z", "nodes": 64},
    ]
    other = pool(name="other", capacity={"kind": "block", "blocks": parts})
    found = blocks.calendar([pool(), other, PoolSpec.model_validate(PRETRAIN)])
    assert [each.reservation for each in found] == [IDS[0], "cr-3a1b2c3d4e5f60718", IDS[1]]


def test_an_incomplete_block_has_no_window_and_is_left_to_the_rule() -> None:
    assert blocks.windows(pool(capacity={"kind": "block", "id": IDS[0]})) == ()


def test_most_at_once_counts_what_overlaps() -> None:
    def window(first: int, last: int, count: int) -> blocks.Window:
        day = datetime(2026, 12, 1, tzinfo=UTC)
        return blocks.Window(
            pool="p",
            reservation=f"cr-{first}",
            nodes=count,
            start=day + timedelta(days=first),
            end=day + timedelta(days=last),
        )

    assert blocks.most_at_once([window(0, 10, 32), window(5, 15, 32), window(15, 20, 64)]) == 64
    assert blocks.most_at_once([window(0, 10, 32), window(10, 20, 32)]) == 32
    assert blocks.most_at_once([]) == 0


def test_a_block_that_time_has_overtaken_is_told_to_whoever_looks_at_that_moment() -> None:
    def said(now: str, **more: object) -> list[str]:
        return [render(each) for each in blocks.out_of_time([pool(**more)], datetime.fromisoformat(now))]

    assert said("2026-12-01T00:00:00+00:00") == []
    assert said("2026-12-15T00:00:00+00:00") == [
        (
            "pools[0].capacity.start: warning: the block cr-3a1b2c3d4e5f60718 began at 2026-12-10T11:30:00Z; first "
            "deployed now, the schedule that brings its nodes may never fire; set running: "
            "true if it isn't deployed yet"
        )
    ]
    assert said("2026-12-24T11:30:00+00:00") == [
        (
            "pools[0].capacity.end: warning: the block cr-3a1b2c3d4e5f60718 ended at 2026-12-24T11:30:00Z; "
            "its node group stays at zero; take it out"
        )
    ]
    running = {**FINETUNE["capacity"], "running": True}
    assert said("2026-12-15T00:00:00+00:00", capacity=running) == []
    assert said("2026-12-01T00:00:00+00:00", capacity=running) == [
        (
            "pools[0].capacity.running: warning: running is set, and the block cr-3a1b2c3d4e5f60718 begins at"
            " 2026-12-10T11:30:00Z: launches fail until then; take it out"
        )
    ]
