"""What monitoring and audit cost: logs by the number of nodes, metrics, alarms, the audit trail, threat detection,
recorded configuration.

Volumes that no resource states are taken as ranges that grow with the nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from components.planning.cost.lines import Found, Line, Pricer, Range, Setting, Unpriced, between, flat, used
from components.planning.cost.sizes import nodes_of, vcpus_of
from components.record import Record

# GB a month that one group of logs takes in: of its own, and for each node.
LOG_GB: Range = (1.0, 10.0, 100.0)
LOG_GB_A_NODE: Range = (0.02, 0.5, 4.0)
# CloudWatch stores logs compressed; 0.15 of what came in is its own calculator's share.
STORED_SHARE: Range = (0.1, 0.15, 1.0)
FLOW_GB_A_NODE: Range = (0.05, 1.0, 10.0)
# Audit events of a cluster's API server, in thousands: of its own, and for each node.
AUDIT_EVENTS: Range = (1_000.0, 10_000.0, 100_000.0)
AUDIT_EVENTS_A_NODE: Range = (5.0, 50.0, 500.0)
# How often a month one resource changes, and one rule is evaluated for it.
CHANGES: Range = (0.1, 2.0, 20.0)
# GuardDuty's runtime monitoring: up to this many vCPUs, at this item's price.
RUNTIME_TIERS: tuple[tuple[float, str], ...] = (
    (500.0, "guardduty-eks-runtime-vcpu"),
    (5_000.0, "guardduty-eks-runtime-vcpu-next"),
    (float("inf"), "guardduty-eks-runtime-vcpu-rest"),
)


def _grown(own: Range, for_each: Range, nodes: Range) -> Range:
    return own[0] + for_each[0] * nodes[0], own[1] + for_each[1] * nodes[1], own[2] + for_each[2] * nodes[2]


def log_group(resource: Record, given: Setting) -> Found:
    taken = _grown(LOG_GB, LOG_GB_A_NODE, nodes_of(given))
    yield from used(
        resource, given, "logs-ingest", f"{resource.name}: ingest", taken, between(taken[0], taken[2], "GB")
    )
    days = resource.number("retentionInDays") or 0
    if days <= 0:
        yield Unpriced(what=f"{resource.name}: stored logs", why="they are kept for ever", urn=resource.urn)
        return
    low, expected, high = (each * days / 30 * share for each, share in zip(taken, STORED_SHARE, strict=True))
    basis = f"{between(low, high, 'GB')} kept {days:.0f} days"
    yield from used(resource, given, "logs-store", f"{resource.name}: store", (low, expected, high), basis)


def flow_log(resource: Record, given: Setting) -> Found:
    """Delivery to a bucket is charged here; delivery to a log group is that group's ingest."""
    if resource.inputs.get("logDestinationType") == "s3":
        taken = _grown(LOG_GB, FLOW_GB_A_NODE, nodes_of(given))
        yield from used(
            resource,
            given,
            "logs-ingest-vended-s3",
            f"{resource.name}: delivery",
            taken,
            between(taken[0], taken[2], "GB"),
        )


def alarm(resource: Record, given: Setting) -> Found:
    """Charged by the metrics that it reads."""
    queries: Any = resource.inputs.get("metricQueries") or []
    metrics = sum(1 for each in queries if isinstance(each, Mapping) and each.get("metric")) or 1
    yield from used(resource, given, "alarm", f"{resource.name}: alarm", flat(float(metrics)), f"{metrics} metrics")


def trail(resource: Record, given: Setting) -> Found:
    """The first copy of management events is free of charge; data events follow the requests."""
    if resource.inputs.get("eventSelectors") or resource.inputs.get("advancedEventSelectors"):
        rate = given.cat.prices.usd("cloudtrail-data-events", given.region)
        why = f"they follow the number of requests{'' if rate is None else f', at {rate:g} USD a thousand'}"
        yield Unpriced(what=f"{resource.name}: data events", why=why, urn=resource.urn)


def detector(resource: Record, given: Setting) -> Found:
    why = "GuardDuty charges the events, flow logs and DNS queries that it reads, and no price of these is known here"
    yield Unpriced(what=f"{resource.name}: threat detection", why=why, urn=resource.urn)


def detector_feature(resource: Record, given: Setting) -> Found:
    name = str(resource.inputs.get("name") or "")
    if resource.inputs.get("status") == "DISABLED":
        return
    if name == "EKS_AUDIT_LOGS":
        taken = _grown(AUDIT_EVENTS, AUDIT_EVENTS_A_NODE, nodes_of(given))
        basis = between(taken[0], taken[2], "thousand events")
        yield from used(resource, given, "guardduty-eks-audit", f"{resource.name}: audit events", taken, basis)
    elif name in ("RUNTIME_MONITORING", "EKS_RUNTIME_MONITORING"):
        yield from _runtime(resource, given)
    else:
        why = f"no price of GuardDuty's {name or 'feature of no known name'} is known"
        yield Unpriced(what=f"{resource.name}: threat detection", why=why, urn=resource.urn)


def _runtime(resource: Record, given: Setting) -> Found:
    what = f"{resource.name}: runtime monitoring"
    vcpus = vcpus_of(given)
    usd = [_runtime_usd(each, given) for each in vcpus]
    if any(each is None for each in usd):
        yield Unpriced(what=what, why=f"no price is known in {given.region}", urn=resource.urn)
        return
    low, expected, high = (each or 0.0 for each in usd)
    basis = f"{between(vcpus[0], vcpus[2], 'vCPU')}, cheaper above 500 and 5,000"
    yield Line(what=what, urn=resource.urn, low=low, expected=expected, high=high, basis=basis, unverified=True)


def _runtime_usd(vcpus: float, given: Setting) -> float | None:
    total, start = 0.0, 0.0
    for end, item in RUNTIME_TIERS:
        part = min(vcpus, end) - start
        if part <= 0:
            break
        price = given.cat.prices.usd(item, given.region)
        if price is None:
            return None
        total, start = total + part * price, end
    return total


def recorder(resource: Record, given: Setting) -> Found:
    """Every change of every recorded resource is one item; nodes come and go with theirs."""
    resources = sum(1 for each in given.by_urn.values() if each.custom and each.type.startswith("aws:"))
    nodes = nodes_of(given)
    items = (resources * CHANGES[0], resources * CHANGES[1] + nodes[1] * 10, (resources + nodes[2] * 10) * CHANGES[2])
    yield from used(
        resource,
        given,
        "config-item",
        f"{resource.name}: recorded changes",
        items,
        between(items[0], items[2], "items"),
    )


def config_rule(resource: Record, given: Setting) -> Found:
    nodes = nodes_of(given)
    counts = (1.0, 100.0 + nodes[1], 1000.0 + nodes[2] * CHANGES[2])
    yield from used(
        resource,
        given,
        "config-rule-evaluation",
        f"{resource.name}: evaluations",
        counts,
        between(counts[0], counts[2], "evaluations"),
    )


PRICERS: Mapping[str, Pricer] = {
    "aws:cfg/recorder:Recorder": recorder,
    "aws:cfg/rule:Rule": config_rule,
    "aws:cloudtrail/trail:Trail": trail,
    "aws:cloudwatch/logGroup:LogGroup": log_group,
    "aws:cloudwatch/metricAlarm:MetricAlarm": alarm,
    "aws:ec2/flowLog:FlowLog": flow_log,
    "aws:guardduty/detector:Detector": detector,
    "aws:guardduty/detectorFeature:DetectorFeature": detector_feature,
}
