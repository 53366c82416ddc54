"""`trainshed review` on commits of a real repository: the command itself, its streams, its exit codes, and that it
leaves no trace.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
COPIED = ("components", "infra", "policies", "stacks", "trainshed", "Pulumi.yaml", "pyproject.toml")
STACK = """\
config:
  aws:region: us-west-2
  trainshed:environment: dev
  trainshed:tags: {owner: ml-platform, team: pretraining, cost-center: "4711"}
  trainshed:network: {zones: [usw2-az1, usw2-az2]}
  trainshed:pools:
    - {name: train, purpose: training, instance_type: g6e.48xlarge, zone: usw2-az2, nodes: {min: 0, max: 1}}
  trainshed:storage:
    lustre:
      - name: data
        zone: usw2-az2
        deployment: SCRATCH_2
        capacity_gib: 4800
        links: [{path: /checkpoints, bucket: checkpoints, export: [new, changed, deleted]}]
  trainshed:observability: {alerts_to: ["mailto:oncall@example.com"]}
  trainshed:budget: {monthly_usd: 40000}
"""


def git(folder: Path, *words: str) -> str:
    named = ("-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false")
    return subprocess.run(
        ["git", *named, *words], cwd=folder, capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of its own with this project's code, one small stack, and nothing committed after it."""
    folder = tmp_path_factory.mktemp("project")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)
    for each in (folder / "stacks").glob("*.yaml"):
        each.unlink()
    (folder / "stacks" / "Pulumi.tiny.yaml").write_text(STACK)
    git(folder, "init", "--quiet", "--initial-branch", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "--quiet", "-m", "base")
    return folder


@pytest.fixture
def at_base(project: Path) -> Iterator[Path]:
    yield project
    git(project, "reset", "--quiet", "--hard", "main")
    git(project, "clean", "--quiet", "-fd")
    assert git(project, "worktree", "list").count("\n") == 0


def review(folder: Path, *words: str, stack: str = "tiny") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "trainshed", "review", "--stack", stack, *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def edit(folder: Path, old: str, new: str) -> None:
    path = folder / "stacks" / "Pulumi.tiny.yaml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def test_the_working_tree_is_compared_with_a_commit(at_base: Path) -> None:
    edit(at_base, "capacity_gib: 4800", "capacity_gib: 2400")
    edit(at_base, "max: 1", "max: 2")
    done = review(at_base, "--base", "main")
    assert done.stderr == ""
    assert done.returncode == 1
    assert done.stdout.startswith("<!-- trainshed-review: tiny -->\n## Trainshed review of `tiny`\n")
    assert "1 stateful resource would be replaced, and nobody acknowledged it" in done.stdout
    assert "file system `lustre-data-system` would be **replaced**" in done.stdout
    assert "`storageCapacity`: `4800` → `2400`" in done.stdout
    assert "- `train` grows by 1 node with 8 cards." in done.stdout
    assert "Cards: 8 → 16 (+8)." in done.stdout
    assert "→ `working tree`" in done.stdout


def test_two_commits_are_compared_by_json_and_an_acknowledged_danger_passes(at_base: Path) -> None:
    edit(at_base, "capacity_gib: 4800", "capacity_gib: 2400")
    accepted = (
        "  trainshed:acknowledged:\n    - {id: review-replaces, path: lustre-data-system, reason: the pool is new and"
        " empty}\n"
    )
    path = at_base / "stacks" / "Pulumi.tiny.yaml"
    path.write_text(path.read_text() + accepted)
    git(at_base, "checkout", "--quiet", "-b", "smaller")
    git(at_base, "commit", "--quiet", "-am", "a smaller file system")
    git(at_base, "checkout", "--quiet", "main")
    done = review(at_base, "--base", "main", "--head", "smaller", "--format", "json")
    reported = json.loads(done.stdout)
    assert done.returncode == 0, done.stdout
    assert reported["exit_code"] == 0
    assert reported["dangers"][0]["acknowledged"] == "the pool is new and empty"
    assert reported["counts"]["replace"] >= 1
    assert reported["cost"]["delta"]["expected"] == pytest.approx(-2400 * 0.14, abs=1)
    # The acknowledgement is the review's own: the preview has no word on it.
    assert [each["id"] for each in reported["head"]["problems"] if each["id"] == "acknowledges-nothing"] == []
    git(at_base, "branch", "--quiet", "-D", "smaller")


def test_a_stack_file_with_errors_is_reported_with_its_place(at_base: Path) -> None:
    edit(at_base, "g6e.48xlarge", "g6e.48xlarg")
    done = review(at_base, "--base", "main")
    assert done.returncode == 1
    assert "⛔ **Don't merge yet:** the preview fails." in done.stdout
    assert '`stacks/Pulumi.tiny.yaml:7` `pools[0].instance_type`: "g6e.48xlarg" is not in the catalog' in done.stdout


