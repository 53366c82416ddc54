"""Metrics, alerts, logs: sized by the stack, reaching people, seeing cards and fabric."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest

from components.in_cluster.observability import Observability, ObservabilityArgs
from components.manifests.observability import alerts, exporters, prometheus
from components.planning import images
from components.spec.base import SEALED
from components.spec.stack import StackSpec
from infra.offline.recorder import SECRET
from tests.components.in_cluster.declared_in_cluster import REGISTRY, namespaces, records, wrong
from tests.declared import Record, named, of_type, one
from tests.given import CAT, STACKS, stack, stack_of


def declared(given: StackSpec, cluster: str | None = "trainshed-prod", **more: Any) -> list[Record]:
    def declare(opts: Any) -> None:
        made = namespaces(given, opts)
        args = ObservabilityArgs(
            spec=given,
            catalog=CAT,
            namespaces=made.namespaces,
            registry_prefix=REGISTRY,
            cluster_name=cluster,
            tags={"owner": "me"},
            **more,
        )
        Observability("observability", args, opts)

    return [each for each in records(declare) if each.name.startswith("observability")]


@cache
def prod() -> list[Record]:
    return declared(stack("prod"))


@pytest.mark.parametrize("name", STACKS)
def test_every_object_is_one_that_an_api_server_takes(name: str):
    if stack(name).on_aws:
        assert wrong(declared(stack(name))) == {}


def values(records_: list[Record]) -> dict[str, Any]:
    return named(records_, "observability-release-prometheus").inputs["values"]


def test_metrics_are_kept_as_long_as_the_stack_file_says_on_a_disk_that_holds_them():
    spec = values(prod())["prometheus"]["prometheusSpec"]
    assert spec["retention"] == "30d"
    # 1,469 nodes x 1,500 series x 2,880 samples a day x 30 days x 1.7 bytes x 4/3 = 402 GiB
    assert spec["storageSpec"]["volumeClaimTemplate"]["spec"]["resources"]["requests"]["storage"] == "410Gi"
    assert spec["retentionSize"] == "348GiB"


def test_metrics_of_a_small_stack_take_a_small_disk():
    assert prometheus.disk_gib(stack("dev")) == 20


def test_the_metrics_volume_is_encrypted_and_waits_for_its_pod():
    found = one(prod(), "StorageClass").inputs
    assert found["parameters"] == {"type": "gp3", "encrypted": "true"}
    assert found["volumeBindingMode"] == "WaitForFirstConsumer"


def test_the_stack_runs_beside_the_system_and_never_on_nodes_with_cards():
    found = values(prod())
    selector = {"trainshed.io/purpose": "system"}
    assert found["prometheus"]["prometheusSpec"]["nodeSelector"] == selector
    assert found["alertmanager"]["alertmanagerSpec"]["nodeSelector"] == selector
    assert found["prometheusOperator"]["nodeSelector"] == selector
    assert found["kube-state-metrics"]["nodeSelector"] == selector


def test_the_node_exporter_runs_everywhere_from_the_accounts_registry():
    image = {"registry": f"{REGISTRY}/quay", "repository": "prometheus/node-exporter", "tag": "v1.12.1"}
    assert values(prod())["prometheus-node-exporter"] == {"tolerations": [{"operator": "Exists"}], "image": image}
    assert "image" not in values(prod())["prometheus"]["prometheusSpec"]


def test_an_isolated_stack_takes_every_image_from_the_mirror():
    given = stack("prod")
    assert given.network is not None
    closed = given.model_copy(update={"network": given.network.model_copy(update={"egress": "isolated"})})
    found = values(declared(closed))
    operator = found["prometheusOperator"]
    named = [
        found["prometheus"]["prometheusSpec"],
        found["alertmanager"]["alertmanagerSpec"],
        found["kube-state-metrics"],
        found["prometheus-node-exporter"],
        operator,
        operator["prometheusConfigReloader"],
        operator["admissionWebhooks"]["patch"],
    ]
    run = {f"{each['image']['registry']}/{each['image']['repository']}:{each['image']['tag']}" for each in named}
    mirrored = {f"{REGISTRY}/{each.path}" for each in images.needed(closed, CAT)}
    assert len(run) == len(named)
    assert run <= mirrored


def test_an_alert_reaches_a_mailbox_through_an_encrypted_topic():
    assert one(prod(), "Topic").inputs["kmsMasterKeyId"] == "alias/aws/sns"
    mail = one(prod(), "TopicSubscription").inputs
    assert (mail["protocol"], mail["endpoint"]) == ("email", "oncall@example.com")
    receiver = values(prod())["alertmanager"]["config"]["receivers"][0]
    assert receiver["name"] == "people"
    assert receiver["sns_configs"][0]["sigv4"] == {"region": "us-west-2"}


@pytest.mark.parametrize("target", ["https://hooks.example.com/services/T0/hunter2", SEALED])
def test_a_webhooks_url_is_a_secret_and_in_no_resources_name(target: str):
    given = stack("prod")
    watched = given.observability.model_copy(update={"alerts_to": (target,)})
    found = one(declared(given.model_copy(update={"observability": watched})), "TopicSubscription")
    assert (found.inputs["protocol"], found.inputs["endpoint"]) == ("https", SECRET)
    assert re.fullmatch(r"observability-alert-webhook-[0-9a-f]{8}", found.name)


def test_two_webhooks_have_two_names_whatever_their_order():
    urls = ("https://hooks.example.com/a", "https://hooks.example.com/b")
    keys: list[set[str]] = []
    for order in (urls, urls[::-1]):
        given = stack("prod")
        watched = given.observability.model_copy(update={"alerts_to": order})
        keys.append(set(prometheus.topic_subscriptions(given.model_copy(update={"observability": watched}))))
    assert keys[0] == keys[1]
    assert len(keys[0]) == 2


def test_only_alertmanagers_own_account_may_publish():
    found = named(prod(), "observability-alertmanager-association").inputs
    assert (found["namespace"], found["serviceAccount"]) == ("monitoring", "kube-prometheus-stack-alertmanager")


def test_logs_are_kept_for_the_next_period_that_cloudwatch_knows():
    assert one(prod(), "LogGroup").inputs["retentionInDays"] == 90


def test_every_resource_of_aws_carries_the_tags():
    for each in prod():
        if each.type.startswith("aws:") and "tags" in each.inputs:
            assert each.inputs["tags"]["owner"] == "me", each.name
    assert len([each for each in prod() if each.inputs.get("tags")]) == 6


def test_machines_of_ones_own_need_nothing_of_aws():
    found = declared(stack("onprem"), cluster=None)
    assert [each for each in found if each.type.startswith("aws:")] == []
    template = values(found)["prometheus"]["prometheusSpec"]["storageSpec"]["volumeClaimTemplate"]
    # The tasks' class is a shared file system, no place for a database of samples: the cluster's default class.
    assert "storageClassName" not in template["spec"]


def test_prometheus_on_machines_of_ones_own_gets_the_class_that_is_named_for_it():
    given = stack("onprem")
    form = given.form.model_copy(update={"metrics_storage_class": "local-nvme"})
    found = declared(given.model_copy(update={"form": form}), cluster=None)
    template = values(found)["prometheus"]["prometheusSpec"]["storageSpec"]["volumeClaimTemplate"]
    assert template["spec"]["storageClassName"] == "local-nvme"


def test_card_metrics_have_memory_for_eight_cards_and_the_counters_that_are_off_by_default():
    pod = named(prod(), "observability-telemetry-nvidia").inputs["spec"]["template"]["spec"]
    assert pod["containers"][0]["resources"]["limits"] == {"memory": "1Gi"}
    assert pod["nodeSelector"] == {"trainshed.io/accelerator": "nvidia"}
    counted = named(prod(), "observability-counters-nvidia").inputs["data"]["counters.csv"]
    for name in (
        "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
        "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL",
        "DCGM_FI_DEV_XID_ERRORS",
    ):
        assert f"\n{name}, " in f"\n{counted}"


def test_every_card_metric_that_an_alert_reads_is_exported():
    from components.accelerators.nvidia import NVIDIA

    exported = {name for name, _, _ in exporters.DCGM_COUNTERS}
    telemetry = NVIDIA.telemetry
    assert telemetry is not None
    assert {telemetry.fault_metric, *telemetry.memory_error_metrics, *telemetry.link_error_metrics} <= exported


def test_one_exporter_reads_the_cards_of_a_node():
    assert len([each for each in of_type(prod(), "DaemonSet") if "dcgm" in each.inputs["metadata"]["name"]]) == 1
    assert CAT.charts.image("dcgm-exporter").tag == "4.5.3-4.8.2-distroless"


def test_alerts_come_after_the_release_that_defines_them():
    release = named(prod(), "observability-release-prometheus")
    for each in [*of_type(prod(), "PrometheusRule"), *of_type(prod(), "PodMonitor")]:
        assert release.urn in each.depends_on


def test_a_stack_without_cards_watches_no_cards():
    pools = (
        "[{name: prep, purpose: preprocessing, instance_types: [m7i.8xlarge, m7a.8xlarge, m6i.8xlarge], nodes: {min: 0,"
        " max: 20}}]"
    )
    found = declared(stack_of(pools=pools))
    assert of_type(found, "DaemonSet") == []
    names = [
        rule["alert"] for group in one(found, "PrometheusRule").inputs["spec"]["groups"] for rule in group["rules"]
    ]
    assert alerts.alerts([])[0].name in names
    assert "CardFault" not in names


def test_every_pods_log_goes_to_the_retained_group_in_a_stream_named_after_its_pod():
    found = named(prod(), "observability-release-logs").inputs
    assert found["values"]["cloudWatchLogs"]["autoCreateGroup"] is False
    assert found["values"]["cloudWatchLogs"]["region"] == "us-west-2"
    assert found["values"]["cloudWatchLogs"]["logStreamTemplate"].startswith(
        "$kubernetes['namespace_name'].$kubernetes['pod_name']"
    )
    assert found["values"]["tolerations"] == [{"operator": "Exists"}]
    assert found["values"]["image"] == {
        "repository": f"{REGISTRY}/ecr-public/aws-observability/aws-for-fluent-bit",
        "tag": "3.2.1",
    }
    account = named(prod(), "observability-logs-association").inputs
    assert (account["namespace"], account["serviceAccount"]) == ("monitoring", "aws-for-fluent-bit")


def test_every_image_of_the_compute_network_is_one_that_the_registry_mirrors():
    mirrored = {each.path for each in images.needed(stack("prod"), CAT)}
    for each in of_type(prod(), "DaemonSet"):
        for container in each.inputs["spec"]["template"]["spec"]["containers"]:
            assert container["image"].removeprefix(f"{REGISTRY}/") in mirrored, container["image"]
