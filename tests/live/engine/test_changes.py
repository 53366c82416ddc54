"""The changes people make to a running stack, as the real engine plans and does them."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.live.support.engine import Engine

pytestmark = pytest.mark.engine

NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"


def kinds(changed: dict[str, str]) -> set[tuple[str, str]]:
    """(type, op) of everything that changes."""
    return {(urn.split("::")[2].rsplit("$", 1)[-1], op) for urn, op in changed.items()}


@pytest.mark.proves(
    broken="the spot toggle is turned over", promised="only the preprocessing pools' NodePools change, where they stand"
)
def test_the_spot_toggle_touches_only_the_preprocessing_pools(dev: Engine) -> None:
    def toggle(config: dict[str, Any]) -> None:
        config["trainshed:spot_preprocessing"] = (
            "false" if str(config.get("trainshed:spot_preprocessing", "true")).lower() == "true" else "true"
        )

    dev.edit(toggle)
    changed = dev.preview().must().changed()
    pools = [pool["name"] for pool in dev.config()["trainshed:pools"] if pool["purpose"] == "preprocessing"]
    resources = {urn: op for urn, op in changed.items() if "::aws:" in urn or "$aws:" in urn or "kubernetes:" in urn}
    assert {urn.rsplit("::", 1)[-1]: op for urn, op in resources.items()} == {
        f"karpenter-pool-{pool}": "update" for pool in pools
    }


@pytest.mark.proves(
    broken="a tag is edited", promised="resources are updated in place, in the cluster only the classes of bought nodes"
)
def test_a_tag_edit_replaces_nothing(dev: Engine) -> None:
    dev.edit(lambda config: config["trainshed:tags"].update({"team": "another-team"}))
    run = dev.up().must()
    changed = run.changed()
    assert set(changed.values()) == {"update"}
    assert {urn.split("::")[2].rsplit("$", 1)[-1] for urn in changed if "kubernetes:" in urn} <= {
        "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
    }
    assert dev.calls("delete") == []


@pytest.mark.proves(broken="another owner is named", promised="no class of bought nodes and no machine's tag changes")
def test_another_owner_touches_no_machine(dev: Engine) -> None:
    dev.edit(lambda config: config["trainshed:tags"].update({"owner": "research"}))
    changed = dev.preview().must().changed()
    assert changed
    assert set(changed.values()) == {"update"}
    assert [urn for urn in changed if "kubernetes:" in urn] == []


@pytest.mark.proves(broken="a pool is added", promised="only creations; what stood before is not replaced or deleted")
def test_a_pool_is_added_beside_the_others(dev: Engine) -> None:
    def add(config: dict[str, Any]) -> None:
        source = next(pool for pool in config["trainshed:pools"] if pool["purpose"] in ("training", "finetuning"))
        added = {**source, "name": "added", "purpose": "finetuning", "nodes": {"min": 0, "max": 2}}
        added.pop("spares", None)
        config["trainshed:pools"].append(added)

    dev.edit(add)
    changed = dev.preview().must().changed()
    assert set(changed.values()) <= {"create", "update"}
    created = {urn for urn, op in changed.items() if op == "create"}
    assert "karpenter-pool-added" in {urn.rsplit("::", 1)[-1] for urn in created}
    assert all("added" not in urn for urn, op in changed.items() if op != "create")


@pytest.mark.proves(
    broken="a pool is renamed, first without and then with its former name",
    promised=(
        "with it the node groups, templates and placement groups are updated where they stand; the former name may go"
        " afterwards"
    ),
)
def test_a_renamed_pool_keeps_what_it_had(dev: Engine) -> None:
    old = next(
        pool["name"] for pool in dev.config()["trainshed:pools"] if pool["purpose"] in ("training", "finetuning")
    )

    def rename(config: dict[str, Any], **more: Any) -> None:
        pool = next(pool for pool in config["trainshed:pools"] if pool["name"] in (old, "renamed"))
        pool.pop("previous_name", None)
        pool.update(name="renamed", **more)
        for queue in config.get("trainshed:queues", []):
            for quota in queue["pools"]:
                quota["pool"] = "renamed" if quota["pool"] == old else quota["pool"]

    def of_the_pool(changed: dict[str, str]) -> dict[str, str]:
        return {urn: op for urn, op in changed.items() if "trainshed:pool:GpuPool" in urn}

    def fixed(config: dict[str, Any]) -> None:
        pool = next(pool for pool in config["trainshed:pools"] if pool["name"] == old)
        pool["nodes"] = {"min": 1, "max": 2}

    # What a pool has of node groups: its fixed part.
    dev.edit(fixed)
    dev.up().must()
    dev.edit(rename)
    lost = of_the_pool(dev.preview().must().changed())
    assert {op for urn, op in lost.items() if NODE_GROUP in urn} == {"create", "delete"}

    dev.edit(lambda config: rename(config, previous_name=old))
    run = dev.up().must()
    kept = of_the_pool(run.changed())
    assert any(NODE_GROUP in urn for urn in kept)
    assert set(kept.values()) <= {"update"}, kept
    assert [call["urn"] for call in (*dev.calls("create"), *dev.calls("delete")) if ":aws:" in call["urn"]] == []

    dev.edit(rename)
    assert dev.preview("--expect-no-changes").must().changed() == {}


@pytest.mark.proves(
    broken="pools and every map of the stack file are put in another order", promised="no change at all"
)
def test_reordering_the_stack_file_changes_nothing(dev: Engine) -> None:
    def shuffle(value: Any) -> Any:
        if isinstance(value, dict):
            keys = list(value)
            random.Random(7).shuffle(keys)
            return {key: shuffle(value[key]) for key in keys}
        return value

    def reorder(config: dict[str, Any]) -> None:
        config["trainshed:pools"].reverse()
        shuffled = shuffle(config)
        config.clear()
        config.update(shuffled)

    dev.edit(reorder)
    assert dev.preview("--expect-no-changes").must().changed() == {}


@pytest.mark.proves(
    broken="a zone is added",
    promised=(
        "its subnets come; the cluster stays; no subnet, pool or file system is replaced; the new system nodes come"
        " before the old go"
    ),
)
def test_a_zone_is_added_without_moving_what_has_its_zone(dev: Engine) -> None:
    def add(config: dict[str, Any]) -> None:
        zones = config["trainshed:network"]["zones"]
        prefix = zones[0].rsplit("-az", 1)[0]
        zones.append(next(f"{prefix}-az{number}" for number in (1, 2, 3, 4) if f"{prefix}-az{number}" not in zones))

    dev.edit(add)
    run = dev.preview().must()
    changed = run.changed()
    assert any("aws:ec2/subnet:Subnet" in urn and op == "create" for urn, op in changed.items())
    # EKS refuses subnets in zones that the cluster was not made with, so the cluster and all that reads it stay as they
    # are.
    assert [urn for urn in changed if "aws:eks/cluster:Cluster::" in urn or "aws:ec2/launchTemplate" in urn] == []
    # It can't change a node group's subnets either: the system group, over all zones, gets a successor, and is drained
    # after that.
    groups = [urn for urn, op in changed.items() if op not in ("create", "update")]
    assert [urn.rsplit("::", 1)[-1] for urn in groups] == ["cluster-system"]
    assert [urn for urn in changed if NODE_GROUP in urn] == groups
    steps = [step.op for step in run.steps if step.urn == groups[0]]
    assert steps.index("create-replacement") < steps.index("delete-replaced")


@pytest.mark.proves(
    broken="the Kubernetes version goes one step up",
    promised="the cluster is updated in place and nothing that holds data is replaced",
)
def test_a_version_step_updates_the_cluster_in_place(dev: Engine) -> None:
    dev.edit(lambda config: config.setdefault("trainshed:cluster", {}).update({"version": "1.34"}))
    dev.up().must()
    dev.edit(lambda config: config["trainshed:cluster"].update({"version": "1.35"}))
    run = dev.up().must()
    changed = run.changed()
    assert ("aws:eks/cluster:Cluster", "update") in kinds(changed)
    assert set(changed.values()) <= {"update", "create"}


@pytest.mark.proves(
    broken="a file system grows", promised="it is updated where it stands, and no volume or claim of it changes"
)
def test_a_larger_file_system_is_updated_in_place_and_its_claims_stay(dev: Engine) -> None:
    dev.edit(lambda config: config["trainshed:storage"]["lustre"][0].update({"capacity_gib": 2400}))
    changed = {urn: op for urn, op in dev.up().must().changed().items() if "trainshed:governance" not in urn}
    assert {urn.split("::")[2].rsplit("$", 1)[-1] for urn, op in changed.items() if op != "update"} == set()
    assert ("aws:fsx/lustreFileSystem:LustreFileSystem", "update") in kinds(changed)
    assert [urn for urn in changed if "PersistentVolume" in urn] == []
    assert dev.calls("delete") == []


@pytest.mark.proves(
    broken="the machine type of a reserved pool changes",
    promised="its node group goes before the new one comes, which would wait for its machines",
)
def test_machines_of_a_reservation_are_given_back_before_others_are_asked_for(dev: Engine) -> None:
    def reserve(config: dict[str, Any], machine: str) -> None:
        pool = next(pool for pool in config["trainshed:pools"] if pool["purpose"] == "training")
        pool.update(instance_type=machine, nodes=2, capacity={"kind": "reservation", "ids": ["cr-0a1b2c3d4e5f60718"]})

    dev.edit(lambda config: reserve(config, "g6e.48xlarge"))
    dev.up().must()
    dev.edit(lambda config: reserve(config, "g6.48xlarge"))
    run = dev.up().must()
    steps = [(step.op, step.urn) for step in run.steps if NODE_GROUP in step.urn and "train-nodes" in step.urn]
    ops = [op for op, _ in steps]
    assert ops.index("delete-replaced") < ops.index("create-replacement"), steps


@pytest.mark.proves(
    broken="a destroy of a stack whose storage is protected", promised="the engine refuses before anything is deleted"
)
def test_protected_storage_refuses_a_destroy_before_anything_is_deleted(dev: Engine) -> None:
    dev.edit(lambda config: config.setdefault("trainshed:governance", {}).update({"delete_protection": True}))
    dev.up().must()
    before = {resource["urn"] for resource in dev.state()}
    # The preview that comes before a destroy refuses; `--skip-preview` would go on until it reaches the protected ones.
    refused = dev.run("destroy", "--yes", "--stack", dev.stack, log=True)
    assert refused.code != 0
    assert "protect" in refused.output
    assert dev.calls("delete") == []
    assert {resource["urn"] for resource in dev.state()} == before
