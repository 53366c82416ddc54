"""A Helm release that the engine's Kubernetes provider really installs.

It is declared by its type token, because the SDK's class imports the whole of the Kubernetes API.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi

# Long enough for images to be pulled and webhooks to answer on a cluster's first day.
INSTALL_SECONDS = 900


@dataclass(frozen=True, kw_only=True)
class HelmReleaseArgs:
    """`chart` is a name in `repository`, an `oci://` address, or a folder on this machine (then without repository and
    version).
    """

    release: str
    chart: str
    namespace: str
    values: Mapping[str, Any]
    repository: str | None = None
    version: str | None = None


class HelmRelease(pulumi.CustomResource):
    """The release; it is ready when everything in it is."""

    def __init__(self, name: str, args: HelmReleaseArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        inputs: dict[str, Any] = {
            "name": args.release,
            "chart": args.chart,
            "namespace": args.namespace,
            "version": args.version,
            "repositoryOpts": {"repo": args.repository} if args.repository else None,
            "values": dict(args.values),
            "timeout": INSTALL_SECONDS,
            "createNamespace": False,
            "atomic": False,  # a failed first installation is kept for inspection, and the next run repairs it
            "compat": "true",
        }
        super().__init__("kubernetes:helm.sh/v3:Release", name, inputs, opts)
