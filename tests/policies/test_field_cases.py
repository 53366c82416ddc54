"""Failures that others' stacks really had, each held against the rule that would have told."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from policies.cost.pack import PACK as COST
from policies.packs.configuration import load
from policies.packs.evaluation import Report, evaluate
from policies.packs.pack import Pack
from policies.security.pack import PACK as SECURITY
from tests.policies.cases import TODAY, pods_of, put
from tests.policies.good import ACCOUNT, Record, document, good_stack, pod_spec, record, urn

SG = "aws:ec2/securityGroup:SecurityGroup"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
GROUP = "aws:eks/nodeGroup:NodeGroup"
POLICY = "aws:s3/bucketPolicy:BucketPolicy"


def said(pack: Pack, rule: str, records: list[Record], **configuration: Any) -> Report:
    only = {"all": "disabled", rule: {"enforcementLevel": "mandatory", **configuration}}
    return evaluate(records, pack, only, today=TODAY)


def efa(**group: Any) -> list[Record]:
    template = {"networkInterfaces": [{"interfaceType": "efa-only", "securityGroups": ["<unknown>"]}]}
    return [record(SG, "efa", {"description": "d", **group}), record(TEMPLATE, "t", template, after=[urn(SG, "efa")])]


SELF = {"protocol": "-1", "fromPort": 0, "toPort": 0, "self": True}
WORLD = {"protocol": "-1", "fromPort": 0, "toPort": 0, "cidrBlocks": ["0.0.0.0/0"]}


def test_an_efa_group_whose_egress_is_only_to_the_world_is_flagged() -> None:
    rule = "efa-groups-open-to-themselves"
    assert said(SECURITY, rule, efa(ingress=[SELF], egress=[SELF])).violations == ()
    (violation,) = said(SECURITY, rule, efa(ingress=[SELF], egress=[WORLD])).violations
    assert violation.message.startswith(
        "networkInterfaces[0].securityGroups is a list of 1; "
        "wanted: a group that lets out all traffic to itself; efa does not. Fix: "
    )


def test_an_efa_template_with_a_group_from_elsewhere_is_not_judged() -> None:
    outside = record(TEMPLATE, "t", {"networkInterfaces": [{"interfaceType": "efa", "securityGroups": ["<unknown>"]}]})
    report = said(SECURITY, "efa-groups-open-to-themselves", [outside])
    assert [doubt.path for doubt in report.could_not_judge] == ["networkInterfaces[0].securityGroups"]


@pytest.mark.parametrize(
    ("principal", "effect", "condition", "open_"),
    [
        ("*", "Deny", {"Bool": {"aws:SecureTransport": "false"}}, False),
        ("*", "Allow", None, True),
        ({"AWS": "*"}, "Allow", None, True),
        ({"AWS": ["*", f"arn:aws:iam::{ACCOUNT}:root"]}, "Allow", None, True),
        ({"AWS": f"arn:aws:iam::{ACCOUNT}:root"}, "Allow", None, False),
        ("*", "Allow", {"StringEquals": {"aws:SourceVpce": "vpce-1"}}, False),
        ("*", "Allow", {"StringNotEquals": {"aws:SourceVpce": "vpce-1"}}, True),
        ("*", "Allow", {"StringLike": {"aws:PrincipalOrgID": "*"}}, True),
        ("*", "Allow", {"ForAllValues:StringEquals": {"aws:PrincipalOrgID": "o-1"}}, True),
        ("*", "Allow", {"ForAnyValue:StringLike": {"aws:PrincipalOrgPaths": "o-1/*"}}, False),
        ("*", "Allow", {"IpAddress": {"aws:SourceIp": "0.0.0.0/0"}}, True),
        ({"AWS": "arn:aws:iam::*:role/deploy"}, "Allow", None, True),
    ],
)
@pytest.mark.parametrize("as_text", [True, False], ids=["text", "map"])
def test_a_star_principal_is_public_only_where_it_allows(
    principal: Any, effect: str, condition: Any, open_: bool, as_text: bool
) -> None:
    statement = {
        "Effect": effect,
        "Principal": principal,
        "Action": "s3:GetObject",
        "Resource": "*",
        **({"Condition": condition} if condition else {}),
    }
    written: Any = document(statement) if as_text else {"Statement": statement}
    report = said(SECURITY, "bucket-policies-name-principals", [record(POLICY, "p", {"policy": written})])
    assert bool(report.violations) is open_


def test_a_bucket_policy_that_denies_its_own_repair_is_flagged_and_one_with_exceptions_is_not() -> None:
    deny = {"Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": "*"}
    elsewhere = {"StringNotEquals": {"aws:SourceVpce": "vpce-1"}}
    excepting = {**elsewhere, "ArnNotLike": {"aws:PrincipalArn": f"arn:aws:iam::{ACCOUNT}:role/deploy"}}
    rule = "bucket-policies-lock-nobody-out"
    assert said(
        SECURITY, rule, [record(POLICY, "p", {"policy": document({**deny, "Condition": elsewhere})})]
    ).violations
    assert (
        said(SECURITY, rule, [record(POLICY, "p", {"policy": document({**deny, "Condition": excepting})})]).violations
        == ()
    )
    only_objects = {**deny, "Action": ["s3:GetObject", "s3:PutObject"], "Condition": elsewhere}
    assert said(SECURITY, rule, [record(POLICY, "p", {"policy": document(only_objects)})]).violations == ()


def isolated(*services: str) -> list[Record]:
    vpc = record("aws:ec2/vpc:Vpc", "v", {})
    subnet = record("aws:ec2/subnet:Subnet", "s", {"vpcId": "<unknown>"}, after=[vpc["urn"]])
    endpoints = [
        record(
            "aws:ec2/vpcEndpoint:VpcEndpoint",
            f"e-{name}",
            {"vpcId": "<unknown>", "serviceName": f"com.amazonaws.us-west-2.{name}"},
            after=[vpc["urn"]],
        )
        for name in services
    ]
    return [vpc, subnet, *endpoints]


BASE = ("ec2", "ecr.api", "ecr.dkr", "eks", "s3", "sts")


def test_an_isolated_network_that_lacks_an_endpoint_is_flagged_by_its_name() -> None:
    rule = "isolated-network-has-endpoints"
    assert said(SECURITY, rule, isolated(*BASE)).violations == ()
    report = said(SECURITY, rule, isolated(*[name for name in BASE if name != "sts"]))
    assert [violation.path for violation in report.violations] == ["endpoint sts"]


@pytest.mark.parametrize(
    ("declared", "service"),
    [
        (record("aws:eks/addon:Addon", "a", {"addonName": "eks-pod-identity-agent"}), "eks-auth"),
        (record("kubernetes:helm.sh/v3:Release", "r", {"chart": "cluster-autoscaler"}), "autoscaling"),
        (record("kubernetes:helm.sh/v3:Release", "r", {"chart": "oci://public.ecr.aws/karpenter/karpenter"}), "ssm"),
        (record("aws:eks/addon:Addon", "a", {"addonName": "aws-fsx-csi-driver"}), "fsx"),
        (record("aws:eks/addon:Addon", "a", {"addonName": "aws-guardduty-agent"}), "guardduty-data"),
    ],
    ids=["pod identities", "an autoscaler", "karpenter", "a file system driver", "a threat agent"],
)
def test_the_endpoints_that_are_asked_for_follow_from_what_the_stack_declares(declared: Record, service: str) -> None:
    rule = "isolated-network-has-endpoints"
    report = said(SECURITY, rule, [*isolated(*BASE), declared])
    assert [violation.path for violation in report.violations] == [f"endpoint {service}"]
    assert said(SECURITY, rule, [*isolated(*BASE, service), declared]).violations == ()


@pytest.mark.parametrize("region", ["us-west-2", "cn-north-1"])
def test_an_endpoint_is_known_by_its_service_in_every_partition(region: str) -> None:
    prefix = "cn.com.amazonaws" if region.startswith("cn-") else "com.amazonaws"
    records = isolated(*BASE)
    for item in records:
        if "serviceName" in item["inputs"]:
            item["inputs"]["serviceName"] = item["inputs"]["serviceName"].replace(
                "com.amazonaws.us-west-2", f"{prefix}.{region}"
            )
    assert said(SECURITY, "isolated-network-has-endpoints", records).violations == ()


def gateways(zones: int, count: int) -> list[Record]:
    vpc = record("aws:ec2/vpc:Vpc", "v", {"id": "vpc-1"})
    subnets = [
        record("aws:ec2/subnet:Subnet", f"s{i}", {"id": f"s-{i}", "vpcId": "vpc-1", "availabilityZoneId": f"z{i}"})
        for i in range(zones)
    ]
    nats = [record("aws:ec2/natGateway:NatGateway", f"n{i}", {"subnetId": f"s-{i % zones}"}) for i in range(count)]
    return [vpc, *subnets, *nats]


@pytest.mark.parametrize(
    ("zones", "count", "most", "flagged"),
    [(4, 4, 0, False), (4, 5, 0, True), (6, 6, 0, False), (2, 2, 1, True), (2, 1, 1, False), (1, 2, 0, True)],
)
def test_a_network_may_have_one_gateway_for_each_zone(zones: int, count: int, most: int, flagged: bool) -> None:
    assert bool(said(COST, "gateways-counted", gateways(zones, count), most=most).violations) is flagged


def test_a_network_with_a_way_out_needs_no_endpoints() -> None:
    gateway = record(
        "aws:ec2/natGateway:NatGateway", "n", {"subnetId": "<unknown>"}, after=[urn("aws:ec2/subnet:Subnet", "s")]
    )
    assert said(SECURITY, "isolated-network-has-endpoints", [*isolated(), gateway]).violations == ()


@pytest.mark.parametrize("kind", ["PyTorchJob", "RayCluster", "LeaderWorkerSet", "CronJob", "Pod", "DaemonSet"])
@pytest.mark.parametrize("group", ["containers", "initContainers", "ephemeralContainers"])
def test_no_kind_of_workload_hides_a_privileged_container(kind: str, group: str) -> None:
    spec = pod_spec()
    spec[group] = [{"name": "x", "image": "x", "securityContext": {"privileged": True}}]
    report = said(SECURITY, "pods-not-privileged", [pods_of(kind, spec)])
    assert len(report.violations) == 1
    assert report.violations[0].path.endswith(f"{group}[0].securityContext.privileged")


@pytest.mark.parametrize("kind", ["PyTorchJob", "CronJob", "DaemonSet"])
def test_a_workload_whose_pods_are_unknown_does_not_pass(kind: str) -> None:
    item = pods_of(kind, pod_spec())
    item["inputs"]["spec"] = "<unknown>"
    report = said(SECURITY, "pods-not-privileged", [item])
    assert [(doubt.path, doubt.why) for doubt in report.could_not_judge] == [
        ("spec", "hides the pods of this workload")
    ]


def test_a_custom_resource_definition_is_no_workload() -> None:
    schema = {"spec": {"versions": [{"schema": {"properties": {"containers": {"type": "array"}}}}]}}
    item = record("kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition", "crd", schema)
    assert said(SECURITY, "pods-not-privileged", [item]) == Report("security")


@pytest.mark.parametrize("path", ["/dev/infiniband", "/dev/infiniband/uverbs0", "/dev/infiniband/"])
def test_a_job_that_mounts_fabric_devices_by_path_is_flagged(path: str) -> None:
    spec = {**pod_spec(), "volumes": [{"name": "ib", "hostPath": {"path": path}}]}
    assert said(SECURITY, "pods-no-fabric-devices-by-path", [pods_of("PyTorchJob", spec)]).violations
    assert said(SECURITY, "pods-no-host-paths", [pods_of("PyTorchJob", spec)]).violations == ()


def test_a_second_group_with_the_clusters_tag_is_flagged() -> None:
    tagged = record(SG, "g", {"tags": {"kubernetes.io/cluster/main": "owned"}})
    (violation,) = said(SECURITY, "one-group-owned-by-the-cluster", [tagged]).violations
    assert violation.path == "tags.kubernetes.io/cluster/main"


def test_forcing_an_update_is_flagged_on_training_pools_only() -> None:
    def group(purpose: str) -> Record:
        return record(GROUP, purpose, {"forceUpdateVersion": True, "labels": {"trainshed.io/purpose": purpose}})

    report = said(
        SECURITY, "training-pools-never-forced", [group("training"), group("preprocessing"), group("finetuning")]
    )
    assert [violation.urn.rpartition("::")[2] for violation in report.violations] == ["training", "finetuning"]


@pytest.mark.parametrize(
    ("purpose", "types", "flagged"),
    [
        ("training", "p5.48xlarge", True),
        ("preprocessing", "m7i.8xlarge", False),
        ("", "p5.48xlarge", True),
        ("", "m7i.8xlarge", False),
    ],
)
def test_spot_is_refused_for_training_and_for_cards(purpose: str, types: str, flagged: bool) -> None:
    group = record(
        GROUP,
        "g",
        {
            "capacityType": "SPOT",
            "instanceTypes": [types],
            "scalingConfig": {"maxSize": 1},
            "labels": {"trainshed.io/purpose": purpose},
        },
    )
    assert bool(said(COST, "training-never-on-spot", [group]).violations) is flagged


def test_spot_is_refused_where_the_template_has_efa() -> None:
    template = record(TEMPLATE, "t", {"networkInterfaces": [{"interfaceType": "efa-only"}]})
    inputs = {
        "capacityType": "SPOT",
        "instanceTypes": ["c6in.32xlarge"],
        "launchTemplate": {"id": "<unknown>"},
        "scalingConfig": {"maxSize": 1},
    }
    group = record(GROUP, "g", inputs, after=[template["urn"]])
    assert said(COST, "training-never-on-spot", [template, group]).violations


def test_an_idle_card_is_flagged_with_what_it_costs_a_month() -> None:
    inputs = {
        "capacityType": "ON_DEMAND",
        "instanceTypes": ["p5.48xlarge"],
        "scalingConfig": {"minSize": 0, "desiredSize": 1, "maxSize": 2},
    }
    (violation,) = said(COST, "cards-not-idle", [record(GROUP, "g", inputs)]).violations
    # 55.04 USD an hour for 730 hours.
    assert violation.message.startswith(
        "scalingConfig.desiredSize is 1; wanted: 0; 1 idle nodes cost $40,179 a month. Fix:"
    )


def test_a_raw_instance_beside_the_components_is_flagged_as_well() -> None:
    raw = record("aws:ec2/instance:Instance", "mine", {"instanceType": "p5.48xlarge"})
    found = {
        violation.rule
        for pack in (SECURITY, COST)
        for violation in evaluate([raw], pack, {"cards-within-the-limit": {"cards": 4}}).violations
    }
    assert {
        "machines-require-metadata-tokens",
        "instance-volumes-encrypted",
        "cards-not-idle",
        "cards-within-the-limit",
        "tags-name-a-payer",
    } <= found


def test_rules_look_at_leaves_and_not_at_components() -> None:
    component = record("trainshed:pool:GpuPool", "pretrain", {"capacity": {"kind": "spot"}, "purpose": "training"})
    assert evaluate([component], COST).violations == ()


@pytest.mark.parametrize("value", [[], None, "absent"])
def test_no_log_types_are_none_and_not_all(value: Any) -> None:
    inputs = {} if value == "absent" else {"enabledClusterLogTypes": value}
    assert said(SECURITY, "cluster-logs", [record("aws:eks/cluster:Cluster", "c", inputs)]).violations


def block(desired: int) -> list[Record]:
    inputs = {
        "capacityType": "CAPACITY_BLOCK",
        "instanceTypes": ["p5.48xlarge"],
        "scalingConfig": {"minSize": 0, "desiredSize": desired, "maxSize": 4},
    }
    group = record(GROUP, "g", inputs)
    schedules = [
        record("aws:scheduler/schedule:Schedule", name, {"scheduleExpression": f"at({moment})"}, after=[group["urn"]])
        for name, moment in (("up", "2026-12-10T11:30:00"), ("down", "2026-12-24T10:30:00"))
    ]
    return [group, *schedules]


@pytest.mark.parametrize(
    ("day", "flagged"),
    [(date(2026, 12, 9), True), (date(2026, 12, 10), False), (date(2026, 12, 24), False), (date(2026, 12, 25), True)],
)
def test_a_blocks_nodes_run_only_between_its_dates(day: date, flagged: bool) -> None:
    only = {"all": "disabled", "blocks-within-their-dates": "mandatory"}
    assert bool(evaluate(block(4), COST, only, today=day).violations) is flagged
    assert evaluate(block(0), COST, only, today=day).violations == ()


def test_a_block_that_nothing_ends_is_flagged() -> None:
    (violation,) = said(COST, "blocks-within-their-dates", block(0)[:1]).violations
    assert violation.path == "end of the block"


def test_a_reservation_longer_than_the_limit_is_flagged() -> None:
    reservation = record(
        "aws:ec2/capacityReservation:CapacityReservation",
        "r",
        {
            "instanceType": "p5.48xlarge",
            "instanceCount": 1,
            "endDateType": "limited",
            "endDate": "2027-06-01T00:00:00Z",
        },
    )
    (violation,) = said(COST, "reservations-end", [reservation]).violations
    assert violation.message.startswith(
        'endDate is "2027-06-01T00:00:00Z"; wanted: an end within 90 days of 2026-11-30. Fix:'
    )


def test_without_todays_date_a_reservation_is_not_judged() -> None:
    item = next(each for each in good_stack() if each["type"].endswith(":CapacityReservation"))
    report = evaluate([item], COST, {"all": "disabled", "reservations-end": "mandatory"})
    assert [(doubt.path, doubt.why) for doubt in report.could_not_judge] == [
        ("today", "was not given, so dates can't be compared")
    ]


def test_default_tags_of_the_provider_count_for_resources_but_not_for_machines_of_a_template() -> None:
    tags = '{"tags": {"owner": "a", "team": "b", "cost-center": "c"}}'
    provider = record("pulumi:providers:aws", "p", {"defaultTags": tags})
    lustre = {**record("aws:fsx/lustreFileSystem:LustreFileSystem", "l", {}), "provider": provider["urn"]}
    template = {**record(TEMPLATE, "t", {}), "provider": provider["urn"]}
    report = said(COST, "tags-name-a-payer", [provider, lustre, template])
    assert [(violation.urn.rpartition("::")[2], violation.path) for violation in report.violations] == [
        ("t", "tagSpecifications for instance"),
        ("t", "tagSpecifications for volume"),
    ]


def budget(usd: str, **more: Any) -> Record:
    inputs = {"budgetType": "COST", "timeUnit": "MONTHLY", "limitAmount": usd, **more}
    return record("aws:budgets/budget:Budget", f"b-{usd}", inputs)


def test_the_callers_estimate_comes_before_the_packs_own() -> None:
    estimate = {"monthly": {"low": 1, "expected": 200_000, "high": 3}, "unpriced": ["a block"]}
    only = {"all": "disabled", "monthly-cost-within-ceiling": "mandatory"}
    report = evaluate([budget("100000.00")], COST, only, estimate=estimate)
    assert report.violations[0].message.startswith(
        "expected cost a month in USD is 200000; wanted: at most 100,000. Fix:"
    )
    assert [doubt.why for doubt in report.could_not_judge] == ["of a block is not known"]


@pytest.mark.parametrize(
    ("budgets", "ceiling"),
    [
        ([budget("20000")], 20_000),
        ([budget("20000"), budget("500")], 20_000),
        ([budget("60000", timeUnit="QUARTERLY")], 20_000),
        ([budget("20000"), budget("90000", budgetType="USAGE")], 20_000),
    ],
    ids=["one", "one beside a part of it", "a quarter", "one of cost beside one of use"],
)
def test_the_ceiling_is_the_stacks_own_budget_whatever_the_environment(budgets: list[Record], ceiling: int) -> None:
    for environment in ("dev", "prod"):
        over = evaluate(budgets, COST, load("cost", environment), estimate={"expected": ceiling + 1.0})
        assert "monthly-cost-within-ceiling" in {each.rule for each in over.violations}
        under = evaluate(budgets, COST, load("cost", environment), estimate={"expected": ceiling - 1.0})
        assert "monthly-cost-within-ceiling" not in {each.rule for each in under.violations}


@pytest.mark.parametrize("limit", ["<unknown>", None], ids=["unknown", "no budget"])
def test_without_a_known_budget_the_cost_is_not_judged(limit: str | None) -> None:
    only = {"all": "disabled", "monthly-cost-within-ceiling": "mandatory"}
    report = evaluate([budget(limit)] if limit else [], COST, only, estimate={"expected": 1.0})
    assert report.violations == ()
    assert len(report.could_not_judge) == 1
    assert evaluate([], COST, only, estimate={"expected": 0.0}).could_not_judge == ()


def test_a_change_is_held_to_a_share_of_the_stacks_budget() -> None:
    only = {"all": "disabled", "cost-change-within-ceiling": {"enforcementLevel": "mandatory", "percent": 5}}
    stack = [budget("20000")]
    assert evaluate(stack, COST, only, estimate={"delta": 999.0}).violations == ()
    (violation,) = evaluate(stack, COST, only, estimate={"delta": {"expected": 1001.0}}).violations
    assert "wanted: at most 1,000, 5 % of the budget. Fix:" in violation.message
    assert evaluate(stack, COST, only).violations == ()


def test_what_has_no_known_price_is_listed_and_never_counted_as_nothing() -> None:
    inputs = {
        "capacityType": "ON_DEMAND",
        "instanceTypes": ["trn2.48xlarge"],
        "scalingConfig": {"minSize": 1, "desiredSize": 1, "maxSize": 1},
    }
    report = said(COST, "monthly-cost-within-ceiling", [record(GROUP, "g", inputs)])
    assert [doubt.why for doubt in report.could_not_judge] == [
        "has no known price: trn2.48xlarge as on-demand in us-west-2"
    ]


def test_a_join_that_cannot_be_told_is_not_judged() -> None:
    bucket = record("aws:s3/bucket:Bucket", "b", {})
    stray = record("aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock", "x", {"bucket": "<unknown>"})
    report = said(SECURITY, "buckets-block-public-access", [bucket, stray])
    assert report.violations == ()
    assert [doubt.why for doubt in report.could_not_judge] == [
        "of x is not known, so it can't be told whether it belongs to b"
    ]


def test_one_buckets_guard_does_not_guard_another() -> None:
    records = good_stack()
    other = record("aws:s3/bucket:Bucket", "other", {"bucket": "acme-other"})
    report = said(SECURITY, "buckets-block-public-access", [*records, other])
    assert [violation.urn for violation in report.violations] == [other["urn"]]


def test_a_rule_with_a_public_range_on_an_allowed_port_passes() -> None:
    rule = record(
        "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
        "r",
        {"ipProtocol": "tcp", "fromPort": 443, "toPort": 443, "cidrIpv4": "0.0.0.0/0"},
    )
    assert said(SECURITY, "network-no-world-ingress", [rule]).violations
    assert said(SECURITY, "network-no-world-ingress", [rule], ports=[443]).violations == ()
    put(rule["inputs"], ("ipProtocol",), "-1")
    assert said(SECURITY, "network-no-world-ingress", [rule], ports=[443]).violations


def test_a_scratch_file_system_may_say_that_its_data_may_go() -> None:
    system = record(
        "aws:fsx/lustreFileSystem:LustreFileSystem",
        "s",
        {"deploymentType": "SCRATCH_2", "tags": {"expendable": "true"}},
    )
    assert said(SECURITY, "lustre-scratch-linked", [system]).violations == ()
    put(system["inputs"], ("tags", "expendable"), "false")
    assert [violation.urn for violation in said(SECURITY, "lustre-scratch-linked", [system]).violations] == [
        system["urn"]
    ]
