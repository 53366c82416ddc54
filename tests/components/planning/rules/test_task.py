"""Tasks that don't fit their stack, each with the whole message."""

from __future__ import annotations

import pytest

from components.planning.rules.task import check_task
from components.problems import render
from components.spec.stack import StackSpec
from components.spec.task import read_task_text
from tests.given import CAT, SMALL_TASK, TASKS, stack, stack_of, task, task_of

LUSTRE = "  trainshed:storage: {lustre: [{name: fs, zone: usw2-az3, deployment: SCRATCH_2, capacity_gib: 1200}]}"
POOL = "{name: train, purpose: training, instance_type: p5.48xlarge, zone: usw2-az3, nodes: 20, spares: 2}"
ONE_QUEUE = stack_of(pools=f"[{POOL}]", queues="[{name: q, pool: train, cards: 128}]", rest=LUSTRE)
DIGEST = "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
IMAGE = f"111122223333.dkr.ecr.us-west-2.amazonaws.com/trainer@{DIGEST}"


def said(text: str, given: StackSpec = ONE_QUEUE) -> list[str]:
    return [render(each) for each in check_task(task_of(text), given, CAT)]


def with_nodes(nodes: int, rest: str = "") -> str:
    return SMALL_TASK.replace("nodes: 2", f"nodes: {nodes}") + rest


def with_image(image: str) -> str:
    return SMALL_TASK.replace(IMAGE, image)


@pytest.mark.parametrize("name", TASKS)
def test_the_projects_own_tasks_fit_the_prod_stack(name: str):
    assert [render(each) for each in check_task(task(name), stack("prod"), CAT)] == []


def test_an_unknown_pool_hears_the_nearest_one():
    assert said(SMALL_TASK.replace("pool: train", "pool: trian")) == [
        'resources.pool: the stack has no pool "trian"; did you mean "train"?'
    ]


def test_a_task_read_in_part_is_judged_by_what_was_read():
    text = (
        SMALL_TASK.replace("command: [python, -m, trainer.main]\n", "").replace("nodes: 2", 'nodes: "many"')
        + "queue: nope\n"
    )
    reading = read_task_text(text, "task.yaml")
    assert reading.task is not None
    assert [render(each) for each in [*reading.problems, *check_task(reading.task, ONE_QUEUE, CAT)]] == [
        "task.yaml:1:1 command: is missing; what the container runs",
        'task.yaml:3:33 resources.nodes: "many" is text; a whole number is wanted',
        'queue: the stack has no queue "nope"; use one of: q',
    ]


def test_more_cards_than_the_pool_carries_beside_its_spares_are_refused():
    assert said(with_nodes(20)) == [
        (
            'resources.nodes: the task asks for 20 nodes x 8 = 160 cards; pool "train" carries '
            "18 nodes (20 - 2 spares) "
            "= 144 cards; use at most 18 nodes"
        )
    ]


def test_more_cards_than_the_queue_hands_out_are_refused():
    assert said(with_nodes(18)) == [
        (
            'resources.nodes: the task asks for 18 nodes x 8 = 144 cards; queue "q" hands out 128 cards; use at most 16'
            " nodes"
        )
    ]


def test_a_queue_with_a_cohort_may_borrow():
    given = stack_of(pools=f"[{POOL}]", queues="[{name: q, pool: train, cards: 64, cohort: c}]")
    assert said(with_nodes(16), given) == []


def test_other_cards_a_node_than_the_types_are_refused():
    assert said(SMALL_TASK.replace("nodes: 2", "nodes: 2, cards_per_node: 4")) == [
        "resources.cards_per_node: 4 cards a node, but p5.48xlarge has 8 and a worker takes the whole node; use 8"
    ]


