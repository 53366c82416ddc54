"""User data of Amazon Linux 2023 nodes: nodeadm NodeConfig documents in one MIME message.

EKS adds the cluster's coordinates itself, so they are given only where the image is the user's own. Nothing here may
start the bootstrap a second time or touch the fabric manager, whose unit belongs to the image. EKS appends a document
of its own to this one, and of two values nodeadm takes the last. Source: awslabs/amazon-eks-ami 81fec2e
nodeadm/doc/{api,examples}.md, nodeadm/internal/{api/merge,kubelet/environment}.go.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import yaml

from components.file_systems.lustre import efa_script
from components.manifests.nodes.setup import ClusterDetails, NodeSetup

BOUNDARY = "==TRAINSHED=="
NODE_CONFIG = "application/node.eks.aws"
SHELL = 'text/x-shellscript; charset="us-ascii"'

# nodeadm passes numbers through 64-bit floats, which would round the kernel's own "infinity" up beyond what the runtime
# can read. 2^60 bytes survive that and are more than any machine has: RDMA can register all of a node's memory.
MEMLOCK_BYTES = 2**60
_OPEN_FILES = {
    "type": "RLIMIT_NOFILE",
    "soft": 65536,
    "hard": 1048576,
}  # the image's own: a list given here replaces its whole list

_HUGE_PAGES = """#!/bin/bash
set -o errexit -o nounset -o pipefail
# EKS images set huge pages aside where they see EFA; an image of one's own may not. \
The kubelet starts after this script.
wanted={pages}
if [ "$(cat /proc/sys/vm/nr_hugepages)" -lt "$wanted" ]; then
  echo "vm.nr_hugepages = $wanted" > /etc/sysctl.d/90-trainshed-efa.conf
  sysctl --quiet --load=/etc/sysctl.d/90-trainshed-efa.conf
fi
"""


def node_config(setup: NodeSetup, cluster: ClusterDetails | None = None) -> dict[str, Any]:
    """The NodeConfig document; with `cluster` for a custom image, which EKS tells nothing."""
    spec: dict[str, Any] = {}
    kubelet_flags: list[str] = []
    kubelet: dict[str, Any] = {
        "systemReserved": {"cpu": f"{setup.system_cpu_millis}m", "memory": f"{setup.system_memory_mib}Mi"},
        # Images are large and a node has several to fetch: side by side, without the kubelet's own brake on the
        # registry.
        "serializeImagePulls": False,
        "maxParallelImagePulls": 4,
        "registryPullQPS": 0,
        "containerLogMaxSize": "50Mi",
        "containerLogMaxFiles": 5,
    }
    if cluster:
        spec["cluster"] = {
            "name": cluster.name,
            "apiServerEndpoint": cluster.endpoint,
            "certificateAuthority": cluster.certificate_authority,
            "cidr": cluster.service_cidr,
        }
        # EKS writes no user data for an image of one's own: without these a node would first appear bare, and draw the
        # wrong pods.
        kubelet_flags.append("--node-labels=" + ",".join(f"{key}={value}" for key, value in setup.labels))
        kubelet["maxPods"] = setup.max_pods
        if setup.taints:
            kubelet["registerWithTaints"] = [
                {"key": taint.key, "value": taint.value, "effect": taint.effect} for taint in setup.taints
            ]
    else:
        # EKS' document sets maxPods in the kubelet's configuration, up to 110, or 250 from 30 vCPU on (EKS User Guide,
        # how maxPods is determined), and would replace one from here. Flags of both documents are kept, and a flag wins
        # over every configuration file.
        kubelet_flags.append(f"--max-pods={setup.max_pods}")
    spec["kubelet"] = {"config": kubelet, **({"flags": kubelet_flags} if kubelet_flags else {})}
    spec["containerd"] = {
        "baseRuntimeSpec": {
            "process": {
                "rlimits": [_OPEN_FILES, {"type": "RLIMIT_MEMLOCK", "soft": MEMLOCK_BYTES, "hard": MEMLOCK_BYTES}]
            }
        }
    }
    if setup.local_disks:
        spec["instance"] = {"localStorage": {"strategy": "RAID0", "mountPath": "/mnt/k8s-disks/"}}
    if setup.fast_image_pull:
        spec["featureGates"] = {"FastImagePull": True}
    return {"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig", "spec": dict(sorted(spec.items()))}


def render(setup: NodeSetup, cluster: ClusterDetails | None = None) -> str:
    """The MIME message, the same text for the same set-up."""
    # Only a custom image needs labels and taints here; without them the pools of a stack share a few texts.
    return _message(setup if cluster else replace(setup, labels=(), taints=()), cluster)


@lru_cache(maxsize=64)
def _message(setup: NodeSetup, cluster: ClusterDetails | None) -> str:
    parts = [(NODE_CONFIG, "---\n" + yaml.safe_dump(node_config(setup, cluster), sort_keys=True, width=120))]
    if setup.huge_pages:
        parts.append((SHELL, _HUGE_PAGES.format(pages=setup.huge_pages)))
    if setup.lustre_efa_interfaces:
        parts.append((SHELL, efa_script.script(setup.lustre_efa_interfaces)))
    lines = ["MIME-Version: 1.0", f'Content-Type: multipart/mixed; boundary="{BOUNDARY}"', ""]
    for kind, text in parts:
        lines += [f"--{BOUNDARY}", f"Content-Type: {kind}", "", text.rstrip("\n"), ""]
    return "\n".join([*lines, f"--{BOUNDARY}--", ""])
