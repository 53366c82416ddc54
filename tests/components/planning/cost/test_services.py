"""The control plane, the network's parts, keys, watching and what Kubernetes objects make AWS charge."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from components.record import Record
from tests.components.planning.cost.cost_records import group, lines, priced, record, template
from tests.given import CAT, stack_of

HOURS = 730
CLUSTER = "aws:eks/cluster:Cluster"
POOL = "[{name: train, purpose: training, instance_type: g6e.48xlarge, zone: usw2-az3, nodes: 1}]"


def cluster(version: str = "1.34", **inputs: Any) -> Record:
    return record(CLUSTER, "cluster", {"version": version, **inputs})


def test_a_control_plane_costs_its_hour_and_its_tier() -> None:
    tier: dict[str, Any] = {
        "controlPlaneScalingConfig": {"tier": "tier-4xl"},
        "upgradePolicy": {"supportType": "STANDARD"},
    }
    found = lines(cluster(**tier))
    assert found == {
        "control plane": (pytest.approx(73.0),) * 3,
        "control plane's tier-4xl": (pytest.approx(6.9 * HOURS),) * 3,
    }


def test_extended_support_is_charged_once_standard_support_is_over() -> None:
    ends = CAT.kubernetes.version("1.34").standard_ends
    what = "extended support of Kubernetes 1.34"
    assert lines(cluster(), on=ends)[what] == (pytest.approx(0.5 * HOURS),) * 3
    assert lines(cluster(), on=date(2026, 11, 30))[what] == (0, 0, pytest.approx(0.5 * HOURS))
    assert what not in lines(cluster(), on=date(2025, 11, 1))


def test_a_cluster_that_eks_upgrades_itself_never_pays_extended_support() -> None:
    assert [
        each
        for each in lines(cluster(upgradePolicy={"supportType": "STANDARD"}), on=date(2027, 6, 1))
        if "support" in each
    ] == []


def test_a_version_without_known_support_dates_is_unpriced() -> None:
    assert priced(cluster("1.99"))["unpriced"] == [
        "cluster: extended support: the support dates of Kubernetes 1.99 are not known"
    ]


def test_hybrid_nodes_are_listed_as_unpriced() -> None:
    remote = cluster(
        upgradePolicy={"supportType": "STANDARD"},
        remoteNetworkConfig={"remoteNodeNetworks": {"cidrs": ["10.1.0.0/16"]}},
    )
    assert priced(remote)["unpriced"] == [
        (
            "cluster: hybrid nodes: EKS charges the vCPU hours of nodes on premises, and no stack file tells how many"
            " there are"
        )
    ]


def test_a_gateway_costs_its_hours_and_its_bytes_and_more_when_it_serves_several_zones() -> None:
    nat = record("aws:ec2/natGateway:NatGateway", "nat")
    alone = lines(nat)
    assert alone["nat: gateway hours"] == (pytest.approx(32.85),) * 3
    assert alone["nat: traffic"] == (pytest.approx(0.45), pytest.approx(22.5), pytest.approx(225.0))
    assert alone["nat: to the internet"][1] == pytest.approx(0.45)
    assert "nat: cross-zone traffic" not in alone
    assert lines(nat, stack=stack_of(pools=POOL))["nat: cross-zone traffic"][1] == pytest.approx(500 / 2 * 0.01)
    second = replace(nat, urn="urn:second", name="second")
    assert "nat: cross-zone traffic" not in lines(nat, second, stack=stack_of(pools=POOL))


def test_interface_endpoints_cost_by_zone_and_gateway_endpoints_nothing() -> None:
    inputs = {"vpcEndpointType": "Interface", "subnetIds": ["<unknown>"] * 3}
    assert (
        lines(record("aws:ec2/vpcEndpoint:VpcEndpoint", "sts", inputs))["sts: endpoint hours"]
        == (pytest.approx(21.9),) * 3
    )
    assert lines(record("aws:ec2/vpcEndpoint:VpcEndpoint", "s3", {"vpcEndpointType": "Gateway"})) == {}


def test_addresses_attachments_and_queues_have_their_prices() -> None:
    assert lines(record("aws:ec2/eip:Eip", "ip")) == {"ip: public address": (pytest.approx(3.65),) * 3}
    attached = lines(record("aws:ec2transitgateway/vpcAttachment:VpcAttachment", "hub"))
    assert attached["hub: attachment hours"] == (pytest.approx(36.5),) * 3
    assert lines(record("aws:sqs/queue:Queue", "jobs"))["jobs: requests"][1] == pytest.approx(0.02)


def test_a_key_costs_its_versions_and_requests() -> None:
    assert lines(record("aws:kms/key:Key", "key")) == {
        "key: key": (1.0, 1.0, 3.0),
        "key: key requests": (0.0, 0.15, 6.0),
    }


def test_logs_grow_with_the_nodes_and_with_how_long_they_are_kept() -> None:
    logs = record("aws:cloudwatch/logGroup:LogGroup", "logs", {"retentionInDays": 30})
    few, many = lines(logs), lines(logs, group(low=1000, high=1000), template())
    assert few["logs: ingest"] == (0.5, 5.0, 50.0)
    assert many["logs: ingest"][1] == pytest.approx((10 + 1000 * 0.5) * 0.5)
    kept = record("aws:cloudwatch/logGroup:LogGroup", "logs", {"retentionInDays": 365})
    assert lines(kept)["logs: store"][1] == pytest.approx(few["logs: store"][1] * 365 / 30, abs=0.1)
    assert priced(record("aws:cloudwatch/logGroup:LogGroup", "logs"))["unpriced"] == [
        "logs: stored logs: they are kept for ever"
    ]


def test_flow_logs_to_a_bucket_are_delivered_for_money_and_to_a_group_are_its_ingest() -> None:
    assert "flow: delivery" in lines(record("aws:ec2/flowLog:FlowLog", "flow", {"logDestinationType": "s3"}))
    assert lines(record("aws:ec2/flowLog:FlowLog", "flow", {"logDestinationType": "cloud-watch-logs"})) == {}


def test_an_alarm_is_charged_by_its_metrics() -> None:
    queries = [
        {"id": "a", "metric": {"metricName": "x"}},
        {"id": "b", "metric": {"metricName": "y"}},
        {"id": "sum", "expression": "a + b"},
    ]
    assert (
        lines(record("aws:cloudwatch/metricAlarm:MetricAlarm", "alarm", {"metricQueries": queries}))["alarm: alarm"]
        == (0.2,) * 3
    )
    assert lines(record("aws:cloudwatch/metricAlarm:MetricAlarm", "alarm"))["alarm: alarm"] == (0.1,) * 3


def test_a_trail_of_management_events_is_free_and_data_events_are_unpriced() -> None:
    assert priced(record("aws:cloudtrail/trail:Trail", "trail"))["lines"] == []
    selected = record("aws:cloudtrail/trail:Trail", "trail", {"eventSelectors": [{}]})
    assert priced(selected)["unpriced"] == [
        "trail: data events: they follow the number of requests, at 0.001 USD a thousand"
    ]


def test_runtime_monitoring_is_priced_tier_by_tier_over_all_nodes() -> None:
    feature = record(
        "aws:guardduty/detectorFeature:DetectorFeature", "runtime", {"name": "RUNTIME_MONITORING", "status": "ENABLED"}
    )
    vcpus = 100 * CAT.instance("p5.48xlarge").vcpu
    usd = 500 * 1.5 + 4500 * 0.75 + (vcpus - 5000) * 0.25
    assert (
        lines(feature, group(low=100, high=100), template())["runtime: runtime monitoring"] == (pytest.approx(usd),) * 3
    )


def test_what_guardduty_reads_has_no_known_price() -> None:
    assert len(priced(record("aws:guardduty/detector:Detector", "detector"))["unpriced"]) == 1
    other = record(
        "aws:guardduty/detectorFeature:DetectorFeature", "s3", {"name": "S3_DATA_EVENTS", "status": "ENABLED"}
    )
    assert priced(other)["unpriced"] == ["s3: threat detection: no price of GuardDuty's S3_DATA_EVENTS is known"]


def test_recorded_configuration_grows_with_what_changes() -> None:
    recorder, rule = record("aws:cfg/recorder:Recorder", "recorder"), record("aws:cfg/rule:Rule", "rule")
    few, many = lines(recorder, rule), lines(recorder, rule, group(low=1000, high=1000), template())
    assert few["recorder: recorded changes"][1] == pytest.approx(2 * 2 * 0.003, abs=0.01)
    assert many["recorder: recorded changes"][1] > few["recorder: recorded changes"][1]
    assert many["rule: evaluations"][1] > few["rule: evaluations"][1]


def on_eks(*records: Record) -> dict[str, tuple[float, float, float]]:
    return lines(*records, cluster("1.36"))


def test_claims_in_a_charts_values_and_in_stateful_sets_are_volumes() -> None:
    claim = {"spec": {"resources": {"requests": {"storage": "100Gi"}}}}
    chart = record(
        "kubernetes:helm.sh/v3:Release", "prometheus", {"values": {"deep": [{"volumeClaimTemplate": claim}]}}
    )
    assert on_eks(chart)["prometheus: claimed volume"] == (8.0,) * 3
    replicas = record(
        "kubernetes:apps/v1:StatefulSet", "set", {"spec": {"replicas": 3, "volumeClaimTemplates": [claim]}}
    )
    assert on_eks(replicas)["set: claimed volume"] == (24.0,) * 3


def test_claims_of_a_shared_file_system_are_paid_with_it() -> None:
    spec = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "100Ti"}}}
    assert [
        each
        for each in on_eks(record("kubernetes:core/v1:PersistentVolumeClaim", "data", {"spec": spec}))
        if "data" in each
    ] == []


def test_a_claim_of_unknown_size_is_unpriced() -> None:
    claim = record(
        "kubernetes:core/v1:PersistentVolumeClaim",
        "claim",
        {"spec": {"resources": {"requests": {"storage": "<unknown>"}}}},
    )
    assert "claim: claimed volume: its size is not known" in priced(claim, cluster("1.36"))["unpriced"]


def test_a_service_with_a_load_balancer_is_charged() -> None:
    found = on_eks(record("kubernetes:core/v1:Service", "grafana", {"spec": {"type": "LoadBalancer"}}))
    assert found["grafana: load balancer"] == (pytest.approx(0.0225 * HOURS, abs=0.01),) * 3
    assert "grafana: load balancer" not in on_eks(
        record("kubernetes:core/v1:Service", "grafana", {"spec": {"type": "ClusterIP"}})
    )
