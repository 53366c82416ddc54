"""Volumes, claims and folders inside the cluster: one file system mounted many times, datasets never written to."""

from __future__ import annotations

from functools import cache
from typing import Any

import pulumi
import pytest

from components.in_cluster.volumes import FileSystemWires, Volumes, VolumesArgs
from components.manifests.nodes.whole_node import machine_of
from components.manifests.storage import volumes
from components.planning.pool import Pool
from components.spec.stack import StackSpec
from tests.components.in_cluster.declared_in_cluster import REGISTRY, manifest, namespaces, records, wrong
from tests.declared import Record, named, of_type
from tests.given import CAT, STACKS, stack, stack_of, task

LINKS = "{path: /data, bucket: datasets, import: [new]}, {path: /saved, bucket: checkpoints, export: [new]}"
POOLS = "[{name: train, purpose: training, instance_type: p5.48xlarge, zone: usw2-az3, nodes: 2}]"
QUEUES = "[{name: a, pool: train, cards: 8, namespace: team-a}, {name: b, pool: train, cards: 8, namespace: team-b}]"
TWO = f"""  trainshed:storage:
    datasets: {{size_gib: 1000}}
    registry: {{preload: ["trainer:prod-1.4", "trainer:prod-1.3"]}}
    lustre:
      - name: train
        zone: usw2-az3
        capacity_gib: 2400
        throughput_mbps_per_tib: 500
        striping: {{count: 8, size_mib: 4}}
        links: [{LINKS}]
      - {{name: spare, zone: usw2-az3, deployment: SCRATCH_2, capacity_gib: 1200, expendable: true}}
"""


def declared_of(spec: StackSpec, *, known: bool = True) -> list[Record]:
    def declare(opts: pulumi.ResourceOptions) -> None:
        made = namespaces(spec, opts)
        wires = {
            each.name: FileSystemWires(
                file_system_id=f"fs-{each.name}",
                dns_name=f"fs-{each.name}.fsx.us-west-2.amazonaws.com",
                mount_name="abcdefgh",
            )
            for each in spec.storage.lustre
        }
        jobs = {name: made.namespaces[name] for name in made.job_namespaces}
        args = VolumesArgs(spec=spec, catalog=CAT, namespaces=jobs, registry_prefix=REGISTRY, systems=wires)
        Volumes("volumes", args, opts)

    return [each for each in records(declare, known=known) if "volumes" in each.name]


@cache
def declared() -> tuple[Record, ...]:
    return tuple(declared_of(stack_of(pools=POOLS, queues=QUEUES, rest=TWO)))


def spec_of(name: str) -> dict[str, Any]:
    words: dict[str, Any] = named(declared(), name).inputs["spec"]
    return words


def test_an_api_server_takes_every_object() -> None:
    assert wrong(list(declared())) == {}
    assert wrong(declared_of(stack("prod"))) == {}
    assert wrong(declared_of(stack("onprem"))) == {}


def test_a_first_preview_declares_what_an_update_declares() -> None:
    first = declared_of(stack("prod"), known=False)
    assert sorted((each.type, each.name) for each in first) == sorted(
        (each.type, each.name) for each in declared_of(stack("prod"))
    )


def test_every_job_namespace_has_its_own_volumes_of_the_stacks_file_systems() -> None:
    claims = {
        (each.inputs["metadata"]["namespace"], each.inputs["metadata"]["name"])
        for each in of_type(declared(), "PersistentVolumeClaim")
    }
    jobs = {
        (namespace, name)
        for namespace in ("team-a", "team-b", "training")
        for name in ("datasets", "checkpoints", "spare")
    }
    assert claims == jobs | {("kube-system", "whole-train"), ("kube-system", "whole-spare")}
    handles = [each.inputs["spec"]["csi"]["volumeHandle"] for each in of_type(declared(), "PersistentVolume")]
    assert len(set(handles)) == len(handles) == 11
    assert not [each for each in declared() if each.type.endswith(":StorageClass")]


@pytest.mark.parametrize("name", [each for each in STACKS if stack(each).on_aws])
def test_every_volume_has_the_access_mode_that_the_driver_mounts(name: str) -> None:
    found = declared_of(stack(name))
    volumes = [each.inputs["spec"] for each in of_type(found, "PersistentVolume")]
    claims = [each.inputs["spec"] for each in of_type(found, "PersistentVolumeClaim")]
    assert bool(volumes) == bool(stack(name).storage.lustre)
    assert len(volumes) == len(claims)
    assert all(each["csi"]["driver"] == "fsx.csi.aws.com" for each in volumes)
    assert [each for each in (*volumes, *claims) if each["accessModes"] != ["ReadWriteMany"]] == []


@pytest.mark.parametrize("name", [each for each in STACKS if stack(each).on_aws])
def test_datasets_and_nothing_else_are_read_only_at_the_volume(name: str) -> None:
    for each in of_type(declared_of(stack(name)), "PersistentVolume"):
        words = each.inputs["spec"]
        read_only = words["claimRef"]["name"] == "datasets"
        assert words["csi"]["readOnly"] is read_only
        assert words["mountOptions"] == (["flock", "noatime", "ro"] if read_only else ["flock", "noatime"])


