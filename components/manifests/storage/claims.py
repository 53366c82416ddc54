"""Volumes and claims of the shared file systems, and the daemon that fetches images early.

Hides how one file system becomes many volumes: Kubernetes binds a volume to one claim, so each namespace gets its own,
rooted at the folder that the claim is named after, and kept when the claim goes. Nothing is provisioned: a driver that
makes file systems on demand makes one after another when a request times out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from components import node_labels
from components.catalog import Catalog
from components.manifests import quantities
from components.manifests.device_plugins import EVERY_TAINT, daemon_set_of, identity
from components.manifests.storage.volumes import CHECKPOINTS_CLAIM, CHECKPOINTS_PATH, DATASETS_CLAIM, DATASETS_PATH
from components.planning import file_systems
from components.spec.stack import StackSpec
from components.spec.storage import LustreSpec

DRIVER: Final = "fsx.csi.aws.com"
# The driver mounts SINGLE_NODE_WRITER and MULTI_NODE_MULTI_WRITER alone, and the kubelet asks for a volume's first
# mode: ReadOnlyMany ends in "Volume capability not supported". Who may only read is told at the volume and at each
# mount. Source: kubernetes-sigs/aws-fsx-csi-driver 5b22712 (1.9.0) pkg/driver/controller.go `volumeCaps`, node.go; its
# #164.
ACCESS_MODE: Final = "ReadWriteMany"
USER: Final = 10001  # whom the project's images run as
Manifest = dict[str, Any]

_UNKNOWN_GIB: Final = 1024  # a volume must state a size; Kubernetes enforces none on a shared file system
_FOLDERS: Final[Mapping[str, str]] = {DATASETS_CLAIM: DATASETS_PATH, CHECKPOINTS_CLAIM: CHECKPOINTS_PATH}


@dataclass(frozen=True, kw_only=True)
class Share:
    """A folder of a file system as pods claim it. `name` is the claim's, the same in every namespace."""

    name: str
    system: str
    folder: str
    gib: int
    read_only: bool = False


def shares(stack: StackSpec, cat: Catalog) -> list[Share]:
    """Datasets read-only and checkpoints read-write from the file systems linked to their buckets (or the first one),
    and every further file system whole, under its own name.
    """
    systems = sorted(stack.storage.lustre, key=lambda each: each.name)
    if not systems or not stack.on_aws:
        return []
    found: list[Share] = []
    for name in (DATASETS_CLAIM, CHECKPOINTS_CLAIM):
        system, folder = _home(name, systems)
        read_only = name == DATASETS_CLAIM
        found.append(
            Share(name=name, system=system.name, folder=folder, gib=_gib(system, stack, cat), read_only=read_only)
        )
    used = {each.system for each in found}
    for system in systems:
        if system.name not in used:
            found.append(Share(name=system.name, system=system.name, folder="/", gib=_gib(system, stack, cat)))
    return found


def _home(bucket: str, systems: Sequence[LustreSpec]) -> tuple[LustreSpec, str]:
    for system in systems:
        for link in sorted(system.links, key=lambda each: each.path):
            if link.bucket == bucket:
                return system, link.path
    return systems[0], _FOLDERS[bucket]


def _gib(system: LustreSpec, stack: StackSpec, cat: Catalog) -> int:
    return file_systems.plan(system, cat, stack.storage.datasets.size_gib).capacity_gib or _UNKNOWN_GIB


def volume(share: Share, namespace: str, *, handle: Any, dns_name: Any, mount_name: Any) -> Manifest:
    """`handle` must be the volume's alone: a node that finds one handle in two volumes takes them for one."""
    options = ["flock", "noatime"]
    return quantities.plain(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": f"{namespace}-{share.name}", "labels": identity(f"volume-{share.name}")},
            "spec": {
                "capacity": {"storage": quantities.mebi(share.gib * 1024)},
                "volumeMode": "Filesystem",
                "accessModes": [ACCESS_MODE],
                "persistentVolumeReclaimPolicy": "Retain",
                "storageClassName": "",
                "claimRef": {
                    "apiVersion": "v1",
                    "kind": "PersistentVolumeClaim",
                    "namespace": namespace,
                    "name": share.name,
                },
                "mountOptions": sorted([*options, "ro"]) if share.read_only else options,
                "csi": {
                    "driver": DRIVER,
                    "volumeHandle": handle,
                    "readOnly": share.read_only,
                    "volumeAttributes": {"dnsname": dns_name, "mountname": mount_name},
                },
            },
        }
    )


def claim(share: Share, namespace: str) -> Manifest:
    """The claim that only this namespace's volume of the share answers."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": share.name, "namespace": namespace, "labels": identity(f"volume-{share.name}")},
        "spec": {
            "accessModes": [ACCESS_MODE],
            "storageClassName": "",
            "volumeName": f"{namespace}-{share.name}",
            "resources": {"requests": {"storage": quantities.mebi(share.gib * 1024)}},
        },
    }


def claims_of_class(stack: StackSpec, namespace: str, storage_class: str) -> list[Manifest]:
    """The same two claims where a cluster's own storage class answers them.

    Its volumes are made empty, so whoever fills the datasets must be able to write; jobs still mount them read-only.
    """
    sizes = {DATASETS_CLAIM: stack.storage.datasets.size_gib or _UNKNOWN_GIB, CHECKPOINTS_CLAIM: _UNKNOWN_GIB}
    return [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": namespace, "labels": identity(f"volume-{name}")},
            "spec": {
                "accessModes": ["ReadWriteMany"],
                "storageClassName": storage_class,
                "resources": {"requests": {"storage": quantities.mebi(gib * 1024)}},
            },
        }
        for name, gib in sizes.items()
    ]


def whole(system: LustreSpec, stack: StackSpec, cat: Catalog) -> Share:
    """The file system from its root, for the job that prepares its folders."""
    return Share(name=f"whole-{system.name}", system=system.name, folder="/", gib=_gib(system, stack, cat))


def preload(images: Sequence[Any]) -> Manifest:
    """A daemon on every node with cards that fetches these images, one after another, before a job asks for them.

    Each must have /bin/true and /bin/sleep, as the project's own have; its own first image is also the one that stays.
    """
    security = {
        "allowPrivilegeEscalation": False,
        "runAsNonRoot": True,
        "runAsUser": USER,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    small = {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"memory": "16Mi"}}
    pod: Manifest = {
        "automountServiceAccountToken": False,
        "tolerations": EVERY_TAINT,
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": node_labels.ACCELERATOR, "operator": "Exists"}]}
                    ]
                }
            }
        },
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        "terminationGracePeriodSeconds": 1,
        "initContainers": [
            {
                "name": f"image-{place}",
                "image": image,
                "command": ["/bin/true"],
                "securityContext": security,
                "resources": small,
            }
            for place, image in enumerate(images)
        ],
        "containers": [
            {
                "name": "stay",
                "image": images[0],
                "command": ["/bin/sleep", "infinity"],
                "securityContext": security,
                "resources": small,
            }
        ],
    }
    return daemon_set_of("image-preload", pod)
