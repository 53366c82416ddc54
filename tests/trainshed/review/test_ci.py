"""The examples for CI: what runs a pull request's code holds no token, and the comment is found again by the marker."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import yaml

CI = Path(__file__).resolve().parents[3] / "docs" / "ci"
GITHUB: dict[Any, Any] = yaml.safe_load((CI / "github-actions.yml").read_text())
GITLAB: dict[str, Any] = yaml.safe_load((CI / "gitlab-ci.yml").read_text())


def steps() -> list[dict[str, Any]]:
    return GITHUB["jobs"]["review"]["steps"]


def parses(script: str) -> bool:
    return subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False).returncode == 0


def test_the_step_that_runs_the_changed_code_has_no_token() -> None:
    running = [each for each in steps() if "trainshed review" in each.get("run", "")]
    assert [set(each["env"]) for each in running] == [{"BASE"}]
    assert "GH_TOKEN" not in GITHUB["jobs"]["review"]["env"]
    checkout = next(each for each in steps() if str(each.get("uses", "")).startswith("actions/checkout"))
    assert checkout["with"] == {"fetch-depth": 0, "persist-credentials": False}
    assert GITLAB["review"]["variables"]["GITLAB_TOKEN"] == ""
    assert "trainshed" not in str(GITLAB["review-comment"]["script"])


def test_no_value_of_the_pull_request_is_pasted_into_a_script() -> None:
    assert [each for each in steps() if "${{" in each.get("run", "")] == []


def test_a_token_may_write_comments_and_nothing_else() -> None:
    assert GITHUB["permissions"] == {"contents": "read", "pull-requests": "write"}
    # YAML 1.1 reads the key `on` as true.
    assert list(GITHUB[True]) == ["pull_request"]


def test_the_comment_is_found_by_its_first_line() -> None:
    post = next(each for each in steps() if "GH_TOKEN" in each.get("env", {}))
    script = "\n".join(GITLAB["review-comment"]["script"])
    assert "marker=$(head -n 1 comment.md)" in post["run"]
    assert 'marker=$(head -n 1 "$comment")' in script


def test_every_script_is_a_script() -> None:
    written = [each["run"] for each in steps() if "run" in each]
    for job in ("review", "review-comment"):
        written += [*GITLAB[job]["before_script"], *GITLAB[job]["script"]]
    assert [each for each in written if not parses(each)] == []


def test_the_verdict_fails_the_job_after_the_comment_was_posted() -> None:
    assert steps()[-1]["run"] == 'exit "$CODE"'
    assert "GH_TOKEN" in steps()[-2]["env"]
