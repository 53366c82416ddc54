"""The table of planted mistakes: the packs catch all of them; how many of the same checkov catches is measured
beside it.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from policies.cost.pack import PACK as COST
from policies.external_tools.install import python
from policies.packs.evaluation import evaluate
from policies.security.pack import PACK as SECURITY
from tests.policies.cases import TODAY
from tests.policies.good import Record, good_stack
from tests.policies.plan_json import manifests, plan
from tests.policies.planted import PLANTED as MISTAKES
from tests.policies.planted import Planted
from tests.policies.planted_ways_in import WAYS_IN

PLANTED = (*MISTAKES, *WAYS_IN)

RUN_CHECKOV = Path(__file__).resolve().parents[2] / "policies" / "external_tools" / "run_checkov.py"


def test_the_table_is_long_enough_and_has_no_title_twice() -> None:
    assert len(MISTAKES) >= 60 and len(WAYS_IN) >= 40
    assert len({planted.title for planted in PLANTED}) == len(PLANTED)


@pytest.mark.parametrize("planted", PLANTED, ids=[planted.title for planted in PLANTED])
def test_the_packs_catch_a_planted_mistake(planted: Planted) -> None:
    found = {
        violation.rule
        for pack in (SECURITY, COST)
        for violation in evaluate(planted.records(), pack, today=TODAY).violations
    }
    assert set(planted.rules) <= found


@pytest.mark.checkov
def test_checkov_catches_what_the_table_says_it_catches_and_no_more_than_half_of_all(tmp_path: Path) -> None:
    def written(records: list[Record], name: str) -> tuple[str, str]:
        paths = tmp_path / f"{name}.json", tmp_path / f"{name}.yaml"
        paths[0].write_text(plan(records))
        paths[1].write_text(manifests(records))
        return str(paths[0]), str(paths[1])

    good = written(good_stack(), "good")
    bad = [written(planted.records(), f"{number:02}") for number, planted in enumerate(PLANTED)]
    every = [path for pair in (good, *bad) for path in pair]
    ran = subprocess.run([str(python("checkov")), str(RUN_CHECKOV), *every], capture_output=True, text=True, check=True)
    judged = json.loads(ran.stdout)

    def failed(pair: tuple[str, str]) -> set[tuple[str, str]]:
        return {(check, address) for path in pair for check, address in judged[path]["failed"]}

    before = failed(good)
    caught = [{check for check, _ in failed(pair) - before} for pair in bad]
    for planted, checks in zip(PLANTED, caught, strict=True):
        print(f"{'caught' if checks else 'missed'}  {planted.title}  {' '.join(sorted(checks))}")
    # Counted in checkov's favour: any new finding is a catch, also one about something else.
    score = sum(map(bool, caught))
    print(f"packs {len(PLANTED)}/{len(PLANTED)}, checkov {score}/{len(PLANTED)}")
    # Where checkov has a check for the mistake it must find it: else the rendered plan would hide something from it.
    pairs = zip(PLANTED, caught, strict=True)
    assert [planted.title for planted, checks in pairs if planted.checkov and not checks & set(planted.checkov)] == []
    assert score * 2 <= len(PLANTED)
