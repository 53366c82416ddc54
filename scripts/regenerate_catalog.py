"""Writes components/catalog/data/instances.json from EC2's own data as shipped in moto and from supplement.yaml.

Run it after either changes: `python scripts/regenerate_catalog.py`; with `--check` it only says whether the file is up
to date.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import moto
import yaml

DATA = Path(__file__).resolve().parent.parent / "components" / "catalog" / "data"
EC2 = Path(moto.__file__).parent / "ec2" / "resources"

Row = dict[str, Any]


def api_types() -> dict[str, Row]:
    with gzip.open(EC2 / "instance_types.json.gz") as file:
        return json.load(file)


def api_zones() -> dict[str, dict[str, list[str]]]:
    """type -> region -> zone ids, sorted."""
    found: dict[str, dict[str, list[str]]] = {}
    for path in sorted((EC2 / "instance_type_offerings" / "availability-zone-id").glob("*.json.gz")):
        region = path.name.removesuffix(".json.gz")
        with gzip.open(path) as file:
            for offer in json.load(file):
                found.setdefault(offer["InstanceType"], {}).setdefault(region, []).append(offer["Location"])
    return {name: {region: sorted(zones) for region, zones in by_region.items()} for name, by_region in found.items()}


def chosen(types: Iterable[str], supplement: Mapping[str, Any]) -> list[str]:
    families, listed, left_out = (set(supplement[key]) for key in ("families_listed", "types_listed", "sizes_left_out"))
    return sorted(
        name
        for name in types
        if name in listed or (name.split(".")[0] in families and name.split(".")[1] not in left_out)
    )


def gbps(performance: str) -> float:
    """`Up to 12.5 Gigabit` -> 12.5, `4x 100 Gigabit` -> 400."""
    found = re.fullmatch(r"(?:Up to )?(?:(\d+)x )?([\d.]+) Gigabit", performance)
    if found is None:
        raise ValueError(f"{performance!r} is no network performance as EC2 words it")
    times, amount = found.groups()
    return whole(float(amount) * int(times or 1))


def whole(number: float) -> float | int:
    return int(number) if float(number).is_integer() else round(number, 3)


def gib(mib: float) -> float:
    return whole(round(mib / 1024, 1))


def described(api: Mapping[str, Any]) -> Row:
    """The part of a row that the API tells."""
    network = api["NetworkInfo"]
    cards = network["NetworkCards"]
    disks = api.get("InstanceStorageInfo", {}).get("Disks")
    if disks and len(disks) != 1:
        raise ValueError(f"{api['InstanceType']}: disks of several sizes")
    chips = api.get("GpuInfo", {}).get("Gpus") or api.get("NeuronInfo", {}).get("NeuronDevices") or [{}]
    row: Row = {
        "vcpu": api["VCpuInfo"]["DefaultVCpus"],
        "memory_gib": gib(api["MemoryInfo"]["SizeInMiB"]),
        "arch": api["ProcessorInfo"]["SupportedArchitectures"][-1],
        "card_count": chips[0].get("Count"),
        "local_disks": {"count": disks[0]["Count"], "size_gb": disks[0]["SizeInGB"]} if disks else None,
        "network": {
            "cards": network["MaximumNetworkCards"],
            "gbps": gbps(network["NetworkPerformance"]),
            "max_efa": network.get("EfaInfo", {}).get("MaximumEfaInterfaces", 0),
            "efa_cards": [card["NetworkCardIndex"] for card in cards if "efa" in card["InterfaceTypes"]],
            "max_interfaces": network["MaximumNetworkInterfaces"],
            "interfaces_per_card": cards[0]["MaximumNetworkInterfaces"],
            "ipv4_per_interface": network["Ipv4AddressesPerInterface"],
            "tcp_established_timeout_seconds": network["ConnectionTrackingConfiguration"][
                "DefaultTcpEstablishedTimeout"
            ],
        },
        "usage": api["SupportedUsageClasses"],
        "placement_strategies": sorted(api["PlacementGroupInfo"]["SupportedStrategies"]),
        "ebs_baseline_mbps": api["EbsInfo"]["EbsOptimizedInfo"]["BaselineBandwidthInMbps"],
    }
    return row


def packed(name: str, zones: Mapping[str, list[str]], prefixes: Mapping[str, str]) -> dict[str, str]:
    """region -> the digits of its zones: every zone id is the region's prefix, `-az` and one digit."""
    digits = {
        region: "".join(zone.removeprefix(f"{prefixes[region]}-az") for zone in ids)
        for region, ids in sorted(zones.items())
    }
    for region, text in digits.items():
        if not (text.isdigit() and len(text) == len(zones[region])):
            raise ValueError(f"{name}: zones of {region} don't pack: {zones[region]}")
    return digits


def quota_family(family: str) -> str:
    for prefix, quota in (("hpc", "HPC"), ("trn", "Trn"), ("dl", "DL"), ("p", "P"), ("g", "G")):
        if family.startswith(prefix) and family[len(prefix)].isdigit():
            return quota
    return "Standard"


def images(arch: str, vendor: str | None, family: Mapping[str, Any]) -> list[str]:
    """AMI types of EKS that fit, the first being the one to take."""
    if "images" in family:
        return family["images"]
    cpu = {"x86_64": "x86_64", "arm64": "ARM_64"}[arch]
    if vendor == "neuron":
        return ["AL2023_x86_64_NEURON", "CUSTOM"]
    if vendor == "nvidia":
        return [f"AL2023_{cpu}_NVIDIA", f"BOTTLEROCKET_{cpu}_NVIDIA", f"BOTTLEROCKET_{cpu}_NVIDIA_FIPS", "CUSTOM"]
    return [f"AL2023_{cpu}_STANDARD", f"BOTTLEROCKET_{cpu}", f"BOTTLEROCKET_{cpu}_FIPS", "CUSTOM"]


