"""A file system that nobody made: one module and one entry mount it into a job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from components import file_systems
from components.file_systems import Content, FileSystem, System, VolumeSource
from components.manifests.jobs import jobset
from components.planning.rules import check
from components.problems import errors
from components.spec.stack import StackSpec
from infra.build import build
from infra.offline.recorder import run
from infra.settings import from_file
from tests.given import CAT, SMALL_TASK, stack_of, task_of

STACK = """config:
  aws:region: us-west-2
  trainshed:environment: dev
  trainshed:network: {zones: [usw2-az1, usw2-az2]}
  trainshed:pools:
    - {name: train, purpose: training, instance_type: p5.48xlarge, zone: usw2-az2, nodes: 2}
  trainshed:storage:
    file_systems: [{kind: acme, name: fast, zone: usw2-az2, settings: {volume: scratch7}}]
"""
TASK = SMALL_TASK + "storage: {dataset: {path: /datasets/corpus}, checkpoint: {path: /checkpoints/small}}\n"


class Acme(FileSystem):
    """What somebody would write for a file system of their own."""

    kind = "acme"

    def source(
        self, system: System, content: Content | None, folder: str, key: str, stack: StackSpec, wires: Mapping[str, Any]
    ) -> VolumeSource:
        settings = next(each.settings for each in stack.storage.file_systems if each.name == system.name)
        return VolumeSource(
            driver="acme.example.com", handle=(settings["volume"], "/", key), attributes={"folder": (folder,)}
        )


@pytest.fixture(autouse=True)
def acme(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(file_systems.KINDS, "acme", Acme())


def test_a_whole_stack_declares_its_volumes_and_claims(tmp_path: Any) -> None:
    path = tmp_path / "Pulumi.made.yaml"
    path.write_text(STACK)
    settings = from_file(str(path))
    assert not errors(settings.problems)
    records = run(lambda: build(settings), stack=settings.name).records
    found = {each.name: each.inputs["spec"] for each in records if each.type.endswith(":PersistentVolume")}
    assert {each["csi"]["driver"] for each in found.values()} == {"acme.example.com"}
    datasets = next(words for name, words in found.items() if name.endswith("-datasets"))
    assert datasets["csi"]["volumeHandle"].startswith("scratch7/")
    assert datasets["csi"]["readOnly"] is True
    assert datasets["csi"]["volumeAttributes"] == {"folder": "/datasets"}
    assert not [each for each in records if "fsx" in each.type.lower() or "lustre" in each.name]


def test_a_job_mounts_it() -> None:
    given = stack_of(
        pools="[{name: train, purpose: training, instance_type: p5.48xlarge, zone: usw2-az3, nodes: 2}]",
        rest="  trainshed:storage: {file_systems: [{kind: acme, name: fast, settings: {volume: x}}]}\n",
    )
    assert not errors(check(given, CAT))
    rendered = jobset.render(task_of(TASK), given, CAT)
    pod = next(each for each in rendered if each["kind"] == "JobSet")["spec"]["replicatedJobs"][0]["template"]["spec"]
    volumes = {each["name"]: each for each in pod["template"]["spec"]["volumes"]}
    assert volumes["datasets"]["persistentVolumeClaim"] == {"claimName": "datasets", "readOnly": True}
    assert volumes["checkpoints"]["persistentVolumeClaim"] == {"claimName": "checkpoints"}
