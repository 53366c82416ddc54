"""A plan's numbers hang together: cards, days, storage, money, and the sections to paste."""

from __future__ import annotations

import math

import pytest

from components.sizing.plan.plan import flops_per_token
from components.sizing.report import answer
from components.sizing.report.explain import explain
from components.sizing.run.money import Amount
from components.sizing.stack.check import StackFigures, stack_check
from tests.components.sizing.asked import CAT, LLAMA_3_8B, LLAMA_3_70B, planned
from tests.given import ROOT

RUN = LLAMA_3_70B + "training: {tokens: 2T, global_batch: 1024}\nhardware: {instance_type: p5.48xlarge, nodes: 128}\n"
KEYS = {
    "parameters",
    "flops",
    "memory_gib",
    "parallelism",
    "step_seconds",
    "mfu",
    "tokens_per_second_per_card",
    "goodput",
    "days",
    "cards",
    "nodes",
    "reserve",
    "spares",
    "checkpoint",
    "storage",
    "network",
    "cost",
    "stack",
    "assumptions",
}


def test_cards_are_total_flops_over_effective_flops_a_card_and_seconds() -> None:
    made = planned(RUN)
    total = flops_per_token(made.request) * made.best.job.tokens_per_step * made.steps
    effective = 989.5e12 * made.mfu * made.goodput.fraction
    assert total / (effective * made.campaign.main * 86400) == pytest.approx(made.cards)


def test_nodes_follow_from_days_and_end_in_time() -> None:
    made = planned(LLAMA_3_70B + "training: {tokens: 2T}\ngoal: {days: 30}\n")
    assert 27 < made.days.expected <= 30
    slower = planned(LLAMA_3_70B + f"training: {{tokens: 2T}}\nhardware: {{nodes: {made.nodes - 12}}}\n")
    assert slower.days.expected > 30


def test_a_goal_that_the_nodes_miss_is_a_warning_with_the_nodes_that_would_do() -> None:
    made = planned(RUN + "goal: {days: 10}\n")
    assert [problem.severity for problem in made.problems] == ["warning"]
    assert made.problems[0].said == f"128 nodes take {made.days.expected:.1f} days, more than the 10 asked for"
    enough = planned(RUN.replace(", nodes: 128", "") + "goal: {days: 10}\n")
    assert made.problems[0].hint == f"{enough.nodes:,} nodes would take {enough.days.expected:.1f}"
    assert enough.days.expected <= 10


def test_a_goal_that_no_number_of_nodes_reaches_names_the_fastest_plan() -> None:
    made = planned(
        RUN.replace("global_batch: 1024", "global_batch: 64").replace(", nodes: 128", "") + "goal: {days: 2}\n"
    )
    assert (
        made.problems[-1].said
        == f"2 days can't be reached: the fastest plan found takes {made.days.expected:.1f} on {made.nodes:,} nodes"
    )
    assert made.problems[-1].hint == "raise training.global_batch, so that more cards find work, or goal.days"


def test_a_pinned_split_that_does_not_fit_is_planned_with_the_nearest_change() -> None:
    made = planned(
        (ROOT / "tasks" / "llama-405b.yaml")
        .read_text()
        .replace("optimizer: adam", "optimizer: adam, recompute: none, sharding: ddp")
    )
    assert not made.memory.fits
    assert made.problems[0].path == "training.recompute"
    assert made.problems[0].hint.startswith("recompute: full fits in ")


def test_the_answer_has_every_key_and_cards_nodes_pods_and_processes_apart() -> None:
    data = answer.as_json(planned(RUN))
    assert set(data) >= KEYS
    assert (data["cards"], data["nodes"], data["pods"], data["processes"]) == (1024, 128, 128, 1024)
    assert 0.1 <= data["reserve"]["fraction"] <= 0.2 and data["reserve"]["nodes"] == math.ceil(
        128 * data["reserve"]["fraction"]
    )
    for key in ("step_seconds", "days", "cost"):
        assert data[key]["low"] < data[key]["expected"] < data[key]["high"]
    assert sum(data["step_seconds"]["split"].values()) == pytest.approx(data["step_seconds"]["expected"], rel=1e-4)
    assert len(data["parallelism"]["alternatives"]) == 3
    assert all(other["why"] for other in data["parallelism"]["alternatives"])


def test_memory_parts_add_up_and_usable_is_what_the_driver_shows() -> None:
    held = answer.as_json(planned(RUN))["memory_gib"]
    assert held["total"] == pytest.approx(
        sum(held[key] for key in ("weights", "gradients", "optimizer", "activations", "overhead")), rel=1e-4
    )
    card = CAT.instance("p5.48xlarge").accelerator
    assert card is not None and held["usable"] == card.usable_memory_gib < 80


def test_every_assumption_has_a_value_and_a_source() -> None:
    for one in answer.as_json(planned(RUN))["assumptions"]:
        assert one["source"] and one["value"] is not None
        assert one["low"] is None or one["low"] <= one["value"] <= one["high"]


def test_the_file_system_holds_twice_the_dataset_on_a_legal_step_and_writes_in_time() -> None:
    made = planned(RUN)
    store = made.store
    assert store.token_bytes == 4 and store.dataset_gib == pytest.approx(2e12 * 4 / 1024**3)
    deployment = CAT.lustre.deployment("PERSISTENT_2")
    assert deployment is not None
    sizes = deployment.sizes_for(store.lustre_throughput, efa=store.lustre_efa)
    assert sizes is not None and sizes.legal(store.lustre_gib)
    assert store.lustre_gib >= 2 * store.dataset_gib
    assert store.lustre_gib / 1024 * store.lustre_throughput * 1e6 >= max(store.write_bandwidth, store.read_bandwidth)


