"""The quarantine controller as a process with its own service account, on a real API server and controller manager.

Nodes and their kubelets' part are the test's: it writes what a kubelet would have written, and writes nothing more when
a node is lost.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.live.support.engine import CHECKOUT
from trainshed.sandbox.api import Api, ApiError, Object, wait_for
from trainshed.sandbox.plane import ControlPlane
from workload.health.decisions import HISTORY, KEY, mark_of
from workload.health.evidence import ATTEMPT, CHECK, INDEX, JOBSET
from workload.preflight.report import Named, Report, short

pytestmark = [pytest.mark.xdist_group("quarantine")]
# What the controller's module says it needs, and no more.
RULES = [
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch", "patch"]},
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch", "delete"]},
    {"apiGroups": [""], "resources": ["pods/status"], "verbs": ["patch"]},
]
IMAGE = "example.com/image:1"


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.fixture(scope="module")
def plane(need: Callable[[str], Path]) -> Iterator[ControlPlane]:
    for program in ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"):
        need(program)
    with ControlPlane.started() as made:
        yield made


@pytest.fixture
def api(plane: ControlPlane) -> Iterator[Api]:
    yield plane.api
    for kind, version in (("Job", "batch/v1"), ("Pod", "v1"), ("Node", "v1")):
        for each in plane.api.all(version, kind):
            meta = each["metadata"]
            if kind == "Pod":
                path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
                plane.api.call("DELETE", path, {"gracePeriodSeconds": 0})
            else:
                plane.api.delete(version, kind, meta["name"], meta.get("namespace"))


@pytest.fixture(scope="module")
def token(plane: ControlPlane) -> str:
    """A token of a service account that may do what the module says and nothing else."""
    where = {"namespace": "default", "name": "quarantine"}
    plane.api.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": where})
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "quarantine"}}
    plane.api.apply({**role, "rules": RULES})
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "quarantine"}
    binding = {**role, "kind": "ClusterRoleBinding", "roleRef": reference}
    plane.api.apply({**binding, "subjects": [{"kind": "ServiceAccount", **where}]})
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    path = "/api/v1/namespaces/default/serviceaccounts/quarantine/token"
    return str(plane.api.call("POST", path, body)["status"]["token"])


Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start(plane: ControlPlane, token: str, tmp_path: Path) -> Iterator[Start]:
    """`start("--lost-after", 3)` runs the controller as its image does."""
    running: list[subprocess.Popen[str]] = []
    (tmp_path / "token").write_text(token)

    def begin(*words: object) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "workload.health.quarantine", "--server", plane.endpoint, "--every", "0.2"]
        command += ["--token-file", str(tmp_path / "token"), "--ca-file", str(plane.ca), *map(str, words)]
        with (tmp_path / "log").open("w") as log:
            process = subprocess.Popen(command, cwd=CHECKOUT, stdout=log, stderr=subprocess.STDOUT, text=True)
        running.append(process)
        return process

    yield begin
    for process in running:
        process.terminate()
        process.wait(20)


def add_nodes(api: Api, count: int, pool: str = "train", **status: Any) -> list[str]:
    names = [f"{pool}-{number}" for number in range(count)]
    for name in names:
        meta = {"name": name, "labels": {"trainshed.io/pool": pool, "kubernetes.io/hostname": name, "kind": pool}}
        api.create({"apiVersion": "v1", "kind": "Node", "metadata": meta})
        set_condition(api, name, "Ready", "True", at="2026-01-01T00:00:00Z", more=status)
    return names


def set_condition(
    api: Api, name: str, kind: str, value: str, *, at: str, reason: str = "Test", more: Any = None
) -> None:
    """As a kubelet, the node controller or the monitoring agent would write it."""
    node = api.get("v1", "Node", name)
    kept = [each for each in node["status"].get("conditions") or [] if each["type"] != kind]
    condition = {"type": kind, "status": value, "reason": reason, "message": "a test's words", "lastTransitionTime": at}
    condition["lastHeartbeatTime"] = now()
    resources = {"cpu": "4", "memory": "8Gi", "pods": "20"}
    status = {"conditions": [*kept, condition], "capacity": resources, "allocatable": resources, **(more or {})}
    api.patch(node, {"status": status}, subresource="/status")


def add_worker(api: Api, task: str, rank: int, node: str, message: str | None) -> None:
    """A gang's worker that has ended its gate with a report."""
    labels = {JOBSET: task, ATTEMPT: "0", INDEX: str(rank)}
    _add_ended_pod(api, f"{task}-{rank}", labels, node, 22 if message else 21, message)


