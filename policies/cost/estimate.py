"""An estimate: what a stack costs a month by its declarations alone, for when nobody hands in the cost model's figure.

It prices what has a size (machines, volumes, file systems, control planes, gateways, endpoints, keys); what depends on
use, and what has no known price, is listed as unpriced and never counted as 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from policies.cost.catalog import HOURS_A_MONTH, Catalog
from policies.cost.purchases import BUYING, Purchase, grown, purchases
from policies.declared.resources import Resource, Stack
from policies.declared.types import (
    ADDRESS,
    BUCKET,
    CAPACITY_BLOCK,
    CAPACITY_RESERVATION,
    CLUSTER,
    DETECTOR,
    DETECTOR_FEATURE,
    EBS_DEFAULT,
    FILE_SYSTEM,
    FLOW_LOG,
    FUNCTION,
    KEY,
    LOG_GROUP,
    LUSTRE,
    NAT_GATEWAY,
    QUEUE,
    REPLICA_KEY,
    REPOSITORY,
    TOPIC,
    TRAIL,
    VOLUME,
    VPC_ENDPOINT,
)
from policies.declared.values import LEFT_OUT, Node

BY_USE = (
    BUCKET,
    REPOSITORY,
    LOG_GROUP,
    TRAIL,
    FLOW_LOG,
    DETECTOR,
    DETECTOR_FEATURE,
    TOPIC,
    QUEUE,
    FILE_SYSTEM,
    FUNCTION,
    "aws:budgets/budgetAction:BudgetAction",
    "aws:cfg/recorder:Recorder",
    "aws:cfg/rule:Rule",
    "aws:cloudwatch/metricAlarm:MetricAlarm",
    "aws:ec2transitgateway/vpcAttachment:VpcAttachment",
    "aws:s3/bucketMetric:BucketMetric",
    "aws:s3/bucketReplicationConfig:BucketReplicationConfig",
)
# Machines have lines of their own, reservations are paid by the pools that run in them, and a gateway endpoint is free.
ELSEWHERE = (CAPACITY_RESERVATION, CAPACITY_BLOCK, VPC_ENDPOINT, EBS_DEFAULT)
PRICED = (*BY_USE, ADDRESS, CLUSTER, KEY, REPLICA_KEY, LUSTRE, NAT_GATEWAY, VOLUME, VPC_ENDPOINT)


@dataclass(frozen=True)
class Line:
    """One resource's cost a month; None where no price is known, and why."""

    resource: Resource
    low: float | None
    expected: float | None
    high: float | None
    why: str = ""


@dataclass(frozen=True)
class Estimate:
    """The lines and their sums."""

    lines: tuple[Line, ...]

    @property
    def low(self) -> float:
        return sum(line.low or 0 for line in self.lines)

    @property
    def expected(self) -> float:
        return sum(line.expected or 0 for line in self.lines)

    @property
    def high(self) -> float:
        return sum(line.high or 0 for line in self.lines)

    @property
    def unpriced(self) -> tuple[Line, ...]:
        return tuple(line for line in self.lines if line.expected is None)

    def drivers(self, count: int = 3) -> tuple[Line, ...]:
        return tuple(
            sorted((line for line in self.lines if line.expected), key=lambda line: -(line.expected or 0))[:count]
        )


def region_of(resource: Resource, default: str) -> str:
    """The region that the resource or its provider names."""
    own = resource.at("region").value
    if isinstance(own, str) and not resource.at("region").opaque:
        return own
    given = (resource.provider_inputs or {}).get("region")
    return given if isinstance(given, str) and not given.startswith("<") else default


def estimate(stack: Stack, catalog: Catalog, region: str) -> Estimate:
    """Prices a stack; `region` is where resources live that don't say."""
    bought = [*purchases(stack), *grown(stack, catalog)]
    lines = [line for purchase in bought for line in _machines(purchase, catalog, region)]
    for resource in stack.resources:
        where = region_of(resource, region)
        if resource.left_out:
            if resource.type in PRICED:
                lines.append(Line(resource, None, None, None, LEFT_OUT))
        elif resource.type in BY_USE:
            lines.append(Line(resource, None, None, None, "is priced by its use"))
        elif (priced := _sized(resource, catalog, where)) is not None:
            lines.append(priced)
        elif _of_unknown_cost(resource, catalog):
            lines.append(Line(resource, None, None, None, "is of a type whose price is not known"))
    return Estimate(tuple(lines))


def _of_unknown_cost(resource: Resource, catalog: Catalog) -> bool:
    """Whether nothing says that the type costs nothing, or that another resource's line holds its cost."""
    if not resource.type.startswith("aws:") or resource.type in catalog.free:
        return False
    return resource.type not in (*BUYING, *ELSEWHERE)


def _number(node: Node) -> float | None:
    return float(node.value) if isinstance(node.value, int | float) and not isinstance(node.value, bool) else None


