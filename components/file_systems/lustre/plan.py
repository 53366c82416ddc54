"""Plans a Lustre file system: the size, throughput, metadata and backups that its spec leaves open.

The component, the rules and the demand check use this plan, so that they agree.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from components.catalog import Catalog
from components.spec.storage import LinkSpec, LustreSpec, ReadCacheSpec

DATASET_FACTOR = 2  # checkpoints and the next version of the data lie beside the data in use


@dataclass(frozen=True, kw_only=True)
class LustrePlan:
    """`capacity_gib` is None with intelligent tiering; `metadata_iops` is None where FSx sets it or metadata isn't
    configured.
    """

    capacity_gib: int | None
    total_mbps: float
    metadata_mode: str | None
    metadata_iops: int | None
    cache: ReadCacheSpec | None
    final_backup: bool


def plan(spec: LustreSpec, cat: Catalog, dataset_gib: int | None = None) -> LustrePlan:
    """The file system of a spec that passed the rules."""
    return LustrePlan(
        capacity_gib=None if spec.tiered else spec.capacity_gib or _capacity(spec, cat, dataset_gib),
        total_mbps=total_mbps(spec, cat, dataset_gib),
        metadata_mode=_metadata_mode(spec),
        metadata_iops=_metadata_iops(spec, cat),
        cache=(spec.read_cache or ReadCacheSpec()) if spec.tiered else None,
        # FSx takes no backups of data that is linked to a bucket, nor of scratch storage: the bucket is the copy.
        final_backup=spec.final_backup if spec.final_backup is not None else not spec.scratch and not spec.links,
    )


def total_mbps(spec: LustreSpec, cat: Catalog, dataset_gib: int | None = None) -> float:
    """Throughput bought, in MB/s; 0 where the words don't make a file system that FSx offers."""
    if spec.tiered:
        return float(spec.throughput_mbps or 0)
    deployment = cat.lustre.deployment(spec.deployment, spec.storage)
    capacity = spec.capacity_gib or _capacity(spec, cat, dataset_gib)
    return deployment.total_mbps(capacity, spec.throughput_mbps_per_tib) if deployment and capacity else 0.0


def _capacity(spec: LustreSpec, cat: Catalog, dataset_gib: int | None) -> int | None:
    """The smallest legal size that holds the dataset twice."""
    deployment = cat.lustre.deployment(spec.deployment, spec.storage)
    sizes = deployment.sizes_for(spec.throughput_mbps_per_tib, efa=spec.efa) if deployment else None
    return sizes.at_least(DATASET_FACTOR * (dataset_gib or 0)) if sizes else None


def has_metadata_mode(spec: LustreSpec) -> bool:
    """Whether the file system takes a metadata configuration: FSx refuses Lustre 2.12 with one (FSx API reference,
    CreateFileSystem, FileSystemTypeVersion).
    """
    return spec.deployment == "PERSISTENT_2" and spec.version == "2.15"


def _metadata_mode(spec: LustreSpec) -> str | None:
    if not has_metadata_mode(spec):
        return None
    # EFA asks for a metadata configuration, and the mode can't be changed from none later: every one that can have it
    # gets it.
    return "USER_PROVISIONED" if spec.metadata_iops or spec.tiered else "AUTOMATIC"


def _metadata_iops(spec: LustreSpec, cat: Catalog) -> int | None:
    if not has_metadata_mode(spec):
        return None
    return spec.metadata_iops or (cat.lustre.intelligent_tiering.metadata_iops[0] if spec.tiered else None)


def overlapping(links: Iterable[LinkSpec]) -> tuple[tuple[str, str], ...]:
    """Pairs of link paths of which one holds the other, each pair in path order."""
    paths = sorted(link.path for link in links)
    return tuple(
        (first, second) for index, first in enumerate(paths) for second in paths[index + 1 :] if _holds(first, second)
    )


def _holds(outer: str, inner: str) -> bool:
    return outer == inner or inner.startswith(outer.rstrip("/") + "/")


def weekly(time: str) -> str:
    """FSx's spelling of `sun 04:00`: day number (Monday is 1), hour and minute."""
    day, clock = time.split(" ")
    return f"{('mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun').index(day) + 1}:{clock}"
