"""What pods' statuses prove about nodes, and what they don't."""

from __future__ import annotations

from typing import Any

from workload.health.evidence import ATTEMPT, CHECK, INDEX, JOBSET, Evidence
from workload.preflight.findings import MOUNTS, SILENT, SLOW
from workload.preflight.report import Link, Named, Report, short

AT = "2026-11-30T10:00:00Z"


def worker(
    rank: int, node: str, message: str | None = None, *, state: str = "terminated", leaving: bool = False
) -> Any:
    ended = {"exitCode": 21, "finishedAt": AT, **({"message": message} if message else {})}
    inner = {"terminated": ended} if state == "terminated" else {state: {}}
    labels = {JOBSET: "gang", ATTEMPT: "2", INDEX: str(rank)}
    meta = {"name": f"gang-{rank}", "namespace": "training", "labels": labels}
    if leaving:
        meta["deletionTimestamp"] = AT
    status = {"initContainerStatuses": [{"name": "preflight", "state": inner}]}
    return {"metadata": meta, "spec": {"nodeName": node}, "status": status}


def report(*bad: Named, links: tuple[Link, ...] = (), by: int = 0, accused: Named | None = None) -> str:
    return short(Report("gang", "2", 4, by, f"n{by}", 1.0, blamed=bad, links=links, accused=accused))


def named(*pods: Any) -> list[tuple[str, str]]:
    evidence = Evidence()
    for pod in pods:
        evidence.hear(pod)
    return [(each.node, each.check) for each in evidence.accusations()]


def gang(message: str, **states: Any) -> list[Any]:
    return [worker(0, "n0", message), *(worker(rank, f"n{rank}", **states) for rank in (1, 2, 3))]


SLOW_THREE = Named(3, "n3", "pair", SLOW, "slow")


def test_a_named_node_of_the_gang_is_accused() -> None:
    assert named(*gang(report(SLOW_THREE))) == [("n3", "gate-pair")]


def test_a_node_where_the_gang_never_ran_is_not() -> None:
    assert named(*gang(report(Named(3, "somebody-elses", "pair", SLOW, "slow")))) == []


def test_what_the_job_declared_wrong_is_not_the_nodes_fault() -> None:
    assert named(*gang(report(Named(3, "n3", "mounts", MOUNTS, "not mounted")))) == []


def test_a_worker_that_never_came_is_found_by_its_rank() -> None:
    missing = report(Named(2, None, "join", SILENT, "did not come"))
    assert named(*gang(missing, state="running")) == [("n2", "gate-join")]
    assert named(*gang(missing, state="waiting")) == [], "its image still came"


def test_a_cancelled_worker_accuses_nobody_and_is_not_accused() -> None:
    silent = report(Named(2, "n2", "silent", SILENT, "its gate ended"))
    pods = gang(silent)
    pods[2] = worker(2, "n2", state="running", leaving=True)
    assert named(*pods) == []
    assert (
        named(worker(0, "n0", state="running", leaving=True), worker(0, "n0", report(SLOW_THREE)), worker(3, "n3"))
        == []
    )


def test_a_report_is_kept_after_its_pod_is_gone() -> None:
    pods = gang(report(SLOW_THREE))
    gone = [{**pod, "metadata": {**pod["metadata"], "deletionTimestamp": AT}} for pod in pods]
    assert named(*pods, *gone) == [("n3", "gate-pair")]


def test_the_first_worker_is_accused_by_most_of_the_others() -> None:
    accused = Named(0, "n0", "silent", SILENT, "said nothing")
    others = [worker(rank, f"n{rank}", report(by=rank, accused=accused)) for rank in (1, 2, 3)]
    assert named(worker(0, "n0", state="running"), *others) == [("n0", "gate-silent")]
    assert named(worker(0, "n0", state="running"), others[0], worker(2, "n2"), worker(3, "n3")) == []


def test_one_end_of_a_bad_link_has_to_go() -> None:
    assert named(*gang(report(links=(Link(("n2", "n1"), "slow"),)))) == [("n2", "gate-link")]


def test_another_attempt_is_another_matter() -> None:
    first, second = gang(report(SLOW_THREE)), gang(report(Named(1, "n1", "pair", SLOW, "slow")))
    for pod in second:
        pod["metadata"]["labels"] = {**pod["metadata"]["labels"], ATTEMPT: "3"}
    assert sorted(named(*first, *second)) == [("n1", "gate-pair"), ("n3", "gate-pair")]


def test_a_passed_check_is_remembered_by_its_end() -> None:
    evidence = Evidence()
    check = worker(0, "n1")
    check["metadata"]["labels"] = {CHECK: "true"}
    evidence.hear(check)
    assert evidence.passed("n1") == 0.0, "it failed"
    check["status"]["initContainerStatuses"][0]["state"]["terminated"]["exitCode"] = 0
    evidence.hear(check)
    assert evidence.passed("n1") == 1796032800.0
