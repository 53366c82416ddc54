"""A stack on real schedulers: its nodes, queues and tasks, and where each rank of a task came to lie."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any
from urllib.parse import urlencode

from components.manifests.jobs import jobset
from components.spec.task import TaskSpec, read_task_text
from infra import settings
from tests.live.support.engine import CHECKOUT
from trainshed.sandbox.api import Api, ApiError, Object, wait_for
from trainshed.sandbox.cloud.purchases import is_karpenters
from trainshed.sandbox.cluster import raise_curtain
from trainshed.sandbox.contents import SandboxContents
from trainshed.sandbox.plane import ControlPlane
from trainshed.sandbox.stack_contents import stage_of

KUEUE = "kueue.x-k8s.io/v1beta2"
JOBSET = "jobset.x-k8s.io/v1alpha2"
INDEX = "batch.kubernetes.io/job-completion-index"


@dataclass(kw_only=True)
class Cluster:
    """`with Cluster.of_stack("staging") as cluster` has the stack's nodes and queues ready."""

    plane: ControlPlane
    stage: SandboxContents
    settings: settings.Settings
    left_out: list[str]

    @classmethod
    def of_stack(
        cls,
        stack: str,
        *,
        nodes: int | None = None,
        daemons: bool = True,
        buys: bool = False,
        load: bool = False,
        tell: Callable[[str], None] = lambda _: None,
    ) -> Cluster:
        """`daemons` may be left out, which run a pod on every node; `buys` lets Karpenter buy the nodes of pools that
        size themselves; `load` lifts the API server's own limits.
        """
        read = settings.from_file(stack)
        made = stage_of(stack, nodes=nodes)
        if not daemons:
            made = replace(made, objects=tuple(each for each in made.objects if each["kind"] != "DaemonSet"))
        if not buys:
            kept = tuple(each for each in made.objects if not is_karpenters(each))
            made = replace(made, objects=kept, purchases=None)
        plane = ControlPlane.started(load=load)
        try:
            left_out = raise_curtain(plane, made, tell)
            cluster = cls(plane=plane, stage=made, settings=read, left_out=left_out)
            cluster.wait_for_nodes()
        except BaseException:
            plane.stop()
            raise
        return cluster

    @property
    def api(self) -> Api:
        return self.plane.api

    def wait_for_nodes(self) -> None:
        wanted = sum(shape.count for shape in self.stage.shapes)

        def ready() -> bool:
            nodes = self.api.all("v1", "Node")
            return sum(not _tainted_not_ready(node) for node in nodes) == wanted

        wait_for(ready, what=f"{wanted} ready nodes", seconds=400, pause=0.25 if wanted < 200 else 3.0)

    # -- tasks --
    def task(self, name: str, *, nodes: int, pool: str | None = None, more: str = "") -> TaskSpec:
        """A task of so many whole nodes, as a researcher would write it."""
        stack = self.settings.valid
        wanted = pool or next(each.name for each in stack.pools if each.purpose == "training")
        text = (CHECKOUT / "tests/live/task.yaml").read_text()
        text = text.replace("NAME", name).replace("POOL", wanted).replace("NODES", str(nodes)) + more
        reading = read_task_text(text, f"{name}.yaml")
        assert reading.task is not None, reading.problems
        return reading.task

    def render(self, task: TaskSpec) -> list[Object]:
        return jobset.render(task, self.settings.valid, self.settings.catalog)

    def submit(self, task: TaskSpec, change: Callable[[list[Object]], None] | None = None) -> str:
        """Apply a task's objects in order, each checked strictly against the served schema; gives its namespace."""
        manifests = self.render(task)
        if change:
            change(manifests)
        for manifest in manifests:
            self.api.apply(manifest)
        return jobset.namespace_of(task, self.settings.valid)

    def pods(self, task: TaskSpec) -> list[Object]:
        namespace = jobset.namespace_of(task, self.settings.valid)
        return self.api.all("v1", "Pod", namespace, labels=f"jobset.sigs.k8s.io/jobset-name={task.task}")

    def any_pod(self, task: TaskSpec, fields: str) -> bool:
        """Whether a pod of the task has these fields: one item is asked for, as a thousand would cost more than
        what is measured.
        """
        where = self.api.collection("v1", "Pod", jobset.namespace_of(task, self.settings.valid))
        query = {"labelSelector": f"jobset.sigs.k8s.io/jobset-name={task.task}", "fieldSelector": fields, "limit": 1}
        return bool(self.api.call("GET", f"{where}?{urlencode(query)}").get("items"))

    def active(self, task: TaskSpec) -> int:
        """Pods of the task that have been made and have not ended, as its jobs count them."""
        namespace = jobset.namespace_of(task, self.settings.valid)
        jobs = self.api.all("batch/v1", "Job", namespace, labels=f"jobset.sigs.k8s.io/jobset-name={task.task}")
        return sum((job.get("status") or {}).get("active", 0) for job in jobs)

    def workload(self, task: TaskSpec) -> Object | None:
        namespace = jobset.namespace_of(task, self.settings.valid)
        found = [
            each
            for each in self.api.all(KUEUE, "Workload", namespace)
            if any(owner["name"] == task.task for owner in each["metadata"].get("ownerReferences", []))
        ]
        return found[0] if found else None

    def condition(self, task: TaskSpec, kind: str) -> Mapping[str, Any]:
        workload = self.workload(task) or {}
        return next((each for each in workload.get("status", {}).get("conditions") or [] if each["type"] == kind), {})

    def admitted(self, task: TaskSpec) -> bool:
        return self.condition(task, "Admitted").get("status") == "True"

    def running(self, task: TaskSpec) -> int:
        return sum(
            pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]
            for pod in self.pods(task)
        )

    def wait_running(self, task: TaskSpec, *, seconds: float = 240) -> float:
        return wait_for(
            lambda: self.running(task) == task.resources.nodes,
            what=f"all {task.resources.nodes} workers of {task.task} running",
            seconds=seconds,
        )

    def remove(self, task: TaskSpec) -> None:
        namespace = jobset.namespace_of(task, self.settings.valid)
        self.api.delete(JOBSET, "JobSet", task.task, namespace)
        wait_for(lambda: not self.pods(task) and self.workload(task) is None, what=f"{task.task} gone", seconds=180)

    def clear_jobs(self) -> None:
        for job in self.api.all(JOBSET, "JobSet"):
            try:
                self.api.delete(JOBSET, "JobSet", job["metadata"]["name"], job["metadata"]["namespace"])
            except ApiError as error:
                if error.status != 404:
                    raise
        wait_for(
            lambda: (
                not self.api.all("v1", "Pod", labels="jobset.sigs.k8s.io/jobset-name")
                and not self.api.all(KUEUE, "Workload")
            ),
            what="no jobs left",
            seconds=180,
        )

    # -- places --
    def places(self, task: TaskSpec) -> list[tuple[str, ...]]:
        """The network place of each rank, outermost layer first, by rank."""
        nodes = {node["metadata"]["name"]: node for node in self.api.all("v1", "Node")}
        ranked = sorted(self.pods(task), key=lambda pod: int(pod["metadata"]["labels"][INDEX]))
        return [place_of(nodes[pod["spec"]["nodeName"]]) for pod in ranked]

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.plane.stop()


def place_of(node: Mapping[str, Any]) -> tuple[str, ...]:
    labels = node["metadata"]["labels"]
    return tuple(
        value for key, value in sorted(labels.items()) if key.startswith("topology.k8s.aws/network-node-layer-")
    )


def shares(places: list[tuple[str, ...]]) -> tuple[float, float]:
    """Of all ring neighbours (rank i and i + 1, the last and the first), the share in one leaf and in one spine."""
    pairs = [(places[rank], places[(rank + 1) % len(places)]) for rank in range(len(places))]
    leaf = sum(one == other for one, other in pairs) / len(pairs)
    spine = sum(one[:-1] == other[:-1] for one, other in pairs) / len(pairs)
    return leaf, spine


def _tainted_not_ready(node: Mapping[str, Any]) -> bool:
    return any(taint["key"] == "node.kubernetes.io/not-ready" for taint in node["spec"].get("taints") or [])
