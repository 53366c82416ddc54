"""EKS add-ons: the version pinned for each Kubernetes version, and the identity each runs under.

Callers ask by the cluster's version, whether an add-on has one version for each or the same for all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from types import MappingProxyType

from components.catalog.pins import Origin


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Addon:
    """One EKS add-on; `service_account` and `managed_policy` are None where it needs no AWS permissions.

    `managed_policy` is an AWS managed policy's path and name after `policy/` in its ARN.
    `before_nodes`: nodes don't become ready without it.
    """

    name: str
    versions: Mapping[str, str]  # Kubernetes version -> add-on version
    namespace: str
    service_account: str | None
    managed_policy: str | None
    before_nodes: bool
    read_for: frozenset[str]  # Kubernetes versions for which this very version was seen offered or running
    origin: Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class AddonPin:
    """An add-on with the version to install on one cluster."""

    name: str
    version: str
    namespace: str
    service_account: str | None
    managed_policy: str | None
    before_nodes: bool
    unverified: bool


class UnknownAddon(KeyError):
    """No pin for this add-on at this Kubernetes version."""

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Addons:
    """All add-ons the project installs."""

    known: Mapping[str, Addon]

    def pin(self, name: str, kubernetes_version: str) -> AddonPin:
        """Raises UnknownAddon."""
        addon = self.known.get(name)
        version = addon.versions.get(kubernetes_version) if addon else None
        if addon is None or version is None:
            raise UnknownAddon(f"no version of the EKS add-on {name} is pinned for Kubernetes {kubernetes_version}")
        return AddonPin(
            name=name,
            version=version,
            namespace=addon.namespace,
            service_account=addon.service_account,
            managed_policy=addon.managed_policy,
            before_nodes=addon.before_nodes,
            unverified=kubernetes_version not in addon.read_for,
        )

    def pins(self, kubernetes_version: str) -> Mapping[str, AddonPin]:
        """Every add-on with a pin for this version, by name."""
        return MappingProxyType(
            {
                name: self.pin(name, kubernetes_version)
                for name, addon in self.known.items()
                if kubernetes_version in addon.versions
            }
        )


_VERSIONS: tuple[str, ...] = ("1.32", "1.33", "1.34", "1.35", "1.36")
_SEEN = "answers of describe-addon-versions and live clusters recorded in public repositories, June to October 2026"
_DEFAULTS = (
    "EKS's default versions for 1.35 on 2026-10-02 (describe-addon-versions), for the others as recorded in public"
    " repositories"
)


def _addon(
    name: str,
    versions: str | Mapping[str, str],
    *,
    read_for: tuple[str, ...],
    service_account: str | None = None,
    managed_policy: str | None = None,
    before_nodes: bool = False,
    source: str = _SEEN,
) -> Addon:
    by_version = dict.fromkeys(_VERSIONS, versions) if isinstance(versions, str) else dict(versions)
    return Addon(
        name=name,
        versions=MappingProxyType(by_version),
        namespace="kube-system",
        service_account=service_account,
        managed_policy=managed_policy,
        before_nodes=before_nodes,
        read_for=frozenset(read_for),
        origin=Origin(as_of=date(2026, 10, 2), source=source, unverified=not read_for),
    )


_ALL = (
    _addon(
        "vpc-cni",
        "v1.22.4-eksbuild.3",
        read_for=_VERSIONS,
        service_account="aws-node",
        managed_policy="AmazonEKS_CNI_Policy",
        before_nodes=True,
        source=_DEFAULTS,
    ),
    _addon(
        "kube-proxy",
        {
            "1.32": "v1.32.13-eksbuild.21",
            "1.33": "v1.33.10-eksbuild.29",
            "1.34": "v1.34.6-eksbuild.29",
            "1.35": "v1.35.3-eksbuild.29",
            "1.36": "v1.36.0-eksbuild.25",
        },
        read_for=_VERSIONS,
        before_nodes=True,
        source=_DEFAULTS,
    ),
    _addon(
        "eks-pod-identity-agent",
        "v1.3.10-eksbuild.3",
        read_for=("1.33", "1.34", "1.35", "1.36"),
        before_nodes=True,
        source=_DEFAULTS,
    ),
    _addon(
        "coredns",
        {
            "1.32": "v1.11.4-eksbuild.40",
            "1.33": "v1.13.2-eksbuild.31",
            "1.34": "v1.12.4-eksbuild.29",
            "1.35": "v1.13.2-eksbuild.31",
            "1.36": "v1.14.3-eksbuild.23",
        },
        read_for=_VERSIONS,
        source=_DEFAULTS,
    ),
    _addon(
        "aws-ebs-csi-driver",
        "v1.63.1-eksbuild.1",
        read_for=("1.34", "1.35", "1.36"),
        service_account="ebs-csi-controller-sa",
        managed_policy="service-role/AmazonEBSCSIDriverPolicy",
    ),
    # No release named the Kubernetes versions that this one was offered for.
    _addon(
        "aws-fsx-csi-driver",
        "v1.9.0-eksbuild.1",
        read_for=(),
        service_account="fsx-csi-controller-sa",
        managed_policy="AmazonFSxFullAccess",
    ),
    # 1.7 leaves p6's IPoIB interfaces out of its network checks; before it every p6 node looks ill.
    _addon("eks-node-monitoring-agent", "v1.7.1-eksbuild.1", read_for=()),
    _addon("metrics-server", "v0.9.0-eksbuild.6", read_for=("1.35",)),
    _addon(
        "aws-mountpoint-s3-csi-driver",
        "v2.6.0-eksbuild.1",
        read_for=("1.35",),
        service_account="s3-csi-driver-sa",
    ),
)

ADDONS = Addons(known=MappingProxyType({addon.name: addon for addon in _ALL}))
