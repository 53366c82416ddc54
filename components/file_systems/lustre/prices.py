"""What a Lustre file system costs: its capacity or throughput, metadata beyond what comes with it, and backups.

AWS' GB of storage is 2^30 bytes, so a stack file's GiB count as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from components.planning.cost.lines import Found, Line, Pricer, Range, Setting, Unpriced, between, flat, used
from components.record import Record

# Share of a file system that its incremental backups hold.
BACKUP_SHARE: Final[Range] = (0.05, 0.5, 1.5)


def lustre(resource: Record, given: Setting) -> Found:
    """Capacity at the price of its throughput, metadata beyond what comes with it, and backups."""
    kind = str(resource.inputs.get("deploymentType") or "SCRATCH_1")
    size = resource.number("storageCapacity")
    medium = str(resource.inputs.get("storageType") or "SSD")
    if medium == "INTELLIGENT_TIERING":
        yield from _tiering(resource, given)
    elif size is None:
        yield Unpriced(what=f"{resource.name}: file system", why="its capacity is not known", urn=resource.urn)
        return
    else:
        rate = resource.number("perUnitStorageThroughput") or 0
        scratch = kind.startswith("SCRATCH")
        item = "lustre-scratch" if scratch else f"lustre-{kind.lower().replace('_', '-')}-{medium.lower()}-{rate:.0f}"
        yield from used(resource, given, item, f"{resource.name}: file system", flat(size), f"{size:,.0f} GB")
    yield from _metadata(resource, size, given)
    if str(resource.inputs.get("driveCacheType") or "NONE") == "READ":
        yield Unpriced(
            what=f"{resource.name}: drive cache",
            why="no price of an HDD file system's SSD cache is known",
            urn=resource.urn,
        )
    yield from _backups(resource, size, given)


def _metadata(resource: Record, size: float | None, given: Setting) -> Found:
    """Provisioned metadata IOPS; the automatic ones come with the capacity."""
    chosen = resource.part("metadataConfiguration")
    iops = chosen.get("iops")
    if chosen.get("mode") != "USER_PROVISIONED" or not isinstance(iops, int | float):
        return
    included = float(given.cat.lustre.automatic_metadata_iops(int(size))) if size is not None else 0.0
    extra = max(0.0, float(iops) - included)
    if extra:
        basis = f"{iops:,} IOPS, {included:,.0f} of them with the capacity"
        yield from used(resource, given, "lustre-metadata-iops", f"{resource.name}: metadata IOPS", flat(extra), basis)


def _backups(resource: Record, size: float | None, given: Setting) -> Found:
    days = resource.number("automaticBackupRetentionDays") or 0
    if not days:
        return
    if size is None:
        yield Unpriced(
            what=f"{resource.name}: backups",
            why="they follow what is stored, which the stack file doesn't give",
            urn=resource.urn,
        )
        return
    amounts = (size * BACKUP_SHARE[0], size * BACKUP_SHARE[1], size * BACKUP_SHARE[2])
    basis = f"{between(amounts[0], amounts[2], 'GB')} kept {days:.0f} days"
    yield from used(resource, given, "lustre-backup", f"{resource.name}: backups", amounts, basis)


def _tiering(resource: Record, given: Setting) -> Found:
    throughput = resource.number("throughputCapacity")
    if throughput is not None:
        what = f"{resource.name}: throughput"
        yield from used(resource, given, "lustre-it-throughput", what, flat(throughput), f"{throughput:,.0f} MB/s")
    else:
        yield Unpriced(what=f"{resource.name}: throughput", why="it is not known", urn=resource.urn)
    yield from _cache(resource, throughput, given)
    size = given.stack.storage.datasets.size_gib if given.stack else None
    what = f"{resource.name}: stored data"
    if size is None:
        yield Unpriced(
            what=what, why="it is charged by what is stored, which the stack file doesn't give", urn=resource.urn
        )
        return
    least, most = (given.cat.prices.usd(item, given.region) for item in ("lustre-it-archive", "lustre-it-frequent"))
    if least is None or most is None:
        yield Unpriced(what=what, why=f"no price is known in {given.region}", urn=resource.urn)
        return
    basis = f"{size:,.0f} GB, archived to frequent, twice that at most"
    yield Line(
        what=what,
        urn=resource.urn,
        low=size * least,
        expected=size * most,
        high=2 * size * most,
        basis=basis,
        unverified=True,
    )


def _cache(resource: Record, throughput: float | None, given: Setting) -> Iterator[Line | Unpriced]:
    """The SSD read cache: the size that was chosen, or 20 GiB for each MB/s where it follows the throughput (FSx
    guide).
    """
    chosen = resource.part("dataReadCacheConfiguration")
    mode, size = str(chosen.get("sizingMode") or ""), chosen.get("size")
    if mode == "NO_CACHE" or not mode:
        return
    gigabytes = float(size) if isinstance(size, int | float) else None
    if gigabytes is None:
        yield Unpriced(
            what=f"{resource.name}: read cache",
            why="its size follows the throughput, by a rule not known here",
            urn=resource.urn,
        )
        return
    for each in used(
        resource, given, "lustre-it-cache", f"{resource.name}: read cache", flat(gigabytes), f"{gigabytes:,.0f} GB"
    ):
        if isinstance(each, Line | Unpriced):
            yield each


PRICERS: Final[Mapping[str, Pricer]] = {"aws:fsx/lustreFileSystem:LustreFileSystem": lustre}
