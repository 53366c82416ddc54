"""Which nodes go, come back, or are emptied, on made-up nodes."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from workload.health import decisions
from workload.health.decisions import HealthSettings, Pool
from workload.health.evidence import Accusation

NOW = 1_800_000_000.0
LONG_AGO = NOW - 86400


def text(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def node(
    name: str, *, pool: str = "train", cards: int = 8, ready: str = "True", since: float = LONG_AGO, **more: Any
) -> Any:
    conditions = [{"type": "Ready", "status": ready, "lastTransitionTime": text(since)}]
    if "condition" in more:
        kind, reason, at = more["condition"]
        conditions.append(
            {"type": kind, "status": "False", "reason": reason, "message": "m", "lastTransitionTime": text(at)}
        )
    annotations = {}
    if "mark" in more:
        annotations[decisions.KEY] = json.dumps(more["mark"])
    if "history" in more:
        annotations[decisions.HISTORY] = json.dumps(more["history"])
    labels = {decisions.POOL: pool, "node.kubernetes.io/instance-type": "p5.48xlarge"}
    return {
        "metadata": {"name": name, "labels": labels, "annotations": annotations},
        "spec": {"unschedulable": more.get("cordoned", "mark" in more)},
        "status": {"conditions": conditions, "allocatable": {"nvidia.com/gpu": str(cards)}},
    }


def planned(*nodes: Any, accused: tuple[Accusation, ...] = (), passed: Any = None, **settings: Any) -> decisions.Plan:
    return decisions.plan(nodes, accused, passed or {}, HealthSettings(**settings), NOW)


def accusation(name: str, at: float = NOW - 10) -> Accusation:
    return Accusation(name, at, "gate-pair", "slow")


POOLS = {"train": Pool({decisions.POOL: "train"}, {"nvidia.com/gpu": 8})}
GATE = {"reason": "gate-pair", "since": NOW - 4000}


def test_an_accused_node_goes_with_what_was_said() -> None:
    [take] = planned(node("a"), node("b"), accused=(accusation("b"),)).take
    assert (take.node, take.reason, take.said) == ("b", "gate-pair", "slow")


def test_the_cap_is_a_share_of_each_pool_and_at_least_one() -> None:
    nodes = [node(f"a{number:02}") for number in range(40)] + [node("b0", pool="other")]
    accused = tuple(accusation(name) for name in ("a01", "a02", "a03", "b0"))
    plan = planned(*nodes, accused=accused, most_percent=5.0)
    assert [take.node for take in plan.take] == ["a01", "a02", "b0"]
    assert plan.held == ("a03 stays in service (slow): 2 of at most 2 nodes are out",)


def test_nodes_that_are_out_already_count() -> None:
    assert planned(node("a", mark=GATE), node("b"), accused=(accusation("b"),)).take == ()


def test_an_accusation_from_before_the_release_counts_no_more() -> None:
    freed = node("a", history=[{"since": NOW - 500, "until": NOW - 100, "reason": "gate-pair"}])
    assert planned(freed, accused=(accusation("a", NOW - 200),)).take == ()
    assert [each.node for each in planned(freed, accused=(accusation("a", NOW - 50),)).take] == ["a"]


def test_a_bad_condition_takes_a_node_but_not_the_loss_of_dcgm_or_an_unlisted_code() -> None:
    kind = "AcceleratedHardwareReady"
    nodes = [
        node("dcgm", condition=(kind, "DCGMError", NOW)),
        node("xid13", condition=(kind, "NvidiaXID13Error", NOW)),
        node("xid79", condition=(kind, "NvidiaXID79Error", NOW)),
        node("disk", condition=("DiskPressure", "Full", NOW)),
    ]
    plan = planned(*nodes, health_codes=("48", "79"), most_percent=100.0)
    assert [(take.node, take.reason) for take in plan.take] == [("xid79", f"{kind}-NvidiaXID79Error")]


def test_missing_cards_count_once_the_node_has_settled() -> None:
    nodes = [node("new", cards=0, since=NOW - 60), node("old", cards=7), node("whole")]
    [take] = planned(*nodes, pools=POOLS).take
    assert (take.node, take.reason, take.said) == ("old", "count", "7 of 8 nvidia.com/gpu can be used")
    assert planned(*nodes).take == ()


def test_an_unready_node_is_emptied_after_the_limit() -> None:
    plan = planned(
        node("a", ready="Unknown", since=NOW - 61), node("b", ready="False", since=NOW - 59), node("c"), node("d")
    )
    assert plan.lost == ("a",)
    assert [(take.node, take.reason) for take in plan.take] == [("a", "not-ready")]


def test_when_most_nodes_are_lost_no_pod_is_ended() -> None:
    plan = planned(*(node(name, ready="Unknown", since=NOW - 100) for name in "abc"), node("d"))
    assert plan.lost == ()
    assert plan.held[-1] == "3 of 4 nodes are not ready: their pods are left alone, as the network may be cut"


def test_a_node_that_the_gate_named_comes_back_only_after_a_later_check() -> None:
    out = node("a", mark=GATE)
    assert planned(out).free == ()
    assert planned(out, passed={"a": NOW - 5000}).free == ()
    assert [each.node for each in planned(out, passed={"a": NOW - 100}).free] == ["a"]


def test_a_sick_or_unready_node_stays_out_whatever_passed() -> None:
    passed = {"a": NOW - 100}
    kind = ("KernelReady", "Panic", NOW - 3000)
    assert planned(node("a", mark=GATE, condition=kind), passed=passed).free == ()
    assert planned(node("a", mark=GATE, ready="False"), passed=passed).free == ()
    assert planned(node("a", mark=GATE, since=NOW - 10), passed=passed).free == ()
    assert planned(node("a", mark=GATE, cards=7), passed=passed, pools=POOLS).free == ()


def test_a_node_with_good_conditions_comes_back_after_a_while() -> None:
    assert planned(node("a", mark={"reason": "count", "since": NOW - 100})).free == ()
    assert len(planned(node("a", mark={"reason": "count", "since": NOW - 400})).free) == 1


def test_the_third_time_within_a_week_a_person_decides() -> None:
    old = [{"since": NOW - 86400, "until": NOW - 80000}, {"since": NOW - 50000, "until": NOW - 40000}]
    passed = {"a": NOW - 100}
    assert planned(node("a", mark=GATE, history=old), passed=passed).free == ()
    assert len(planned(node("a", mark=GATE, history=old[1:]), passed=passed).free) == 1
    longer = [{**each, "since": each["since"] - 30 * 86400} for each in old]
    assert len(planned(node("a", mark=GATE, history=longer), passed=passed).free) == 1


def test_a_node_that_somebody_uncordoned_is_let_go() -> None:
    assert planned(node("a", mark=GATE, cordoned=False)).free[0].said == "somebody uncordoned it"


def test_marks_that_are_no_json_are_no_marks() -> None:
    broken = node("a")
    broken["metadata"]["annotations"] = {decisions.KEY: "{", decisions.HISTORY: "3"}
    assert decisions.mark_of(broken) is None
    assert decisions.history_of(broken) == []


def test_a_node_belongs_to_the_pool_whose_labels_it_carries() -> None:
    """Machines on the premises carry labels of their own in place of the pool's."""
    pools = {"rack": Pool({"rack": "b2"}, {"nvidia.com/gpu": 8}), "other": Pool({"rack": "b3"}, {"nvidia.com/gpu": 4})}
    nodes = [node(name, pool="", cards=7) for name in ("a", "b", "c")]
    for each, rack in zip(nodes, ("b2", "b3", "b2"), strict=True):
        each["metadata"]["labels"]["rack"] = rack
    plan = planned(*nodes, pools=pools, most_percent=50)
    assert [take.node for take in plan.take] == ["a"], "b shows as many as its pool wants"
    assert len(plan.held) == 1, "one of the two nodes of the rack may be out"
