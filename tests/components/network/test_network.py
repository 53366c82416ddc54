"""The network as declared: two ranges kept apart, no way out for compute, the endpoints it needs instead, and every
rule named.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import pulumi_aws as aws
import pytest

from components.network import Network, NetworkArgs
from components.network.endpoints import publishers_buckets
from components.planning.address_needs import AddressNeed, nodes
from components.spec.network import NetworkSpec
from tests.declared import Record, named, of_type, one, record

TAGS = {"owner": "ml-platform", "cost-center": "4711"}
ZONES = ("usw2-az2", "usw2-az3", "usw2-az4")
UNTAGGED = {"SubnetCidrReservation", "VpcIpv4CidrBlockAssociation", "Route", "RouteTableAssociation", "RolePolicy"}


@cache
def declared(known: bool = False, **spec: Any) -> tuple[Record, ...]:
    compute = (AddressNeed(zone="usw2-az3", parts=(nodes("train", 8),)),)
    args = NetworkArgs(
        spec=NetworkSpec.model_validate({"zones": ZONES, **spec}),
        region="us-west-2",
        compute=compute,
        remote_cidrs=("192.168.0.0/20",) if spec.get("extra_endpoints") else (),
        tags=TAGS,
    )

    def program() -> None:
        Network("network", args)

    return tuple(record(program, known=known))


def rules(records: tuple[Record, ...]) -> dict[str, Mapping[str, Any]]:
    return {each.name: each.inputs for each in records if each.type.endswith("gressRule")}


def table_of(records: tuple[Record, ...], subnet: str) -> str:
    [found] = [each for each in of_type(records, "RouteTableAssociation") if each.inputs["subnetId"] == f"{subnet}-id"]
    return str(found.inputs["routeTableId"]).removesuffix("-id")


def routes_from(records: tuple[Record, ...], table: str) -> list[Mapping[str, Any]]:
    return [each.inputs for each in of_type(records, "Route") if each.inputs["routeTableId"] == f"{table}-id"]


def test_a_first_preview_declares_what_an_update_declares() -> None:
    assert sorted((each.type, each.name) for each in declared()) == sorted(
        (each.type, each.name) for each in declared(known=True)
    )


def test_shuffled_lists_declare_the_same() -> None:
    one_way = declared(compute_cidrs=("100.64.0.0/16", "100.65.0.0/16"))
    other = declared(zones=ZONES[::-1], compute_cidrs=("100.65.0.0/16", "100.64.0.0/16"))
    assert {each.name: each.inputs for each in one_way if each.custom} == {
        each.name: each.inputs for each in other if each.custom
    }


def test_another_zone_changes_no_resource_that_was_there() -> None:
    """Endpoints and the S3 gateway's tables grow; nothing is replaced."""
    before = {each.name: each.inputs for each in declared(zones=ZONES[:2]) if each.custom}
    after = {each.name: each.inputs for each in declared() if each.custom}
    assert set(before) <= set(after)
    changed = {key for name in before for key in before[name] if before[name][key] != after[name][key]}
    assert changed == {"subnetIds", "routeTableIds"}


def test_the_vpc_resolves_names_and_carries_both_ranges() -> None:
    vpc = one(declared(), "Vpc")
    assert (vpc.inputs["cidrBlock"], vpc.inputs["enableDnsSupport"], vpc.inputs["enableDnsHostnames"]) == (
        "10.0.0.0/16",
        True,
        True,
    )
    assert one(declared(), "VpcIpv4CidrBlockAssociation").inputs["cidrBlock"] == "100.64.0.0/16"


def test_compute_subnets_wait_for_their_range() -> None:
    [subnet] = [each for each in of_type(declared(), "Subnet") if "compute" in each.name]
    assert any("network-range-100.64.0.0/16" in urn for urn in subnet.depends_on)


def test_pods_prefixes_have_blocks_of_their_own_and_nodes_wait_for_them() -> None:
    [kept] = of_type(declared(known=True), "SubnetCidrReservation")
    assert (kept.inputs["reservationType"], kept.inputs["subnetId"]) == ("prefix", "network-compute-usw2-az3-id")
    assert kept.inputs["cidrBlock"] == "100.64.80.0/20"  # the upper half of 100.64.64.0/19, for 8 nodes x 2 prefixes


def test_no_subnet_hands_out_public_addresses() -> None:
    assert {each.inputs["mapPublicIpOnLaunch"] for each in of_type(declared(), "Subnet")} == {False}


