"""What stored bytes cost: file systems with their metadata and backups, buckets with their requests and copies,
volumes, images.

Hides the use that no resource tells, taken as ranges; AWS' GB of storage is 2^30 bytes, so a stack file's GiB count as
they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from components.planning.cost.lines import Declared, Found, Line, Pricer, Range, Setting, Unpriced, between, flat, used

# Objects of a log bucket, GB a month that stay.
LOG_BUCKET_GB: Range = (1.0, 50.0, 500.0)
# Thousands of requests a month to a bucket that no job streams from.
FEW_REQUESTS: Range = (1.0, 50.0, 5000.0)
# How often a month the whole dataset is read from the bucket, in ranges of 8 MiB (the CRT client's and Lustre's own
# part size).
PASSES: Range = (0.1, 1.0, 10.0)
PART_MIB = 8
# Share of a file system that its incremental backups hold.
BACKUP_SHARE: Range = (0.05, 0.5, 1.5)
IMAGE_GB: Range = (10.0, 60.0, 300.0)
# Tiers of S3 Standard: up to this many GB, at this item's price.
STANDARD_TIERS: tuple[tuple[float, str], ...] = (
    (51_200.0, "s3-standard"),
    (512_000.0, "s3-standard-50tb"),
    (float("inf"), "s3-standard-500tb"),
)
# S3 request metrics (S3 User Guide, "Amazon S3 metrics and dimensions"): sixteen, each a custom metric.
REQUEST_METRICS = 16
REPLICATION_METRICS = 4

LIFECYCLE = "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration"


def standard(gigabytes: float, given: Setting) -> float | None:
    """USD a month of so much in S3 Standard, tier by tier."""
    total, start = 0.0, 0.0
    for end, item in STANDARD_TIERS:
        part = min(gigabytes, end) - start
        if part <= 0:
            break
        price = given.cat.prices.usd(item, given.region)
        if price is None:
            return None
        total, start = total + part * price, end
    return total


def bucket(resource: Declared, given: Setting) -> Found:
    """A bucket's contents and requests: the dataset's size from the stack file, small for logs, unpriced where nobody
    told.
    """
    what = f"{resource.name}: objects"
    if "dataset" in resource.name:
        size = given.stack.storage.datasets.size_gib if given.stack else None
        if size is None:
            yield Unpriced(what=what, why="storage.datasets.size_gib is not given", urn=resource.urn)
            return
        yield from _dataset(resource, what, float(size), given)
    elif "checkpoint" in resource.name:
        yield Unpriced(
            what=what,
            why="it follows the model's size: trainshed size tells the bytes of a checkpoint",
            urn=resource.urn,
        )
    else:
        yield from used(
            resource, given, "s3-standard", what, LOG_BUCKET_GB, between(LOG_BUCKET_GB[0], LOG_BUCKET_GB[2], "GB")
        )
        yield from _requests(resource, given, "s3-put", "writes", FEW_REQUESTS)


def _dataset(resource: Declared, what: str, gigabytes: float, given: Setting) -> Found:
    full, more = standard(gigabytes, given), standard(gigabytes * 1.3, given)
    if full is None or more is None:
        yield Unpriced(what=what, why=f"no price of s3-standard is known in {given.region}", urn=resource.urn)
        return
    tiered = _tiered(resource, given)
    rarely = given.cat.prices.usd("s3-standard-ia", given.region) if tiered else None
    # What nobody read for thirty days lies in the infrequent tier, which costs what Standard-IA does; old versions add
    # to the high end.
    yield Line(
        what=what,
        urn=resource.urn,
        low=gigabytes * rarely if rarely is not None else full,
        expected=full,
        high=more,
        basis=(
            f"{gigabytes:,.0f} GB in S3"
            f" Standard{', or all unread in intelligent tiering' if rarely is not None else ''}"
        ),
    )
    parts = gigabytes * 1024 / PART_MIB / 1000
    reads = (parts * PASSES[0], parts * PASSES[1], parts * PASSES[2])
    yield from _requests(
        resource, given, "s3-get", f"reads, {between(PASSES[0], PASSES[2], 'passes')} over the data", reads
    )
    yield from _requests(resource, given, "s3-put", "writes", FEW_REQUESTS)


def _requests(resource: Declared, given: Setting, item: str, words: str, thousands: Range) -> Found:
    basis = f"{between(thousands[0], thousands[2], 'thousand requests')}"
    yield from used(resource, given, item, f"{resource.name}: {words}", thousands, basis)


def _tiered(resource: Declared, given: Setting) -> bool:
    """Whether a lifecycle rule of the bucket moves objects to intelligent tiering."""
    rules = (each.inputs.get("rules") for each in given.of(LIFECYCLE) if resource.urn in each.depends_on)
    return any("INTELLIGENT_TIERING" in str(each) for each in rules)


def replication(resource: Declared, given: Setting) -> Found:
    """The copy's traffic follows the checkpoints; its metrics are charged as custom ones."""
    rate = given.cat.prices.usd("data-cross-region", given.region)
    each = "" if rate is None else f", at {rate:g} USD a GB between regions"
    yield Unpriced(
        what=f"{resource.name}: replication", why=f"it follows the bytes of the checkpoints{each}", urn=resource.urn
    )
    rules: list[Mapping[str, Any]] = [rule for rule in resource.inputs.get("rules") or () if isinstance(rule, Mapping)]
    measured = sum(
        1 for rule in rules if ((rule.get("destination") or {}).get("metrics") or {}).get("status") == "Enabled"
    )
    if measured:
        amounts = flat(float(measured * REPLICATION_METRICS))
        basis = f"{measured} rules x {REPLICATION_METRICS} metrics"
        yield from used(resource, given, "metrics-custom", f"{resource.name}: replication metrics", amounts, basis)


