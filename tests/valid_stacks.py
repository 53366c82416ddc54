"""Thirty valid stack files that differ in region, family, capacity, file system, egress, form and length of names."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle, islice
from typing import Any

from components.catalog import Catalog, regions

COUNT = 30
_TYPES = (
    "p5.48xlarge",
    "g6e.48xlarge",
    "p5en.48xlarge",
    "p4d.24xlarge",
    "g5.48xlarge",
    "trn1.32xlarge",
    "p4de.24xlarge",
)
_GENERAL = ("m7i.8xlarge", "m6i.8xlarge", "m6a.8xlarge")
_BLOCK = {"kind": "block", "id": "cr-3a1b2c3d4e5f60718", "start": "2026-12-10T11:30:00Z", "end": "2026-12-24T11:30:00Z"}
_CAPACITIES: tuple[dict[str, Any], ...] = (
    {"kind": "on-demand"},
    {"kind": "reservation", "ids": ["cr-0a1b2c3d4e5f60718"]},
    _BLOCK,
)
_FILE_SYSTEMS: tuple[dict[str, Any] | None, ...] = (
    {"capacity_gib": 4800, "throughput_mbps_per_tib": 500},
    None,
    {"deployment": "SCRATCH_2", "capacity_gib": 2400, "expendable": True},
    {"storage": "INTELLIGENT_TIERING", "throughput_mbps": 4000},
)
_PREMISES = {
    "kind": "hybrid",
    "remote_networks": [{"name": "site", "node_cidr": "192.168.0.0/20", "pod_cidr": "192.168.16.0/20"}],
    "transit_gateway_id": "tgw-0a1b2c3d4e5f60718",
}


def stacks(cat: Catalog) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each stack's name and its configuration."""
    places = list(_places(cat))
    for number, (machine, region, zone, zones) in enumerate(islice(cycle(places), COUNT)):
        yield _name(number), _config(number, machine, region, zone, zones, cat)


def _places(cat: Catalog) -> Iterator[tuple[str, str, str, list[str]]]:
    """A type, a region that sells it, the zone for it, and the network's zones; regions take turns."""
    used: list[str] = []
    for turn in range(COUNT):
        machine = cat.instances[_TYPES[turn % len(_TYPES)]]
        sold = sorted(machine.zones, key=lambda region: (used.count(region), region))
        for region in sold:
            system = set(cat.zones_offering("m7i.2xlarge", region))
            control = list(regions.control_zones(system))
            if len(control) >= 2:
                zone = machine.zones[region][turn % len(machine.zones[region])]
                used.append(region)
                yield machine.name, region, zone, sorted({zone, *control[:3]})
                break


def _name(number: int) -> str:
    return f"s{number}" if number % 5 else f"team-{number}-" + "long-" * 9 + "name"


def _config(number: int, machine: str, region: str, zone: str, zones: list[str], cat: Catalog) -> dict[str, Any]:
    sold = cat.instances[machine]
    capacity = _CAPACITIES[number % 3]
    if capacity["kind"] == "block" and not sold.capacity_block:
        capacity = _CAPACITIES[0]
    pool: dict[str, Any] = {
        "name": "train" if number % 4 else "a-" * 9 + "pool",
        "purpose": "training",
        "instance_type": machine,
    }
    pool |= {"zone": zone, "nodes": {"min": 0, "max": 4} if capacity["kind"] != "reservation" else 4}
    pool |= {"capacity": capacity}
    pools = [pool]
    several = [set(cat.zones_offering(name, region)) for name in _GENERAL]
    both = sorted(set(zones).intersection(*several))
    if number % 2 and both:
        prepare = {"name": "prep", "purpose": "preprocessing", "instance_types": list(_GENERAL), "zones": both}
        pools.append({**prepare, "nodes": {"min": 0, "max": 4}})
    system = _FILE_SYSTEMS[number % 4]
    config: dict[str, Any] = {
        "aws:region": region,
        "trainshed:environment": ("dev", "staging", "prod", "standby")[number % 4],
        "trainshed:network": {"zones": zones, "egress": "isolated" if number % 3 == 1 else "nat"},
        "trainshed:cluster": {"admins": ["arn:aws:iam::111122223333:role/platform-admin"]},
        "trainshed:pools": pools,
        "trainshed:observability": {"alerts_to": ["mailto:oncall@example.com"]},
        "trainshed:storage": {"lustre": [{"name": "train", "zone": zone, **system}] if system else []},
        "trainshed:governance": {
            "anomalies": ("none", "services", "tag")[number % 3],
            "audit_trail": number % 6 == 0,
            "threat_detection": number % 6 == 1,
            "configuration_rules": number % 6 == 2,
        },
        "trainshed:budget": {"monthly_usd": 100000, "counts": ("tag", "account")[number % 2]},
    }
    if number % 7 == 3:
        config["trainshed:form"] = _PREMISES
    if number % 8 == 5:
        config["trainshed:storage"]["registry"] = {"declare": False}
    return config
