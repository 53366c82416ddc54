"""The hints of the rules on tasks, followed as those of the stack rules are."""

from __future__ import annotations

import copy
from typing import Any

import yaml

from components.planning.rules.task import check_task
from components.problems import Problem, render
from components.spec.task import read_task_text
from tests.components.planning.hints.following import GONE, Edit, edits, put
from tests.components.planning.hints.test_hints_are_true import standing_at
from tests.given import CAT, DIGEST, stack_of
from tests.rows import each_row

POOLS = (
    "[{name: train, purpose: training, instance_type: p5.48xlarge, zone: usw2-az3, nodes: 20, spares: 2, fabric: efa},"
    " {name: grow, purpose: finetuning, instance_type: p5.48xlarge, zone: usw2-az3, nodes: {min: 0, max: 4}}]"
)
STACK = stack_of(
    pools=POOLS,
    queues="[{name: q, pool: train, cards: 128}, {name: g, pool: grow}]",
    rest=(
        "  trainshed:storage: {lustre: [{name: fs, zone: usw2-az3, capacity_gib: 4800, throughput_mbps_per_tib: 500}]}"
    ),
)
IMAGE = "111122223333.dkr.ecr.us-west-2.amazonaws.com/trainer"
GOOD: dict[str, Any] = {
    "task": "small",
    "image": f"{IMAGE}@{DIGEST}",
    "command": ["python", "-m", "trainer.main"],
    "resources": {"pool": "train", "nodes": 2},
    "storage": {"dataset": {"path": "/datasets/x"}, "checkpoint": {"path": "/checkpoints/small"}},
    "recovery": {"checkpoint_interval_steps": 100},
}
ROWS: list[tuple[Any, ...]] = [
    ("task-pool-unknown", {"resources.pool": "trian"}),
    ("task-queue-unknown", {"queue": "qq"}, {"queue": "q"}),
    ("task-queue-of-another-pool", {"queue": "g"}, {"queue": "q"}, {"resources.pool": "grow"}),
    ("task-cards-per-node", {"resources.cards_per_node": 4}),
    ("task-over-queue", {"resources.nodes": 17}, {"resources.nodes": 16}),
    ("task-over-pool", {"resources.nodes": 40}, {"resources.nodes": 16}),
    ("task-parallelism", {"parallelism": {"tensor": 3}}, {"parallelism": {"tensor": 4}}),
    ("task-ramp", {"ramp": {"start_nodes": 4}}, {"ramp.start_nodes": 2}),
    ("task-ramp-unused", {"ramp": {"start_nodes": 2}}, {"ramp": GONE}),
    ("task-warm-up", {"storage.dataset.warm_up": True}, {"storage.dataset.warm_up": GONE}),
    ("task-metric", {"monitor": {"metrics": ["los"]}}),
    ("task-image", {"image": f"{IMAGE}:latest"}, {"image": f"{IMAGE}:prod-1"}, {"image": f"{IMAGE}@{DIGEST}"}),
    ("task-path", {"storage.dataset.path": "/data/x"}, {"storage.dataset.path": "/datasets/x"}),
    ("task-credential", {"environment": {"HF_TOKEN": "hf_" + "a" * 34}}, {"environment": GONE}),
    ("task-environment-replaced", {"environment": {"MASTER_ADDR": "localhost"}}),
    ("task-environment-slow", {"environment": {"NCCL_NET": "Socket"}}),
    ("task-placement", {"resources.pool": "grow", "resources.placement": "required"}),
]


def reported(*wanted: Edit) -> list[Problem]:
    config = changed(*wanted)
    reading = read_task_text(yaml.safe_dump(config), "task.yaml")
    return [*reading.problems, *(check_task(reading.task, STACK, CAT) if reading.task else ())]


def changed(*wanted: Edit) -> dict[str, Any]:
    config = copy.deepcopy(GOOD)
    for edit in wanted:
        for path, value in edit.items():
            put(config, path, value)
    return config


def test_the_task_that_is_broken_in_each_row_has_no_problem() -> None:
    assert [render(each) for each in reported()] == []


@each_row([(row[0], row[1], row[2:]) for row in ROWS])
def test_a_hint_on_a_task_that_is_followed_leaves_no_problem(id_: str, broken: Edit, by_hand: tuple[Edit, ...]) -> None:
    before = reported(broken)
    found = [each for each in before if each.id == id_]
    assert found, [render(each) for each in before]
    problem = found[0]
    followed = list(by_hand) or edits(problem, standing_at(changed(broken), problem.path))
    assert followed, problem.hint
    for edit in followed:
        after = reported(broken, edit)
        assert [render(each) for each in after if (each.id, each.path) == (id_, problem.path)] == [], (edit, problem)
        assert [render(each) for each in after if each.id not in {each.id for each in before}] == [], problem.hint