def request_metrics(resource: Declared, given: Setting) -> Found:
    what = f"{resource.name}: request metrics"
    yield from used(resource, given, "metrics-custom", what, flat(float(REQUEST_METRICS)), f"{REQUEST_METRICS} metrics")


def lustre(resource: Declared, given: Setting) -> Found:
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


def _metadata(resource: Declared, size: float | None, given: Setting) -> Found:
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


def _backups(resource: Declared, size: float | None, given: Setting) -> Found:
    days = resource.number("automaticBackupRetentionDays") or 0
    if not days:
        return
    if size is None:
        yield Unpriced(
            what=f"{resource.name}: backups", why="they follow what is stored, which nobody told", urn=resource.urn
        )
        return
    amounts = (size * BACKUP_SHARE[0], size * BACKUP_SHARE[1], size * BACKUP_SHARE[2])
    basis = f"{between(amounts[0], amounts[2], 'GB')} kept {days:.0f} days"
    yield from used(resource, given, "lustre-backup", f"{resource.name}: backups", amounts, basis)


def _tiering(resource: Declared, given: Setting) -> Found:
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
        yield Unpriced(what=what, why="it is charged by what is stored, which nobody told", urn=resource.urn)
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


def _cache(resource: Declared, throughput: float | None, given: Setting) -> Iterator[Line | Unpriced]:
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


def volume(resource: Declared, given: Setting) -> Found:
    size = resource.number("size")
    if str(resource.inputs.get("type") or "gp2") != "gp3" or size is None:
        yield Unpriced(
            what=f"{resource.name}: volume", why="only gp3 volumes of a known size have a price here", urn=resource.urn
        )
        return
    yield from used(resource, given, "ebs-gp3", f"{resource.name}: volume", flat(size), f"{size:g} GB")
    for key, item, free in (("iops", "ebs-gp3-iops", 3000), ("throughput", "ebs-gp3-throughput", 125)):
        extra = (resource.number(key) or 0) - free
        if extra > 0:
            yield from used(resource, given, item, f"{resource.name}: {key}", flat(extra), f"{extra:g} beyond {free}")


def repository(resource: Declared, given: Setting) -> Found:
    """Images: for the stack's own, from one to as many as are kept (they share layers, so a few whole ones are
    expected).
    """
    own = given.stack.storage.registry if given.stack else None
    name = str(resource.inputs.get("name") or "")
    amounts = IMAGE_GB
    if own and any(name.endswith(each) for each in own.repositories):
        image = float(own.image_gib)
        amounts = (image, image * min(4, own.keep_images), image * own.keep_images)
    yield from used(
        resource, given, "ecr-storage", f"{resource.name}: images", amounts, between(amounts[0], amounts[2], "GB")
    )


PRICERS: Mapping[str, Pricer] = {
    "aws:ebs/volume:Volume": volume,
    "aws:ecr/repository:Repository": repository,
    "aws:fsx/lustreFileSystem:LustreFileSystem": lustre,
    "aws:s3/bucket:Bucket": bucket,
    "aws:s3/bucketMetric:BucketMetric": request_metrics,
    "aws:s3/bucketReplicationConfig:BucketReplicationConfig": replication,
}