def _add_ended_pod(api: Api, name: str, labels: dict[str, str], node: str, code: int, message: str | None) -> None:
    containers = {
        "initContainers": [{"name": "preflight", "image": IMAGE}],
        "containers": [{"name": "worker", "image": IMAGE}],
    }
    meta = {"name": name, "namespace": "default", "labels": labels}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"nodeName": node, **containers}}
    api.create(pod)
    ended = {"exitCode": code, "startedAt": now(), "finishedAt": now(), **({"message": message} if message else {})}
    status = {
        "name": "preflight",
        "image": IMAGE,
        "imageID": "",
        "ready": False,
        "restartCount": 0,
        "state": {"terminated": ended},
    }
    api.patch(pod, {"status": {"phase": "Pending", "initContainerStatuses": [status]}}, subresource="/status")


def report(nodes: list[str], *bad: int) -> str:
    blamed = tuple(Named(rank, nodes[rank], "pair", 22, "0.4 GB/s between nodes, 40 are asked") for rank in bad)
    return short(Report("task", "0", len(nodes), 0, nodes[0], time.time(), blamed=blamed))


def is_out(api: Api, name: str) -> bool:
    return mark_of(api.get("v1", "Node", name)) is not None


@pytest.mark.proves(
    broken="a gang's gate names two nodes of a pool of which one may be out, and one of another job",
    promised="one is cordoned and tainted with reason and time; after a passed check it is in service again",
)
def test_a_node_that_the_gate_names_goes_and_comes_back_after_a_check(api: Api, start: Start, tmp_path: Path) -> None:
    nodes = add_nodes(api, 5)
    gang = nodes[:3]
    start("--most-percent", 20, "--steady", 1)
    add_worker(api, "gang", 1, gang[1], None)
    add_worker(api, "gang", 2, gang[2], None)
    add_worker(api, "gang", 0, gang[0], report([*gang, nodes[4]], 1, 2, 3))
    wait_for(lambda: is_out(api, gang[1]), what="the first named node is out", seconds=60)
    node = api.get("v1", "Node", gang[1])
    mark = mark_of(node)
    assert mark is not None
    assert (mark["reason"], mark["said"]) == ("gate-pair", "0.4 GB/s between nodes, 40 are asked")
    assert abs(time.time() - mark["since"]) < 60
    assert node["spec"]["unschedulable"] is True
    taint = next(each for each in node["spec"]["taints"] if each["key"] == KEY)
    assert (taint["value"], taint["effect"], taint["timeAdded"]) == ("gate-pair", "NoSchedule", mark["time"])
    wait_for(lambda: "of at most 1 nodes are out" in (tmp_path / "log").read_text(), what="the cap is told", seconds=30)
    assert not is_out(api, gang[2])
    assert not is_out(api, nodes[4]), "the job never ran there"
    time.sleep(1.1)  # a check of a later second than the quarantine
    _add_ended_pod(api, "check", {CHECK: "true"}, gang[1], 0, None)
    wait_for(
        lambda: HISTORY in api.get("v1", "Node", gang[1])["metadata"].get("annotations", {}), what="back", seconds=60
    )
    node = api.get("v1", "Node", gang[1])
    assert not node["spec"].get("unschedulable")
    assert KEY not in node["metadata"]["labels"]
    assert not [each for each in node["spec"].get("taints") or [] if each["key"] == KEY]
    [past] = json.loads(node["metadata"]["annotations"][HISTORY])
    assert past["reason"] == "gate-pair"
    wait_for(lambda: is_out(api, gang[2]), what="there is room for the other one", seconds=30)
    assert not is_out(api, gang[1]), "the old report does not count again"


