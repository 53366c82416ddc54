"""Volumes and claims of the shared file systems, and the daemon that fetches images early.

Kubernetes binds a volume to one claim, so each namespace gets its own volumes, kept when the claim goes. Nothing is
provisioned: a driver that makes file systems on demand makes one after another when a request times out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from components import node_labels
from components.file_systems import Content, System, VolumeSource
from components.manifests import quantities
from components.manifests.device_plugins import EVERY_TAINT, daemon_set_of, identity
from components.planning.mounted_folders import Mount
from components.spec.stack import StackSpec

# The FSx driver mounts SINGLE_NODE_WRITER and MULTI_NODE_MULTI_WRITER alone, and the kubelet asks for a volume's first
# mode: ReadOnlyMany ends in "Volume capability not supported". Read-only access is set at the volume and at each
# mount. Source: kubernetes-sigs/aws-fsx-csi-driver 5b22712 (1.9.0) pkg/driver/controller.go `volumeCaps`, node.go; its
# #164.
ACCESS_MODE: Final = "ReadWriteMany"
USER: Final = 10001  # whom the project's images run as
Manifest = dict[str, Any]

# A volume must state a size, and Kubernetes enforces none on a shared file system. The size is not the file system's:
# an API server refuses a larger request of a claim that no storage class made, so a file system could never grow.
NOMINAL_GIB: Final = 1024


def volume(share: Mount, namespace: str, source: VolumeSource) -> Manifest:
    """The volume of one namespace's claim; the parts of `source` are joined by whoever declares it."""
    options = list(source.mount_options)
    return quantities.plain(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": f"{namespace}-{share.name}", "labels": identity(f"volume-{share.name}")},
            "spec": {
                "capacity": {"storage": quantities.mebi(NOMINAL_GIB * 1024)},
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
                    "driver": source.driver,
                    "volumeHandle": source.handle,
                    "readOnly": share.read_only,
                    "volumeAttributes": dict(source.attributes),
                },
            },
        }
    )


def claim(share: Mount, namespace: str) -> Manifest:
    """The claim that only this namespace's volume of the share answers."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": share.name, "namespace": namespace, "labels": identity(f"volume-{share.name}")},
        "spec": {
            "accessModes": [ACCESS_MODE],
            "storageClassName": "",
            "volumeName": f"{namespace}-{share.name}",
            "resources": {"requests": {"storage": quantities.mebi(NOMINAL_GIB * 1024)}},
        },
    }


def claims_of_class(stack: StackSpec, namespace: str, storage_class: str) -> list[Manifest]:
    """The same two claims where a cluster's own storage class answers them.

    Its volumes are made empty, so whoever fills the datasets must be able to write; jobs still mount them read-only.
    """
    sizes: Mapping[Content, int] = {
        "datasets": stack.storage.datasets.size_gib or NOMINAL_GIB,
        "checkpoints": NOMINAL_GIB,
    }
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


def whole(system: System) -> Mount:
    """The file system from its root, for the job that prepares its folders."""
    return Mount(name=f"whole-{system.name}", system=system, folder="/")


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
