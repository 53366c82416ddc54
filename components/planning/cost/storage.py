"""What stored bytes cost: file systems with their metadata and backups, buckets with their requests and copies,
volumes, images.

Use that no resource states is taken as a range. AWS' GB of storage is 2^30 bytes, so a stack file's GiB count as they
are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from components.planning.cost.lines import Found, Line, Pricer, Range, Setting, Unpriced, between, flat, used
from components.record import Record

# Objects of a log bucket, GB a month that stay.
LOG_BUCKET_GB: Range = (1.0, 50.0, 500.0)
# Thousands of requests a month to a bucket that no job streams from.
FEW_REQUESTS: Range = (1.0, 50.0, 5000.0)
# How often a month the whole dataset is read from the bucket, in ranges of 8 MiB (the CRT client's and Lustre's own
# part size).
PASSES: Range = (0.1, 1.0, 10.0)
PART_MIB = 8
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


def bucket(resource: Record, given: Setting) -> Found:
    """A bucket's contents and requests: the dataset's size from the stack file, small for logs, unpriced where the
    size isn't given.
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


def _dataset(resource: Record, what: str, gigabytes: float, given: Setting) -> Found:
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


def _requests(resource: Record, given: Setting, item: str, words: str, thousands: Range) -> Found:
    basis = f"{between(thousands[0], thousands[2], 'thousand requests')}"
    yield from used(resource, given, item, f"{resource.name}: {words}", thousands, basis)


def _tiered(resource: Record, given: Setting) -> bool:
    """Whether a lifecycle rule of the bucket moves objects to intelligent tiering."""
    rules = (each.inputs.get("rules") for each in given.of(LIFECYCLE) if resource.urn in each.depends_on)
    return any("INTELLIGENT_TIERING" in str(each) for each in rules)


def replication(resource: Record, given: Setting) -> Found:
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


def request_metrics(resource: Record, given: Setting) -> Found:
    what = f"{resource.name}: request metrics"
    yield from used(resource, given, "metrics-custom", what, flat(float(REQUEST_METRICS)), f"{REQUEST_METRICS} metrics")


def volume(resource: Record, given: Setting) -> Found:
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


def repository(resource: Record, given: Setting) -> Found:
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
    "aws:s3/bucket:Bucket": bucket,
    "aws:s3/bucketMetric:BucketMetric": request_metrics,
    "aws:s3/bucketReplicationConfig:BucketReplicationConfig": replication,
}
