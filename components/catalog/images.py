"""Image families: what each EKS AMI type runs, which cards it drives and how its user data is written.

Hides the naming of AMI types, so that nobody elsewhere takes a word like `AL2023_x86_64_NVIDIA` apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from types import MappingProxyType
from typing import Literal

from components.catalog.pins import Origin

System = Literal["al2", "al2023", "bottlerocket", "custom"]
UserData = Literal["bootstrap", "nodeadm", "bottlerocket"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageFamily:
    """One EKS AMI type. `root_device` is the volume to size; Bottlerocket keeps containers on its second one."""

    name: str
    system: System
    arch: Literal["x86_64", "arm64"] | None  # None: whatever the custom image is made for
    vendor: Literal["nvidia", "neuron"] | None
    root_device: str
    user_data: UserData
    fips: bool = False
    ends: date | None = None  # after this day EKS publishes no more of it
    last_kubernetes: str | None = None  # the newest Kubernetes version it was made for


@dataclass(frozen=True, slots=True, kw_only=True)
class Images:
    """All families, and the release pinned for each Kubernetes version."""

    families: Mapping[str, ImageFamily]
    releases: Mapping[str, Mapping[str, str]]  # system -> Kubernetes version -> release version
    origin: Origin

    def family(self, name: str) -> ImageFamily:
        """Raises KeyError for an AMI type that the catalog doesn't know."""
        return self.families[name]

    def release(self, family: str, kubernetes_version: str) -> str | None:
        """The pinned release version for a managed node group; None where the catalog pins none (custom images, new versions)."""
        return self.releases.get(self.families[family].system, {}).get(kubernetes_version)


_AL2_END = date(2025, 11, 26)


def _families() -> dict[str, ImageFamily]:
    made: list[ImageFamily] = [
        ImageFamily(name="CUSTOM", system="custom", arch=None, vendor=None, root_device="/dev/xvda", user_data="nodeadm")
    ]
    for name, arch, vendor in (("AL2_x86_64", "x86_64", None), ("AL2_x86_64_GPU", "x86_64", "nvidia"), ("AL2_ARM_64", "arm64", None)):
        made.append(
            ImageFamily(
                name=name,
                system="al2",
                arch=arch,
                vendor=vendor,
                root_device="/dev/xvda",
                user_data="bootstrap",
                ends=_AL2_END,
                last_kubernetes="1.32",
            )
        )
    for name, arch, vendor in (
        ("AL2023_x86_64_STANDARD", "x86_64", None),
        ("AL2023_ARM_64_STANDARD", "arm64", None),
        ("AL2023_x86_64_NVIDIA", "x86_64", "nvidia"),
        ("AL2023_ARM_64_NVIDIA", "arm64", "nvidia"),
        ("AL2023_x86_64_NEURON", "x86_64", "neuron"),
    ):
        made.append(ImageFamily(name=name, system="al2023", arch=arch, vendor=vendor, root_device="/dev/xvda", user_data="nodeadm"))
    for cpu, arch in (("x86_64", "x86_64"), ("ARM_64", "arm64")):
        for suffix, vendor in (("", None), ("_NVIDIA", "nvidia")):
            for fips in (False, True):
                name = f"BOTTLEROCKET_{cpu}{suffix}{'_FIPS' if fips else ''}"
                made.append(
                    ImageFamily(
                        name=name,
                        system="bottlerocket",
                        arch=arch,
                        vendor=vendor,
                        root_device="/dev/xvdb",
                        user_data="bottlerocket",
                        fips=fips,
                    )
                )
    return {family.name: family for family in made}


IMAGES = Images(
    families=MappingProxyType(_families()),
    releases=MappingProxyType({}),
    origin=Origin(as_of=date(2026, 11, 30), source="botocore 1.44.8 eks AMITypes; awslabs/amazon-eks-ami 81fec2e"),
)