def test_subnets_are_placed_by_zone_id_and_tagged_by_role() -> None:
    tags = {each.name: each.inputs["tags"] for each in of_type(declared(), "Subnet")}
    assert tags["network-public-usw2-az2"]["kubernetes.io/role/elb"] == "1"
    assert tags["network-nodes-usw2-az2"]["kubernetes.io/role/internal-elb"] == "1"
    assert {each.inputs["availabilityZoneId"] for each in of_type(declared(), "Subnet")} == set(ZONES)


def test_compute_and_control_subnets_have_no_way_out() -> None:
    records = declared(known=True)
    for kind, zone in (("compute", "usw2-az3"), ("control", "usw2-az2"), ("control", "usw2-az3")):
        assert table_of(records, f"network-{kind}-{zone}") == f"network-{kind}"
        assert routes_from(records, f"network-{kind}") == []


def test_nodes_leave_through_the_gateway_of_their_zone() -> None:
    records = declared(known=True)
    for zone in ZONES:
        [route] = routes_from(records, table_of(records, f"network-nodes-{zone}"))
        assert (route["destinationCidrBlock"], route["natGatewayId"]) == ("0.0.0.0/0", f"network-nat-{zone}-id")


def test_one_gateway_serves_all_zones_and_a_switch_moves_no_table() -> None:
    records = declared(known=True, nat_gateways="one")
    assert [each.name for each in of_type(records, "NatGateway")] == ["network-nat-usw2-az2"]
    for zone in ZONES:
        [route] = routes_from(records, table_of(records, f"network-nodes-{zone}"))
        assert route["natGatewayId"] == "network-nat-usw2-az2-id"
    tables = {each.name for each in of_type(records, "RouteTable")}
    assert tables == {each.name for each in of_type(declared(known=True), "RouteTable")}


def test_an_isolated_network_has_no_gateway_and_no_route_at_all() -> None:
    records = declared(egress="isolated")
    for token in ("InternetGateway", "NatGateway", "Eip", "Route"):
        assert of_type(records, token) == []
    assert not any(rule.get("cidrIpv4") == "0.0.0.0/0" for rule in rules(records).values())


def test_s3_is_reached_from_every_private_table() -> None:
    endpoint = named(declared(known=True), "network-endpoint-s3")
    assert endpoint.inputs["vpcEndpointType"] == "Gateway"
    assert sorted(endpoint.inputs["routeTableIds"]) == [
        "network-compute-id",
        "network-control-id",
        *(f"network-nodes-{zone}-id" for zone in ZONES),
    ]


def test_the_s3_policy_lets_image_layers_through_and_else_only_the_accounts_buckets() -> None:
    policy = json.loads(named(declared(known=True), "network-endpoint-s3").inputs["policy"])
    statements = {each["Sid"]: each for each in policy["Statement"]}
    assert statements["ImageLayers"]["Resource"] == ["arn:aws:s3:::prod-us-west-2-starport-layer-bucket/*"]
    assert statements["ImageLayers"]["Action"] == ["s3:GetObject"]
    assert "Condition" not in statements["ImageLayers"]
    account = {"aws:PrincipalAccount": "111122223333", "aws:ResourceAccount": "111122223333"}
    assert statements["OwnBuckets"]["Condition"] == {"StringEquals": account}


@pytest.mark.parametrize(
    ("region", "buckets"),
    [
        ("us-west-2", ["prod-registry-k8s-io-us-west-2"]),
        ("us-east-1", ["prod-registry-k8s-io-us-east-1", "quayio-production-s3"]),
        ("eu-west-2", ["767373bbdcb8270361b96548387bf2a9ad0d48758c35-eu-west-2"]),
    ],
)
def test_layers_that_publishers_keep_in_the_same_region_pass_the_gateway(region: str, buckets: list[str]) -> None:
    """A client with a NAT is sent to S3 in its own region, and so to the gateway: controllers' images would
    never come.
    """
    assert list(publishers_buckets(region)) == buckets


def test_an_isolated_network_lets_no_publishers_bucket_through() -> None:
    def let_through(**settings: Any) -> dict[str, Any]:
        policy = json.loads(named(declared(known=True, **settings), "network-endpoint-s3").inputs["policy"])
        return {each["Sid"]: each for each in policy["Statement"]}

    published = let_through()["PublishedImageLayers"]
    assert published["Resource"] == ["arn:aws:s3:::prod-registry-k8s-io-us-west-2/*"]
    assert published["Action"] == ["s3:GetObject"]
    assert "PublishedImageLayers" not in let_through(egress="isolated")