def _network_of(reported: Row, facts: Mapping[str, Any]) -> Row:
    network: Row = {"tcp_established_timeout_seconds": 432000, **reported["network"]}
    efa = network["max_efa"] > 0
    network["card0_efa"] = 0 in network["efa_cards"]
    network["nitro"] = facts.get("nitro")
    network["rdma_read"], network["rdma_write"] = facts.get("rdma", [None, None]) if efa else [None, None]
    network["gpudirect_rdma"] = facts.get("gpudirect_rdma") if efa else None
    return network


def row_of(
    name: str, reported: Row, zones: Mapping[str, list[str]], supplement: Mapping[str, Any], prefixes: Mapping[str, str]
) -> Row:
    family_name = name.split(".")[0]
    facts = {**supplement["families"].get(family_name, {}), **supplement["types"].get(name, {})}
    unverified = [*facts.get("unverified", []), *reported.get("unverified", [])]
    sources = [reported.get("source", "api")]
    network = _network_of(reported, facts)
    efa = network["max_efa"] > 0
    if efa:
        unverified += [f"network.{field}" for field in ("nitro", "rdma_read", "rdma_write") if network[field] is None]
    accelerator = None
    if "card" in facts:
        card = dict(supplement["cards"][facts["card"]])
        sources.append(f"card: {card.pop('source')}")
        unverified += [f"accelerator.{field}" for field in card.pop("unverified")]
        count = facts.get("card_count", reported["card_count"])
        kind, speed = facts["link"] if count > 1 else ("none", None)
        accelerator = {**card, "count": count, "interconnect_kind": kind, "interconnect_gb_per_s": speed}
    # FSx's EFA clients: machines with EFA on Nitro v4 or later, except trn2. From memory, so every such answer is
    # flagged.
    lustre_efa = efa and (facts.get("nitro") or 0) >= 4 and not facts.get("no_lustre_efa", False)
    if efa:
        unverified.append("lustre_efa_client")
    on_demand = supplement["on_demand_usd_per_hour"].get(name)
    if on_demand is None:
        unverified.append("on_demand_usd_per_hour")
    spot = supplement["spot_usd_per_hour"].get(name)
    row: Row = {
        "vcpu": reported["vcpu"],
        "memory_gib": reported["memory_gib"],
        "arch": reported["arch"],
        "accelerator": accelerator,
        "local_disks": reported["local_disks"],
        "network": dict(sorted(network.items())),
        "topology_layers": facts.get("topology_layers", 0),
        "max_pods": network["interfaces_per_card"] * (network["ipv4_per_interface"] - 1) + 2,
        "image_families": images(reported["arch"], accelerator["vendor"] if accelerator else None, facts),
        "zones": packed(name, zones, prefixes),
        "on_demand_usd_per_hour": on_demand,
        "capacity_block": "capacity-block" in reported["usage"],
        "spot": "spot" in reported["usage"],
        "on_demand": "on-demand" in reported["usage"],
        "lustre_efa_client": lustre_efa,
        "gpudirect_storage": facts.get("gpudirect_storage", False) and efa,
        "nccl_protocol": facts.get("nccl_protocol") if efa else None,
        "quota_family": quota_family(family_name),
        "ebs_baseline_mbps": reported.get("ebs_baseline_mbps"),
        "placement_strategies": reported["placement_strategies"],
        "source": "; ".join(sources),
        "unverified": sorted(set(unverified)),
    }
    if spot:
        row["spot_usd_per_hour"] = spot
    if "ultraserver" in reported:
        row["ultraserver"] = reported["ultraserver"]
    return row


def rendered(supplement: Mapping[str, Any]) -> str:
    """The whole file: one line a type, so that a change reads as one line."""
    types, offers = api_types(), api_zones()
    names = chosen(types, supplement)
    prefixes = {
        region: zones[0].rpartition("-az")[0] for by_region in offers.values() for region, zones in by_region.items()
    }
    reported = {name: described(types[name]) for name in names} | supplement["absent"]
    rows = {name: row_of(name, reported[name], offers.get(name, {}), supplement, prefixes) for name in sorted(reported)}
    note = 'zones holds digits: a zone id is the region\'s prefix under "regions", "-az" and one digit'
    head = {
        "as_of": supplement["as_of"].isoformat(),
        "note": note,
        "sources": supplement["sources"],
        "regions": dict(sorted(prefixes.items())),
    }
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    body = ",\n".join(f"  {json.dumps(name)}: {json.dumps(row, separators=(',', ':'))}" for name, row in rows.items())
    return "{\n" + ",\n".join(lines) + ',\n"instances": {\n' + body + "\n}\n}\n"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when the file is out of date")
    options = parser.parse_args(arguments)
    target = DATA / "instances.json"
    text = rendered(yaml.safe_load((DATA / "supplement.yaml").read_text()))
    if options.check:
        fresh = target.exists() and target.read_text() == text
        print(f"{target.name} is {'up to date' if fresh else 'out of date: run this script without --check'}")
        return 0 if fresh else 1
    target.write_text(text)
    print(f"wrote {target.name}: {text.count(chr(10) + '  ')} types, {len(text)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
