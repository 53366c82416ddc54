"""The task file: what it takes, what it leaves open, and every way to write it wrongly."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.problems import render
from components.spec.task import image_reference, read_task, read_task_text
from tests.given import SMALL_TASK, task

DIGEST = "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"


def said(text: str) -> list[str]:
    return [render(each) for each in read_task_text(text, "task.yaml").problems]


def test_the_large_task_reads_as_written():
    found = task("llama-405b")
    assert (found.resources.pool, found.resources.nodes, found.resources.cards_per_node) == ("pretrain", 1232, 8)
    assert found.recovery.hang_timeout_seconds == 600
    assert found.training is not None and found.training.tokens == 15.6e12
    assert found.model is not None and found.model.layers == 126


def test_a_small_task_needs_four_keys_and_gets_defaults_for_the_rest():
    found = read_task_text(SMALL_TASK.replace("recovery: {auto_restart: false}\n", ""), "task.yaml").task
    assert found is not None
    assert (found.recovery.auto_restart, found.recovery.max_restarts, found.recovery.keep_last) == (True, 20, None)
    assert (found.priority, found.queue, found.preflight, found.user_id) == ("normal", None, None, 10001)


def test_an_unknown_key_names_the_nearest_with_its_place():
    assert said(SMALL_TASK + "recovry: {}\n") == [
        'task.yaml:6:1 recovry: "recovry" is not a key here; did you mean "recovery"?'
    ]


def test_an_unknown_key_inside_is_found_too():
    assert said(SMALL_TASK.replace("auto_restart", "auto_restrat")) == [
        'task.yaml:5:12 recovery.auto_restrat: "auto_restrat" is not a key here; did you mean "auto_restart"?'
    ]


def test_missing_keys_describe_themselves():
    assert said("task: small\n") == [
        "task.yaml:1:1 image: is missing; container image, by digest or by a tag of the environment",
        "task.yaml:1:1 command: is missing; what the container runs",
        "task.yaml:1:1 resources: is missing; whole nodes of one pool, such as {pool: train, nodes: 2}",
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("nodes: 2", "nodes: 0", "task.yaml:4:33 resources.nodes: 0 is out of range; at least 1 is wanted"),
        ("nodes: 2", "nodes: -1", "task.yaml:4:33 resources.nodes: -1 is out of range; at least 1 is wanted"),
        (
            "nodes: 2",
            'nodes: "2"',
            'task.yaml:4:33 resources.nodes: "2" is text; a whole number is wanted: write it without quotes',
        ),
        (
            "task: small",
            "task: Small_Task",
            (
                'task.yaml:1:7 task: "Small_Task" is malformed; '
                "a name is wanted: lower-case letters, digits, dashes; a letter first; 32 at most"
            ),
        ),
        (
            "command: [python, -m, trainer.main]",
            "command: []",
            "task.yaml:3:10 command: is empty; at least 1 is wanted",
        ),
    ],
)
def test_wrong_values_are_told_with_place_and_remedy(old: str, new: str, message: str):
    assert said(SMALL_TASK.replace(old, new)) == [message]


def test_nobody_runs_as_root():
    assert said(SMALL_TASK + "user_id: 0\n") == ["task.yaml:6:10 user_id: 0 is out of range; at least 1 is wanted"]


def test_a_file_that_is_no_yaml_tells_line_and_column():
    assert said("task: [small\n")[0].startswith("task.yaml:2:1 this is not YAML: ")


def test_an_empty_file_says_what_a_task_has():
    assert said("") == ["the task file task.yaml holds no task; a task has at least task, image, command and resources"]


def test_a_missing_file_names_its_nearest_neighbour(tmp_path: Path):
    (tmp_path / "llama.yaml").write_text(SMALL_TASK)
    found = read_task(tmp_path / "lama.yaml", "lama.yaml")
    assert [render(each) for each in found.problems] == ['there is no task file lama.yaml; did you mean "llama.yaml"?']


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (f"111122223333.dkr.ecr.us-west-2.amazonaws.com/team/trainer@{DIGEST}",
         ("111122223333.dkr.ecr.us-west-2.amazonaws.com", "team/trainer", None, DIGEST)),
        (f"localhost:5000/trainer:prod-1@{DIGEST}", ("localhost:5000", "trainer", "prod-1", DIGEST)),
        ("registry.example.com:5000/trainer", ("registry.example.com:5000", "trainer", None, None)),
        ("pytorch/pytorch:2.9", ("", "pytorch/pytorch", "2.9", None)),
        ("python", ("", "python", None, None)),
    ],
)  # fmt: skip
def test_an_image_comes_apart_into_registry_repository_tag_and_digest(text: str, parts: tuple[str | None, ...]):
    found = image_reference(text)
    assert (found.registry, found.repository, found.tag, found.digest) == parts


def test_an_address_with_a_line_break_has_neither_tag_nor_digest() -> None:
    assert image_reference(f"trainer@sha256:{'a' * 64}\n").digest is None
    assert image_reference("trainer:dev-1\n").tag is None
