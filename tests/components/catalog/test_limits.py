"""Limits: defaults, codes, and the copy of Service Quotas that moto ships."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest
from moto.servicequotas.resources.default_quotas.vpc import VPC_DEFAULT_QUOTAS

from components import catalog
from components.catalog.limits import Market

LIMITS = catalog.load().limits
EACH = {
    field.name: value for field in fields(LIMITS) if isinstance(value := getattr(LIMITS, field.name), catalog.Limit)
}
MOTO = {row["QuotaCode"]: row for row in VPC_DEFAULT_QUOTAS}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("node_groups_per_cluster", 30),
        ("nodes_per_node_group", 450),
        ("interfaces_per_region", 5000),
        ("network_address_units", 64000),
        ("rules_per_security_group", 60),
        ("security_groups_per_interface", 5),
        ("cidrs_per_vpc", 5),
        ("interface_endpoints_per_vpc", 50),
        ("pod_identity_associations", 5000),
        ("block_instances", 64),
        ("lustre_associations", 8),
    ],
)
def test_limit_has_the_documented_default(name: str, value: int) -> None:
    assert EACH[name].value == value


@pytest.mark.parametrize("name", sorted(name for name, limit in EACH.items() if limit.service == "vpc"))
def test_network_limits_equal_the_copy_of_service_quotas(name: str) -> None:
    limit = EACH[name]
    assert limit.code is not None
    assert limit.value == MOTO[limit.code]["Value"]
    assert limit.adjustable == MOTO[limit.code]["Adjustable"]


@pytest.mark.parametrize("limit", [*EACH.values(), *LIMITS.vcpus.values()], ids=lambda limit: limit.name)
def test_every_limit_has_a_unit_a_source_and_a_code_where_it_can_be_raised(limit: catalog.Limit) -> None:
    assert limit.unit
    assert limit.origin.source
    assert limit.code is None or re.fullmatch(r"L-[0-9A-F]{8}", limit.code)
    assert (limit.code is not None) or not limit.adjustable


def test_codes_are_not_shared_between_limits() -> None:
    codes = [limit.code for limit in (*EACH.values(), *LIMITS.vcpus.values()) if limit.code]
    assert len(codes) == len(set(codes))


@pytest.mark.parametrize("family", sorted({entry.quota_family for entry in catalog.load().instances.values()}))
def test_every_quota_family_of_the_catalog_has_an_on_demand_limit(family: str) -> None:
    assert LIMITS.vcpu(family, "on-demand") is not None


@pytest.mark.parametrize(
    ("family", "market", "instance_family", "code"),
    [
        ("P", "on-demand", "p5", "L-417A185B"),
        ("P", "spot", "p4d", "L-7212CCBC"),
        ("P", "spot", "p5en", "L-C4BD4855"),
        ("Trn", "spot", "trn1", "L-6B0D517C"),
        ("Standard", "spot", "m7i", "L-34B43A08"),
    ],
)
def test_spot_of_p5_counts_apart_from_p4(family: str, market: Market, instance_family: str, code: str) -> None:
    limit = LIMITS.vcpu(family, market, instance_family)
    assert limit is not None
    assert limit.code == code


def test_hpc_machines_have_no_spot_quota() -> None:
    assert LIMITS.vcpu("HPC", "spot") is None
