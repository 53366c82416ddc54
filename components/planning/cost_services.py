"""What everything but machines costs: control plane, storage, the network's parts, logs, keys, images, alarms.

Hides the use that no resource tells (bytes through a gateway, lines of log), taken as ranges and named in each line's basis.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from components.catalog import Catalog
from components.planning.cost_lines import HOURS, Declared, Line, Pricer, Unpriced
from components.spec.stack import StackSpec

Found = Iterator[Line | Unpriced]

# Use a month that no resource tells: (low, expected, high) with its unit. Wide on purpose: these lines are small beside the cards.
NAT_GB = (10.0, 500.0, 5000.0)
ENDPOINT_GB = (1.0, 100.0, 2000.0)
LOG_GB = (1.0, 20.0, 300.0)
IMAGE_GB = (10.0, 60.0, 300.0)
BUCKET_GB = (1.0, 50.0, 500.0)


def _flat(amount: float) -> tuple[float, float, float]:
    return (amount, amount, amount)


def _used(resource: Declared, cat: Catalog, region: str, item: str, what: str, amounts: tuple[float, float, float], basis: str) -> Found:
    price = cat.prices.price(item, region)
    if price is None:
        yield Unpriced(what=what, why=f"no price of {item} is known in {region}")
        return
    low, expected, high = (each * price.usd for each in amounts)
    yield Line(
        what=what,
        urn=resource.urn,
        low=low,
        expected=expected,
        high=high,
        basis=f"{basis} x {price.usd:g} USD",
        unverified=price.origin.unverified,
    )


def _hourly(resource: Declared, cat: Catalog, region: str, item: str, what: str, count: float = 1) -> Found:
    amounts = _flat(count * HOURS)
    yield from _used(resource, cat, region, item, what, amounts, f"{count:g} x {HOURS:.0f} h")


def cluster(resource: Declared, by_urn: Mapping[str, Declared], cat: Catalog, region: str, stack: StackSpec | None) -> Found:
    yield from _hourly(resource, cat, region, "eks-cluster", "control plane")
    scaling: Mapping[str, Any] = resource.inputs.get("controlPlaneScalingConfig") or {}
    tier = str(scaling.get("tier") or "standard")
    if tier != "standard":
        yield from _hourly(resource, cat, region, f"eks-{tier}", f"control plane's {tier}")


def nat(resource: Declared, by_urn: Mapping[str, Declared], cat: Catalog, region: str, stack: StackSpec | None) -> Found:
    yield from _hourly(resource, cat, region, "nat-hour", f"{resource.name}: gateway hours")
    yield from _used(resource, cat, region, "nat-gb", f"{resource.name}: traffic", NAT_GB, f"{NAT_GB[0]:g} to {NAT_GB[2]:g} GB")


def address(resource: Declared, by_urn: Mapping[str, Declared], cat: Catalog, region: str, stack: StackSpec | None) -> Found:
    yield from _hourly(resource, cat, region, "public-ipv4", f"{resource.name}: public address")


def endpoint(resource: Declared, by_urn: Mapping[str, Declared], cat: Catalog, region: str, stack: StackSpec | None) -> Found:
    if resource.inputs.get("vpcEndpointType", "Gateway") == "Gateway":
        return
    subnets: Any = resource.inputs.get("subnetIds") or [""]
    yield from _hourly(resource, cat, region, "endpoint-hour", f"{resource.name}: endpoint hours", len(subnets))
    yield from _used(
        resource, cat, region, "endpoint-gb", f"{resource.name}: traffic", ENDPOINT_GB, f"{ENDPOINT_GB[0]:g} to {ENDPOINT_GB[2]:g} GB"
    )


def key(resource: Declared, by_urn: Mapping[str, Declared], cat: Catalog, region: str, stack: StackSpec | None) -> Found:
    yield from _used(resource, cat, region, "kms-key", f"{resource.name}: key", (1.0, 1.0, 3.0), "1 to 3 key versions")


def log_group(resource: Declared, by_urn: Mapping[str, Declared], cat: Catalog, region: str, stack: StackSpec | None) -> Found:
    what = f"{resource.name}: ingest"
    yield from _used(resource, cat, region, "logs-ingest", what, LOG_GB, f"{LOG_GB[0]:g} to {LOG_GB[2]:g} GB")
    days = resource.inputs.get("retentionInDays")
    if not isinstance(days, int) or days <= 0:
        yield Unpriced(what=f"{resource.name}: stored logs", why="they are kept for ever")
        return
    low, expected, high = (each * days / 30 for each in LOG_GB)
    stored = f"{low:.0f} to {high:.0f} GB kept {days} days"
    yield from _used(resource, cat, region, "logs-store", f"{resource.name}: store", (low, expected, high), stored)


def repository(resource: Declared, by_urn: Mapping[str, Declared], cat: Catalog, region: str, stack: StackSpec | None) -> Found:
    basis = f"{IMAGE_GB[0]:g} to {IMAGE_GB[2]:g} GB"
    yield from _used(resource, cat, region, "ecr-storage", f"{resource.name}: images", IMAGE_GB, basis)


def alarm(resource: Declared, by_urn: Mapping[str, Declared], cat: Catalog, region: str, stack: StackSpec | None) -> Found:
    yield from _used(resource, cat, region, "alarm", f"{resource.name}: alarm", (1.0, 1.0, 1.0), "1 alarm")


def bucket(resource: Declared, by_urn: Mapping[str, Declared], cat: Catalog, region: str, stack: StackSpec | None) -> Found:
    """A bucket's contents: the dataset's size from the stack file, small for logs, unpriced where nobody told."""
    what = f"{resource.name}: objects"
    if "dataset" in resource.name:
        size = stack.storage.datasets.size_gib if stack else None
        if size is None:
            yield Unpriced(what=what, why="storage.datasets.size_gib is not given")
            return
        gigabytes = size * 1.073741824
        yield from _used(resource, cat, region, "s3-standard", what, (gigabytes, gigabytes, gigabytes * 1.3), f"{gigabytes:,.0f} GB")
    elif "checkpoint" in resource.name:
        yield Unpriced(what=what, why="it follows the model's size: trainshed size tells the bytes of a checkpoint")
    else:
        yield from _used(resource, cat, region, "s3-standard", what, BUCKET_GB, f"{BUCKET_GB[0]:g} to {BUCKET_GB[2]:g} GB")


def lustre(resource: Declared, by_urn: Mapping[str, Declared], cat: Catalog, region: str, stack: StackSpec | None) -> Found:
    what = f"{resource.name}: file system"
    kind = str(resource.inputs.get("deploymentType") or "SCRATCH_1")
    size = resource.inputs.get("storageCapacity")
    medium = str(resource.inputs.get("storageType") or "SSD")
    rate = resource.inputs.get("perUnitStorageThroughput")
    if medium == "INTELLIGENT_TIERING":
        yield from _tiering(resource, cat, region, stack)
        return
    if not isinstance(size, int | float):
        yield Unpriced(what=what, why="its capacity is not known")
        return
    item = "lustre-scratch" if kind.startswith("SCRATCH") else f"lustre-{kind.lower().replace('_', '-')}-{medium.lower()}-{rate}"
    gigabytes = float(size) * 1.073741824
    yield from _used(resource, cat, region, item, what, _flat(gigabytes), f"{gigabytes:,.0f} GB")


def _tiering(resource: Declared, cat: Catalog, region: str, stack: StackSpec | None) -> Found:
    throughput = resource.inputs.get("throughputCapacity")
    if isinstance(throughput, int | float):
        amounts = _flat(float(throughput))
        yield from _used(resource, cat, region, "lustre-it-throughput", f"{resource.name}: throughput", amounts, f"{throughput:,} MB/s")
    cache: Mapping[str, Any] = resource.inputs.get("dataReadCacheConfiguration") or {}
    if isinstance(cache.get("size"), int | float):
        gigabytes = float(cache["size"]) * 1.073741824
        yield from _used(resource, cat, region, "lustre-it-cache", f"{resource.name}: read cache", _flat(gigabytes), f"{gigabytes:,.0f} GB")
    size = stack.storage.datasets.size_gib if stack else None
    if size is None:
        yield Unpriced(what=f"{resource.name}: stored data", why="it is charged by what is stored, which nobody told")
        return
    least = cat.prices.usd("lustre-it-archive", region) or 0.0
    most = cat.prices.usd("lustre-it-frequent", region)
    if most is None:
        yield Unpriced(what=f"{resource.name}: stored data", why=f"no price is known in {region}")
        return
    gigabytes = size * 1.073741824
    yield Line(
        what=f"{resource.name}: stored data",
        urn=resource.urn,
        low=gigabytes * least,
        expected=gigabytes * most,
        high=2 * gigabytes * most,
        basis=f"{gigabytes:,.0f} GB, archived to frequent",
        unverified=True,
    )


def topic(resource: Declared, by_urn: Mapping[str, Declared], cat: Catalog, region: str, stack: StackSpec | None) -> Found:
    yield from _used(resource, cat, region, "sns-email", f"{resource.name}: notifications", (0.01, 0.1, 10.0), "10 to 10,000 notifications")


def trail(resource: Declared, by_urn: Mapping[str, Declared], cat: Catalog, region: str, stack: StackSpec | None) -> Found:
    """The first copy of management events is free of charge; data events are not recorded."""
    if resource.inputs.get("eventSelectors") or resource.inputs.get("advancedEventSelectors"):
        yield Unpriced(what=f"{resource.name}: data events", why="they follow the number of requests")


def volume(resource: Declared, by_urn: Mapping[str, Declared], cat: Catalog, region: str, stack: StackSpec | None) -> Found:
    size = resource.inputs.get("size")
    if str(resource.inputs.get("type") or "gp2") != "gp3" or not isinstance(size, int | float):
        yield Unpriced(what=f"{resource.name}: volume", why="only gp3 volumes of a known size have a price here")
        return
    yield from _used(resource, cat, region, "ebs-gp3", f"{resource.name}: volume", _flat(float(size)), f"{size:g} GB")


PRICERS: Mapping[str, Pricer] = {
    "aws:cloudtrail/trail:Trail": trail,
    "aws:cloudwatch/logGroup:LogGroup": log_group,
    "aws:cloudwatch/metricAlarm:MetricAlarm": alarm,
    "aws:ebs/volume:Volume": volume,
    "aws:ec2/eip:Eip": address,
    "aws:ec2/natGateway:NatGateway": nat,
    "aws:ec2/vpcEndpoint:VpcEndpoint": endpoint,
    "aws:ecr/repository:Repository": repository,
    "aws:eks/cluster:Cluster": cluster,
    "aws:fsx/lustreFileSystem:LustreFileSystem": lustre,
    "aws:kms/key:Key": key,
    "aws:kms/replicaKey:ReplicaKey": key,
    "aws:s3/bucket:Bucket": bucket,
    "aws:sns/topic:Topic": topic,
}
