"""A campaign's days by cause, its phases, and what runs beside the training."""

from __future__ import annotations

import pytest

from components.sizing.plan.campaign import ramp_batches
from tests.components.sizing.asked import LLAMA_3_8B, LLAMA_3_70B, planned, refused

RUN = LLAMA_3_70B + "training: {tokens: 2T, global_batch: 1024}\nhardware: {instance_type: p5.48xlarge, nodes: 128}\n"
PHASES = """phases:
  - {name: long, kind: long-context, tokens: 20B, sequence: 65536}
  - {name: anneal, kind: annealing, tokens: 100B}
  - {name: tune, kind: finetuning, tokens: 1B, nodes: 16}
  - {name: judge, kind: evaluation, tokens: 10B}
"""


def test_the_days_of_a_campaign_add_up() -> None:
    made = planned(RUN)
    whole = made.campaign
    parts = (whole.training, whole.ramp, whole.failures, whole.checkpoints, whole.stops, whole.staging)
    assert made.days.expected == pytest.approx(sum(parts)) and min(parts) >= 0
    assert whole.training == pytest.approx(made.steps * made.step_seconds / 86400)
    assert whole.training / whole.main == pytest.approx(made.goodput.fraction)


def test_phases_are_planned_on_the_same_machines_and_add_their_days() -> None:
    plain, made = planned(RUN), planned(RUN + PHASES)
    phases = {phase.name: phase for phase in made.campaign.phases}
    assert made.days.expected == pytest.approx(plain.days.expected + sum(phase.days for phase in phases.values()))
    assert all(phase.days > 0 and not phase.problem for phase in phases.values())
    # A step of longer sequences holds the same tokens, but attention costs more.
    long = phases["long"]
    assert long.sequence * long.global_batch == 1024 * 8192
    assert long.step_seconds > phases["anneal"].step_seconds
    assert phases["judge"].step_seconds < phases["anneal"].step_seconds / 2
    assert phases["tune"].nodes == 16


def test_a_phase_that_fits_nowhere_says_so_and_the_rest_is_planned() -> None:
    made = planned(
        LLAMA_3_8B + "training: {tokens: 1B, global_batch: 64}\nhardware: {nodes: 1}\n"
        "phases: [{name: far, kind: long-context, tokens: 1B, sequence: 33554432}]\n"
    )
    assert made.campaign.phases[0].problem == "33,554,432 tokens in a sequence fit 8 cards under no split"


def test_a_growing_batch_takes_more_steps_and_more_days() -> None:
    made = planned(RUN.replace("global_batch: 1024", "global_batch: 1024, batch_from: 128, ramp_tokens: 400B"))
    assert 0 < made.campaign.ramp < made.campaign.training
    assert ramp_batches(128, 1024) == [128, 256, 512]
    said = refused(RUN.replace("global_batch: 1024", "global_batch: 1024, batch_from: 2048"))
    assert said[0].endswith("the batch starts at 2048 sequences and ends at 1024; below 1024, or leave batch_from out")


def test_hosts_preparation_serving_and_power_are_sized() -> None:
    made = planned(RUN)
    assert made.beside.preparing_nodes >= 1 and made.beside.preparing_days <= 14
    assert made.beside.serving_cards == 4  # 141 GB of weights and their keys on cards of 80 GB
    assert made.beside.host_vcpus == 192 and made.beside.short == ()
    assert made.power.kilowatts == pytest.approx(128 * 8 * 0.7 * 0.8 * 1.45 * 1.15)
    assert made.power.megawatt_hours == pytest.approx(made.power.kilowatts * made.days.expected * 24 / 1000)
    assert made.power.tonnes is not None
    rented = planned(RUN.replace("instance_type: p5.48xlarge", "accelerator: h100"))
    assert rented.power.tonnes is None


def test_what_lies_in_host_memory_counts_there() -> None:
    text = LLAMA_3_8B + "training: {tokens: 1T, global_batch: 64, offload: [optimizer]}\nhardware: {nodes: 1}\n"
    plain = planned(text.replace(", offload: [optimizer]", ""))
    away = planned(text)
    assert away.beside.host_gib_needed > plain.beside.host_gib_needed + 80
    assert away.memory.optimizer == 0.0


def test_a_budget_that_the_run_exceeds_is_a_warning() -> None:
    made = planned(RUN + "goal: {usd: 1000}\n")
    assert made.problems[-1].path == "goal.usd" and "more than the 1,000 asked for" in made.problems[-1].said
