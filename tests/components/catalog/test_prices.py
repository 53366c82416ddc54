"""Prices: dated, sourced, never zero, and unknown where nobody knows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from components import catalog
from components.catalog import catalog as book
from components.catalog.prices import Buying

CAT = catalog.load()
PRICES = CAT.prices
RAW = json.loads((Path(book.__file__).parent / "data" / "prices.json").read_text())


@pytest.mark.parametrize("name", sorted(PRICES.items))
def test_every_price_has_a_unit_a_date_a_source_and_is_not_zero(name: str) -> None:
    item = PRICES.items[name]
    assert item.unit
    assert item.origin.source
    assert item.origin.as_of <= PRICES.as_of
    assert item.by_region
    assert min(item.by_region.values()) > 0


@pytest.mark.parametrize(
    "name",
    [
        "eks-cluster",
        "eks-extended-support",
        "eks-tier-xl",
        "eks-tier-2xl",
        "eks-tier-4xl",
        "eks-tier-8xl",
        "ebs-gp3",
        "ebs-gp3-iops",
        "ebs-gp3-throughput",
        "lustre-scratch",
        "lustre-persistent-2-ssd-125",
        "lustre-persistent-2-ssd-250",
        "lustre-persistent-2-ssd-500",
        "lustre-persistent-2-ssd-1000",
        "lustre-backup",
        "s3-standard",
        "s3-put",
        "s3-get",
        "nat-hour",
        "nat-gb",
        "endpoint-hour",
        "endpoint-gb",
        "data-cross-zone",
        "data-cross-region",
        "kms-key",
        "ecr-storage",
        "logs-ingest",
        "logs-store",
        "metrics-custom",
        "public-ipv4",
    ],
)
def test_what_the_cost_model_needs_is_priced_in_the_three_regions_of_the_stacks(name: str) -> None:
    for region in ("us-east-1", "us-east-2", "us-west-2"):
        assert PRICES.usd(name, region) is not None


def test_every_lustre_choice_has_a_price_of_its_own() -> None:
    for (deployment, storage), found in CAT.lustre.deployments.items():
        for throughput in found.throughputs:
            name = f"lustre-{deployment.lower().replace('_', '-')}-{storage.lower()}-{throughput}"
            assert PRICES.price(name) is not None, name


def test_extended_support_makes_an_hour_sixty_cents() -> None:
    standard, extended = PRICES.usd("eks-cluster"), PRICES.usd("eks-extended-support")
    assert standard is not None and extended is not None
    assert standard == 0.10
    assert standard + extended == pytest.approx(0.60)


def test_an_unknown_item_or_region_has_no_price_rather_than_zero() -> None:
    assert PRICES.price("teleport") is None
    assert PRICES.price("nat-hour", "eu-north-1") is None
    assert PRICES.usd("nat-hour", "eu-north-1") is None


@pytest.mark.parametrize(
    ("name", "region", "kind", "price"),
    [
        ("p5.48xlarge", "us-east-1", "on-demand", (55.04, 55.04)),
        ("p5.48xlarge", "us-west-2", "on-demand", (55.04, 55.04)),
        ("p5.48xlarge", "us-west-2", "spot", (21.62, 22.73)),
        ("p5.48xlarge", "us-west-2", "block", (39.33, 39.33)),
        ("p5.48xlarge", "eu-north-1", "on-demand", (58.8928, 58.8928)),
        ("p5.48xlarge", "af-south-1", "on-demand", None),
        ("m7i.8xlarge", "eu-north-1", "on-demand", None),
        ("p5e.48xlarge", "us-east-2", "on-demand", None),
        ("trn2.48xlarge", "us-east-2", "on-demand", None),
        ("p6e-gb200.36xlarge", "us-east-1", "block", None),
        ("p6e-gb200.36xlarge", "us-east-1", "on-demand", None),
        ("trn1n.32xlarge", "us-east-1", "block", None),
        ("trn2u.48xlarge", "ap-south-2", "spot", None),
        ("m7i.8xlarge", "us-west-2", "on-demand", (1.6128, 1.6128)),
    ],
)
def test_a_machines_hour_costs_what_was_read_or_nothing_is_said(
    name: str, region: str, kind: Buying, price: tuple[float, float] | None
) -> None:
    assert CAT.price(name, region, kind) == price


@pytest.mark.parametrize("name", ["m7i.8xlarge", "m7a.8xlarge", "m6i.8xlarge", "m6a.8xlarge"])
@pytest.mark.parametrize("region", ["us-east-1", "us-east-2", "us-west-2"])
def test_spot_for_preprocessing_is_a_range_below_on_demand(name: str, region: str) -> None:
    spot, on_demand = CAT.price(name, region, "spot"), CAT.price(name, region, "on-demand")
    assert spot is not None
    assert on_demand is not None
    assert spot[0] <= spot[1] < on_demand[0]


def test_prices_taken_over_from_another_region_by_memory_say_so() -> None:
    p5, c7i = CAT.instance("p5.48xlarge"), CAT.instance("c7i.8xlarge")
    assert not PRICES.machine_unverified(p5, "us-east-1", "on-demand")
    assert not PRICES.machine_unverified(p5, "us-west-2", "on-demand")
    assert not PRICES.machine_unverified(p5, "eu-north-1", "on-demand")
    assert PRICES.machine_unverified(c7i, "us-west-2", "on-demand")
    assert PRICES.machine_unverified(p5, "us-west-2", "spot")
    assert PRICES.machine_unverified(p5, "us-west-2", "block")


def test_no_machine_is_free_anywhere() -> None:
    for entry in CAT.instances.values():
        assert entry.on_demand_usd_per_hour is None or entry.on_demand_usd_per_hour > 0
        for low, high in entry.spot_usd_per_hour.values():
            assert 0 < low <= high
    assert [usd for usd in PRICES.blocks.values() if usd <= 0] == []


def test_prices_of_other_regions_are_for_types_sold_there() -> None:
    for region, rates in PRICES.machines_elsewhere.items():
        assert [name for name in rates if not CAT.zones_offering(name, region)] == [], region
        assert [usd for usd in rates.values() if usd <= 0] == []


def test_block_rates_are_for_types_sold_in_blocks() -> None:
    assert [name for name in PRICES.blocks if not CAT.instance(name).capacity_block] == []


def test_data_file_reads_without_the_project() -> None:
    assert RAW["as_of"] == "2026-11-30"
    assert RAW["items"]["nat-hour"]["usd"]["us-east-1"] == 0.045
