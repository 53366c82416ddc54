"""What else changes with the kind of a file system, so that a hint to use another kind is whole."""

from __future__ import annotations

from typing import Any

from components.catalog import Catalog
from components.catalog.lustre import Deployment
from components.naming import listed
from components.spec.storage import LustreSpec


def words(system: LustreSpec, cat: Catalog, **changes: Any) -> str:
    """`deployment: PERSISTENT_2 with throughput_mbps_per_tib: 125, without links`: the changes, and what FSx asks for
    or refuses beside them. Empty where FSx has no such kind.
    """
    wanted = system.model_copy(update=changes)
    deployment = None if wanted.tiered else cat.lustre.deployment(wanted.deployment, wanted.storage)
    if deployment is None and not wanted.tiered:
        return ""
    needed, barred = _tiered(wanted, cat) if deployment is None else _sized(wanted, deployment)
    reported = ", ".join(f"{key}: {_value(value)}" for key, value in changes.items())
    beside = f" with {listed([f'{key}: {_value(value)}' for key, value in needed.items()])}" if needed else ""
    return f"{reported}{beside}" + (f", without {listed(barred)}" if barred else "")


def _tiered(wanted: LustreSpec, cat: Catalog) -> tuple[dict[str, object], list[str]]:
    tiering = cat.lustre.intelligent_tiering
    needed: dict[str, object] = {}
    if wanted.deployment != "PERSISTENT_2":
        needed["deployment"] = "PERSISTENT_2"
    if not wanted.throughput_mbps:
        needed["throughput_mbps"] = tiering.throughput_step_mbps
    if wanted.version != "2.15":
        needed["version"] = '"2.15"'
    unfit = wanted.metadata_iops is not None and wanted.metadata_iops not in tiering.metadata_iops
    barred = ["metadata_iops"] if unfit else []
    return needed, [*_given(wanted, "capacity_gib", "throughput_mbps_per_tib", "drive_cache", "links"), *barred]


def _sized(wanted: LustreSpec, deployment: Deployment) -> tuple[dict[str, object], list[str]]:
    needed: dict[str, object] = {}
    barred = _given(wanted, "throughput_mbps", "read_cache")
    rate, efa = wanted.throughput_mbps_per_tib, wanted.efa
    if deployment.throughputs and rate not in deployment.throughputs:
        rate = min(deployment.throughputs, key=lambda each: abs(each - (rate or 0)))
        needed["throughput_mbps_per_tib"] = rate
    elif not deployment.throughputs and rate:
        rate, barred = None, [*barred, "throughput_mbps_per_tib"]
    if efa and not deployment.efa_steps:
        efa, needed["efa"] = False, False
    sizes = deployment.sizes_for(rate, efa=efa)
    if wanted.capacity_gib is not None and sizes is not None and not sizes.legal(wanted.capacity_gib):
        needed["capacity_gib"] = sizes.at_least(wanted.capacity_gib)
    if wanted.version not in deployment.versions or (efa and wanted.version != "2.15"):
        needed["version"] = f'"{deployment.versions[-1]}"'
    if wanted.metadata_iops is not None and wanted.metadata_iops not in deployment.metadata_iops:
        barred.append("metadata_iops")
    if wanted.backup_days and not deployment.backups:
        barred.append("backup_days")
    if wanted.drive_cache and wanted.storage != "HDD":
        barred.append("drive_cache")
    return needed, [*barred, *([] if deployment.associations else _given(wanted, "links"))]


def _given(system: LustreSpec, *keys: str) -> list[str]:
    return [key for key in keys if getattr(system, key)]


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
