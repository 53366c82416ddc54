"""What goes wrong in the middle of an `up`, and that the next one mends it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from tests.live.support.engine import Engine, Run

pytestmark = pytest.mark.engine


def created_twice(engine: Engine, earlier: list[str]) -> list[str]:
    counted = Counter([*earlier, *(call["urn"] for call in engine.calls("create"))])
    return sorted(urn for urn, count in counted.items() if count > 1)


@pytest.mark.proves(
    broken="the 40th create fails",
    promised="the error names the resource; a second up completes and creates nothing twice",
)
def test_a_failed_create_is_made_good_by_the_next_up(engine: Callable[..., Engine]) -> None:
    project = engine("dev").write_every_step()
    project.behave(fail_nth_create=40)
    broken = project.up()
    assert broken.code != 0
    failed = [entry["resOpFailedEvent"]["metadata"]["urn"] for entry in broken.events if "resOpFailedEvent" in entry]
    assert len(failed) == 1
    assert any("create number 40 was refused on purpose" in said for said in broken.diagnostics())
    earlier = [call["urn"] for call in project.calls("create") if call["urn"] not in failed]

    project.behave()
    project.up().must()
    assert created_twice(project, earlier) == []
    assert project.preview("--expect-no-changes").must().changed() == {}


@pytest.mark.proves(
    broken="Ctrl-C in the middle of an up",
    promised="the state stays readable; the next up completes and creates nothing twice",
)
def test_an_interrupted_up_is_taken_up_again(engine: Callable[..., Engine]) -> None:
    project = engine("dev").write_every_step()
    project.behave(slow=[{"call": "create", "urn": ".", "seconds": 0.2}])
    stopped = project.up(meanwhile=lambda: len(project.calls("create")) >= 25)
    assert stopped.code != 0
    earlier = [call["urn"] for call in project.calls("create")]
    recorded = {resource["urn"] for resource in project.state()}
    assert set(earlier) <= recorded, "a resource that the provider made is missing from the state"
    assert project.pending() == []

    project.behave()
    project.up().must()
    assert created_twice(project, earlier) == []
    assert project.preview("--expect-no-changes").must().changed() == {}


@pytest.mark.proves(broken="the cluster takes long to come", promised="what needs it waits; what doesn't goes on")
def test_a_slow_cluster_is_waited_for_only_by_what_needs_it(engine: Callable[..., Engine]) -> None:
    project = engine("dev")
    project.behave(slow=[{"call": "create", "urn": "aws:eks/cluster:Cluster", "seconds": 4}])
    project.up().must()
    calls = project.calls("create")
    began = next(call["at"] for call in calls if "aws:eks/cluster:Cluster" in call["urn"])
    groups = [call for call in calls if "aws:eks/nodeGroup:NodeGroup" in call["urn"]]
    assert groups
    assert all(call["at"] >= began + 4 for call in groups)
    assert any(began < call["at"] < began + 4 for call in calls), "nothing went on beside the slow cluster"


@pytest.mark.proves(
    broken="somebody switched off the VPC's DNS support by hand",
    promised="refresh names the drift, and up puts it back",
)
def test_drift_is_shown_by_a_refresh_and_mended_by_an_up(dev: Engine) -> None:
    dev.behave(drift={"aws:ec2/vpc:Vpc::": {"enableDnsSupport": False}})
    seen = dev.refresh().must()
    assert {urn.split("::")[2].rsplit("$", 1)[-1] for urn in _differing(seen)} == {"aws:ec2/vpc:Vpc"}
    dev.behave()
    mended = dev.up().must()
    assert {urn.split("::")[2].rsplit("$", 1)[-1]: op for urn, op in mended.changed().items()} == {
        "aws:ec2/vpc:Vpc": "update"
    }


@pytest.mark.proves(
    broken="a node group was deleted by hand",
    promised="refresh drops it from the state, and up makes it again, and nothing else",
)
@pytest.mark.parametrize("group", ["cluster-system"])
def test_a_resource_deleted_by_hand_is_made_again(dev: Engine, group: str) -> None:
    state = dev.state()
    lost = next(
        resource["urn"] for resource in state if resource["urn"].endswith(f"aws:eks/nodeGroup:NodeGroup::{group}")
    )
    dev.behave(gone=[f"NodeGroup::{group}$"])
    dev.refresh().must()
    assert lost not in {resource["urn"] for resource in dev.state()}
    dev.behave()
    changed = dev.up().must().changed()
    assert changed == {lost: "create"}


@pytest.mark.proves(
    broken="a delete fails in the middle of a destroy",
    promised="what the resource needs stays with it in the state; the next destroy finishes",
)
def test_a_failed_delete_is_finished_by_the_next_destroy(dev: Engine) -> None:
    before = dev.state()
    dev.behave(
        fail=[
            {"call": "delete", "urn": "aws:ec2/vpc:Vpc::", "message": "DependencyViolation: the vpc has dependencies"}
        ]
    )
    dev.run("state", "unprotect", "--all", "--yes", "--stack", "dev").must()
    broken = dev.destroy()
    assert broken.code != 0
    assert any("DependencyViolation" in said for said in broken.diagnostics())
    left = {resource["urn"]: resource for resource in dev.state()}
    vpc = next(urn for urn in left if "aws:ec2/vpc:Vpc::" in urn)
    # The engine stops at the failure: resources that have nothing to do with it may be gone or still stand, but never
    # half of a chain.
    assert [urn for urn, resource in left.items() if vpc in (resource.get("dependencies") or ())] == []
    known = {resource["urn"] for resource in before}
    assert [
        (urn, need) for urn, resource in left.items() for need in resource.get("dependencies") or () if need not in left
    ] == []
    assert set(left) <= known
    gone = {call["urn"] for call in dev.calls("delete")} - {vpc}
    assert gone.isdisjoint(left)
    dev.behave()
    dev.destroy().must()
    assert dev.state() == []


def _differing(run: Run) -> set[str]:
    """URNs whose values a refresh found changed."""
    return {
        step.urn
        for step in run.done
        if step.op == "refresh" or step.op == "update"
        if step.metadata.get("diffs") or step.metadata.get("detailedDiff")
    }
