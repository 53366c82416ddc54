"""Tasks on a stack's queues, with the real schedulers and fake nodes: admitted, placed, made to wait, refused,
restarted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from components.manifests.jobs import jobset
from components.spec.task import TaskSpec
from tests.live.support.cluster import JOBSET, Cluster, place_of, shares
from trainshed.sandbox.api import ApiError, Object, wait_for

pytestmark = [pytest.mark.control_plane, pytest.mark.xdist_group("control_plane")]


@pytest.fixture
def cluster(staging: Cluster) -> Cluster:
    """16 nodes in two leaves, a queue over 15 of them."""
    return staging


@pytest.fixture(autouse=True)
def cleared(cluster: Cluster) -> Iterator[None]:
    yield
    cluster.clear_jobs()


def restarts(cluster: Cluster, name: str, namespace: str) -> int:
    return cluster.api.get(JOBSET, "JobSet", name, namespace).get("status", {}).get("restarts", 0)


def said_of(cluster: Cluster, task: TaskSpec, pattern: str) -> None:
    """Kueue judges a workload again and again, at first perhaps before it has seen the queue: its lasting answer
    is waited for.
    """

    def said() -> bool:
        condition = cluster.condition(task, "QuotaReserved")
        return condition.get("status") == "False" and re.search(pattern, condition["message"]) is not None

    try:
        wait_for(said, what=pattern, seconds=120)
    except TimeoutError:
        pytest.fail(f"Kueue says {dict(cluster.condition(task, 'QuotaReserved'))}, not {pattern}")


@pytest.mark.proves(
    broken="nothing: a task for eight nodes",
    promised="admitted with a topology assignment, whole nodes, one leaf, started",
)
def test_a_task_is_admitted_placed_whole_in_one_leaf_and_started(cluster: Cluster) -> None:
    task = cluster.task("eight", nodes=8)
    cluster.submit(task)
    cluster.wait_running(task)
    workload = cluster.workload(task)
    assert workload is not None
    assignment = workload["status"]["admission"]["podSetAssignments"][0]
    assert assignment["topologyAssignment"]["levels"][-1] == "kubernetes.io/hostname"
    pods = cluster.pods(task)
    assert len({pod["spec"]["nodeName"] for pod in pods}) == 8
    assert {pod["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpu"] for pod in pods} == {"8"}
    assert len(set(cluster.places(task))) == 1


@pytest.mark.proves(
    broken="nothing: a task for three nodes whose pods are not ready yet",
    promised="the first worker's host name, and no other, has an address",
)
def test_the_first_worker_alone_gets_the_host_name_that_all_others_call(cluster: Cluster) -> None:
    task = cluster.task("named", nodes=3)
    cluster.submit(task)
    cluster.wait_running(task)
    namespace = jobset.namespace_of(task, cluster.settings.valid)
    slices: list[Object] = []

    def published() -> bool:
        slices[:] = cluster.api.all(
            "discovery.k8s.io/v1", "EndpointSlice", namespace, labels=f"kubernetes.io/service-name={task.task}"
        )
        return any(each.get("endpoints") for each in slices)

    wait_for(published, what="an address for the first worker", seconds=60)
    [endpoint] = [endpoint for each in slices for endpoint in each["endpoints"]]
    first = next(
        pod
        for pod in cluster.pods(task)
        if pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] == "0"
    )
    assert endpoint["targetRef"]["name"] == first["metadata"]["name"]
    address = next(each["value"] for each in first["spec"]["containers"][0]["env"] if each["name"] == "MASTER_ADDR")
    assert f"{endpoint['hostname']}.{first['spec']['subdomain']}" == address


@pytest.mark.proves(
    broken="a second task comes while the first fills the pool",
    promised="it waits with a reason, and starts whole once there is room",
)
def test_a_second_task_waits_for_room_and_then_starts(cluster: Cluster) -> None:
    first, second = cluster.task("first", nodes=12), cluster.task("second", nodes=8)
    cluster.submit(first)
    cluster.wait_running(first)
    cluster.submit(second)
    said_of(cluster, second, "insufficient unused quota")
    assert cluster.pods(second) == []
    cluster.remove(first)
    cluster.wait_running(second)


@pytest.mark.proves(
    broken="a task asks for more nodes than its queue holds",
    promised="it never starts, and the reason names resource, wish and limit",
)
def test_a_task_larger_than_its_queue_is_refused_with_a_readable_reason(cluster: Cluster) -> None:
    task = cluster.task("too-large", nodes=16)
    cluster.submit(task)
    # Kueue names one of the resources that do not fit, any of them: cards, fabric devices, huge pages.
    resource = r"(nvidia\.com/gpu|vpc\.amazonaws\.com/efa|hugepages-2Mi|cpu|memory)"
    said = rf"insufficient quota for {resource} in flavor \S+, .* > maximum capacity \(\w+\)"
    said_of(cluster, task, said)
    assert cluster.pods(task) == []


@pytest.mark.proves(
    broken="a task needs both leaves",
    promised="ranks follow the topology: the ring crosses between the leaves only twice",
)
def test_ranks_follow_the_topology_order(cluster: Cluster) -> None:
    task = cluster.task("fifteen", nodes=15)
    cluster.submit(task)
    cluster.wait_running(task)
    places = cluster.places(task)
    crossings = sum(places[rank] != places[(rank + 1) % 15] for rank in range(15))
    assert len(set(places)) == 2
    assert crossings == 2
    assert shares(places) == (13 / 15, 1.0)


@pytest.mark.proves(
    broken="a node vanishes under a running task",
    promised="Kueue puts another node in its place; all workers start anew on nodes that exist; no restart is used up",
)
def test_a_vanished_node_starts_the_whole_gang_anew_elsewhere(cluster: Cluster) -> None:
    task = cluster.task("survivor", nodes=12)
    namespace = cluster.submit(task)
    cluster.wait_running(task)
    before = {pod["metadata"]["uid"] for pod in cluster.pods(task)}
    lost = cluster.pods(task)[0]["spec"]["nodeName"]
    node = cluster.api.get("v1", "Node", lost)
    cluster.api.delete("v1", "Node", lost)

    def living() -> list[Object]:
        return [pod for pod in cluster.pods(task) if "deletionTimestamp" not in pod["metadata"]]

    try:
        wait_for(
            lambda: cluster.running(task) == 12 and not before & {pod["metadata"]["uid"] for pod in living()},
            what="twelve new workers running",
            seconds=240,
        )
        assert lost not in {pod["spec"]["nodeName"] for pod in living()}
        assert cluster.admitted(task)
        assert restarts(cluster, task.task, namespace) == 1
        status = cluster.api.get(JOBSET, "JobSet", task.task, namespace)["status"]
        assert status.get("restartsCountTowardsMax", 0) == 0
    finally:
        cluster.api.create(_again(node))
        cluster.wait_for_nodes()


@pytest.mark.proves(
    broken="one worker ends with an error",
    promised="the gang restarts as a whole; after max_restarts the task has failed",
)
def test_a_failed_worker_restarts_the_gang_until_its_restarts_are_used_up(cluster: Cluster) -> None:
    task = cluster.task("failing", nodes=2)
    namespace = cluster.submit(task)
    for attempt in range(1, 5):
        cluster.wait_running(task)
        _fail_one(cluster, cluster.pods(task)[0])
        if attempt < 4:
            wait_for(
                lambda wanted=attempt: restarts(cluster, task.task, namespace) == wanted,
                what=f"restart {attempt}",
                seconds=180,
            )
            wait_for(
                lambda: len(cluster.pods(task)) == 2 and cluster.running(task) == 2,
                what="both workers anew",
                seconds=180,
            )

    def failed() -> bool:
        conditions = cluster.api.get(JOBSET, "JobSet", task.task, namespace)["status"].get("conditions") or []
        return any(each["type"] == "Failed" and each["status"] == "True" for each in conditions)

    wait_for(failed, what="the task failed", seconds=180)
    assert restarts(cluster, task.task, namespace) == 3


@pytest.mark.proves(
    broken="a JobSet with a field that does not exist", promised="the API server refuses it and names the field"
)
def test_an_unknown_field_of_a_task_is_refused_by_name(cluster: Cluster) -> None:
    def misspell(manifests: list[Object]) -> None:
        next(each for each in manifests if each["kind"] == "JobSet")["spec"]["replicatedJob"] = []

    with pytest.raises(ApiError) as caught:
        cluster.submit(cluster.task("misspelt", nodes=1), misspell)
    assert "replicatedJob" in str(caught.value)


def test_every_task_goes_to_the_queue_of_its_pool(cluster: Cluster) -> None:
    task = cluster.task("queued", nodes=1)
    cluster.submit(task)
    wait_for(lambda: cluster.workload(task) is not None, what="a workload", seconds=120)
    workload = cluster.workload(task)
    assert workload is not None
    assert workload["spec"]["queueName"] == "pretrain"
    assert workload["metadata"]["namespace"] == jobset.namespace_of(task, cluster.settings.valid)


def _again(node: Object) -> Object:
    """The same node as a new object, as a replacement would register."""
    metadata = {key: node["metadata"][key] for key in ("name", "labels", "annotations")}
    taints = [taint for taint in node["spec"].get("taints") or [] if not taint["key"].startswith("node.kubernetes.io/")]
    status = {key: node["status"][key] for key in ("capacity", "allocatable")}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {"taints": taints}, "status": status}


def _fail_one(cluster: Cluster, pod: Object) -> None:
    statuses = [
        {**each, "ready": False, "state": {"terminated": {"exitCode": 1, "reason": "Error"}}}
        for each in pod["status"].get("containerStatuses") or []
    ]
    cluster.api.patch(pod, {"status": {"phase": "Failed", "containerStatuses": statuses}}, subresource="/status")


def test_the_nodes_carry_their_places(cluster: Cluster) -> None:
    places = {place_of(node) for node in cluster.api.all("v1", "Node", labels="trainshed.io/pool=pretrain")}
    assert {len(place) for place in places} == {3}
    assert len(places) == 2
