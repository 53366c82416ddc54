"""Kubernetes objects from plain manifests, as the engine's resources of their own kinds.

They are declared by their type tokens and not through the SDK's classes, which take a second to import for the same
registration (`tests/components/in_cluster/test_kubernetes_object.py` compares the two).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi


def token(manifest: Mapping[str, Any]) -> str:
    """`kubernetes:core/v1:Namespace`, as the SDK names the type of a manifest."""
    version = str(manifest["apiVersion"])
    return f"kubernetes:{version if '/' in version else f'core/{version}'}:{manifest['kind']}"


class KubernetesObject(pulumi.CustomResource):
    """An object of any kind; every top-level field of the manifest is an input."""

    def __init__(self, name: str, manifest: Mapping[str, Any], opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(token(manifest), name, dict(manifest), opts)


def declare(name: str, manifest: Mapping[str, Any], opts: pulumi.ResourceOptions) -> pulumi.CustomResource:
    """The manifest as a resource; its metadata name stands in it, so that people find it under that name."""
    return KubernetesObject(name, manifest, opts)
