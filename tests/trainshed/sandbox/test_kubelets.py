"""What the stand-in for the kubelets reads in a machine's user data."""

from __future__ import annotations

from trainshed.sandbox.cloud.kubelets import Registration, registration

NODEADM = """MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="//"

--//
Content-Type: text/x-shellscript; charset="us-ascii"

#!/bin/bash
echo "kind: NodeConfig"

--//
Content-Type: application/node.eks.aws

apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  kubelet:
    flags:
    - --node-labels="karpenter.sh/capacity-type=spot,trainshed.io/pool=prep"
    - --register-with-taints="karpenter.sh/unregistered:NoExecute,pool=prep:NoSchedule"

--//--
"""
BOTTLEROCKET = """[settings.kubernetes]
cluster-name = "dev"

[settings.kubernetes.node-labels]
"trainshed.io/pool" = "prep"

[settings.kubernetes.node-taints]
"karpenter.sh/unregistered" = [":NoExecute"]
"pool" = ["prep:NoSchedule"]
"""


TAINTS = (
    {"key": "karpenter.sh/unregistered", "effect": "NoExecute"},
    {"key": "pool", "value": "prep", "effect": "NoSchedule"},
)


def test_labels_and_taints_come_from_the_kubelets_flags() -> None:
    labels = {"karpenter.sh/capacity-type": "spot", "trainshed.io/pool": "prep"}
    assert registration(NODEADM) == Registration(labels=labels, taints=TAINTS)


def test_bottlerocket_says_them_in_settings() -> None:
    assert registration(BOTTLEROCKET) == Registration(labels={"trainshed.io/pool": "prep"}, taints=TAINTS)
