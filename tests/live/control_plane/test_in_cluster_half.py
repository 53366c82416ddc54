"""The in-cluster half of the stack files, applied by the real Pulumi Kubernetes provider to a real API server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.live.support.engine import Engine
from tests.live.support.fields import lost
from tests.live.support.on_a_plane import engine_on, operator_crds
from tests.live.support.releases import Understudies
from tests.whole import recording
from trainshed.sandbox import nodes
from trainshed.sandbox.api import wait_for
from trainshed.sandbox.plane import ControlPlane
from trainshed.sandbox.stack_contents import stage_of

pytestmark = [pytest.mark.engine, pytest.mark.control_plane, pytest.mark.xdist_group("control_plane")]
# Between them these have every kind of object of all stack files: staging has no kind that prod lacks, standby none
# that dev lacks. Each takes a control plane and four runs of the engine.
STACKS = ("dev", "onprem", "prod")
KUEUE = "kueue.x-k8s.io/v1beta2"


@pytest.mark.proves(
    broken="nothing: each stack's in-cluster half, with the real Kueue and JobSet charts as Helm releases",
    promised=(
        "server-side apply takes every object and keeps every field, a second up changes nothing, file systems of twice"
        " the size leave every claim as it is, destroy leaves no object"
    ),
)
@pytest.mark.parametrize("stack", STACKS)
def test_the_real_provider_applies_and_removes_a_stacks_objects(
    need: Callable[[str], Path], tmp_path: Path, stack: str
) -> None:
    need("pulumi-resource-kubernetes")
    with ControlPlane.started() as plane:
        for crd in operator_crds():
            plane.api.apply(crd)
        nodes.start_kwok(plane, held_back=("kueue", "jobset"))
        nodes.create(plane.api, [shape for shape in stage_of(stack, nodes=2).shapes if shape.name == "system"])
        engine = engine_on(plane, tmp_path / "engine", stack)
        understudies = Understudies(plane=plane)

        first = engine.up(meanwhile=understudies.step).must()
        assert understudies.ready == {"jobset", "kueue"}
        declared = [step for step in first.steps if step.type.startswith("kubernetes:") and step.op == "create"]
        assert declared
        # As the program wrote them: what the engine shows has lost the fields that its provider doesn't know.
        written = {each.urn: each.inputs for each in recording(stack).records}
        for step in declared:
            if "helm.sh" in step.type:
                continue
            made = next(done.metadata["new"]["outputs"] for done in first.done if done.urn == step.urn)
            meta = made["metadata"]
            kept = plane.api.get(made["apiVersion"], made["kind"], meta["name"], meta.get("namespace"))
            assert list(lost(written[step.urn], kept)) == [], step.urn

        assert engine.up("--expect-no-changes", meanwhile=understudies.step).must().changed() == {}
        assert engine.refresh("--expect-no-changes", meanwhile=understudies.step).must().changed() == {}

        _grow_file_systems(engine, understudies)

        engine.run("state", "unprotect", "--all", "--yes", "--stack", stack).must()
        engine.destroy(meanwhile=understudies.step).must()
        assert engine.state() == []
        namespaces = {name["metadata"]["name"] for name in plane.api.all("v1", "Namespace")}
        assert namespaces == {"default", "kube-node-lease", "kube-public", "kube-system"}
        for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
            assert plane.api.all("admissionregistration.k8s.io/v1", kind) == []


def _grow_file_systems(engine: Engine, understudies: Understudies) -> None:
    """A claim that isn't provisioned dynamically can't be resized: the API server would refuse it with 403."""

    def double(config: dict[str, Any]) -> None:
        for each in config["trainshed:storage"]["lustre"]:
            each["capacity_gib"] *= 2

    if engine.config().get("trainshed:storage", {}).get("lustre"):
        engine.edit(double)
        changed = engine.up(meanwhile=understudies.step).must().changed()
        assert [urn for urn in changed if "PersistentVolume" in urn] == []


def test_namespaces_end_once_their_objects_are_gone(tmp_path: Path) -> None:
    with ControlPlane.started(controllers=("kube-controller-manager",)) as plane:
        plane.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "jobs"}})
        plane.api.create(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one", "namespace": "jobs"}, "data": {}}
        )
        plane.api.delete("v1", "Namespace", "jobs")
        wait_for(lambda: not plane.api.exists("v1", "Namespace", "jobs"), what="the namespace gone", seconds=180)