def test_interface_endpoints_live_in_the_control_subnets_and_answer_this_account_only() -> None:
    found = [
        each for each in of_type(declared(known=True), "VpcEndpoint") if each.inputs["vpcEndpointType"] == "Interface"
    ]
    services = {each.inputs["serviceName"].removeprefix("com.amazonaws.us-west-2.") for each in found}
    assert services == {"ec2", "ecr.api", "ecr.dkr", "eks", "eks-auth", "logs", "monitoring", "sts"}
    for each in found:
        assert each.inputs["subnetIds"] == [f"network-control-{zone}-id" for zone in ZONES]
        assert each.inputs["privateDnsEnabled"] is True
        assert each.inputs["securityGroupIds"] == ["network-endpoints-id"]
        if "eks-auth" not in each.name:
            [statement] = json.loads(each.inputs["policy"])["Statement"]
            assert statement["Condition"] == {"StringEquals": {"aws:PrincipalAccount": "111122223333"}}


def test_endpoints_take_https_from_both_networks() -> None:
    found = {
        key: rule
        for key, rule in rules(declared(known=True)).items()
        if rule["securityGroupId"] == "network-endpoints-id"
    }
    assert {(rule["cidrIpv4"], rule["fromPort"], rule["toPort"]) for rule in found.values()} == {
        ("10.0.0.0/16", 443, 443),
        ("100.64.0.0/16", 443, 443),
    }


def test_the_efa_group_lets_everything_through_to_and_from_itself() -> None:
    """A rule to 0.0.0.0/0 doesn't cover EFA: both rules must name the group."""
    found = [
        (name, rule)
        for name, rule in rules(declared(known=True)).items()
        if rule["securityGroupId"] == "network-efa-id"
    ]
    assert sorted(name for name, _ in found) == ["network-in-efa-self-all", "network-out-efa-self-all"]
    for _, rule in found:
        assert (rule["ipProtocol"], rule["referencedSecurityGroupId"]) == ("-1", "network-efa-id")
        assert "fromPort" not in rule


def between(caller: str, listener: str) -> set[tuple[str, int, int]]:
    """Ports on which one group may start a connection to the other, as the listener's ingress says."""
    return {
        (rule["ipProtocol"], rule["fromPort"], rule["toPort"])
        for name, rule in rules(declared(known=True)).items()
        if "-in-" in name
        and rule["securityGroupId"] == f"network-{listener}-id"
        and rule.get("referencedSecurityGroupId") == f"network-{caller}-id"
    }


def test_the_two_networks_meet_on_named_ports_only() -> None:
    assert between("compute-nodes", "management") == {("tcp", 53, 53), ("udp", 53, 53)}
    assert between("management", "compute-nodes") == {("tcp", 10250, 10250), ("tcp", 9100, 9100), ("tcp", 9400, 9403)}


def test_every_rule_says_why_and_none_lets_the_world_in() -> None:
    for name, rule in rules(declared()).items():
        assert len(rule["description"]) > 10, name
        assert set(rule["description"]) <= set(
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789. _-:/()#,@[]+=&;{}!$*"
        ), name
        if "-in-" in name:
            assert rule.get("cidrIpv4") != "0.0.0.0/0", name


def test_no_two_rules_of_a_group_are_alike() -> None:
    keys = [
        (
            "-in-" in name,
            json.dumps(
                {key: value for key, value in rule.items() if key not in ("tags", "description")}, sort_keys=True
            ),
        )
        for name, rule in rules(declared(known=True)).items()
    ]
    assert len(keys) == len(set(keys))


def test_groups_hold_no_inline_rules_and_descriptions_that_ec2_takes() -> None:
    for group in of_type(declared(), "SecurityGroup"):
        assert "ingress" not in group.inputs
        assert "egress" not in group.inputs
        assert "'" not in group.inputs["description"]


def test_the_default_group_lets_nothing_through() -> None:
    default = one(declared(), "DefaultSecurityGroup")
    assert "ingress" not in default.inputs
    assert "egress" not in default.inputs


def test_no_group_carries_the_clusters_ownership_tag() -> None:
    for group in [*of_type(declared(), "SecurityGroup"), one(declared(), "DefaultSecurityGroup")]:
        assert not any(key.startswith("kubernetes.io/cluster/") for key in group.inputs["tags"])


def test_flow_logs_go_to_an_encrypted_group_that_is_kept_as_long_as_asked() -> None:
    records = declared(known=True, flow_log_days=80)
    log, group = one(records, "FlowLog"), one(records, "LogGroup")
    assert (log.inputs["trafficType"], log.inputs["logDestination"]) == (
        "ALL",
        "arn:aws:cloudwatch:us-west-2:111122223333:network-flow-logs",
    )
    assert (group.inputs["retentionInDays"], group.inputs["kmsKeyId"]) == (
        90,
        "arn:aws:kms:us-west-2:111122223333:network-logs",
    )
    assert one(records, "kms/key:Key").inputs["enableKeyRotation"] is True


