"""The committed data file is what the script makes of EC2's data and the supplement."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from scripts import regenerate_catalog

ROOT = Path(__file__).resolve().parents[3]
DATA = ROOT / "components" / "catalog" / "data"


def supplement() -> dict[str, Any]:
    return yaml.safe_load((DATA / "supplement.yaml").read_text())


def test_data_file_is_reproduced_byte_for_byte() -> None:
    assert regenerate_catalog.rendered(supplement()) == (DATA / "instances.json").read_text()


def test_check_says_up_to_date_and_changes_nothing() -> None:
    before = (DATA / "instances.json").stat().st_mtime_ns
    run = subprocess.run(
        [sys.executable, "scripts/regenerate_catalog.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stdout) == (0, "instances.json is up to date\n")
    assert (DATA / "instances.json").stat().st_mtime_ns == before


def test_a_changed_supplement_shows_as_a_difference() -> None:
    changed = supplement()
    changed["cards"]["H100"]["bf16_tflops"] = 1
    text = regenerate_catalog.rendered(changed)
    committed = (DATA / "instances.json").read_text()
    differing = [new for new, old in zip(text.splitlines(), committed.splitlines(), strict=True) if new != old]
    assert [line.split('"')[1] for line in differing] == ["p5.48xlarge", "p5.4xlarge"]


@pytest.mark.parametrize(
    ("said", "figure"),
    [("Up to 12.5 Gigabit", 12.5), ("3200 Gigabit", 3200), ("16x 200 Gigabit", 3200), ("4x 100 Gigabit", 400)],
)
def test_network_performance_reads_as_one_figure(said: str, figure: float) -> None:
    assert regenerate_catalog.gbps(said) == figure


def test_zones_that_would_not_pack_are_refused() -> None:
    with pytest.raises(ValueError, match=r"x1\.large: zones of us-east-1 don't pack: \['use1-az10'\]"):
        regenerate_catalog.packed("x1.large", {"us-east-1": ["use1-az10"]}, {"us-east-1": "use1"})


def test_every_fact_of_the_supplement_has_its_source() -> None:
    facts = supplement()
    assert all(facts["sources"].values())
    for name, card in facts["cards"].items():
        assert card["source"], name
        assert set(card["unverified"]) <= set(card), name
    for name, absent in facts["absent"].items():
        assert absent["source"], name


def test_no_price_is_zero() -> None:
    facts = supplement()
    assert all(price > 0 for price in facts["on_demand_usd_per_hour"].values())
    for by_region in facts["spot_usd_per_hour"].values():
        assert all(0 < low <= high for low, high in by_region.values())