def test_a_split_that_does_not_divide_the_cards_hears_the_node_counts_around():
    assert said(with_nodes(3, "parallelism: {tensor: 8, pipeline: 2}\n")) == [
        (
            "parallelism: tensor 8 x pipeline 2 x context 1 = 16 does not divide 3 nodes x 8 = 24 cards: data-parallel"
            " ranks would be 1.50; use 2 nodes or 4 nodes, or another split"
        )
    ]


def test_77_data_parallel_ranks_of_the_large_task_are_found_right():
    assert [each for each in check_task(task("llama-405b"), stack("prod"), CAT) if each.id == "task-parallelism"] == []


def test_experts_that_do_not_divide_the_ranks_of_a_stage_are_refused():
    assert said(with_nodes(2, "parallelism: {tensor: 2, expert: 3}\n")) == [
        (
            "parallelism.expert: expert 3 does not divide the 16 ranks (data 8 x context 1 x tensor 2) of a stage; use "
            "a divisor of them"
        )
    ]


def test_tensor_ranks_over_several_nodes_are_told():
    assert said(with_nodes(4, "parallelism: {tensor: 16}\n")) == [
        (
            "parallelism.tensor: warning: tensor 16 spans several nodes of 8 cards, over the network instead of the "
            "node's own links; use at most 8, and more pipeline stages"
        )
    ]


def test_several_queues_leave_the_choice_to_the_task():
    given = stack_of(pools=f"[{POOL}]", queues="[{name: a, pool: train, cards: 64}, {name: b, pool: train, cards: 64}]")
    assert said(SMALL_TASK, given) == ['queue: pool "train" has the queues a and b; name one: queue: a']
    assert said(SMALL_TASK + "queue: b\n", given) == []


def test_an_unknown_queue_and_one_of_another_pool_are_refused():
    other = "{name: other, purpose: training, instance_type: p5.48xlarge, zone: usw2-az3, nodes: 4}"
    given = stack_of(
        pools=f"[{POOL}, {other}]",
        queues="[{name: first, pool: train, cards: 64}, {name: second, pool: other, cards: 32}]",
    )
    assert said(SMALL_TASK + "queue: frist\n", given) == [
        'queue: the stack has no queue "frist"; did you mean "first"?'
    ]
    assert said(SMALL_TASK + "queue: second\n", given) == [
        'queue: queue "second" hands out the pool "other", and the task runs in "train"; use first'
    ]


def test_cards_without_a_queue_can_not_be_used():
    assert said(SMALL_TASK, stack_of(pools=f"[{POOL}]")) == [
        'resources.pool: no queue hands out the cards of pool "train"; add a queue for it to the stack file'
    ]


@pytest.mark.parametrize(
    ("tag", "message"),
    [
        (
            ":latest",
            'the tag "latest" is no tag of the environment prod; use …@sha256:…, or a tag that begins with prod-',
        ),
        (
            ":dev-2026.11.1",
            (
                'the tag "dev-2026.11.1" is no tag of the environment prod; use …@sha256:…, or a tag that begins with'
                " prod-"
            ),
        ),
    ],
)
def test_an_image_with_a_moving_tag_is_refused(tag: str, message: str):
    assert said(with_image(f"111122223333.dkr.ecr.us-west-2.amazonaws.com/trainer{tag}")) == [f"image: {message}"]


def test_an_image_with_a_tag_of_the_environment_is_fine():
    assert said(with_image("111122223333.dkr.ecr.us-west-2.amazonaws.com/team/trainer:prod-2026.11.1")) == []


def test_an_image_without_tag_or_digest_is_refused():
    name = "111122223333.dkr.ecr.us-west-2.amazonaws.com/trainer"
    assert said(with_image(name)) == [
        f'image: "{name}" names neither a digest nor a tag; use …@sha256:…, or a tag such as prod-2026.11.1'
    ]


def test_half_a_digest_is_refused():
    name = "111122223333.dkr.ecr.us-west-2.amazonaws.com/trainer@sha256:2c26"
    assert said(with_image(name)) == [
        f'image: "{name}" has no whole digest; a digest is @sha256: and 64 hexadecimal digits'
    ]


