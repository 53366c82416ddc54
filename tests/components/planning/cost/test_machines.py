"""Machines by how they are bought, their volumes and metrics, and what is owed whatever is used."""

from __future__ import annotations

from dataclasses import replace

import pytest

from components.record import Record
from tests.components.planning.cost.cost_records import group, lines, priced, record, template
from tests.given import CAT, stack_of

HOURS = 730
P5 = 55.04


def test_a_fixed_group_costs_its_machines_every_hour() -> None:
    cost = priced(group(low=2, high=2), template())
    line = cost["lines"][0]
    assert (line["low"], line["expected"], line["high"]) == (2 * P5 * HOURS,) * 3
    assert line["basis"] == "2 machines x 55.04 USD x 730 h (on-demand)"
    assert line["commitment"] == ""


def test_a_group_that_follows_its_queue_is_expected_half_used() -> None:
    found = lines(group(low=0, high=10), template())["nodes: p5.48xlarge"]
    assert found == (0, pytest.approx(5 * P5 * HOURS), pytest.approx(10 * P5 * HOURS))


def test_spot_is_a_range_from_the_cheapest_type_to_the_dearest() -> None:
    types = ("m7i.8xlarge", "m6a.8xlarge")
    rates = [CAT.instance(each).spot_usd_per_hour["us-west-2"] for each in types]
    low, expected, high = lines(group(types=types, low=1, high=1, capacityType="SPOT"), template())[
        f"nodes: {', '.join(types)}"
    ]
    assert low == pytest.approx(min(each[0] for each in rates) * HOURS, abs=0.01)
    assert high == pytest.approx(max(each[1] for each in rates) * HOURS, abs=0.01)
    assert low < expected < high


def test_an_unknown_type_is_listed_even_beside_a_known_one() -> None:
    cost = priced(group(types=("p5.48xlarge", "p9.48xlarge")), template())
    assert cost["unpriced"] == ["nodes: p5.48xlarge, p9.48xlarge: the type is not in the catalog"]
    assert cost["lines"] == []


def test_a_type_without_a_price_is_listed_even_beside_a_known_one() -> None:
    unknown = next(
        name for name, each in CAT.instances.items() if CAT.prices.machine_hour(each, "us-west-2", "on-demand") is None
    )
    cost = priced(group(types=("p5.48xlarge", unknown)), template())
    assert cost["unpriced"] == [
        f"nodes: p5.48xlarge, {unknown} on-demand: no on-demand price is known in us-west-2 for 2 machines"
    ]


def reserved(kind: str = "ON_DEMAND", low: int = 0, high: int = 4) -> list[Record]:
    target = {"capacityReservationTarget": {"capacityReservationId": "cr-0a1b2c3d4e5f60718"}}
    return [group(low=low, high=high, capacityType=kind), template(capacityReservationSpecification=target)]


def test_a_reservation_is_owed_at_its_full_size_however_few_nodes_run() -> None:
    cost = priced(*reserved())
    line = cost["lines"][0]
    assert (line["low"], line["expected"], line["high"]) == (pytest.approx(4 * P5 * HOURS),) * 3
    assert line["commitment"] == "owed whether used or not, until the reservation ends"
    assert cost["commitments"] == [
        {
            "what": "nodes: p5.48xlarge",
            "urn": "urn:nodes",
            "kind": "reservation",
            "from": "",
            "until": "",
            "usd": None,
            "usd_monthly": pytest.approx(4 * P5 * HOURS),
            "said": "160,717 USD a month until cr-0a1b2c3d4e5f60718 ends or is cancelled",
        }
    ]


BLOCK = """[{name: finetune, purpose: finetuning, instance_type: p5.48xlarge, zone: usw2-az3,
  nodes: {min: 0, max: 4}, fabric: efa,
  capacity: {kind: block, id: cr-0a1b2c3d4e5f60718, start: 2026-12-10T11:30:00Z, end: 2026-12-24T11:30:00Z}}]"""


def test_a_block_is_a_commitment_with_its_dates_and_its_whole_price() -> None:
    cost = priced(*reserved("CAPACITY_BLOCK"), stack=stack_of(pools=BLOCK))
    hours = 14 * 24
    line = cost["lines"][0]
    assert (line["low"], line["expected"], line["high"]) == (pytest.approx(4 * hours * 39.33),) * 3
    assert line["commitment"] == "prepaid from 2026-12-10T11:30:00Z to 2026-12-24T11:30:00Z, owed whether used or not"
    assert line["unverified"] is True
    found = cost["commitments"][0]
    assert (found["kind"], found["from"], found["until"]) == ("block", "2026-12-10T11:30:00Z", "2026-12-24T11:30:00Z")
    assert found["usd"] == pytest.approx(4 * hours * 39.33)


