"""What the pods of jobs tell about nodes: the gate's reports in their termination messages, and passed node checks.

Pods go with the restart that their report causes, so everything is kept as it is heard, for an hour. A report names
only nodes where the same job's workers ran: no job can have somebody else's node taken out.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from workload.preflight import report
from workload.preflight.findings import CLOCK, CUDA, DEVICES, HEALTH, MEMLOCK, NETWORK, SILENT, SLOW, VERSIONS

Object = dict[str, Any]
JOBSET = "jobset.sigs.k8s.io/jobset-name"
ATTEMPT = "jobset.sigs.k8s.io/restart-attempt"
INDEX = "batch.kubernetes.io/job-completion-index"
CHECK = "trainshed.io/node-check"  # on pods whose `preflight` container checks a quarantined node
CONTAINER = "preflight"
# A job that declares too much shared memory or a mount of another kind is wrong itself, whatever node it meets.
OF_THE_NODE = {CLOCK, CUDA, DEVICES, HEALTH, MEMLOCK, NETWORK, SILENT, SLOW, VERSIONS}
KEPT_SECONDS = 3600.0


def seconds_of(text: str | None) -> float:
    """Kubernetes' time as seconds since 1970; 0 where there is none."""
    if not text:
        return 0.0
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


@dataclass(frozen=True)
class Accusation:
    """A node that a gang's gate named, when, and what it said."""

    node: str
    at: float
    check: str
    said: str


@dataclass
class _Attempt:
    """One start of one gang, as its pods reported it."""

    heard: float = 0.0
    at: float = 0.0
    nodes: dict[int, str] = field(default_factory=dict)
    began: set[int] = field(default_factory=set)
    leaving: set[int] = field(default_factory=set)
    reports: dict[int, dict[str, Any]] = field(default_factory=dict)


class Evidence:
    """Gathered from a watch's thread, asked by the controller's."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._attempts: dict[tuple[str, str, str], _Attempt] = {}
        self._passed: dict[str, float] = {}

    def hear(self, pod: Object) -> None:
        meta = pod["metadata"]
        labels = meta.get("labels") or {}
        node = pod["spec"].get("nodeName")
        if not node:
            return
        with self._lock:
            if labels.get(CHECK):
                for ended in _ended(pod):
                    if ended.get("exitCode") == 0:
                        self._passed[node] = max(self._passed.get(node, 0.0), seconds_of(ended.get("finishedAt")))
            elif JOBSET in labels and labels.get(INDEX, "").isdigit():
                key = (meta.get("namespace", ""), f"{labels[JOBSET]}/{_job_uid(pod)}", labels.get(ATTEMPT, "0"))
                self._of_worker(self._attempts.setdefault(key, _Attempt()), int(labels[INDEX]), node, pod)
            self._forget()

    def _of_worker(self, attempt: _Attempt, rank: int, node: str, pod: Object) -> None:
        attempt.heard = time.monotonic()
        attempt.nodes[rank] = node
        if any("waiting" not in (each.get("state") or {"waiting": 1}) for each in _statuses(pod)):
            attempt.began.add(rank)
        if pod["metadata"].get("deletionTimestamp") and rank not in attempt.reports:
            attempt.leaving.add(rank)
        for ended in _ended(pod):
            value = report.read(ended.get("message"))
            if value is not None and rank not in attempt.leaving:
                attempt.reports[rank] = value
                attempt.at = max(attempt.at, seconds_of(ended.get("finishedAt")))

    def _forget(self) -> None:
        before = time.monotonic() - KEPT_SECONDS
        for key in [key for key, attempt in self._attempts.items() if attempt.heard < before]:
            del self._attempts[key]

    def passed(self, node: str) -> float:
        """When the node last passed a check, in seconds since 1970; 0 if never."""
        with self._lock:
            return self._passed.get(node, 0.0)

    def accusations(self) -> list[Accusation]:
        with self._lock:
            return [each for attempt in self._attempts.values() for each in _accused(attempt)]


def _accused(attempt: _Attempt) -> Iterator[Accusation]:
    own = set(attempt.nodes.values())
    for named in report.agreed(attempt.reports.values()):
        rank = int(named["rank"])
        node = named["node"] or attempt.nodes.get(rank)
        if node not in own or int(named.get("code") or SILENT) not in OF_THE_NODE:
            continue
        if named["check"] in ("join", "silent") and (rank in attempt.leaving or rank not in attempt.began):
            continue  # cancelled or preempted, or its image still came: not the node's fault
        yield Accusation(node, attempt.at, f"gate-{named['check']}", named["said"])
    for value in attempt.reports.values():
        for link in value.get("links") or []:
            # Both ends are sound, and the gang would get the same nodes again: one of them has to go.
            ends = sorted(set(link["nodes"]) & own)
            if len(ends) == 2:
                yield Accusation(ends[1], attempt.at, "gate-link", f"the link to {ends[0]}: {link['said']}")


def _job_uid(pod: Object) -> str:
    owners = pod["metadata"].get("ownerReferences") or [{}]
    return str(owners[0].get("uid", ""))


def _statuses(pod: Object) -> list[Object]:
    status = pod.get("status") or {}
    every = [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]
    return [each for each in every if each["name"] == CONTAINER]


def _ended(pod: Object) -> Iterator[Object]:
    for each in _statuses(pod):
        for state in ("state", "lastState"):
            ended = (each.get(state) or {}).get("terminated")
            if ended:
                yield ended
