"""What each kind of person may do, asked of a real API server by impersonation: every row of the table, and what is in
none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.manifests import access, admission
from components.manifests.queues import controllers
from components.spec.stack import StackSpec
from trainshed.sandbox import tools
from trainshed.sandbox.api import Api, ApiError, wait_for
from trainshed.sandbox.plane import ControlPlane

pytestmark = [pytest.mark.control_plane, pytest.mark.xdist_group("control_plane")]
STACK = StackSpec.model_validate(
    {
        "environment": "prod",
        "form": {"kind": "self-hosted", "kubeconfig": "none", "registry": "registry.example.com"},
        "pools": (
            {
                "name": "rack",
                "purpose": "training",
                "hosts": {"accelerator": "h100", "cards": 8, "vcpu": 192, "memory_gib": 2048},
                "nodes": 4,
            },
        ),
        "queues": (
            {"name": "vision", "pool": "rack", "cards": 16, "namespace": "vision"},
            {"name": "speech", "pool": "rack", "cards": 8, "namespace": "vision"},
            {"name": "chips", "pool": "rack", "cards": 8, "namespace": "chips"},
        ),
        "access": {
            "operators": ("group:sre",),
            "researchers": (
                {"queues": ("vision",), "who": ("group:eyes",)},
                {"queues": ("speech",), "who": ("group:ears",)},
            ),
        },
    }
)
EVERYBODY = "system:authenticated"


@pytest.fixture(scope="module")
def plane(need: Callable[[str], Path]) -> Iterator[ControlPlane]:
    need("kube-apiserver")
    definitions = tools.asset("jobset", "config/components/crd/bases")
    with ControlPlane.started() as made:
        for path in sorted(definitions.glob("*.yaml")):
            made.api.apply(yaml.safe_load(path.read_text()))
        for name in ("vision", "chips"):
            labels = {"trainshed.io/jobs": "true"}
            made.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
        for manifest in (
            *access.objects(STACK).values(),
            admission.policy(),
            admission.binding(controllers.JOBS),
        ):
            made.api.apply(manifest)
        wait_for(lambda: _served(made.api), what="JobSets are served", seconds=60)
        wait_for(lambda: bool(_refused(made.api, job("probe", None))), what="the admission rules hold", seconds=60)
        yield made


def job(name: str, queue: str | None, *, account: str | None = None, namespace: str = "vision") -> dict[str, Any]:
    labels = {"kueue.x-k8s.io/queue-name": queue} if queue else {}
    pod: dict[str, Any] = {"containers": [{"name": "a", "image": "a"}], "restartPolicy": "Never"}
    if account:
        pod["serviceAccountName"] = account
    template = {"spec": {"template": {"spec": pod}}}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {"replicatedJobs": [{"name": "workers", "replicas": 1, "template": template}]},
    }


def _served(api: Api) -> bool:
    try:
        api.collection("jobset.x-k8s.io/v1alpha2", "JobSet")
    except ApiError:
        return False
    return True


def _refused(api: Api, thing: dict[str, Any]) -> str:
    """The server's reason for refusing to make it; empty when it would."""
    where = api.collection(thing["apiVersion"], thing["kind"], thing["metadata"]["namespace"])
    try:
        api.call("POST", f"{where}?dryRun=All", thing)
    except ApiError as error:
        return error.message
    return ""


def may(api: Api, verb: str, group: str, resource: str, namespace: str | None = None) -> bool:
    name, _, part = resource.partition("/")
    wanted = {"verb": verb, "group": group, "resource": name, "subresource": part, "namespace": namespace or ""}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": wanted},
    }
    answer: Any = api.call("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)
    return bool(answer["status"]["allowed"])


def person(plane: ControlPlane, name: str, group: str) -> Api:
    return plane.api.impersonating(name, [group, EVERYBODY])


def test_researchers_may_do_every_row_of_their_table_in_their_namespace_only(
    need: Callable[[str], Path], plane: ControlPlane
) -> None:
    eyes = person(plane, "ann", "eyes")
    for right in access.RESEARCHER:
        for resource in right.resources:
            for verb in right.verbs:
                assert may(eyes, verb, right.group, resource, "vision"), f"{verb} {resource}"
                assert not may(eyes, verb, right.group, resource, "chips"), f"{verb} {resource}"
    for verb, group, resource in (
        ("create", "", "pods"),
        ("create", "", "pods/exec"),
        ("get", "", "secrets"),
        ("create", "batch", "jobs"),
        ("patch", "", "nodes"),
        ("patch", "kueue.x-k8s.io", "clusterqueues"),
        ("create", "rbac.authorization.k8s.io", "rolebindings"),
    ):
        assert not may(eyes, verb, group, resource, "vision"), f"{verb} {resource}"


def test_operators_may_do_every_row_of_theirs_everywhere_and_submit_nothing(plane: ControlPlane) -> None:
    sre = person(plane, "otto", "sre")
    for right in access.OPERATOR:
        for resource in right.resources:
            for verb in right.verbs:
                assert may(sre, verb, right.group, resource), f"{verb} {resource}"
    for verb, group, resource in (
        ("create", "jobset.x-k8s.io", "jobsets"),
        ("get", "", "secrets"),
        ("delete", "", "nodes"),
        ("create", "rbac.authorization.k8s.io", "clusterrolebindings"),
    ):
        assert not may(sre, verb, group, resource), f"{verb} {resource}"


def test_people_whom_nobody_named_may_do_nothing(plane: ControlPlane) -> None:
    nobody = person(plane, "eve", "others")
    rights = [*access.RESEARCHER, *access.OPERATOR]
    assert not [
        (verb, resource)
        for right in rights
        for resource in right.resources
        for verb in right.verbs
        if may(nobody, verb, right.group, resource, "vision")
    ]


def test_a_researcher_submits_to_and_cancels_in_an_own_queue_only(plane: ControlPlane) -> None:
    eyes, ears = person(plane, "ann", "eyes"), person(plane, "bo", "ears")
    assert _refused(eyes, job("mine", "vision")) == ""
    assert "not one of yours" in _refused(eyes, job("theirs", "speech"))
    assert "not one of yours" in _refused(eyes, job("none", None)) or "names its queue" in _refused(
        eyes, job("n", None)
    )
    plane.api.apply(job("running", "speech"))
    with pytest.raises(ApiError, match="not one of yours"):
        eyes.delete("jobset.x-k8s.io/v1alpha2", "JobSet", "running", "vision")
    ears.delete("jobset.x-k8s.io/v1alpha2", "JobSet", "running", "vision")


def test_a_job_takes_no_other_queues_identity(plane: ControlPlane) -> None:
    eyes = person(plane, "ann", "eyes")
    assert _refused(eyes, job("a", "vision", account="queue-vision")) == ""
    assert _refused(eyes, job("b", "vision", account="own")) == ""
    assert "service account" in _refused(eyes, job("c", "vision", account="queue-speech"))


def test_a_job_without_a_queue_is_refused_for_everybody(plane: ControlPlane) -> None:
    assert "names its queue" in _refused(plane.api, job("free", None))
    bare = job("child", None)["spec"]["replicatedJobs"][0]["template"]
    lone: dict[str, Any] = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "lone", "namespace": "vision"},
        **bare,
    }
    assert "names its queue" in _refused(plane.api, lone)
    owner = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "a", "uid": "1"}
    child = {**lone, "metadata": {**lone["metadata"], "ownerReferences": [owner]}}
    assert _refused(plane.api, child) == ""
