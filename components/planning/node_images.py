"""The image that Karpenter's nodes of a pool boot from, pinned to the same release as a managed node group's.

EKS names a release by Kubernetes version and date (`1.35.6-20260714`), Karpenter by family and date
(`al2023@v20260714`). Source: aws/karpenter-provider-aws v1.13.0, pkg/providers/amifamily; the Systems Manager paths
are those of the EKS User Guide and of Bottlerocket's documentation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from components.catalog import ImageFamily
from components.planning.pool import Pool

Kind = Literal["AL2023", "Bottlerocket"]
LATEST = "latest"
_AL2023 = re.compile(r"(?:\d+\.\d+\.\d+-)?(\d{8})")
_BOTTLEROCKET = re.compile(r"(\d+\.\d+\.\d+)(-[0-9a-f]{8})?")


@dataclass(frozen=True, kw_only=True)
class NodeImage:
    """One of `image_id`, `parameter` and `alias` says which image; `family` how its user data is written."""

    family: Kind
    root_device: str
    image_id: str | None = None
    alias: str | None = None
    parameter: str | None = None

    @property
    def pinned(self) -> bool:
        return self.alias is None or not self.alias.endswith(LATEST)

    def selector(self) -> dict[str, str]:
        """The term by which an EC2NodeClass finds it."""
        if self.image_id:
            return {"id": self.image_id}
        return {"ssmParameter": self.parameter} if self.parameter else {"alias": self.alias or ""}


def version(family: ImageFamily, release: str) -> str | None:
    """Karpenter's name of one of EKS' releases (`v20260714`, `v1.58.0`); None for a text that is none."""
    found = (_BOTTLEROCKET if family.system == "bottlerocket" else _AL2023).fullmatch(release)
    return f"v{found.group(1)}" if found else None


def of_pool(pool: Pool, kubernetes_version: str) -> NodeImage:
    """The pool's image. Raises ValueError for a release that EKS can't have published."""
    family = pool.image
    kind: Kind = "Bottlerocket" if family.user_data == "bottlerocket" else "AL2023"
    if pool.spec.image_id:
        return NodeImage(family=kind, root_device=family.root_device, image_id=pool.spec.image_id)
    release = pool.spec.image_release or pool.catalog.images.release(family.name, kubernetes_version)
    found = LATEST if release is None else version(family, release)
    if found is None:
        raise ValueError(f"{release} is no release of {family.name}")
    if family.fips:
        # The alias knows only the plain variants.
        variant = f"aws-k8s-{kubernetes_version}{'-nvidia' if family.vendor == 'nvidia' else ''}-fips"
        number = found if release is None else release
        path = f"/aws/service/bottlerocket/{variant}/{family.arch}/{number}/image_id"
        return NodeImage(family=kind, root_device=family.root_device, parameter=path)
    return NodeImage(family=kind, root_device=family.root_device, alias=f"{kind.lower()}@{found}")