def _machines(purchase: Purchase, catalog: Catalog, region: str) -> Iterator[Line]:
    where = region_of(purchase.resource, region)
    sizes = [_number(node) for node in (purchase.minimum, purchase.desired, purchase.maximum)]
    sizes = [sizes[0] or 0, sizes[1] if sizes[1] is not None else sizes[0] or 0, sizes[2]]
    names = [node.value for node in purchase.types if isinstance(node.value, str) and not node.opaque]
    rates = [rate for name in names if (rate := catalog.hourly(name, where, purchase.capacity)) is not None]
    if not names or sizes[2] is None or len(rates) < len(names):
        lacking = next(
            (name for name in names if catalog.hourly(name, where, purchase.capacity) is None), "its type or number"
        )
        if sizes[2] != 0:
            yield Line(
                purchase.resource, None, None, None, f"has no known price: {lacking} as {purchase.capacity} in {where}"
            )
        return
    low, expected, high = min(rate[0] for rate in rates), rates[0][1], max(rate[2] for rate in rates)
    if purchase.falls_back and purchase.spot:
        high = max(high, *(rate[2] for name in names if (rate := catalog.hourly(name, where, "on-demand"))))
    volume = _volumes_of(purchase, catalog, where)
    factors = zip(sizes, (low, expected, high), strict=True)
    usd = [(count or 0) * (rate * HOURS_A_MONTH + volume) for count, rate in factors]
    yield Line(purchase.resource, usd[0], usd[1], usd[2])


def _volumes_of(purchase: Purchase, catalog: Catalog, region: str) -> float:
    price = catalog.price("ebs-gp3", region) or 0
    if purchase.node_class is not None:
        mappings = purchase.node_class.at("spec", "blockDeviceMappings")
        sizes = (mapping.at("ebs", "volumeSize") for mapping in ([] if mappings.opaque else mappings.elements()))
        return sum(gib * price for size in sizes if (gib := _gib(size)) is not None)
    if purchase.template is None:
        return 0
    mappings = purchase.template.at("blockDeviceMappings")
    return sum(
        (_number(mapping.at("ebs", "volumeSize")) or 0) * price
        for mapping in ([] if mappings.opaque else mappings.elements())
    )


def _gib(size: Node) -> float | None:
    """A size as Kubernetes writes it, `200Gi` or `1Ti`."""
    text = str(size.value)
    for unit, scale in (("Gi", 1), ("Ti", 1024)):
        if text.endswith(unit) and (number := text.removesuffix(unit)).isdecimal():
            return float(number) * scale
    return None


def _sized(resource: Resource, catalog: Catalog, region: str) -> Line | None:
    match resource.type:
        case str(t) if t == CLUSTER:
            tier = resource.at("controlPlaneScalingConfig", "tier").value
            items: list[tuple[str, float]] = [("eks-cluster", HOURS_A_MONTH)]
            if isinstance(tier, str) and tier != "standard":
                items.append((f"eks-{tier}", HOURS_A_MONTH))
            if resource.at("upgradePolicy", "supportType").value != "STANDARD":
                return _line(resource, catalog, region, items, [("eks-extended-support", HOURS_A_MONTH)])
            return _line(resource, catalog, region, items)
        case str(t) if t == LUSTRE:
            return _lustre(resource, catalog, region)
        case str(t) if t == VOLUME:
            size = _number(resource.at("size"))
            if size is None:
                return Line(resource, None, None, None, "has no known size")
            return _line(resource, catalog, region, [(f"ebs-{resource.at('type').value or 'gp2'}", size)])
        case str(t) if t == NAT_GATEWAY:
            return _line(resource, catalog, region, [("nat-hour", HOURS_A_MONTH)])
        case str(t) if t == ADDRESS:
            return _line(resource, catalog, region, [("public-ipv4", HOURS_A_MONTH)])
        case str(t) if t in (KEY, REPLICA_KEY):
            return _line(resource, catalog, region, [("kms-key", 1)])
        case str(t) if t == VPC_ENDPOINT and resource.at("vpcEndpointType").value == "Interface":
            subnets = resource.at("subnetIds")
            zones = 1 if subnets.opaque or subnets.absent else len(subnets.elements())
            return _line(resource, catalog, region, [("endpoint-hour", HOURS_A_MONTH * zones)])
        case _:
            return None


def _lustre(resource: Resource, catalog: Catalog, region: str) -> Line:
    kind = str(resource.at("deploymentType").value or "SCRATCH_1")
    size = _number(resource.at("storageCapacity"))
    throughput = _number(resource.at("perUnitStorageThroughput"))
    if size is None:
        return Line(resource, None, None, None, "has no known size")
    storage = str(resource.at("storageType").value or "SSD").lower()
    item = (
        "lustre-scratch"
        if kind.startswith("SCRATCH")
        else f"lustre-{kind.lower().replace('_', '-')}-{storage}-{int(throughput or 0)}"
    )
    return _line(resource, catalog, region, [(item, size)])


def _line(
    resource: Resource,
    catalog: Catalog,
    region: str,
    items: Sequence[tuple[str, float]],
    extra: Sequence[tuple[str, float]] = (),
) -> Line:
    """The sum of items times their prices; `extra` is what only the high figure has."""
    total = 0.0
    for item, amount in items:
        price = catalog.price(item, region)
        if price is None:
            return Line(resource, None, None, None, f"has no known price: {item} in {region}")
        total += price * amount
    more = sum((catalog.price(item, region) or 0) * amount for item, amount in extra)
    return Line(resource, total, total, total + more)
