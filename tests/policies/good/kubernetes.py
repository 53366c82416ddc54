"""What runs inside the cluster of the good stack."""

from __future__ import annotations

from typing import Any

from tests.policies.good.records import (
    IMAGE,
    Record,
    record,
    urn,
)


def pod_spec() -> dict[str, Any]:
    """A pod spec that holds to the restricted standard."""
    return {
        "serviceAccountName": "trainer",
        "securityContext": {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [
            {
                "name": "trainer",
                "image": IMAGE,
                "securityContext": {
                    "privileged": False,
                    "allowPrivilegeEscalation": False,
                    "capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]},
                },
                "resources": {
                    "limits": {"memory": "1800Gi", "nvidia.com/gpu": 8},
                    "requests": {"cpu": "96", "nvidia.com/gpu": 8},
                },
                "ports": [{"containerPort": 29500}],
                "env": [{"name": "NCCL_DEBUG", "value": "WARN"}],
            }
        ],
        "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}],
    }


def jobset(spec: dict[str, Any]) -> dict[str, Any]:
    template = {"spec": {"template": {"spec": spec}}}
    return {
        "metadata": {"name": "train", "namespace": "training"},
        "spec": {"replicatedJobs": [{"name": "worker", "replicas": 1, "template": template}]},
    }


def namespaces() -> list[Record]:
    """A namespace that lets nothing in, and the rights of a reader."""
    namespace = urn("kubernetes:core/v1:Namespace", "training")
    return [
        record(
            "kubernetes:core/v1:Namespace",
            "training",
            {"metadata": {"name": "training", "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}},
        ),
        record(
            "kubernetes:networking.k8s.io/v1:NetworkPolicy",
            "training-deny",
            {
                "metadata": {"namespace": "training", "name": "deny"},
                "spec": {"podSelector": {}, "policyTypes": ["Ingress"]},
            },
            after=[namespace],
        ),
        record(
            "kubernetes:rbac.authorization.k8s.io/v1:ClusterRole",
            "reader",
            {
                "metadata": {"name": "reader"},
                "rules": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list"]}],
            },
        ),
        record(
            "kubernetes:rbac.authorization.k8s.io/v1:ClusterRoleBinding",
            "reader",
            {
                "metadata": {"name": "reader"},
                "roleRef": {"kind": "ClusterRole", "name": "reader", "apiGroup": "rbac.authorization.k8s.io"},
                "subjects": [],
            },
        ),
    ]


def workloads() -> list[Record]:
    """A job, a service, and a storage class."""
    return [
        record("kubernetes:jobset.x-k8s.io/v1alpha2:JobSet", "train", jobset(pod_spec())),
        record(
            "kubernetes:apps/v1:Deployment",
            "web",
            {
                "metadata": {"name": "web", "namespace": "training"},
                "spec": {"selector": {}, "template": {"spec": pod_spec()}},
            },
        ),
        record(
            "kubernetes:storage.k8s.io/v1:StorageClass",
            "fast",
            {"provisioner": "ebs.csi.aws.com", "parameters": {"type": "gp3"}},
        ),
    ]
