"""The list of what the live tests prove is the tests' own."""

from __future__ import annotations

from tests.live import catalogue


def test_the_readme_is_up_to_date_with_the_tests() -> None:
    assert catalogue.README.read_text() == catalogue.readme(), "run: python tests/live/catalogue.py"


def test_no_recorded_outcome_belongs_to_a_test_that_is_gone() -> None:
    import json

    recorded = json.loads(catalogue.OUTCOMES.read_text()) if catalogue.OUTCOMES.exists() else {}
    assert set(recorded) <= {proof.key for proof in catalogue.proofs()}
