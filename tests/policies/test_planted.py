"""The table of planted mistakes: the packs catch all of them; how many of the same checkov catches is measured beside it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from policies.cost.pack import PACK as COST
from policies.evaluation import evaluate
from policies.judges.install import python
from policies.security.pack import PACK as SECURITY
from tests.policies.cases import GROUND, TODAY
from tests.policies.good import good_stack
from tests.policies.plan_json import plan
from tests.policies.planted import PLANTED, Planted

JUDGE = Path(__file__).resolve().parents[2] / "policies" / "judges" / "run_checkov.py"


def test_the_table_is_long_enough_and_has_no_title_twice() -> None:
    assert len(PLANTED) >= 60
    assert len({planted.title for planted in PLANTED}) == len(PLANTED)


@pytest.mark.parametrize("planted", PLANTED, ids=[planted.title for planted in PLANTED])
def test_the_packs_catch_a_planted_mistake(planted: Planted) -> None:
    found = {violation.rule for pack in (SECURITY, COST) for violation in evaluate(planted.records(), pack, GROUND, today=TODAY).violations}
    assert set(planted.rules) <= found


@pytest.mark.checkov
def test_checkov_catches_no_more_than_half_of_what_the_packs_catch(tmp_path: Path) -> None:
    paths = [tmp_path / "good.json", *(tmp_path / f"{number:02}.json" for number in range(len(PLANTED)))]
    paths[0].write_text(plan(good_stack()))
    for planted, path in zip(PLANTED, paths[1:], strict=True):
        path.write_text(plan(planted.records()))
    ran = subprocess.run([str(python("checkov")), str(JUDGE), *map(str, paths)], capture_output=True, text=True, check=True)
    judged = json.loads(ran.stdout)
    before = {tuple(each) for each in judged[str(paths[0])]["failed"]}
    caught = {
        planted.title: {check for check, address in judged[str(path)]["failed"] if (check, address) not in before}
        for planted, path in zip(PLANTED, paths[1:], strict=True)
    }
    for title, checks in caught.items():
        print(f"{'caught' if checks else 'missed'}  {title}  {' '.join(sorted(checks))}")
    print(f"packs {len(PLANTED)}/{len(PLANTED)}, checkov {sum(map(bool, caught.values()))}/{len(PLANTED)}")
    # What the table says that checkov has a check for, checkov must really find: else the rendered plan hides something from it.
    for planted in PLANTED:
        if planted.checkov:
            assert caught[planted.title] & set(planted.checkov), planted.title
