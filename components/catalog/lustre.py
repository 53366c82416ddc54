"""FSx for Lustre: which sizes, throughputs and options each deployment type takes.

Callers ask what FSx accepts, and for the smallest accepted size that is enough.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from math import ceil
from types import MappingProxyType
from typing import Literal

from components.catalog.lustre_clients import EFA_CLIENTS, EfaClients
from components.catalog.pins import Origin

DeploymentType = Literal["SCRATCH_1", "SCRATCH_2", "PERSISTENT_1", "PERSISTENT_2"]
StorageType = Literal["SSD", "HDD", "INTELLIGENT_TIERING"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Legal capacities in GiB: a few small ones, then every multiple of the step."""

    small: tuple[int, ...]
    step: int

    def legal(self, gib: int) -> bool:
        return gib in self.small or (gib > 0 and gib % self.step == 0)

    def at_least(self, gib: float) -> int:
        """The smallest legal capacity that holds this many GiB."""
        fits = [size for size in self.small if size >= gib]
        stepped = self.step * max(1, ceil(gib / self.step))
        return min([*fits, stepped])

    def at_most(self, gib: float) -> int | None:
        """The largest legal capacity not above this many GiB; None when even the smallest is."""
        stepped = self.step * int(gib // self.step)
        fits = [size for size in (*self.small, stepped) if 0 < size <= gib]
        return max(fits, default=None)

    @property
    def minimum(self) -> int:
        return min([*self.small, self.step])


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """What one deployment type on one storage type takes. `throughputs` are MB/s per TiB that may be chosen; empty
    where fixed.
    """

    deployment: DeploymentType
    storage: StorageType
    sizes: Mapping[int, Sizes]  # by throughput; under 0 where the throughput isn't chosen
    throughputs: tuple[int, ...]
    fixed_throughput: int | None
    efa_steps: Mapping[int, int]  # throughput -> GiB; empty where EFA can't be had
    versions: tuple[str, ...]
    compression: tuple[str, ...]
    metadata_iops: tuple[int, ...]  # values for USER_PROVISIONED; empty where metadata isn't configured
    associations: bool  # whether data repository associations attach
    backups: bool
    replicated: bool  # whether data survives the loss of a file server
    drive_caches: tuple[str, ...] = ()  # SSD read cache before disks; empty where the storage is SSD

    def total_mbps(self, gib: float, throughput: int | None) -> float:
        """Throughput in MB/s that a file system of this capacity is bought with."""
        return gib / 1024 * (self.fixed_throughput or throughput or 0)

    def sizes_for(self, throughput: int | None, *, efa: bool) -> Sizes | None:
        """Legal capacities; None when the throughput, or EFA with it, isn't offered."""
        if efa:
            step = self.efa_steps.get(throughput or 0)
            return Sizes(small=(), step=step) if step else None
        return self.sizes.get(throughput or 0) if self.throughputs else self.sizes[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class IntelligentTiering:
    """Rules of the elastic storage class: no capacity, a bought throughput, an SSD read cache."""

    throughput_step_mbps: int
    throughput_max_mbps: int
    cache_modes: tuple[str, ...]
    cache_gib_per_1000_mbps: tuple[int, int]
    metadata_iops: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class LustreFacts:
    """All deployment types, and what holds for every file system."""

    deployments: Mapping[tuple[DeploymentType, StorageType], Deployment]
    intelligent_tiering: IntelligentTiering
    associations_max: int
    backup_days_max: int
    log_group_prefix: str
    client_ports: tuple[tuple[int, int], ...]
    efa_clients: EfaClients
    origin: Origin

    def deployment(self, deployment: DeploymentType, storage: StorageType = "SSD") -> Deployment | None:
        """None where FSx doesn't offer the pair."""
        return self.deployments.get((deployment, storage))

    def automatic_metadata_iops(self, gib: int) -> int:
        """What PERSISTENT_2 SSD gets when metadata is left AUTOMATIC; from a third party's digest of the guide, so
        unverified.
        """
        for below, iops in ((2400, 1500), (4800, 3000), (12000, 6000), (48000, 12000)):
            if gib < below:
                return iops
        return 12000 * (gib // 24000)


_SSD = Sizes(small=(1200,), step=2400)
_SCRATCH_1 = Sizes(small=(1200, 2400), step=3600)
_METADATA = (1500, 3000, 6000, *range(12000, 192001, 12000))
_ALL_VERSIONS = ("2.10", "2.12", "2.15")
_NEW_VERSIONS = ("2.12", "2.15")
_COMPRESSION = ("NONE", "LZ4")


def _by(throughputs: tuple[int, ...], sizes: Sizes) -> Mapping[int, Sizes]:
    return MappingProxyType(dict.fromkeys(throughputs, sizes))


_NO_EFA: Mapping[int, int] = MappingProxyType({})
_P1_SSD, _P2_SSD = (50, 100, 200), (125, 250, 500, 1000)

_DEPLOYMENTS = (
    Deployment(
        deployment="SCRATCH_1",
        storage="SSD",
        sizes=_by((0,), _SCRATCH_1),
        throughputs=(),
        fixed_throughput=200,
        efa_steps=_NO_EFA,
        versions=_ALL_VERSIONS,
        compression=_COMPRESSION,
        metadata_iops=(),
        associations=False,
        backups=False,
        replicated=False,
    ),
    Deployment(
        deployment="SCRATCH_2",
        storage="SSD",
        sizes=_by((0,), _SSD),
        throughputs=(),
        fixed_throughput=200,
        efa_steps=_NO_EFA,
        versions=_ALL_VERSIONS,
        compression=_COMPRESSION,
        metadata_iops=(),
        associations=True,
        backups=False,
        replicated=False,
    ),
    Deployment(
        deployment="PERSISTENT_1",
        storage="SSD",
        sizes=_by(_P1_SSD, _SSD),
        throughputs=_P1_SSD,
        fixed_throughput=None,
        efa_steps=_NO_EFA,
        versions=_ALL_VERSIONS,
        compression=_COMPRESSION,
        metadata_iops=(),
        associations=True,
        backups=True,
        replicated=True,
    ),
    Deployment(
        deployment="PERSISTENT_1",
        storage="HDD",
        sizes=MappingProxyType({12: Sizes(small=(), step=6000), 40: Sizes(small=(), step=1800)}),
        drive_caches=("NONE", "READ"),
        throughputs=(12, 40),
        fixed_throughput=None,
        efa_steps=_NO_EFA,
        versions=_ALL_VERSIONS,
        compression=_COMPRESSION,
        metadata_iops=(),
        associations=True,
        backups=True,
        replicated=True,
    ),
    Deployment(
        deployment="PERSISTENT_2",
        storage="SSD",
        sizes=_by(_P2_SSD, _SSD),
        throughputs=_P2_SSD,
        fixed_throughput=None,
        efa_steps=MappingProxyType({125: 38400, 250: 19200, 500: 9600, 1000: 4800}),
        versions=_NEW_VERSIONS,
        compression=_COMPRESSION,
        metadata_iops=_METADATA,
        associations=True,
        backups=True,
        replicated=True,
    ),
)

LUSTRE = LustreFacts(
    deployments=MappingProxyType({(entry.deployment, entry.storage): entry for entry in _DEPLOYMENTS}),
    intelligent_tiering=IntelligentTiering(
        throughput_step_mbps=4000,
        throughput_max_mbps=2_000_000,
        cache_modes=("NO_CACHE", "USER_PROVISIONED", "PROPORTIONAL_TO_THROUGHPUT_CAPACITY"),
        cache_gib_per_1000_mbps=(8, 32768),
        metadata_iops=(6000, 12000),
    ),
    associations_max=8,
    backup_days_max=90,
    log_group_prefix="/aws/fsx",
    client_ports=((988, 988), (1018, 1023)),
    efa_clients=EFA_CLIENTS,
    origin=Origin(
        as_of=date(2026, 11, 30), source="FSx for Lustre User Guide; botocore 1.44.8 and pulumi-aws 7.51.1 fsx models"
    ),
)
