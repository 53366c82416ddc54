"""What a stack needs against the defaults of an account, counted by hand."""

from __future__ import annotations

from typing import Any

from components.catalog import Catalog
from components.planning import quotas
from components.planning.quotas import QuotaRow
from tests.components.planning.pool_stacks import FINETUNE, IDS, PREPROCESS, PRETRAIN, stack


def rows(cat: Catalog, *pools: dict[str, Any], **more: Any) -> dict[str, QuotaRow]:
    found = quotas.rows(stack(*pools, **more), cat)
    assert len({row.name for row in found}) == len(found)
    return {row.name: row for row in found}


P = "Running On-Demand P instances"
STANDARD = "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances"
SPOT = "All Standard (A, C, D, H, I, M, R, T, Z) Spot Instance Requests"


def test_reserved_machines_count_as_on_demand_and_blocks_nowhere(cat: Catalog) -> None:
    found = rows(cat, PRETRAIN, FINETUNE)
    assert found[P] == QuotaRow(
        name=P,
        need=240_000,
        limit=0,
        unit="vCPU",
        verdict="request",
        request="ask Service Quotas for 240,000 vCPU (ec2 L-417A185B)",
        arithmetic="pretrain 1,250 x 192",
        unverified=False,
    )
    assert not any("P4" in name for name in found)


def test_a_spot_pool_needs_its_vcpus_on_both_markets_for_its_fallback(cat: Catalog) -> None:
    found = rows(cat, PREPROCESS)
    assert (found[SPOT].need, found[SPOT].arithmetic) == (6400, "preprocess 200 x 32")
    assert (found[STANDARD].need, found[STANDARD].arithmetic) == (6424, "system 3 x 8 + preprocess 200 x 32")
    demand = rows(cat, PREPROCESS, spot_preprocessing=False)
    assert SPOT not in demand and demand[STANDARD].need == 6424


def test_blocks_are_counted_apart_one_by_one_and_together(cat: Catalog) -> None:
    parts = [
        {"id": IDS[0], "start": "2026-12-10T11:30:00Z", "end": "2026-12-24T11:30:00Z", "nodes": 64},
        {"id": IDS[1], "start": "2026-12-20T11:30:00Z", "end": "2026-12-30T11:30:00Z", "nodes": 32},
    ]
    found = rows(cat, {**FINETUNE, "nodes": {"min": 0, "max": 96}, "capacity": {"kind": "block", "blocks": parts}})
    assert (found["instances per Capacity Block"].need, found["instances per Capacity Block"].verdict) == (64, "fits")
    together = found["Capacity Block instances per organisation on one day"]
    assert (together.need, together.limit, together.verdict) == (96, 256, "fits")


def test_1250_p5_nodes_need_far_more_interfaces_than_a_region_gives(cat: Catalog) -> None:
    found = rows(cat, PRETRAIN)["network interfaces per region"]
    assert found.verdict == "request"
    assert found.arithmetic.startswith("pretrain 1,250 x 33 + system 3 + endpoints and gateways ")
    assert found.need == 1250 * 33 + 3 + int(found.arithmetic.rsplit(" ", 1)[1])
    assert found.request == f"ask Service Quotas for {found.need:,} interfaces (vpc L-DF5E4CA3)"


def test_the_classic_layout_counts_an_address_for_every_efa(cat: Catalog) -> None:
    modern = rows(cat, PRETRAIN)["network address units per VPC"]
    classic = rows(
        cat, {**PRETRAIN, "efa_layout": "efa"}, network={"zones": ["usw2-az3"], "compute_cidrs": ["100.64.0.0/15"]}
    )
    assert "pretrain 1,250 x 35" in modern.arithmetic  # 1 address, 32 further interfaces, 2 prefixes
    assert (
        "pretrain 1,250 x 65" in classic["network address units per VPC"].arithmetic
    )  # 32 addresses, 31 further interfaces, 2 prefixes


def test_node_groups_are_counted_with_the_system_pools(cat: Catalog) -> None:
    found = rows(cat, PRETRAIN, FINETUNE, PREPROCESS)
    groups = found["managed node groups per cluster"]
    assert (groups.need, groups.arithmetic) == (5, "system 1 + finetune 1 + preprocess 0 + pretrain 3")
    assert found["nodes per managed node group"].need == 417


def test_a_limit_that_aws_does_not_raise_says_so(cat: Catalog) -> None:
    parts = [
        {
            "id": f"cr-{number}a1b2c3d4e5f60718",
            "start": "2026-12-10T11:30:00Z",
            "end": "2026-12-24T11:30:00Z",
            "nodes": 64,
        }
        for number in range(5)
    ]
    found = rows(cat, {**FINETUNE, "nodes": {"min": 0, "max": 320}, "capacity": {"kind": "block", "blocks": parts}})
    together = found["Capacity Block instances per organisation on one day"]
    assert (together.verdict, together.request) == (
        "over",
        "AWS does not raise this limit: plan for at most 256 instances",
    )


def test_subnets_show_their_room(cat: Catalog) -> None:
    found = rows(cat, PRETRAIN)["addresses of the compute subnet in usw2-az3"]
    assert (found.need, found.limit, found.verdict) == (41_250, 65_531, "fits")
    assert found.arithmetic == "pretrain: 1,250 nodes x (1 + 2 x 16) = 41,250"


def test_every_row_is_plain_for_the_preview(cat: Catalog) -> None:
    found = quotas.of_stack(stack(PRETRAIN, FINETUNE, PREPROCESS), cat)
    assert all(
        set(row) == {"name", "need", "limit", "unit", "verdict", "request", "reckoning", "unverified"} for row in found
    )
    assert all(isinstance(row["need"], int) and row["verdict"] in ("fits", "request", "over") for row in found)


def test_a_self_hosted_stack_needs_nothing_of_aws(cat: Catalog) -> None:
    hosts = {"accelerator": "h100", "cards": 8, "vcpu": 192, "memory_gib": 2048}
    own = {"name": "own", "purpose": "training", "hosts": hosts, "nodes": 4}
    form = {"kind": "self-hosted", "kubeconfig": "x"}
    assert quotas.of_stack(stack(own, form=form, network=None, cluster=None), cat) == []


def test_root_volumes_of_all_nodes_count_against_the_storage_of_a_region(cat: Catalog) -> None:
    found = rows(cat, PRETRAIN)["storage of gp3 volumes per region"]
    assert (found.need, found.limit, found.verdict) == (245, 50, "request")
    assert found.arithmetic == "pretrain 1,250 x 200 GiB + system 3 x 100 GiB"
    assert found.request == "ask Service Quotas for 245 TiB (ebs L-7A658B76)"


def test_file_systems_count_by_deployment_and_storage(cat: Catalog) -> None:
    systems = [
        {"name": "a", "zone": "usw2-az3", "capacity_gib": 76800, "throughput_mbps_per_tib": 500},
        {"name": "b", "zone": "usw2-az3", "capacity_gib": 48000, "throughput_mbps_per_tib": 500},
        {"name": "c", "zone": "usw2-az3", "deployment": "SCRATCH_2", "capacity_gib": 2400},
        {"name": "d", "zone": "usw2-az3", "storage": "INTELLIGENT_TIERING", "throughput_mbps": 4000},
    ]
    found = rows(cat, PRETRAIN, storage={"lustre": systems})
    persistent = found["Lustre persistent 2 SSD storage per region"]
    assert (persistent.need, persistent.limit, persistent.verdict) == (124_800, 100_800, "request")
    assert found["Lustre scratch 2 SSD storage per region"].need == 2400
    assert found["throughput of intelligent tiering per region"].need == 4000