def test_a_block_longer_than_a_month_costs_a_month_of_it_a_month() -> None:
    longer = BLOCK.replace("2026-12-24T11:30:00Z", "2027-03-10T11:30:00Z")
    cost = priced(*reserved("CAPACITY_BLOCK"), stack=stack_of(pools=longer))
    assert cost["lines"][0]["expected"] == pytest.approx(4 * HOURS * 39.33)
    assert cost["commitments"][0]["usd"] == pytest.approx(4 * 90 * 24 * 39.33)


def test_a_block_of_a_type_without_a_known_rate_is_a_commitment_without_a_sum() -> None:
    block = BLOCK.replace("p5.48xlarge", "p5en.48xlarge")
    records = [group(types=("p5en.48xlarge",), low=0, high=4, capacityType="CAPACITY_BLOCK"), reserved()[1]]
    cost = priced(*records, stack=stack_of(pools=block))
    assert cost["lines"] == []
    assert cost["unpriced"] == ["nodes: p5en.48xlarge block: no block price is known in us-west-2 for 0 to 4 machines"]
    assert cost["commitments"][0]["usd"] is None
    assert cost["commitments"][0]["said"].endswith("at a price that isn't known here")


def test_a_reservation_declared_here_is_paid_once_and_ends_on_its_date() -> None:
    inputs = {"instanceType": "p5.48xlarge", "instanceCount": 4, "endDate": "2027-01-31T00:00:00Z"}
    reservation = record("aws:ec2/capacityReservation:CapacityReservation", "reservation", inputs)
    cost = priced(group(), replace(template(), depends_on=("urn:reservation",)), reservation)
    assert [each["what"] for each in cost["lines"]] == ["reservation: p5.48xlarge reserved"]
    assert cost["lines"][0]["expected"] == pytest.approx(4 * P5 * HOURS)
    assert cost["lines"][0]["commitment"] == "owed whether used or not, until 2027-01-31T00:00:00Z"
    assert cost["commitments"][0]["until"] == "2027-01-31T00:00:00Z"


def test_root_volumes_cost_their_size_and_what_gp3_does_not_include() -> None:
    disks = [{"ebs": {"volumeSize": 200, "iops": 6000, "throughput": 600}}]
    found = lines(group(low=2, high=2), template(blockDeviceMappings=disks))
    assert found["nodes: root volumes"] == (pytest.approx(2 * 200 * 0.08),) * 3
    assert found["nodes: root volumes' IOPS"] == (pytest.approx(2 * 3000 * 0.005),) * 3
    assert found["nodes: root volumes' throughput"] == (pytest.approx(2 * 475 * 0.04),) * 3


def test_included_operations_and_throughput_cost_nothing_more() -> None:
    disks = [{"ebs": {"volumeSize": 100, "iops": 3000, "throughput": 125}}]
    assert [each for each in lines(group(), template(blockDeviceMappings=disks)) if "root" in each] == [
        "nodes: root volumes"
    ]


def test_detailed_monitoring_is_seven_metrics_a_machine() -> None:
    found = lines(group(low=10, high=10), template(monitoring={"enabled": True}))
    assert found["nodes: detailed monitoring"] == (pytest.approx(10 * 7 * 0.3),) * 3
    assert "nodes: detailed monitoring" not in lines(group(), template(monitoring={"enabled": False}))


def test_a_group_over_zones_pays_for_bytes_between_them_and_a_zonal_one_does_not() -> None:
    over = lines(group(types=("m7i.8xlarge",), low=10, high=10, subnetIds=["<unknown>"] * 3), template())
    assert over["nodes: cross-zone traffic"] == (pytest.approx(0.2), pytest.approx(10.0), pytest.approx(200.0))
    assert "nodes: cross-zone traffic" not in lines(group(subnetIds=["<unknown>"]), template())


def test_an_empty_group_costs_nothing() -> None:
    assert priced(group(low=0, high=0), template())["lines"] == []


def test_a_single_machine_is_priced_too() -> None:
    found = lines(record("aws:ec2/instance:Instance", "bastion", {"instanceType": "m7i.2xlarge"}))
    assert found["bastion: m7i.2xlarge"] == (pytest.approx(0.4032 * HOURS, abs=0.01),) * 3
    assert priced(record("aws:ec2/instance:Instance", "odd"))["unpriced"] == [
        "odd: a machine of unknown type: the type is not in the catalog"
    ]
