"""Sick nodes of a stack under the quarantine controller that the stack declares, with the real schedulers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.live.support import quarantine
from tests.live.support.cluster import JOBSET, Cluster
from trainshed.sandbox.api import Object, wait_for
from trainshed.sandbox.nodes import ANNOTATION
from workload.health.decisions import mark_of

pytestmark = [pytest.mark.control_plane, pytest.mark.xdist_group("control_plane")]


@pytest.fixture
def cluster(staging: Cluster) -> Iterator[Cluster]:
    """16 nodes in two leaves, a queue over 15 of them."""
    yield staging
    staging.clear_jobs()


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def fall_silent(cluster: Cluster, name: str) -> None:
    """As a machine that lost its power: the node controller's word on it, and no kubelet any more."""
    key = next(iter(ANNOTATION))
    node = cluster.api.get("v1", "Node", name)
    cluster.api.patch(node, {"metadata": {"annotations": {key: None}}})
    set_ready(cluster, name, "Unknown", "NodeStatusUnknown")


def come_back(cluster: Cluster, name: str) -> None:
    cluster.api.patch(cluster.api.get("v1", "Node", name), {"metadata": {"annotations": dict(ANNOTATION)}})
    set_ready(cluster, name, "True", "KubeletReady")


def set_ready(cluster: Cluster, name: str, value: str, reason: str) -> None:
    node = cluster.api.get("v1", "Node", name)
    condition = {"type": "Ready", "status": value, "reason": reason, "message": "", "lastTransitionTime": now()}
    others = [each for each in node["status"]["conditions"] if each["type"] != "Ready"]
    cluster.api.patch(node, {"status": {"conditions": [*others, condition]}}, subresource="/status")


@pytest.mark.proves(
    broken="a node of a running gang falls silent, and its Node object stays, not ready",
    promised="within three minutes the whole gang runs on other nodes, without a restart being used up; the node is"
    " out, and in service again once it has been good for a while",
)
def test_the_gang_of_a_node_that_stays_unready_starts_elsewhere(cluster: Cluster, tmp_path: Path) -> None:
    task = cluster.task("silent", nodes=12)
    namespace = cluster.submit(task)
    cluster.wait_running(task)
    before = {pod["metadata"]["uid"] for pod in cluster.pods(task)}
    lost = cluster.pods(task)[3]["spec"]["nodeName"]

    def living() -> list[Object]:
        return [pod for pod in cluster.pods(task) if "deletionTimestamp" not in pod["metadata"]]

    with quarantine.running(cluster, tmp_path, "--steady", 2, "--every", 1):
        began = time.monotonic()
        fall_silent(cluster, lost)
        try:
            wait_for(
                lambda: cluster.running(task) == 12 and not before & {pod["metadata"]["uid"] for pod in living()},
                what="twelve new workers running",
                seconds=400,
            )
            took = time.monotonic() - began
            assert took < 180
            assert lost not in {pod["spec"]["nodeName"] for pod in living()}
            status = cluster.api.get(JOBSET, "JobSet", task.task, namespace)["status"]
            assert status.get("restartsCountTowardsMax", 0) == 0
            wait_for(lambda: mark_of(cluster.api.get("v1", "Node", lost)) is not None, what="it is out", seconds=60)
        finally:
            come_back(cluster, lost)
        wait_for(lambda: mark_of(cluster.api.get("v1", "Node", lost)) is None, what="it is back", seconds=120)