def test_a_new_stack_is_created_and_an_unchanged_one_has_no_changes(at_base: Path) -> None:
    (at_base / "stacks" / "Pulumi.other.yaml").write_text(STACK)
    done = review(at_base, "--base", "main", "--format", "json", stack="other")
    reported = json.loads(done.stdout)
    assert reported["base"]["exists"] is False
    assert {key: number for key, number in reported["counts"].items() if number} == {
        "create": reported["counts"]["create"]
    }
    assert reported["counts"]["create"] > 100
    assert reported["cost"]["before"] == {"low": 0, "expected": 0, "high": 0}
    unchanged = review(at_base, "--base", "main")
    assert "✅ **Nothing changes.**" in unchanged.stdout
    assert unchanged.returncode == 0


def test_each_side_is_previewed_by_its_own_code(at_base: Path) -> None:
    module = at_base / "trainshed" / "preview" / "run.py"
    good = module.read_text()
    module.write_text('raise RuntimeError("this commit is broken")\n')
    git(at_base, "checkout", "--quiet", "-b", "broken")
    git(at_base, "commit", "--quiet", "-am", "broken code")
    module.write_text(good)
    done = review(at_base, "--base", "broken")
    assert done.returncode == 1
    assert "can't be previewed" in done.stdout
    assert "    RuntimeError: this commit is broken" in done.stdout
    assert str(at_base) not in done.stdout
    git(at_base, "checkout", "--quiet", "--force", "main")
    git(at_base, "branch", "--quiet", "-D", "broken")


def test_a_ref_that_is_not_there_names_the_nearest(at_base: Path) -> None:
    done = review(at_base, "--base", "mian")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == '"mian" is no commit, branch or tag of this repository; did you mean "main"?\n'


def test_an_option_is_no_ref(at_base: Path) -> None:
    done = review(at_base, "--base=--upload-pack=x")
    assert done.returncode == 2
    assert "is no commit, branch or tag of this repository" in done.stderr


def test_a_stack_that_neither_side_has_names_the_nearest(at_base: Path) -> None:
    done = review(at_base, "--base", "main", stack="tinyy")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == 'stacks/Pulumi.tinyy.yaml is in neither side; did you mean "tiny"?\n'


def test_what_cannot_be_reviewed_is_one_json_object_too(at_base: Path) -> None:
    done = review(at_base, "--base", "main", "--format", "json", stack="tinyy")
    assert done.returncode == 2
    reported = json.loads(done.stdout)
    assert (reported["stack"], reported["passes"]) == ("tinyy", False)
    assert [each["said"] for each in reported["problems"]] == [done.stderr.strip()]


def test_a_folder_outside_any_repository_is_told(tmp_path: Path) -> None:
    done = review(tmp_path, "--base", "main")
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr
        == f"{tmp_path} is not in a git repository; run the review inside one, or give two files of the engine\n"
    )


def test_a_stack_file_outside_the_project_is_told(at_base: Path, tmp_path: Path) -> None:
    outside = tmp_path / "Pulumi.out.yaml"
    outside.write_text(STACK)
    done = review(at_base, "--base", "main", stack=str(outside))
    assert done.returncode == 2
    assert "lies outside the repository's project, so no commit holds it" in done.stderr


def test_another_format_is_refused(at_base: Path) -> None:
    assert review(at_base, "--base", "main", "--format", "html").returncode == 2


def test_the_policies_that_change_and_a_base_that_went_on_are_told(at_base: Path) -> None:
    git(at_base, "checkout", "--quiet", "-b", "behind")
    git(at_base, "checkout", "--quiet", "main")
    start = git(at_base, "rev-parse", "HEAD")
    edit(at_base, "max: 1", "max: 2")
    git(at_base, "commit", "--quiet", "-am", "more nodes")
    git(at_base, "checkout", "--quiet", "behind")
    (at_base / "policies" / "note.txt").write_text("looser\n")
    git(at_base, "add", "-A")
    git(at_base, "commit", "--quiet", "-m", "a policy")
    said = review(at_base, "--base", "main", "--head", "behind").stdout
    git(at_base, "checkout", "--quiet", "main")
    git(at_base, "reset", "--quiet", "--hard", start)
    git(at_base, "branch", "--quiet", "-D", "behind")
    assert "> main has 1 commit that this change lacks: what they did reads here as undone." in said
    assert "> The policies themselves change here, and judge themselves: policies/note.txt." in said