@pytest.mark.proves(
    broken="the monitoring agent reports a fatal Xid, one that is none of its table, and a lost connection to DCGM",
    promised="the first node goes, the others stay; it returns once the condition has been good for a while",
)
def test_a_bad_condition_takes_a_node_out_until_it_is_good_again(api: Api, start: Start) -> None:
    nodes = add_nodes(api, 4, pool="cards")
    start("--most-percent", 100, "--steady", 2, "--health-codes", "48,79")
    kind = "AcceleratedHardwareReady"
    for name, reason in zip(nodes, ("NvidiaXID79Error", "NvidiaXID13Error", "DCGMError"), strict=False):
        set_condition(api, name, kind, "False", at=now(), reason=reason)
    wait_for(lambda: is_out(api, nodes[0]), what="the node with Xid 79 is out", seconds=60)
    mark = mark_of(api.get("v1", "Node", nodes[0]))
    assert mark is not None
    assert mark["reason"] == "AcceleratedHardwareReady-NvidiaXID79Error"
    set_condition(api, nodes[0], kind, "True", at=now())
    wait_for(lambda: not is_out(api, nodes[0]), what="it is back", seconds=60)
    assert [is_out(api, name) for name in nodes[1:]] == [False, False, False]


@pytest.mark.proves(
    broken="a node goes NotReady and its Node object stays; no kubelet ends its pod",
    promised="its pod is ended without the kubelet, a new one runs elsewhere, the node is out, the other pod untouched",
)
def test_the_pods_of_a_node_that_stays_unready_start_elsewhere(
    api: Api, start: Start, token: str, plane: ControlPlane
) -> None:
    nodes = add_nodes(api, 4, pool="gang")
    start("--lost-after", 3)
    _wait_untainted(api, nodes)
    api.create(_job(api, "gang", workers=2))
    first = _bound(api, 2)
    for pod in first.values():
        api.patch(pod, {"status": {"phase": "Running"}}, subresource="/status")
    lost, sound = first["0"], first["1"]
    where = lost["spec"]["nodeName"]
    began = time.monotonic()
    set_condition(api, where, "Ready", "Unknown", at=now(), reason="NodeStatusUnknown")
    wait_for(
        lambda: _bound(api, 0).get("0", lost)["metadata"]["uid"] != lost["metadata"]["uid"],
        what="a new worker",
        seconds=120,
    )
    assert time.monotonic() - began < 120
    after = _bound(api, 2)
    assert after["0"]["spec"]["nodeName"] != where
    assert after["1"]["metadata"]["uid"] == sound["metadata"]["uid"]
    wait_for(lambda: is_out(api, where), what="the lost node is out", seconds=30)
    assert api.exists("v1", "Node", where)
    with pytest.raises(ApiError, match="cannot list resource"):
        Api(plane.port, token, ca=str(plane.ca)).all("v1", "Secret")


def _wait_untainted(api: Api, nodes: list[str]) -> None:
    """The node controller takes the not-ready taint off new nodes."""
    wait_for(
        lambda: not any(api.get("v1", "Node", name)["spec"].get("taints") for name in nodes),
        what="untainted",
        seconds=60,
    )


def _bound(api: Api, count: int) -> dict[str, Object]:
    """The job's living workers by index, once `count` of them have a node."""

    def bound() -> dict[str, Object]:
        pods = api.all("v1", "Pod", "default", labels=JOBSET)
        living = [pod for pod in pods if pod["spec"].get("nodeName") and "deletionTimestamp" not in pod["metadata"]]
        return {pod["metadata"]["labels"][INDEX]: pod for pod in living}

    wait_for(lambda: len(bound()) >= count, what=f"{count} bound workers", seconds=60)
    return bound()


def _job(api: Api, name: str, *, workers: int) -> Object:
    """One worker a node, as a gang's are, that leaves a lost node as soon as the control plane says so."""
    tolerations = [
        {"key": f"node.kubernetes.io/{word}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1}
        for word in ("not-ready", "unreachable")
    ]
    container = {"name": "worker", "image": IMAGE, "resources": {"requests": {"cpu": "3"}}}
    spec = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 300,
        "tolerations": tolerations,
        "containers": [container],
    }
    template = {"metadata": {"labels": {JOBSET: name, ATTEMPT: "0"}}, "spec": spec}
    shape = {"completions": workers, "parallelism": workers, "completionMode": "Indexed", "backoffLimit": 10}
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {**shape, "template": template}}
