"""The planner predicts published runs; bench/planner.py holds out every family in turn, this holds out one."""

from __future__ import annotations

import statistics

import pytest

from components.sizing.calibration import rows as calibration
from components.sizing.machine import profiles
from components.sizing.plan import request
from components.sizing.plan.plan import plan
from components.sizing.step import band
from components.sizing.tuning.constants import DEFAULT
from tests.components.sizing.asked import CAT

ROWS = calibration.rows()
GIVEN = [row for row in ROWS if row.family.fit]
DENSE = [row for row in GIVEN if not row.shape.experts]
EXPERTS = [row for row in GIVEN if row.shape.experts]


def errors(rows: list[calibration.CalibrationRow]) -> list[float]:
    return sorted(abs(row.predict(DEFAULT).total / row.seconds - 1) for row in rows)


def quantile(values: list[float], share: float) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[round(share * 100) - 1]


def test_only_the_given_rows_are_fitted_and_every_family_names_its_source() -> None:
    assert (len(DENSE), len(EXPERTS)) == (42, 7)
    fitted = {row.family.name for row in GIVEN}
    assert fitted == {
        *("narayanan-2021", "mt-nlg", "korthikanti-2022", "megatron-lm-llama3-fp8", "torchtitan-2024"),
        *("bridge-dense", "bridge-experts", "automodel-experts"),
    }
    assert all(family["source"] for family in calibration.read()["families"].values())


def test_dense_steps_are_within_five_percent_at_the_median_and_twenty_at_the_ninetieth() -> None:
    found = errors(DENSE)
    assert statistics.median(found) < 0.05 and quantile(found, 0.9) < 0.20


def test_steps_of_expert_models_are_within_twelve_percent_at_the_median_and_thirty_at_the_ninetieth() -> None:
    found = errors(EXPERTS)
    assert statistics.median(found) < 0.12 and quantile(found, 0.9) < 0.30


def test_the_fit_of_the_given_rows_gives_the_constants_in_use() -> None:
    tuning = calibration.fit(GIVEN)
    for constant in calibration.FITTED:
        assert getattr(tuning, constant.name) == pytest.approx(getattr(DEFAULT, constant.name), rel=0.01), constant.name


def test_a_family_is_predicted_by_constants_that_never_saw_it() -> None:
    tuning = calibration.fit(row for row in GIVEN if row.family.name != "automodel-experts")
    found = [
        abs(row.predict(tuning).total / row.seconds - 1) for row in GIVEN if row.family.name == "automodel-experts"
    ]
    assert len(found) == 4 and statistics.median(found) < 0.12


def test_the_median_beats_six_n_d_at_forty_percent_by_half() -> None:
    naive = sorted(
        abs(6 * r.shape.multiplied * r.tokens / (0.4 * r.machine.card.tflops * 1e12 * r.cards) / r.seconds - 1)
        for r in GIVEN
    )
    assert statistics.median(errors(GIVEN)) < statistics.median(naive) / 2


def test_four_to_nine_in_ten_rows_lie_in_the_band() -> None:
    inside = 0
    for row in GIVEN:
        around = band.of_step(*row.options[0])
        seconds = row.predict(DEFAULT).total
        inside += seconds * around.low <= row.seconds <= seconds * around.high
    assert 0.8 * len(GIVEN) <= inside < len(GIVEN)


def test_every_published_layout_is_planned() -> None:
    """Refused ones would raise: the whole way from a task's words to a plan."""
    for raw in calibration.read()["rows"]:
        asked, problems = request.build(calibration.spec_of(raw), CAT, name=raw["id"])
        assert asked is not None, (raw["id"], problems)
        made, found = plan(asked, CAT)
        assert made is not None, (raw["id"], found)
        assert made.memory.total < 1.12 * made.memory.usable, raw["id"]


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


def test_every_card_has_a_source_and_narrower_arithmetic_is_faster() -> None:
    for card in profiles.CARDS.values():
        assert card.source and card.usable_gib <= card.memory_gib
        assert card.fp8_tflops is None or card.fp8_tflops >= card.tflops
        assert card.fp4_tflops is None or card.fp8_tflops is None or card.fp4_tflops > card.fp8_tflops