def test_an_image_outside_the_accounts_registry_can_not_reach_the_compute_network():
    digest = IMAGE.partition("@")[2]
    assert said(with_image(f"nvcr.io/nvidia/pytorch@{digest}")) == [
        (
            'image: nodes of pool "train" have no way out of the compute network, and the image is at nvcr.io; '
            "push it to ACCOUNT.dkr.ecr.us-west-2.amazonaws.com and name it there"
        )
    ]
    assert said(with_image(f"pytorch/pytorch@{digest}"))[0].startswith(
        'image: nodes of pool "train" have no way out of the compute network, and the image is at Docker Hub; '
    )


def test_an_image_in_another_regions_registry_is_refused():
    assert said(SMALL_TASK.replace("us-west-2", "us-east-1")) == [
        (
            "image: the image is in the registry of us-east-1, and the stack is in us-west-2; "
            "replicate it to ACCOUNT.dkr.ecr.us-west-2.amazonaws.com and name it there"
        )
    ]


def test_cpu_nodes_of_the_management_network_may_pull_from_anywhere():
    digest = IMAGE.partition("@")[2]
    pools = (
        "[{name: train, purpose: preprocessing, instance_types: [m7i.8xlarge, m7a.8xlarge, m6i.8xlarge], nodes: {min:"
        " 0, max: 20}}]"
    )
    assert said(with_image(f"docker.io/library/python@{digest}"), stack_of(pools=pools)) == []


def test_a_self_hosted_stack_pulls_from_its_mirror():
    text = SMALL_TASK.replace("pool: train", "pool: rack")
    assert said(text, stack("onprem")) == [
        (
            f'image: "{IMAGE}" is not in the registry that mirrors every image; push it to '
            "registry.example.com/trainshed and name it there"
        )
    ]


def test_paths_outside_the_mounts_are_refused():
    rest = "storage: {dataset: {path: /corpus}, checkpoint: {path: /datasets/out}}\n"
    assert said(SMALL_TASK + rest) == [
        'storage.dataset.path: "/corpus" is not under /datasets, where datasets are mounted; use /datasets/corpus',
        (
            'storage.checkpoint.path: "/datasets/out" is not under /checkpoints, the only place a job may write to; '
            "use /checkpoints/datasets/out"
        ),
    ]


def test_storage_without_a_file_system_is_refused():
    given = stack_of(pools=f"[{POOL}]", queues="[{name: q, pool: train, cards: 128}]")
    assert said(SMALL_TASK + "storage: {dataset: {path: /datasets/corpus}}\n", given) == [
        "storage.dataset: the stack has no file system to mount from; add one under storage.lustre of the stack file"
    ]


def test_checkpoints_without_a_place_are_refused():
    text = SMALL_TASK.replace("auto_restart: false", "checkpoint_interval_steps: 100")
    assert said(text) == [
        (
            "recovery.checkpoint_interval_steps: checkpoints are asked for and there is no place for them; add"
            " storage.checkpoint.path"
        )
    ]


def test_restarts_without_checkpoints_are_told():
    text = SMALL_TASK.replace("auto_restart: false", "auto_restart: true")
    assert said(text) == [
        (
            "recovery: warning: a restart would begin from nothing: no checkpoint interval is set; "
            "set recovery.checkpoint_interval_steps and storage.checkpoint"
        )
    ]


def test_a_ramp_above_the_target_is_refused():
    assert said(SMALL_TASK + "ramp: {start_nodes: 4}\n") == [
        "ramp.start_nodes: the ramp starts with 4 nodes, the task has 2; use at most 2",
        (
            "ramp: warning: the job starts on all 2 nodes at once: submit runs no ramp; submit "
            "the task with fewer nodes "
            "first and compare, or take ramp out"
        ),
    ]


