"""The planner predicts published runs; bench/planner.py holds out every family in turn, this holds out one."""

from __future__ import annotations

import statistics

import pytest

from components.sizing import calibration, machines, request, uncertainty
from components.sizing.constants import DEFAULT
from components.sizing.plan import plan
from tests.components.sizing.asked import CAT

ROWS = calibration.rows()
CORE = [row for row in ROWS if row.family.core]


def errors(rows: list[calibration.Row]) -> list[float]:
    return sorted(abs(row.predict(DEFAULT).total / row.seconds - 1) for row in rows)


def test_the_core_rows_are_the_thirty_eight_of_the_calibration_set() -> None:
    assert len(CORE) == 38
    assert {row.family.name for row in CORE} == {
        "narayanan-2021",
        "mt-nlg",
        "korthikanti-2022",
        "megatron-lm-llama3-fp8",
        "torchtitan-2024",
    }


def test_core_step_times_are_within_twelve_percent_at_the_median_and_twenty_five_at_the_ninetieth() -> None:
    found = errors(CORE)
    assert statistics.median(found) < 0.12
    assert found[int(0.9 * len(found))] < 0.25


def test_the_median_over_all_rows_beats_six_n_d_at_forty_percent_by_half() -> None:
    naive = sorted(
        abs(6 * r.shape.multiplied * r.tokens / (0.4 * r.machine.card.tflops * 1e12 * r.cards) / r.seconds - 1)
        for r in ROWS
    )
    assert statistics.median(errors(list(ROWS))) < statistics.median(naive) / 2


def test_a_family_is_predicted_by_constants_that_never_saw_it() -> None:
    tuning = calibration.fit(row for row in CORE if row.family.name != "korthikanti-2022")
    found = [abs(row.predict(tuning).total / row.seconds - 1) for row in CORE if row.family.name == "korthikanti-2022"]
    assert statistics.median(found) < 0.12


def test_four_in_five_rows_lie_in_the_band() -> None:
    inside = 0
    for row in ROWS:
        band = uncertainty.of_step(*row.options[0])
        seconds = row.predict(DEFAULT).total
        inside += seconds * band.low <= row.seconds <= seconds * band.high
    assert inside >= 0.8 * len(ROWS)


def test_published_days_are_within_twenty_percent_at_the_median_by_one_goodput() -> None:
    found: list[float] = []
    for run in calibration.runs():
        asked, problems = request.build(run.spec, CAT, name=run.id)
        assert asked is not None, problems
        made = plan(asked, CAT)[0]
        assert made is not None
        if run.core:
            found.append(abs(made.days.expected / run.days - 1))
    assert len(found) == 10 and statistics.median(found) < 0.20


def test_hardware_flops_become_seconds_by_megatron_s_formula() -> None:
    row = next(row for row in ROWS if row.id == "ptdp-gpt3-175B-1536")
    days = 300e9 / row.tokens * row.seconds / 86400
    assert days == pytest.approx(23, rel=0.05)  # the paper's own 23 days


def test_every_family_names_its_source_and_no_held_back_row_is_fitted() -> None:
    families = calibration.read()["families"]
    assert all(family["source"] for family in families.values())
    assert families["literature"]["fit"] is False


def test_every_card_has_a_source_and_an_eight_bit_rate_above_its_sixteen_bit_one() -> None:
    for card in machines.CARDS.values():
        assert card.source and card.usable_gib <= card.memory_gib
        assert card.fp8_tflops is None or card.fp8_tflops >= card.tflops