def test_datasets_are_read_only_in_the_pods_reference_and_at_its_mount() -> None:
    """The driver's own mount follows the pod's reference, so the volume's word alone would not do."""
    machine = machine_of(Pool(stack("prod").pool("pretrain"), CAT))
    assert machine is not None
    reference = [
        each
        for each in volumes.volumes(task("llama-405b"), machine, {"datasets": "datasets", "checkpoints": "checkpoints"})
        if each["name"] == "datasets"
    ]
    assert reference == [{"name": "datasets", "persistentVolumeClaim": {"claimName": "datasets", "readOnly": True}}]
    mount = [each for each in volumes.mounts(task("llama-405b")) if each["name"] == "datasets"]
    assert mount == [{"name": "datasets", "mountPath": "/datasets", "readOnly": True}]


def test_checkpoints_are_written_by_all() -> None:
    words = spec_of("volumes-volume-team-a-checkpoints")
    assert words["accessModes"] == ["ReadWriteMany"]
    assert words["csi"]["readOnly"] is False
    assert words["mountOptions"] == ["flock", "noatime"]


def test_volumes_are_kept_and_bound_to_one_claim() -> None:
    words = spec_of("volumes-volume-team-a-datasets")
    assert words["persistentVolumeReclaimPolicy"] == "Retain"
    assert words["storageClassName"] == ""
    assert words["claimRef"] == {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": "team-a",
        "name": "datasets",
    }
    claim = spec_of("volumes-claim-team-a-datasets")
    assert (claim["volumeName"], claim["storageClassName"]) == ("team-a-datasets", "")


def test_a_volume_is_rooted_at_the_folder_that_is_linked_to_its_bucket() -> None:
    assert spec_of("volumes-volume-team-a-datasets")["csi"] == {
        "driver": "fsx.csi.aws.com",
        "volumeHandle": "fs-train:team-a:datasets",
        "readOnly": True,
        "volumeAttributes": {"dnsname": "fs-train.fsx.us-west-2.amazonaws.com", "mountname": "abcdefgh/data"},
    }
    assert spec_of("volumes-volume-team-a-checkpoints")["csi"]["volumeAttributes"]["mountname"] == "abcdefgh/saved"


def test_a_file_system_that_serves_neither_is_claimed_whole_by_its_own_name() -> None:
    extra = (
        "  trainshed:storage: {lustre: ["
        f"{{name: train, zone: usw2-az3, capacity_gib: 2400, throughput_mbps_per_tib: 500, links: [{LINKS}]}}, "
        "{name: other, zone: usw2-az3, capacity_gib: 1200, throughput_mbps_per_tib: 125}]}"
    )
    found = declared_of(stack_of(pools=POOLS, rest=extra))
    words = named(found, "volumes-volume-training-other").inputs["spec"]
    assert words["csi"]["volumeAttributes"]["mountname"] == "abcdefgh"
    assert words["accessModes"] == ["ReadWriteMany"]


def test_a_job_makes_the_folders_and_spreads_checkpoints_over_disks() -> None:
    job = named(declared(), "volumes-prepare-train")
    [container] = job.inputs["spec"]["template"]["spec"]["containers"]
    assert container["image"] == f"{REGISTRY}/ecr-public/amazonlinux/amazonlinux:2023.9.20251117.1"
    assert job.inputs["metadata"]["annotations"] == {"pulumi.com/skipAwait": "true"}
    assert job.inputs["spec"]["template"]["spec"]["nodeSelector"] == {"trainshed.io/purpose": "system"}


def test_the_job_has_a_new_name_when_its_script_changes() -> None:
    one, other = (
        declared_of(stack_of(pools=POOLS, rest=TWO.replace("count: 8", f"count: {count}"))) for count in (8, 16)
    )
    names = {named(found, "volumes-prepare-train").inputs["metadata"]["name"] for found in (one, other)}
    assert len(names) == 2
    assert named(list(declared()), "volumes-prepare-train").inputs["metadata"]["name"] in names


def test_images_are_fetched_on_every_node_with_cards_before_a_job_asks() -> None:
    daemon = manifest(named(declared(), "volumes-preload"))
    pod = daemon["spec"]["template"]["spec"]
    assert [each["image"] for each in pod["initContainers"]] == [
        f"{REGISTRY}/trainer:prod-1.3",
        f"{REGISTRY}/trainer:prod-1.4",
    ]
    assert pod["tolerations"] == [{"operator": "Exists"}]
    terms = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert terms == [{"matchExpressions": [{"key": "trainshed.io/accelerator", "operator": "Exists"}]}]
    assert daemon["spec"]["updateStrategy"]["rollingUpdate"] == {"maxUnavailable": "10%"}
    assert not [each for each in declared_of(stack("prod")) if each.name == "volumes-preload"]


def test_claims_wait_for_the_file_system_and_for_their_namespace() -> None:
    claim = named(declared(), "volumes-claim-team-a-datasets")
    waits = {each.rsplit("::", 1)[1] for each in claim.depends_on}
    assert waits == {"namespaces-namespace-team-a", "volumes-volume-team-a-datasets"}


def test_a_cluster_that_exists_answers_the_same_claims_by_its_storage_class() -> None:
    found = declared_of(stack("onprem"))
    claims = {each.inputs["metadata"]["name"]: each.inputs["spec"] for each in of_type(found, "PersistentVolumeClaim")}
    assert set(claims) == {"datasets", "checkpoints"}
    assert {each["storageClassName"] for each in claims.values()} == {"shared-lustre"}
    assert not of_type(found, "PersistentVolume")


def test_a_stack_without_file_systems_has_no_volumes() -> None:
    assert [each.name for each in declared_of(stack_of(pools=POOLS))] == ["volumes"]
