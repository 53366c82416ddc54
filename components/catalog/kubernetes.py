"""The Kubernetes versions that EKS offers, with the dates between which each is supported.

Callers pass the day and get one word for how the version is supported on it. Nothing here reads a clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from types import MappingProxyType
from typing import Literal

from components.catalog.pins import Origin
from components.naming import did_you_mean

Support = Literal["not yet", "standard", "extended", "ended"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesVersion:
    """One minor version; a date is the first day on which the next state holds."""

    version: str
    released: date
    standard_ends: date
    extended_ends: date
    origin: Origin

    def support(self, on: date) -> Support:
        """What EKS gives this version on that day."""
        if on < self.released:
            return "not yet"
        if on < self.standard_ends:
            return "standard"
        return "extended" if on < self.extended_ends else "ended"

    @property
    def minor(self) -> int:
        return int(self.version.partition(".")[2])


class UnknownKubernetesVersion(KeyError):
    """The version isn't one that EKS is known to offer."""

    def __init__(self, version: str, known: Mapping[str, KubernetesVersion]) -> None:
        super().__init__(version)
        self.version = version
        self.hint = did_you_mean(version, known)

    def __str__(self) -> str:
        return f'Kubernetes "{self.version}" is not in the catalog; {self.hint}'


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Kubernetes:
    """All versions the catalog knows, oldest first."""

    versions: Mapping[str, KubernetesVersion]
    default: str

    def version(self, name: str) -> KubernetesVersion:
        """Raises UnknownKubernetesVersion."""
        found = self.versions.get(name)
        if found is None:
            raise UnknownKubernetesVersion(name, self.versions)
        return found

    def offered(self, on: date) -> tuple[str, ...]:
        """The versions that a cluster may have on that day, oldest first."""
        return tuple(name for name, version in self.versions.items() if version.support(on) in ("standard", "extended"))


_GUIDE = "EKS User Guide, Kubernetes release calendar; endoflife.date/amazon-eks"
_READ = Origin(as_of=date(2026, 11, 30), source=_GUIDE)
_GUESSED = Origin(
    as_of=date(2026, 11, 30),
    source="offered (EKS AMI release v20260714 ships 1.36.2); dates computed as release + 14 and + 26 months",
    unverified=True,
)
_RUMOURED = Origin(
    as_of=date(2026, 11, 30),
    source="EKS Distro v1-37-eks-2 of 2026-09-02 and the CDK's V1_37; check DescribeClusterVersions before use",
    unverified=True,
)


def _version(version: str, released: str, standard: str, extended: str, origin: Origin = _READ) -> KubernetesVersion:
    day = date.fromisoformat
    return KubernetesVersion(
        version=version, released=day(released), standard_ends=day(standard), extended_ends=day(extended), origin=origin
    )


KUBERNETES = Kubernetes(
    versions=MappingProxyType(
        {
            entry.version: entry
            for entry in (
                _version("1.31", "2024-09-26", "2025-11-26", "2026-11-26"),
                _version("1.32", "2025-01-25", "2026-03-23", "2027-03-23"),
                _version("1.33", "2025-05-29", "2026-07-29", "2027-07-29"),
                _version("1.34", "2025-10-02", "2026-12-02", "2027-12-02"),
                _version("1.35", "2026-01-27", "2027-03-27", "2028-03-27"),
                _version("1.36", "2026-06-15", "2027-08-15", "2028-08-15", _GUESSED),
                _version("1.37", "2026-10-15", "2027-12-15", "2028-12-15", _RUMOURED),
            )
        }
    ),
    default="1.35",
)
