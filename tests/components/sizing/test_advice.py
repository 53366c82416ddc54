"""Advice is feasible and better by the planner's own figures, and the task that follows it gives those figures."""

from __future__ import annotations

import time

import pytest

from components.sizing.advice.advice import Advice, advise
from components.sizing.advice.change import changed
from components.sizing.advice.frontier import frontier
from components.sizing.plan import reading
from components.sizing.plan.plan import Plan, plan
from tests.components.sizing.asked import CAT, LLAMA_3_8B, LLAMA_3_70B, planned, random_task
from tests.given import ROOT


def followed(made: Plan, each: Advice) -> Plan:
    """The plan of the task with one piece of advice written into it."""
    request = changed(made.request, each.change, CAT)
    assert request is not None, each.change
    again, problems = plan(request, CAT)
    assert again is not None, problems
    return again


@pytest.mark.parametrize("seed", range(12))
def test_advice_fits_and_is_better_when_followed(seed: int) -> None:
    read = reading.read_text(random_task(seed), "task.yaml", CAT)
    made = plan(read.request, CAT)[0] if read.request else None
    if made is None:
        pytest.skip("this task fits its machines under no split")
    reported = advise(made, CAT)
    assert len(reported) <= 3 and len({each.change.kind for each in reported}) == len(reported)
    for each in reported:
        again = followed(made, each)
        assert again.memory.fits, each.change
        assert again.days.expected == pytest.approx(each.plan.days.expected, rel=1e-6), each.change
        assert each.days == pytest.approx(made.days.expected - again.days.expected, abs=1e-6)
        limit = max(made.days.expected, made.request.spec.goal.days or 0.0)
        assert again.days.expected <= limit * 1.000001
        if made.money.total and again.money.total:
            assert again.money.total.expected <= made.money.total.expected * 1.000001
        gained = each.days > 0.01 * made.days.expected
        assert gained or (each.usd is not None and made.money.total and each.usd > 0.01 * made.money.total.expected)


def test_three_changes_come_in_less_than_three_seconds() -> None:
    made = planned(LLAMA_3_70B + "training: {tokens: 2T}\nhardware: {nodes: 115}\n")
    started = time.process_time()
    advise(made, CAT)
    assert time.process_time() - started < 3.0


def test_a_batch_that_fills_the_pipeline_is_advised_with_its_days_and_money() -> None:
    text = (ROOT / "tasks" / "llama-405b.yaml").read_text()
    slow = text.replace("global_batch: 2464", "global_batch: 2002, recompute: none, sharding: zero2")
    slow = slow.replace("pipeline: 8", "pipeline: 16").replace(", virtual_stages: 8", "")
    made, shipped = planned(slow), planned(text)
    found = {each.change.kind: each for each in advise(made, CAT, count=10)}
    assert {"batch", "split", "precision"} <= set(found)
    batch = found["batch"]
    assert batch.usd is not None and batch.usd > 50e6 and batch.days > 30
    assert shipped.days.expected < made.days.expected - 30


def test_the_shipped_example_has_taken_its_own_advice() -> None:
    made = planned((ROOT / "tasks" / "llama-405b.yaml").read_text())
    left = {each.change.kind for each in advise(made, CAT, count=10) if not each.change.caution}
    assert left & {"split", "batch", "memory", "schedule"} == set()


def test_a_goal_of_money_lets_a_faster_plan_cost_more_and_the_frontier_names_both_ends() -> None:
    text = (
        LLAMA_3_8B
        + "training: {tokens: 1T, global_batch: 512}\nhardware: {nodes: 16}\ngoal: {days: 60, usd: 2000000}\n"
    )
    made = planned(text)
    drawn = frontier(made, CAT)
    assert drawn.cheapest_in_time is not None and drawn.fastest_for_money is not None
    assert drawn.cheapest_in_time.days <= 60 and drawn.fastest_for_money.usd <= 2_000_000
    best = [point for point in drawn.points if point.best]
    assert [point.days for point in best] == sorted(point.days for point in best)
    assert [point.usd for point in best] == sorted((point.usd for point in best), reverse=True)


def test_spot_is_advised_to_small_jobs_only_and_counts_its_interruptions() -> None:
    small = planned(LLAMA_3_8B + "training: {tokens: 20B}\nhardware: {nodes: 2}\ngoal: {days: 30}\n")
    large = planned(LLAMA_3_70B + "training: {tokens: 2T}\nhardware: {nodes: 128}\ngoal: {days: 300}\n")
    found = [each for each in advise(small, CAT, count=10) if each.change.buying == "spot"]
    assert found and found[0].days < 0 and found[0].usd is not None and found[0].usd > 0
    assert not [each for each in advise(large, CAT, count=10) if each.change.buying == "spot"]
