"""`trainshed job`, run as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from tests.given import ROOT, SMALL_TASK
from trainshed.cli.job import job_app, task_path
from trainshed.job.state import state

RUN = CliRunner()
JOBSET: dict[str, Any] = {
    "metadata": {"name": "small", "uid": "1"},
    "spec": {"suspend": False, "replicatedJobs": [{"replicas": 1, "template": {"spec": {"parallelism": 2}}}]},
}


def pod(rank: int, *, phase: str = "Running", ready: bool = True) -> dict[str, Any]:
    return {
        "metadata": {"name": f"small-{rank}", "labels": {"batch.kubernetes.io/job-completion-index": str(rank)}},
        "spec": {"nodeName": f"node-{rank}"},
        "status": {"phase": phase, "conditions": [{"type": "Ready", "status": "True" if ready else "False"}]},
    }


def jobset(**changes: Any) -> dict[str, Any]:
    return {**JOBSET, **changes}


def test_render_prints_the_objects_of_a_task_as_yaml():
    result = RUN.invoke(job_app, ["render", "llama-405b", "--stack", "prod"])
    assert result.exit_code == 0, result.stderr
    found = list(yaml.safe_load_all(result.stdout))
    assert [each["kind"] for each in found] == ["ServiceAccount", "ConfigMap", "ConfigMap", "Service", "JobSet"]
    assert found[-1]["spec"]["replicatedJobs"][0]["template"]["spec"]["parallelism"] == 1232
    assert "&id" not in result.stdout


def test_render_prints_one_json_object_and_nothing_else():
    result = RUN.invoke(job_app, ["render", "finetune-8b", "--stack", "prod", "--json"])
    assert result.exit_code == 0
    assert [each["kind"] for each in json.loads(result.stdout)["items"]] == [
        "ServiceAccount",
        "ConfigMap",
        "ConfigMap",
        "Service",
        "JobSet",
    ]


def test_render_gives_the_same_text_every_time():
    first, second = (RUN.invoke(job_app, ["render", "llama-405b", "--stack", "prod"]).stdout for _ in range(2))
    assert first == second


def test_a_task_larger_than_its_pool_ends_with_1_its_place_and_nothing_on_standard_output(tmp_path: Path):
    path = tmp_path / "big.yaml"
    path.write_text(
        (ROOT / "tasks" / "llama-405b.yaml").read_text().replace("nodes: 1232, cards", "nodes: 1280, cards")
    )
    result = RUN.invoke(job_app, ["render", str(path), "--stack", "prod"])
    assert result.exit_code == 1
    assert result.stdout == ""
    assert (
        'the task asks for 1280 nodes x 8 = 10240 cards; pool "pretrain" carries 1232 nodes (1250 - 18 spares) = 9856'
        " cards" in result.stderr
    )
    assert f"{path}:7:36 " in result.stderr
    assert "Traceback" not in result.stderr


def test_the_problems_of_a_task_are_told_beside_those_of_its_stack(tmp_path: Path):
    stack = tmp_path / "Pulumi.broken.yaml"
    stack.write_text(
        (ROOT / "stacks" / "Pulumi.prod.yaml")
        .read_text()
        .replace("instance_type: p5.48xlarge", "instance_type: p5.48xlargee")
    )
    task = tmp_path / "task.yaml"
    task.write_text(
        (ROOT / "tasks" / "llama-405b.yaml").read_text().replace("nodes: 1232, cards", 'nodes: "many", cards')
        + "queue: nope\n"
    )
    result = RUN.invoke(job_app, ["render", str(task), "--stack", str(stack)])
    assert result.exit_code == 1
    assert result.stdout == ""
    said = [line.partition(" ")[2] for line in result.stderr.splitlines()[:-1]]
    assert said == [
        'pools[0].instance_type: "p5.48xlargee" is not in the catalog; did you mean "p5.48xlarge"?',
        'resources.nodes: "many" is text; a whole number is wanted',
        'queue: the stack has no queue "nope"; use one of: pretrain',
    ]
    assert result.stderr.splitlines()[-1] == f"broken: 1 error; {task}: 2 errors; nothing was rendered"


def test_a_missing_task_ends_with_1_and_the_nearest_name():
    result = RUN.invoke(job_app, ["render", "tasks/llama-405.yaml", "--stack", "prod"])
    assert result.exit_code == 1
    assert 'there is no task file tasks/llama-405.yaml; did you mean "llama-405b.yaml"?' in result.stderr


def test_a_missing_stack_ends_with_1_and_the_nearest_name():
    result = RUN.invoke(job_app, ["render", "llama-405b", "--stack", "prodd"])
    assert result.exit_code == 1
    assert 'did you mean "Pulumi.prod.yaml"?' in result.stderr


def test_a_missing_kubeconfig_ends_with_3_and_says_how_to_get_one(tmp_path: Path):
    result = RUN.invoke(job_app, ["submit", "llama-405b", "--stack", "prod", "--kubeconfig", str(tmp_path / "none")])
    assert result.exit_code == 3
    assert "`aws eks update-kubeconfig --name CLUSTER` writes one" in result.stderr


def test_a_cluster_that_does_not_answer_ends_with_3(tmp_path: Path):
    kubeconfig = tmp_path / "config"
    cluster = {"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}
    context = {"name": "here", "context": {"cluster": "c", "user": "u"}}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "clusters": [cluster],
        "contexts": [context],
        "users": [{"name": "u", "user": {}}],
    }
    kubeconfig.write_text(yaml.safe_dump(document))
    result = RUN.invoke(job_app, ["status", "llama-405b", "--stack", "prod", "--kubeconfig", str(kubeconfig)])
    assert result.exit_code == 3
    assert "the cluster here does not answer at http://127.0.0.1:1: is the VPN up?" in result.stderr


def test_a_context_that_is_not_there_lists_those_that_are(tmp_path: Path):
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "here",
                "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
                "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
                "users": [{"name": "u", "user": {}}],
            }
        )
    )
    result = RUN.invoke(
        job_app, ["logs", "llama-405b", "--stack", "prod", "--kubeconfig", str(kubeconfig), "--context", "there"]
    )
    assert result.exit_code == 3
    assert "there" in result.stderr


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("llama-405b", ROOT / "tasks" / "llama-405b.yaml"),
        ("tasks/x.yaml", Path("tasks/x.yaml")),
        ("./x", Path("x.yaml")),
    ],
)
def test_a_bare_name_means_a_file_under_tasks(given: str, path: Path):
    if given == "./x":
        assert task_path("folder/x") == Path("folder/x")
    else:
        assert task_path(given) == path


def test_a_task_that_was_never_submitted_is_absent():
    assert state("small", "training", None, None, []).phase == "absent"


def test_a_task_that_waits_says_what_its_queue_says():
    message = (
        "couldn't assign flavors to pod set workers: insufficient quota for nvidia.com/gpu in flavor train, 64 more"
        " needed"
    )
    workload = {"status": {"conditions": [{"type": "QuotaReserved", "status": "False", "message": message}]}}
    found = state("small", "training", jobset(spec={**JOBSET["spec"], "suspend": True}), workload, [])
    assert (found.phase, found.why, found.wanted) == ("waiting", message, 2)


def test_a_task_that_starts_counts_its_ready_workers():
    found = state("small", "training", jobset(), None, [pod(1, phase="Pending", ready=False), pod(0)])
    assert (found.phase, found.why) == ("starting", "1 of 2 workers are ready (1 pending, 1 running)")
    assert [worker.rank for worker in found.workers] == [0, 1]


def test_a_task_with_all_workers_ready_runs_and_tells_its_restarts():
    found = state("small", "training", jobset(status={"restarts": 3}), None, [pod(0), pod(1)])
    assert (found.phase, found.restarts, found.ready) == ("running", 3, 2)


def test_a_task_that_failed_says_why():
    conditions = [
        {"type": "Failed", "status": "True", "message": "jobset failed due to reaching max number of restarts"}
    ]
    found = state("small", "training", jobset(status={"terminalState": "Failed", "conditions": conditions}), None, [])
    assert (found.phase, found.why) == ("failed", "jobset failed due to reaching max number of restarts")


def test_the_small_task_of_the_tests_is_a_task(tmp_path: Path):
    path = tmp_path / "small.yaml"
    path.write_text(SMALL_TASK.replace("pool: train", "pool: pretrain"))
    assert RUN.invoke(job_app, ["render", str(path), "--stack", "prod"]).exit_code == 0
