"""Kubernetes objects from plain manifests: built-in kinds as their typed resources, all others as custom resources.

Hides that the SDK's own class for custom resources knows `spec` alone, while a WorkloadPriorityClass has its `value` beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

_TYPED: Mapping[tuple[str, str], Callable[..., pulumi.CustomResource]] = {
    ("v1", "ConfigMap"): kubernetes.core.v1.ConfigMap,
    ("v1", "Namespace"): kubernetes.core.v1.Namespace,
    ("v1", "PersistentVolume"): kubernetes.core.v1.PersistentVolume,
    ("v1", "PersistentVolumeClaim"): kubernetes.core.v1.PersistentVolumeClaim,
    ("v1", "ResourceQuota"): kubernetes.core.v1.ResourceQuota,
    ("v1", "Service"): kubernetes.core.v1.Service,
    ("v1", "ServiceAccount"): kubernetes.core.v1.ServiceAccount,
    ("apps/v1", "DaemonSet"): kubernetes.apps.v1.DaemonSet,
    ("batch/v1", "CronJob"): kubernetes.batch.v1.CronJob,
    ("batch/v1", "Job"): kubernetes.batch.v1.Job,
    ("networking.k8s.io/v1", "NetworkPolicy"): kubernetes.networking.v1.NetworkPolicy,
    ("rbac.authorization.k8s.io/v1", "ClusterRole"): kubernetes.rbac.v1.ClusterRole,
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"): kubernetes.rbac.v1.ClusterRoleBinding,
}
_SNAKE = {"automountServiceAccountToken": "automount_service_account_token", "roleRef": "role_ref", "binaryData": "binary_data"}


class CustomObject(pulumi.CustomResource):
    """An object of a kind that a chart brings; every top-level field of the manifest is an input."""

    def __init__(self, name: str, manifest: Mapping[str, Any], opts: pulumi.ResourceOptions | None = None) -> None:
        token = f"kubernetes:{manifest['apiVersion']}:{manifest['kind']}"
        super().__init__(token, name, dict(manifest), opts)


def declare(name: str, manifest: Mapping[str, Any], opts: pulumi.ResourceOptions) -> pulumi.CustomResource:
    """The manifest as a resource; its metadata name stands in it, so that people find it under that name."""
    typed = _TYPED.get((manifest["apiVersion"], manifest["kind"]))
    if typed is None:
        return CustomObject(name, manifest, opts)
    fields = {_SNAKE.get(key, key): value for key, value in manifest.items() if key not in ("apiVersion", "kind")}
    return typed(name, opts=opts, **fields)
