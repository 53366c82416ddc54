"""What ends a job, what starts its gang again, and which restarts count: from the exit codes of the job contract.

Kubernetes says in a job's message which rule of its pod failure policy matched; JobSet reads that.
"""

from __future__ import annotations

from typing import Any, Final

from components.catalog.contract import EXIT_CODES

WORKER: Final = "worker"
GATE: Final = "preflight"
# The gate's findings about nodes and links (workload/preflight/findings.py): the gang is placed without them.
GATE_CODES: Final = tuple(range(10, 23))


def pod_failure_policy(*, gate: bool) -> dict[str, Any]:
    """Rules of the workers' job, in order: 0 for faults of the program, the others for disruptions."""
    rules = [
        _codes(WORKER, [each.code for each in EXIT_CODES if each.verdict == "end"]),
        {"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
        _codes(WORKER, [each.code for each in EXIT_CODES if each.verdict == "disruption"]),
    ]
    if gate:
        rules.append(_codes(GATE, list(GATE_CODES)))
    return {"rules": rules}


def of_independent_workers() -> list[dict[str, Any]]:
    """A worker that spot took away is started again without being counted; a fault of the program ends its share."""
    ended = _codes(WORKER, [each.code for each in EXIT_CODES if each.verdict == "end"])
    return [
        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
        {**ended, "action": "FailIndex"},
    ]


def _codes(container: str, codes: list[int]) -> dict[str, Any]:
    return {
        "action": "FailJob",
        "onExitCodes": {"containerName": container, "operator": "In", "values": sorted(codes)},
    }


def failure_policy(max_restarts: int) -> dict[str, Any]:
    """JobSet's answer: a fault of the program ends it at once, a disruption restarts it without being counted, and
    everything else counts.
    """
    return {
        "maxRestarts": max_restarts,
        # Not BlockingRecreate: a pod on a node that vanished ends only when the node does.
        "restartStrategy": "Recreate",
        "rules": [
            _rule("programFault", "FailJobSet", "0"),
            _rule("disruption", "RestartJobSetAndIgnoreMaxRestarts", "[123]"),
        ],
    }


def _rule(name: str, action: str, index: str) -> dict[str, Any]:
    return {
        "name": name,
        "action": action,
        "onJobFailureReasons": ["PodFailurePolicy"],
        "onJobFailureMessagePatterns": [f"matching FailJob rule at index {index}"],
    }
