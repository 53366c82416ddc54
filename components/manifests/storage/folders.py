"""The folders of a file system, made ready by one job before others mount them.

The job runs on system nodes in a small image; tools of the kind come as its adapter says, also in an isolated network.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Final

from components import file_systems, node_labels
from components.file_systems import System
from components.manifests import quantities
from components.manifests.device_plugins import identity
from components.manifests.storage.claims import USER, Manifest
from components.planning.mounted_folders import Mount
from components.spec.stack import StackSpec

NAMESPACE: Final = "kube-system"
IMAGE: Final = "amazonlinux"


def prepare(system: System, found: Sequence[Mount], image: Any, stack: StackSpec) -> Manifest:
    """The job that makes the folders of the shares, gives them to the jobs' user, and spreads checkpoints over the
    disks.

    Striping holds for files made afterwards. The job's name follows its script: a job can't be changed, and a second
    run does no harm.
    """
    script = _script(system, found, stack)
    name = f"prepare-{system.name}-{hashlib.sha256(script.encode()).hexdigest()[:8]}"
    share = f"whole-{system.name}"
    return quantities.plain(
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {
                "name": name,
                "namespace": NAMESPACE,
                "labels": identity(f"prepare-{system.name}"),
                # The image may have to be mirrored first: an update must not wait for that.
                "annotations": {"pulumi.com/skipAwait": "true"},
            },
            "spec": {
                "backoffLimit": 100,
                "template": {
                    "metadata": {"labels": identity(f"prepare-{system.name}")},
                    "spec": {
                        "restartPolicy": "OnFailure",
                        "automountServiceAccountToken": False,
                        "nodeSelector": {node_labels.PURPOSE: "system"},
                        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
                        "containers": [
                            {
                                "name": "prepare",
                                "image": image,
                                "command": ["/bin/sh", "-ec", script],
                                # Root and CHOWN, for the folders belong to root; DAC_OVERRIDE, for its package manager.
                                "securityContext": {
                                    "allowPrivilegeEscalation": False,
                                    "capabilities": {"drop": ["ALL"], "add": ["CHOWN", "DAC_OVERRIDE", "FOWNER"]},
                                },
                                "resources": {
                                    "requests": {"cpu": "100m", "memory": "256Mi"},
                                    "limits": {"memory": "1Gi"},
                                },
                                "volumeMounts": [{"name": "system", "mountPath": "/system"}],
                            }
                        ],
                        "volumes": [{"name": "system", "persistentVolumeClaim": {"claimName": share}}],
                    },
                },
            },
        }
    )


def _script(system: System, found: Sequence[Mount], stack: StackSpec) -> str:
    """Folders first: they need nothing but the image, and a job that finds no package still leaves them behind."""
    shares = sorted(
        (each for each in found if each.system.name == system.name and each.folder != "/"), key=lambda each: each.name
    )
    lines: list[str] = []
    for share in shares:
        lines.append(f"mkdir -p /system{share.folder}")
        if not share.read_only:
            lines.append(f"chown {USER}:{USER} /system{share.folder}")
    kind = file_systems.KINDS[system.kind]
    for share in shares:
        if share.content == "checkpoints":
            lines += kind.prepare(system, f"/system{share.folder}", stack)
    return "\n".join(lines)
