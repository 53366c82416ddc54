"""Failures, checkpoints and spares agree with the published arithmetic."""

from __future__ import annotations

import pytest

from components.sizing.run import goodput


@pytest.mark.parametrize(
    ("hours", "cost", "interval"),
    [
        (2.95, 10, 461),
        (2.95, 30, 798),
        (2.95, 60, 1129),
        (2.95, 120, 1596),
        (5.07, 10, 604),
        (5.07, 30, 1046),
        (5.07, 60, 1480),
        (5.07, 120, 2093),
    ],
)
def test_young_s_interval_on_1250_nodes(hours: float, cost: float, interval: int) -> None:
    assert round(goodput.young(cost, hours * 3600)) == pytest.approx(interval, abs=1)


def test_daly_is_near_young_while_checkpoints_are_cheap() -> None:
    assert goodput.daly(60, 2.95 * 3600) == pytest.approx(
        1129 - 60 + 1129 * ((60 / 21240) ** 0.5 / 3 + 60 / 21240 / 9), abs=1
    )
    assert goodput.daly(100, 40) == 40


@pytest.mark.parametrize(
    ("failures", "repair_days", "spares"), [(8.1, 1, 15), (4.7, 1, 10), (8.1, 0.25, 6), (4.7, 0.25, 4)]
)
def test_spares_cover_ninety_nine_percent_of_repairs(failures: float, repair_days: float, spares: int) -> None:
    assert goodput.spares(1250, failures / 1250, repair_days) == spares


def test_a_checkpoint_of_405_billion_parameters_needs_95_gigabytes_a_second_to_be_safe_in_a_minute() -> None:
    saved = goodput.checkpoint(405_853_388_800, 405_853_388_800, 1232, 9856, 13.5, 950_000)
    assert saved.bytes == 14 * 405_853_388_800
    assert saved.bandwidth_needed == pytest.approx(94.7e9, rel=0.001)
    assert saved.interval_steps * 13.5 == pytest.approx(saved.interval_seconds)


def test_more_nodes_make_less_progress_and_short_runs_still_save() -> None:
    few, many = (goodput.checkpoint(70e9, 70e9, nodes, nodes * 8, 10.0, 100_000) for nodes in (16, 2048))
    assert goodput.goodput(2048, many).fraction < goodput.goodput(16, few).fraction < goodput.CAMPAIGN.value
    assert many.interval_seconds < few.interval_seconds
    assert goodput.checkpoint(8e9, 8e9, 4, 32, 1.0, 100).interval_steps == 25
