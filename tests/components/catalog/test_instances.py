"""Instance types against EC2's own data, as shipped in moto, and against themselves."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import moto
import pytest

from components import catalog
from tests.rows import each_row

EC2 = Path(moto.__file__).parent / "ec2" / "resources"
ABSENT = {"dl1.24xlarge", "p6e-gb200.36xlarge"}
CAT = catalog.load()
IN_MOTO = sorted(set(CAT.instances) - ABSENT)
ACCELERATED = sorted(name for name, entry in CAT.instances.items() if entry.accelerator)

# The types that the project's facts describe one by one.
# fmt: off
NAMED = [
    "c6in.32xlarge", "c7i.24xlarge", "c7i.2xlarge", "c7i.48xlarge", "c7i.8xlarge", "dl1.24xlarge", "g5.48xlarge", "g5.8xlarge",
    "g6.48xlarge", "g6.8xlarge", "g6e.12xlarge", "g6e.24xlarge", "g6e.48xlarge", "g6e.8xlarge", "g7.48xlarge", "g7e.24xlarge",
    "g7e.48xlarge", "g7e.8xlarge", "hpc7a.96xlarge", "hpc8a.96xlarge", "m7g.16xlarge", "m7g.2xlarge", "m7g.4xlarge", "m7g.xlarge",
    "m7i.2xlarge", "m7i.48xlarge", "m7i.4xlarge", "m7i.xlarge", "p4d.24xlarge", "p4de.24xlarge", "p5.48xlarge", "p5.4xlarge",
    "p5e.48xlarge", "p5en.48xlarge", "p6-b200.48xlarge", "p6-b300.48xlarge", "p6e-gb200.36xlarge", "r7i.48xlarge", "r7i.4xlarge",
    "r7i.8xlarge", "trn1.32xlarge", "trn1n.32xlarge", "trn2.3xlarge", "trn2.48xlarge", "trn2u.48xlarge",
]
STACK_FILES = [
    "m7i.8xlarge", "m7a.8xlarge", "m6i.8xlarge", "m6a.8xlarge", "m7i.4xlarge", "m7a.4xlarge", "m6i.4xlarge", "m6a.4xlarge",
    "m7i.12xlarge", "m7a.12xlarge", "m6i.12xlarge", "m6a.12xlarge", "m7i.16xlarge", "m7a.16xlarge", "m6i.16xlarge", "m6a.16xlarge",
    "m7i.24xlarge", "m7a.24xlarge", "m6i.24xlarge", "m6a.24xlarge", "m7g.8xlarge", "c7i.4xlarge", "c7i.12xlarge", "c7i.16xlarge",
    "c7a.8xlarge", "c6i.8xlarge", "r7i.2xlarge", "m7i.2xlarge", "g5.xlarge", "g6.12xlarge", "trn1.2xlarge",
]
# fmt: on


@cache
def api() -> dict[str, Any]:
    with gzip.open(EC2 / "instance_types.json.gz") as file:
        return json.load(file)


@cache
def offers() -> dict[tuple[str, str], tuple[str, ...]]:
    found: dict[tuple[str, str], list[str]] = {}
    for path in (EC2 / "instance_type_offerings" / "availability-zone-id").glob("*.json.gz"):
        with gzip.open(path) as file:
            for row in json.load(file):
                found.setdefault((row["InstanceType"], path.name.removesuffix(".json.gz")), []).append(row["Location"])
    return {key: tuple(sorted(zones)) for key, zones in found.items()}


@each_row([*NAMED, *STACK_FILES])
def test_every_type_that_stack_files_and_facts_name_is_there(name: str) -> None:
    assert CAT.instance(name).name == name


def test_only_two_types_come_from_outside_the_api_copy() -> None:
    assert set(CAT.instances) - set(api()) == ABSENT


@each_row(IN_MOTO)
def test_machine_equals_the_api(name: str) -> None:
    entry, reported = CAT.instance(name), api()[name]
    assert entry.vcpu == reported["VCpuInfo"]["DefaultVCpus"]
    assert entry.memory_gib == pytest.approx(reported["MemoryInfo"]["SizeInMiB"] / 1024, abs=0.05)
    assert entry.arch in reported["ProcessorInfo"]["SupportedArchitectures"]
    assert entry.ebs_baseline_mbps == reported["EbsInfo"]["EbsOptimizedInfo"]["BaselineBandwidthInMbps"]
    assert list(entry.placement_strategies) == sorted(reported["PlacementGroupInfo"]["SupportedStrategies"])
    usage = reported["SupportedUsageClasses"]
    assert (entry.on_demand, entry.spot, entry.capacity_block) == (
        "on-demand" in usage,
        "spot" in usage,
        "capacity-block" in usage,
    )


@each_row(IN_MOTO)
def test_local_disks_equal_the_api(name: str) -> None:
    entry, disks = CAT.instance(name), api()[name].get("InstanceStorageInfo", {}).get("Disks", [])
    assert bool(entry.local_disks) == bool(disks)
    if entry.local_disks:
        assert (entry.local_disks.count, entry.local_disks.size_gb) == (disks[0]["Count"], disks[0]["SizeInGB"])
        assert (
            entry.local_disks.count * entry.local_disks.size_gb == api()[name]["InstanceStorageInfo"]["TotalSizeInGB"]
        )


@each_row(IN_MOTO)
def test_network_cards_equal_the_api(name: str) -> None:
    network, reported = CAT.instance(name).network, api()[name]["NetworkInfo"]
    cards = reported["NetworkCards"]
    assert network.cards == reported["MaximumNetworkCards"] == len(cards)
    assert (
        network.max_interfaces
        == reported["MaximumNetworkInterfaces"]
        == sum(card["MaximumNetworkInterfaces"] for card in cards)
    )
    assert {card["MaximumNetworkInterfaces"] for card in cards} == {network.interfaces_per_card}
    assert network.ipv4_per_interface == reported["Ipv4AddressesPerInterface"]
    assert network.max_efa == reported.get("EfaInfo", {}).get("MaximumEfaInterfaces", 0)
    assert network.efa_cards == tuple(card["NetworkCardIndex"] for card in cards if "efa" in card["InterfaceTypes"])
    assert (
        network.tcp_established_timeout_seconds
        == reported["ConnectionTrackingConfiguration"]["DefaultTcpEstablishedTimeout"]
    )


@each_row(IN_MOTO)
def test_network_speed_reads_as_the_api_words_it(name: str) -> None:
    said = api()[name]["NetworkInfo"]["NetworkPerformance"].removeprefix("Up to ").removesuffix(" Gigabit")
    factors = [float(part) for part in said.split("x ")]
    assert CAT.instance(name).network.gbps == (factors[0] * factors[1] if len(factors) == 2 else factors[0])


@each_row(IN_MOTO)
def test_zones_equal_the_offerings_in_every_region(name: str) -> None:
    reported = {region: zones for (offered, region), zones in offers().items() if offered == name}
    assert dict(CAT.instance(name).zones) == reported


@each_row(sorted(set(ACCELERATED) - ABSENT - {"trn2u.48xlarge"}))
def test_cards_equal_the_api_save_trainium2_memory(name: str) -> None:
    accelerator, reported = CAT.instance(name).accelerator, api()[name]
    assert accelerator is not None
    (device,) = reported.get("GpuInfo", {}).get("Gpus") or reported["NeuronInfo"]["NeuronDevices"]
    assert accelerator.count == device["Count"]
    told_gib = device["MemoryInfo"]["SizeInMiB"] / 1024
    if accelerator.model == "Trainium2":
        assert (told_gib, accelerator.memory_gib) == (
            512,
            96,
        )  # the API is wrong; Neuron's documentation says 96 GiB a chip
    else:
        assert accelerator.memory_gib == pytest.approx(told_gib, rel=0.01)
    if accelerator.vendor == "neuron":
        assert accelerator.cores == device["CoreInfo"]["Count"]


def test_types_without_an_accelerator_have_no_cards_in_the_api_either() -> None:
    plain = [name for name in IN_MOTO if not CAT.instance(name).accelerator]
    assert [name for name in plain if "GpuInfo" in api()[name] or "NeuronInfo" in api()[name]] == []
    assert {CAT.instance(name).cards for name in plain} == {0}


@each_row(sorted(CAT.instances))
def test_efa_layout_is_sane(name: str) -> None:
    network = CAT.instance(name).network
    assert network.max_efa <= network.cards
    assert len(network.efa_cards) >= network.max_efa
    assert network.card0_efa == (0 in network.efa_cards)
    assert network.card0_efa == (network.max_efa == network.cards)
    assert CAT.instance(name).efa == (network.max_efa > 0)
    assert network.max_interfaces == network.cards * network.interfaces_per_card


def test_card_0_takes_no_efa_on_the_types_whose_first_card_is_for_ip_only() -> None:
    assert [name for name, entry in CAT.instances.items() if entry.efa and not entry.network.card0_efa] == [
        "p6-b300.48xlarge",
        "p6e-gb200.36xlarge",
    ]
    assert CAT.instance("p6-b300.48xlarge").network.efa_cards == tuple(range(1, 17))


def test_idle_tcp_is_dropped_early_on_nitro_6_only() -> None:
    short = {entry.family for entry in CAT.instances.values() if entry.network.tcp_established_timeout_seconds == 350}
    assert short == {"p6-b200", "p6-b300", "g7", "g7e", "hpc8a"}


@each_row(ACCELERATED)
def test_a_program_gets_less_memory_than_advertised_but_not_much_less(name: str) -> None:
    accelerator = CAT.instance(name).accelerator
    assert accelerator is not None
    share = accelerator.usable_memory_gib / accelerator.memory_gib
    assert 0.97 < share < 1 if accelerator.vendor == "nvidia" else share <= 1


@pytest.mark.parametrize(
    ("name", "pods"),
    [
        ("p4d.24xlarge", 737),
        ("p5.48xlarge", 100),
        ("p5.4xlarge", 118),
        ("p5en.48xlarge", 198),
        ("p6-b200.48xlarge", 198),
        ("p6-b300.48xlarge", 198),
        ("trn1.32xlarge", 247),
        ("trn2.48xlarge", 100),
        ("trn2.3xlarge", 30),
        ("g5.48xlarge", 345),
        ("g6e.48xlarge", 492),
        ("g7e.48xlarge", 632),
        ("g7.48xlarge", 758),
        ("m7i.4xlarge", 234),
        ("m7g.xlarge", 58),
        ("hpc7a.96xlarge", 100),
        ("dl1.24xlarge", 737),
    ],
)
def test_most_pods_on_a_node_equal_the_network_plugins_list(name: str, pods: int) -> None:
    assert CAT.instance(name).max_pods == pods


@pytest.mark.parametrize(
    ("name", "layers"),
    [
        ("p5.48xlarge", 3),
        ("p4d.24xlarge", 3),
        ("p6-b200.48xlarge", 4),
        ("p6-b300.48xlarge", 4),
        ("p5.4xlarge", 0),
        ("g5.48xlarge", 0),
        ("g6e.8xlarge", 3),
    ],
)
def test_topology_layers_are_those_that_ec2_reports(name: str, layers: int) -> None:
    assert CAT.instance(name).topology_layers == layers


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("p5.48xlarge", "P"),
        ("p6-b300.48xlarge", "P"),
        ("g6e.8xlarge", "G"),
        ("trn1n.32xlarge", "Trn"),
        ("dl1.24xlarge", "DL"),
        ("hpc7a.96xlarge", "HPC"),
        ("m7i.8xlarge", "Standard"),
        ("c6in.32xlarge", "Standard"),
    ],
)
def test_quota_family_is_the_one_that_counts_the_type(name: str, family: str) -> None:
    assert CAT.quota_family(name) == family


@each_row(sorted(CAT.instances))
def test_images_drive_the_cards_and_fit_the_processor(name: str) -> None:
    entry = CAT.instance(name)
    vendor = entry.accelerator.vendor if entry.accelerator else None
    for image in (CAT.images.family(image) for image in entry.image_families):
        if image.system != "custom":
            assert (image.arch, image.vendor) == (entry.arch, vendor)


def test_types_that_no_stock_image_drives_ask_for_a_custom_one() -> None:
    custom = {entry.family for entry in CAT.instances.values() if entry.image_families == ("CUSTOM",)}
    assert custom == {"g7", "dl1"}


@each_row(sorted(CAT.instances))
def test_every_type_names_its_source_and_flags_what_nobody_read(name: str) -> None:
    entry = CAT.instance(name)
    assert entry.source
    assert (entry.on_demand_usd_per_hour is None) == ("on_demand_usd_per_hour" in entry.unverified)
    assert ("lustre_efa_client" in entry.unverified) == entry.efa


def test_rdma_of_an_efa_type_is_known_or_flagged_and_never_said_of_others() -> None:
    for entry in CAT.instances.values():
        known = entry.network.rdma_read is not None
        assert known == (entry.efa and "network.rdma_read" not in entry.unverified), entry.name
    assert CAT.instance("g5.48xlarge").network.rdma_read is False
    assert (CAT.instance("p4d.24xlarge").network.rdma_read, CAT.instance("p4d.24xlarge").network.rdma_write) == (
        True,
        False,
    )


def test_two_lookups_give_the_same_value() -> None:
    assert CAT.instance("p5.48xlarge") is CAT.instance("p5.48xlarge")
    assert catalog.load() is CAT
    assert "p5.48xlarge" in CAT.instances
    assert len(list(CAT.instances)) == len(CAT.instances)
