"""Image families: what each EKS AMI type runs, which cards it drives and how its user data is written.

Only this module takes the name of an AMI type, such as `AL2023_x86_64_NVIDIA`, apart.
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
Architecture = Literal["x86_64", "arm64"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageFamily:
    """One EKS AMI type. `root_device` is the volume to size; Bottlerocket keeps containers on its second one."""

    name: str
    system: System
    arch: Architecture | None  # None: whatever the custom image is made for
    vendor: str | None
    root_device: str
    user_data: UserData
    fips: bool = False
    ends: date | None = None  # after this day EKS publishes no more of it
    last_kubernetes: str | None = None  # the newest Kubernetes version it was made for

    @property
    def runs_scripts(self) -> bool:
        """Whether user data may hold a shell script, which runs before the kubelet."""
        return self.user_data != "bottlerocket"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Images:
    """All families, and the release pinned for each Kubernetes version."""

    families: Mapping[str, ImageFamily]
    releases: Mapping[str, Mapping[str, str]]  # system -> Kubernetes version -> release version
    origin: Origin

    def family(self, name: str) -> ImageFamily:
        """Raises KeyError for an AMI type that the catalog doesn't know."""
        return self.families[name]

    def release(self, family: str, kubernetes_version: str) -> str | None:
        """The pinned release version for a managed node group; None where the catalog pins none (custom images, new
        versions).
        """
        return self.releases.get(self.families[family].system, {}).get(kubernetes_version)


_AL2_END = date(2025, 11, 26)


def _family(
    name: str,
    system: System,
    arch: Architecture | None,
    vendor: str | None = None,
    *,
    fips: bool = False,
) -> ImageFamily:
    old = system == "al2"
    return ImageFamily(
        name=name,
        system=system,
        arch=arch,
        vendor=vendor,
        root_device="/dev/xvdb" if system == "bottlerocket" else "/dev/xvda",
        user_data=_USER_DATA[system],
        fips=fips,
        ends=_AL2_END if old else None,
        last_kubernetes="1.32" if old else None,
    )


_USER_DATA: Mapping[System, UserData] = MappingProxyType(
    {"al2": "bootstrap", "al2023": "nodeadm", "bottlerocket": "bottlerocket", "custom": "nodeadm"}
)

_FAMILIES = (
    _family("CUSTOM", "custom", None),
    _family("AL2_x86_64", "al2", "x86_64"),
    _family("AL2_x86_64_GPU", "al2", "x86_64", "nvidia"),
    _family("AL2_ARM_64", "al2", "arm64"),
    _family("AL2023_x86_64_STANDARD", "al2023", "x86_64"),
    _family("AL2023_ARM_64_STANDARD", "al2023", "arm64"),
    _family("AL2023_x86_64_NVIDIA", "al2023", "x86_64", "nvidia"),
    _family("AL2023_ARM_64_NVIDIA", "al2023", "arm64", "nvidia"),
    _family("AL2023_x86_64_NEURON", "al2023", "x86_64", "neuron"),
    _family("BOTTLEROCKET_x86_64", "bottlerocket", "x86_64"),
    _family("BOTTLEROCKET_x86_64_FIPS", "bottlerocket", "x86_64", fips=True),
    _family("BOTTLEROCKET_x86_64_NVIDIA", "bottlerocket", "x86_64", "nvidia"),
    _family("BOTTLEROCKET_x86_64_NVIDIA_FIPS", "bottlerocket", "x86_64", "nvidia", fips=True),
    _family("BOTTLEROCKET_ARM_64", "bottlerocket", "arm64"),
    _family("BOTTLEROCKET_ARM_64_FIPS", "bottlerocket", "arm64", fips=True),
    _family("BOTTLEROCKET_ARM_64_NVIDIA", "bottlerocket", "arm64", "nvidia"),
    _family("BOTTLEROCKET_ARM_64_NVIDIA_FIPS", "bottlerocket", "arm64", "nvidia", fips=True),
)

IMAGES = Images(
    families=MappingProxyType({family.name: family for family in _FAMILIES}),
    releases=MappingProxyType(
        {
            "al2023": MappingProxyType(
                {
                    "1.31": "1.31.14-20260714",
                    "1.32": "1.32.13-20260714",
                    "1.33": "1.33.13-20260714",
                    "1.34": "1.34.9-20260714",
                    "1.35": "1.35.6-20260714",
                    "1.36": "1.36.2-20260714",
                }
            ),
            "bottlerocket": MappingProxyType({"1.35": "1.58.0-c5c37032", "1.36": "1.66.0-1ad6b4a4"}),
        }
    ),
    origin=Origin(
        as_of=date(2026, 7, 23),
        source=(
            "botocore 1.44.8 AMITypes; awslabs/amazon-eks-ami 81fec2e CHANGELOG; Bottlerocket image names in public"
            " inventories"
        ),
    ),
)