def test_a_metric_that_no_run_has_is_refused_with_the_nearest() -> None:
    assert said(SMALL_TASK + "monitor: {metrics: [loss, token_per_second]}\n") == [
        'monitor.metrics[1]: "token_per_second" is no metric of a training run; did you mean "tokens_per_second"?'
    ]


def test_a_dataset_that_nothing_stages_is_told() -> None:
    found = said(SMALL_TASK + "storage: {dataset: {path: /datasets/a, warm_up: true}}\n")
    assert any(each.startswith("storage.dataset.warm_up: warning: nothing stages /datasets/a") for each in found)


def test_a_split_of_any_size_is_judged_at_once_and_hears_only_of_nodes_that_the_pool_has():
    reported = said(SMALL_TASK + "parallelism: {tensor: 10000000}\n")
    assert (
        reported[0]
        == "parallelism: tensor 10000000 x pipeline 1 x context 1 = 10000000 does not divide 2 nodes x 8 = 16 cards: "
        "data-parallel ranks would be 0.00; use another split"
    )


@pytest.mark.parametrize("name", ["Trainer", "tra iner", "", "trainer/"])
def test_a_name_that_no_image_can_have_is_refused(name: str):
    assert said(with_image(IMAGE.replace("trainer@", f"{name}@"))) == [
        (
            f'image: "{name}" is no name of an image: Kubernetes answers InvalidImageName; '
            "use lower-case words, joined by dots, dashes, underscores or slashes"
        )
    ]


@pytest.mark.parametrize("name", ["team/trainer", "team__x/tra.in-er_2"])
def test_names_that_images_can_have_pass(name: str):
    assert said(with_image(IMAGE.replace("trainer@", f"{name}@"))) == []


def test_words_that_replace_what_the_job_sets_are_told_with_both_values() -> None:
    words = '{NPROC_PER_NODE: "1", MASTER_ADDR: localhost, NCCL_NET: Socket, FI_PROVIDER: tcp, NCCL_DEBUG: INFO}'
    pools = "[{name: train, purpose: training, instance_type: p5.48xlarge, zone: usw2-az3, nodes: 2, fabric: efa,"
    declared = stack_of(
        pools=pools + " capacity: {kind: on-demand}}]", queues="[{name: train, pool: train, cards: 16}]"
    )
    made = task_of(SMALL_TASK + f"environment: {words}\n")
    reported = {each.path: each for each in check_task(made, declared, CAT) if each.id.startswith("task-environment")}
    assert {path: each.severity for path, each in reported.items()} == {
        f"environment.{name}": "warning" for name in ("NPROC_PER_NODE", "MASTER_ADDR", "NCCL_NET", "FI_PROVIDER")
    }
    assert (
        reported["environment.NPROC_PER_NODE"].said
        == 'NPROC_PER_NODE is set by the job to "8", and "1" takes its place'
    )


@pytest.mark.parametrize(
    ("pool", "why"),
    [
        (POOL.replace("nodes: 20, spares: 2", "nodes: {min: 0, max: 20}"), "its nodes are bought when a job waits"),
        (POOL.replace("p5.48xlarge", "g5.48xlarge"), "its nodes report no network layers"),
        (
            "{name: train, purpose: evaluation, instance_type: m7i.8xlarge, zone: usw2-az3, nodes: 4}",
            "its nodes report no network layers",
        ),
    ],
)
def test_one_network_domain_is_required_only_where_nodes_have_one(pool: str, why: str):
    required = SMALL_TASK.replace("nodes: 2}", "nodes: 2, placement: required}")
    given = stack_of(pools=f"[{pool}]", queues="[{name: q, pool: train}]")
    reported = [each for each in said(required, given) if each.startswith("resources.placement")]
    assert len(reported) == 1
    assert why in reported[0]
    assert not [each for each in said(SMALL_TASK, given) if each.startswith("resources.placement")]
    assert not [each for each in said(required) if each.startswith("resources.placement")]