def test_a_small_vocabulary_takes_two_bytes_a_token() -> None:
    made = planned(
        "model: {layers: 32, hidden: 4096, heads: 32, vocab: 32000, sequence: "
        "4096}\ntraining: {tokens: 1T}\nhardware: {nodes: 8}\n"
    )
    assert made.store.token_bytes == 2


def test_money_is_nodes_with_spares_times_hours_times_the_catalog_s_price() -> None:
    made = planned(RUN)
    found = made.money.by_capacity["on-demand"]
    assert isinstance(found, Amount)
    machines = (made.nodes + made.spares) * 24 * made.days.expected * 55.04
    months = made.days.expected * 24 / 730
    stored = (made.store.lustre_monthly_usd or 0) + (made.store.object_monthly_usd or 0)
    assert found.expected == pytest.approx(machines + months * stored)


def test_what_has_no_price_is_unpriced_and_never_nothing() -> None:
    data = answer.as_json(
        planned(LLAMA_3_8B + "training: {tokens: 1T}\nhardware: {instance_type: trn2.48xlarge, nodes: 8}\n")
    )["cost"]
    assert data["expected"] == "unpriced"
    assert data["by_capacity"]["on-demand"] == "unpriced: no on-demand price of trn2.48xlarge in us-east-2 is known"
    other = answer.as_json(planned(LLAMA_3_8B + "training: {tokens: 1T}\nhardware: {accelerator: h100, nodes: 8}\n"))
    assert other["cost"]["by_capacity"]["spot"] == "unpriced: h100 is not in the catalog"
    assert other["stack"] is None


def test_the_sections_to_paste_read_without_an_error_and_hold_the_plan() -> None:
    import yaml

    from components.planning import rules
    from components.problems import errors
    from components.spec.reading.reader import read_text

    for text in (
        RUN,
        LLAMA_3_8B + "training: {tokens: 1B, method: lora}\nhardware: {instance_type: p5.48xlarge, nodes: 2}\n",
    ):
        made = planned(text)
        section = answer.as_json(made)["stack"]
        config = {
            "aws:region": made.region,
            "trainshed:environment": "prod",
            "trainshed:network": {"zones": ["usw2-az2", "usw2-az3"]},
            **{f"trainshed:{key}": value for key, value in section.items()},
        }
        reading = read_text(yaml.safe_dump({"config": config}), "stack.yaml")
        assert reading.stack is not None and errors(reading.problems) == []
        assert errors(rules.check(reading.stack, CAT)) == []
        pool = reading.stack.pools[0]
        assert (pool.max_nodes, pool.spares) == (made.nodes + made.spares, made.spares)
        assert reading.stack.queues[0].cards == made.cards


def test_every_formula_is_shown_with_its_numbers() -> None:
    made = planned(RUN)
    lines = explain(made)
    assert {line.group for line in lines} == {"model", "memory", "step", "run", "storage"}
    days = next(line for line in lines if line.name == "days")
    assert days.numbers == f"{made.steps:,} x {made.step_seconds:.3f} / {made.goodput.fraction:.3f} / 86,400"
    assert days.result == f"{made.days.expected:.1f}"
    flops = next(line for line in lines if line.name == "FLOPs a token")
    assert flops.numbers == "6 x 69,503,033,344 + 6 x 80 x 64 x (128 + 128) x 8192"


def test_a_stack_that_carries_the_plan_has_nothing_to_say() -> None:
    made = planned(RUN)
    fine = StackFigures(instance_type="p5.48xlarge", cards=1024, spares=made.spares, lustre_gib=made.store.lustre_gib,
                        lustre_bandwidth=made.store.lustre_gib / 1024 * made.store.lustre_throughput * 1e6, days=400,
                        budget_monthly_usd=1e9)  # fmt: skip
    assert stack_check(fine, made) == []


def test_a_stack_that_falls_short_of_the_plan_is_warned_with_both_numbers() -> None:
    made = planned(RUN)
    short = StackFigures(
        instance_type="p5en.48xlarge",
        cards=512,
        spares=0,
        lustre_gib=9600,
        lustre_bandwidth=1e9,
        days=7,
        budget_monthly_usd=1000,
    )
    found = stack_check(short, made)
    assert [problem.id for problem in found] == [
        "plan-instance-type",
        "plan-cards",
        "plan-spares",
        "plan-lustre",
        "plan-bandwidth",
        "plan-days",
        "plan-budget",
    ]
    assert {problem.severity for problem in found} == {"warning"}
    assert found[1].said == "512 cards are fewer than the 1,024 that task is planned on"
    assert found[3].said == "9,600 GiB are less than twice the dataset of 7,451 GiB (2e+12 tokens x 4 bytes)"
    assert found[3].hint == f"use {made.store.lustre_gib}"
    assert found[5].said == (
        f"the capacity ends after 7.0 days, the run takes {made.days.expected:.1f} "
        f"({made.days.low:.1f} to {made.days.high:.1f})"
    )


def test_a_stack_of_more_than_twice_the_cards_is_worth_a_note() -> None:
    made = planned(RUN)
    found = stack_check(
        StackFigures(instance_type=None, cards=4096, spares=20, lustre_gib=None, lustre_bandwidth=None), made
    )
    assert [(problem.id, problem.severity) for problem in found] == [("plan-cards", "note")]
