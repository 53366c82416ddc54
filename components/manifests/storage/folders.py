"""The folders of a file system, made ready by one job before others mount them.

Hides where its tools come from: `lfs` is in no image of others, and its package must come by a way that an isolated
network has.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Final

from components import node_labels
from components.catalog import packages
from components.manifests import quantities
from components.manifests.device_plugins import identity
from components.manifests.storage.claims import USER, Manifest, Share
from components.manifests.storage.volumes import CHECKPOINTS_CLAIM
from components.spec.storage import LustreSpec

NAMESPACE: Final = "kube-system"
IMAGE: Final = "amazonlinux"

# The image's own repository is on a CDN that only the internet leads to; `--repo` leaves every other one out.
_CLIENT: Final = """cat > /etc/yum.repos.d/trainshed.repo <<'END'
[trainshed]
name=Amazon Linux 2023 from the region's bucket
mirrorlist={mirrors}
enabled=1
gpgcheck=1
gpgkey=file://{key}
END
dnf install --assumeyes --repo=trainshed --setopt=install_weak_deps=False lustre-client"""


def prepare(system: LustreSpec, found: Sequence[Share], image: Any, region: str) -> Manifest:
    """The job that makes the folders of the shares, gives them to the jobs' user, and spreads checkpoints over the
    disks.

    Striping holds for files made afterwards. The job's name follows its script: a job can't be changed, and a second
    run does no harm.
    """
    script = _script(system, found, region)
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


def _script(system: LustreSpec, found: Sequence[Share], region: str) -> str:
    """Folders first: they need nothing but the image, and a job that finds no package still leaves them behind."""
    shares = sorted(
        (each for each in found if each.system == system.name and each.folder != "/"), key=lambda each: each.name
    )
    lines: list[str] = []
    for share in shares:
        lines.append(f"mkdir -p /system{share.folder}")
        if not share.read_only:
            lines.append(f"chown {USER}:{USER} /system{share.folder}")
    striped = [f"/system{share.folder}" for share in shares if share.name == CHECKPOINTS_CLAIM]
    if striped:
        lines.append(_CLIENT.format(mirrors=packages.mirror_list(region), key=packages.KEY_FILE))
    lines += [
        f"lfs setstripe --stripe-count {system.striping.count} --stripe-size {system.striping.size_mib}M {each}"
        for each in striped
    ]
    return "\n".join(lines)
