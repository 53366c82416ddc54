"""The job commands on a real API server with JobSet's and Kueue's own definitions; no controllers run, so nothing moves
by itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from components.manifests import namespaces
from components.manifests.queues import kueue
from tests.components.manifests.schemas import TOOLS, crds
from tests.given import CAT, stack
from trainshed.cli.job import job_app
from trainshed.sandbox.api import ApiError, wait_for
from trainshed.sandbox.plane import ControlPlane

pytestmark = [pytest.mark.control_plane, pytest.mark.xdist_group("control_plane")]

RUN = CliRunner()
TASK = ["llama-405b", "--stack", "prod"]


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    with ControlPlane.started(controllers=()) as made:
        for group in TOOLS:
            for definition in crds(group):
                definition["spec"].pop("conversion", None)  # no webhook runs here
                made.api.apply(definition, strict=False)
        wait_for(lambda: served(made, "jobset.x-k8s.io/v1alpha2", "JobSet"), what="JobSet served")
        wait_for(lambda: served(made, "kueue.x-k8s.io/v1beta2", "Workload"), what="Workload served")
        for each in namespaces.plan(stack("prod"), CAT):
            made.api.apply(namespaces.namespace(each))
        yield made


def served(plane: ControlPlane, api_version: str, kind: str) -> bool:
    try:
        plane.api.all(api_version, kind)
    except ApiError:
        return False
    return True


def job(plane: ControlPlane, *words: str) -> Any:
    return RUN.invoke(job_app, [words[0], *TASK, "--kubeconfig", str(plane.kubeconfig), *words[1:]])


@pytest.fixture(autouse=True)
def cleared(plane: ControlPlane) -> Iterator[None]:
    yield
    for kind in ("JobSet",):
        for found in plane.api.all("jobset.x-k8s.io/v1alpha2", kind):
            plane.api.delete(
                "jobset.x-k8s.io/v1alpha2", kind, found["metadata"]["name"], found["metadata"]["namespace"]
            )


def test_a_task_before_its_submission_is_absent(plane: ControlPlane):
    result = job(plane, "status")
    assert result.exit_code == 1
    assert "absent, it was never submitted" in result.stdout


def test_a_submitted_task_is_there_with_account_files_and_queue(plane: ControlPlane):
    result = job(plane, "submit")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("llama-405b: submitted to queue pretrain in training of ")
    found = plane.api.get("jobset.x-k8s.io/v1alpha2", "JobSet", "llama-405b", "training")
    assert found["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "pretrain"
    assert plane.api.exists("v1", "ServiceAccount", "llama-405b", "training")
    assert plane.api.exists("v1", "ConfigMap", "llama-405b-task", "training")


def test_a_second_submission_is_refused_and_a_replacement_is_not(plane: ControlPlane):
    assert job(plane, "submit").exit_code == 0
    first = plane.api.get("jobset.x-k8s.io/v1alpha2", "JobSet", "llama-405b", "training")["metadata"]["uid"]
    again = job(plane, "submit")
    assert again.exit_code == 1
    assert "is there already in training of" in again.stderr
    assert "use --replace" in again.stderr
    # Foreground deletion needs the garbage collector, which does not run here: the finalizer it would take away goes by
    # hand.
    plane.api.delete("jobset.x-k8s.io/v1alpha2", "JobSet", "llama-405b", "training")
    assert job(plane, "submit", "--replace").exit_code == 0
    assert plane.api.get("jobset.x-k8s.io/v1alpha2", "JobSet", "llama-405b", "training")["metadata"]["uid"] != first


def test_a_waiting_task_says_what_kueue_wrote_into_its_workload(plane: ControlPlane):
    assert job(plane, "submit").exit_code == 0
    made = plane.api.get("jobset.x-k8s.io/v1alpha2", "JobSet", "llama-405b", "training")
    plane.api.patch(made, {"spec": {"suspend": True}})
    template = made["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    workload = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {
            "name": "jobset-llama",
            "namespace": "training",
            "labels": {"kueue.x-k8s.io/job-uid": made["metadata"]["uid"]},
        },
        "spec": {
            "queueName": "pretrain",
            "podSets": [{"name": "workers", "count": 1232, "template": {"spec": template["spec"]}}],
        },
    }
    created = plane.api.create(workload)
    said = "insufficient quota for nvidia.com/gpu in flavor pretrain"
    condition = {
        "type": "QuotaReserved",
        "status": "False",
        "reason": "Pending",
        "message": said,
        "lastTransitionTime": "2026-11-30T00:00:00Z",
    }
    plane.api.patch(created, {"status": {"conditions": [condition]}}, subresource="/status")
    result = job(plane, "status", "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert (found["phase"], found["why"], found["wanted"]) == ("waiting", said, 1232)
    plane.api.delete("kueue.x-k8s.io/v1beta2", "Workload", "jobset-llama", "training")


def test_the_log_of_a_rank_that_is_not_there_says_which_are(plane: ControlPlane):
    assert job(plane, "submit").exit_code == 0
    result = job(plane, "logs", "--rank", "3")
    assert result.exit_code == 1
    assert "llama-405b has no worker of rank 3: it has no workers now" in result.stderr


def test_a_worker_as_rendered_meets_the_restricted_standard_of_its_namespace(plane: ControlPlane):
    assert job(plane, "submit").exit_code == 0
    made = plane.api.get("jobset.x-k8s.io/v1alpha2", "JobSet", "llama-405b", "training")
    spec = made["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "worker", "namespace": "training"}, "spec": spec}
    assert plane.api.create(pod)["metadata"]["name"] == "worker"
    spoiled = {
        **pod,
        "metadata": {"name": "root", "namespace": "training"},
        "spec": {**spec, "securityContext": {"runAsUser": 0}},
    }
    with pytest.raises(ApiError, match="violates PodSecurity"):
        plane.api.create(spoiled)
    plane.api.delete("v1", "Pod", "worker", "training")


def test_a_cluster_without_jobset_ends_with_3_and_says_what_to_deploy():
    with ControlPlane.started(controllers=()) as bare:
        result = job(bare, "submit")
    assert result.exit_code == 3
    assert "does not know JobSet (jobset.x-k8s.io/v1alpha2): deploy the stack's queueing first" in result.stderr


@pytest.mark.parametrize("name", ["prod", "staging", "dev", "onprem", "standby"])
def test_every_queue_object_is_taken_by_the_api_server_and_applied_again_without_a_change(
    plane: ControlPlane, name: str
):
    for each in namespaces.plan(stack(name), CAT):
        plane.api.apply(namespaces.namespace(each))
    for manifest in kueue.objects(stack(name), CAT).all():
        first = plane.api.apply(manifest)
        again = plane.api.apply(manifest)
        assert again["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"], manifest["metadata"][
            "name"
        ]


def test_quotas_policies_and_claims_of_a_namespace_are_kept_as_they_are_written(plane: ControlPlane):
    found = [
        manifest for each in namespaces.plan(stack("prod"), CAT) for manifest in namespaces.policies(each).values()
    ]
    for manifest in [*found, namespaces.resource_quota("training", stack("prod"), CAT)]:
        kept = plane.api.apply(manifest)
        if manifest["kind"] == "ResourceQuota":
            assert kept["spec"]["hard"] == manifest["spec"]["hard"]


def test_the_kubeconfig_is_named_where_the_job_goes(plane: ControlPlane):
    name = yaml.safe_load(Path(plane.kubeconfig).read_text())["current-context"]
    assert f"of {name}" in job(plane, "submit").stdout