def test_only_flow_logs_of_this_account_take_the_role_and_it_writes_to_that_group_only() -> None:
    records = declared(known=True)
    [trust] = json.loads(one(records, "Role").inputs["assumeRolePolicy"])["Statement"]
    assert trust["Condition"] == {"StringEquals": {"aws:SourceAccount": "111122223333"}}
    [write] = json.loads(one(records, "RolePolicy").inputs["policy"])["Statement"]
    assert {resource.removesuffix(":*") for resource in write["Resource"]} == {
        "arn:aws:cloudwatch:us-west-2:111122223333:network-flow-logs"
    }


def test_every_resource_that_can_carry_tags_carries_them() -> None:
    for each in declared():
        if each.custom and each.type.rsplit(":", 1)[-1] not in UNTAGGED:
            assert TAGS.items() <= each.inputs["tags"].items(), each.name


def test_on_premises_ranges_reach_dns_and_the_endpoints() -> None:
    found = rules(declared(extra_endpoints=("ssm",)))
    assert {name for name in found if "192.168.0.0/20" in name} == {
        "network-in-endpoints-192.168.0.0/20",
        "network-in-remote-to-management-dns-tcp-192.168.0.0/20",
        "network-in-remote-to-management-dns-udp-192.168.0.0/20",
        "network-out-management-to-remote-kubelet-192.168.0.0/20",
        "network-out-management-to-remote-node-metrics-192.168.0.0/20",
        "network-out-management-to-remote-exporters-192.168.0.0/20",
    }


def test_a_transit_gateway_leads_to_the_premises_but_never_from_the_compute_network() -> None:
    args = NetworkArgs(
        spec=NetworkSpec(zones=ZONES[:2]),
        region="us-west-2",
        compute=(AddressNeed(zone="usw2-az3", parts=(nodes("train", 8),)),),
        remote_cidrs=("192.168.0.0/20",),
        transit_gateway_id="tgw-0a1b2c3d4e5f60718",
    )

    def program() -> None:
        Network("network", args)

    records = tuple(record(program, known=True))
    found = {each.inputs["routeTableId"] for each in of_type(records, "Route") if each.inputs.get("transitGatewayId")}
    assert found == {"network-control-id", "network-nodes-usw2-az2-id", "network-nodes-usw2-az3-id"}
    assert one(records, "VpcAttachment").inputs["subnetIds"] == [
        "network-control-usw2-az2-id",
        "network-control-usw2-az3-id",
    ]


def test_a_subnet_that_was_not_planned_is_refused_by_name() -> None:
    def program() -> None:
        network = Network("network", NetworkArgs(spec=NetworkSpec(zones=ZONES), region="us-west-2"))
        with pytest.raises(KeyError):
            network.subnet_ids("compute", "usw2-az3")
        assert network.plan.zones("compute") == ()

    assert record(program)


def test_nodes_wait_for_every_rule_so_that_none_goes_before_them_on_destroy() -> None:
    waits: list[int] = []
    found: list[int] = []

    def program() -> None:
        network = Network("network", NetworkArgs(spec=NetworkSpec(zones=ZONES), region="us-west-2"))
        kinds = (aws.vpc.SecurityGroupIngressRule, aws.vpc.SecurityGroupEgressRule)
        waits.append(len([each for each in network.ready if isinstance(each, kinds)]))

    found.append(len(rules(tuple(record(program)))))
    assert waits == found


def test_a_range_for_nodes_is_added_to_the_vpc_before_their_subnets_and_known_to_every_group() -> None:
    records = declared(known=True, node_cidr="100.66.0.0/16")
    added = [each for each in of_type(records, "VpcIpv4CidrBlockAssociation") if "100.66" in each.name]
    assert [each.inputs["cidrBlock"] for each in added] == ["100.66.0.0/16"]
    nodes_of = [each for each in of_type(records, "Subnet") if "-nodes-" in each.name]
    assert len(nodes_of) == len(ZONES)
    for each in nodes_of:
        assert each.inputs["cidrBlock"].startswith("100.66.")
        assert added[0].urn in each.depends_on
    usual = json.dumps(list(rules(declared(known=True)).values()), default=str)
    with_it = json.dumps(list(rules(records).values()), default=str)
    assert with_it.count("100.66.0.0/16") == usual.count("100.64.0.0/16") > 0
