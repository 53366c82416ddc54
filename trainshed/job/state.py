"""Where a submitted task stands, as one value made from its Kubernetes objects.

Kueue's workload says why a job waits, the JobSet how often it restarted, the pods where each worker is.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any, Literal

Phase = Literal["absent", "waiting", "starting", "running", "completed", "failed"]
_RANK = "batch.kubernetes.io/job-completion-index"


@dataclass(frozen=True, kw_only=True)
class Worker:
    """One worker pod."""

    rank: int
    pod: str
    node: str
    phase: str
    ready: bool


@dataclass(frozen=True, kw_only=True)
class JobState:
    """`why` is the queue's or the job's own word on the phase."""

    task: str
    namespace: str
    phase: Phase
    why: str
    wanted: int
    workers: tuple[Worker, ...]
    restarts: int

    @property
    def ready(self) -> int:
        return sum(worker.ready for worker in self.workers)

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "ready": self.ready}


def worker(pod: dict[str, Any]) -> Worker:
    metadata, status = pod["metadata"], pod.get("status", {})
    conditions: list[dict[str, Any]] = status.get("conditions") or []
    return Worker(
        rank=int(metadata.get("labels", {}).get(_RANK, -1)),
        pod=metadata["name"],
        node=pod.get("spec", {}).get("nodeName") or "",
        phase=status.get("phase", "Unknown"),
        ready=any(each["type"] == "Ready" and each["status"] == "True" for each in conditions),
    )


def state(
    task: str,
    namespace: str,
    jobset: dict[str, Any] | None,
    workload: dict[str, Any] | None,
    pods: list[dict[str, Any]],
) -> JobState:
    """The task's state from its JobSet, its workload and its pods, each as the API server gives it."""
    if jobset is None:
        return JobState(
            task=task,
            namespace=namespace,
            phase="absent",
            why="it was never submitted",
            wanted=0,
            workers=(),
            restarts=0,
        )
    spec = jobset["spec"]
    wanted = sum(
        each.get("replicas", 1) * each["template"]["spec"].get("parallelism", 1) for each in spec["replicatedJobs"]
    )
    workers = tuple(sorted((worker(pod) for pod in pods), key=lambda each: each.rank))
    status = jobset.get("status") or {}
    phase, why = _phase(spec, status, workload, workers, wanted)
    return JobState(
        task=task,
        namespace=namespace,
        phase=phase,
        why=why,
        wanted=wanted,
        workers=workers,
        restarts=int(status.get("restarts") or 0),
    )


def _condition(source: dict[str, Any] | None, kind: str) -> dict[str, Any] | None:
    conditions: list[dict[str, Any]] = ((source or {}).get("status") or {}).get("conditions") or []
    return next((each for each in conditions if each["type"] == kind), None)


def _phase(
    spec: dict[str, Any],
    status: dict[str, Any],
    workload: dict[str, Any] | None,
    workers: tuple[Worker, ...],
    wanted: int,
) -> tuple[Phase, str]:
    ended = status.get("terminalState")
    if ended:
        conditions: list[dict[str, Any]] = status.get("conditions") or []
        last = next(
            (each.get("message", "") for each in conditions if each["type"] == ended and each["status"] == "True"), ""
        )
        return ("completed" if ended == "Completed" else "failed"), last
    admitted = _condition(workload, "Admitted")
    if spec.get("suspend") and not (admitted and admitted["status"] == "True"):
        reserved = _condition(workload, "QuotaReserved")
        return "waiting", (reserved or {}).get("message") or "no queue has looked at it yet"
    ready = sum(each.ready for each in workers)
    if ready < wanted:
        phases = Counter(each.phase for each in workers)
        words = ", ".join(f"{count} {name.lower()}" for name, count in sorted(phases.items()))
        return "starting", f"{ready} of {wanted} workers are ready" + (f" ({words})" if words else "")
    return "running", f"all {wanted} workers are ready"
