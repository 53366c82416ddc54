"""Rules of the network: what security groups let in and out, where traffic is recorded, what an isolated network
must still reach.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from policies.declared.resources import Resource, Stack, refers
from policies.declared.types import (
    DEFAULT_SECURITY_GROUP,
    EGRESS_RULE,
    FLOW_LOG,
    INGRESS_RULE,
    PREFIX_LIST,
    PREFIX_LIST_ENTRY,
    SECURITY_GROUP,
    SECURITY_GROUP_RULE,
    SUBNET,
    VPC,
)
from policies.declared.values import Node
from policies.packs.policy_rule import Finding, Outcome, Settings, each, each_resource, missing, rule
from policies.security.network_openings import Opening, openings
from policies.security.rules.cluster import is_world

RULES = (SECURITY_GROUP, SECURITY_GROUP_RULE, INGRESS_RULE)
# Named in the message, because they tell a reader what the open door leads to.
SERVICES = {
    22: "SSH",
    3389: "RDP",
    2379: "etcd",
    6379: "Redis and Ray",
    8265: "the Ray dashboard",
    10250: "the kubelet",
    6443: "the API server",
}


@rule(
    "network-no-world-ingress",
    types=(*RULES, PREFIX_LIST, PREFIX_LIST_ENTRY),
    severity="critical",
    ids=("EC2.18", "EC2.19", "CKV_AWS_24", "CKV_AWS_25", "CKV_AWS_260", "CKV_AWS_277"),
    says="No security group lets the whole world in.",
    fix="name the peer: a security group, or the range it comes from",
    parameters={
        "ports": {
            "type": "array",
            "items": {"type": "integer"},
            "default": [],
            "description": "ports that may be open to the world",
        }
    },
)
def network_no_world_ingress(group: Resource, settings: Settings) -> Iterator[Outcome]:
    if group.type in (PREFIX_LIST, PREFIX_LIST_ENTRY):
        # A rule names the list and not its ranges, so the list itself must hold no world.
        holders = [group.node] if group.type == PREFIX_LIST_ENTRY else group.at("entries").elements()
        yield from each([holder.at("cidr") for holder in holders], _no_world)
        return
    if group.type == SECURITY_GROUP:
        # Rules unknown as a whole are kept in resources of their own, or come from a computed list.
        group.at("ingress").require_known()
    yield from each(
        [opening for opening in openings(group) if opening.direction == "ingress"],
        lambda opening: _closed(opening, settings["ports"]),
    )


def _no_world(range_: Node) -> Iterator[Outcome]:
    if is_world(range_.text() or ""):
        yield Finding(range_, "a named range; rules that name the list would let the whole world in")


def _closed(opening: Opening, allowed: list[int]) -> Iterator[Outcome]:
    def check(range_: Node) -> Iterator[Outcome]:
        if not is_world(range_.text() or ""):
            return
        first, last = opening.ports()
        if first == last and first in allowed:
            return
        service = ", ".join(f"{port} ({name})" for port, name in SERVICES.items() if first <= port <= last)
        reach = (
            "every port"
            if (first, last) == (0, 65535)
            else f"port {first}"
            if first == last
            else f"ports {first}-{last}"
        )
        yield Finding(range_, f"a named peer; {reach} would be open{': ' + service if service else ''}")

    yield from each(opening.ranges, check)


@rule(
    "network-no-world-egress",
    types=(SECURITY_GROUP, SECURITY_GROUP_RULE, EGRESS_RULE),
    severity="low",
    ids=("CKV_AWS_382",),
    says="No security group lets everything out to everywhere.",
    fix="allow the ports and peers that are needed, HTTPS to the endpoints first",
)
def network_no_world_egress(group: Resource, _: Settings) -> Iterator[Outcome]:
    def check(opening: Opening) -> Iterator[Outcome]:
        for range_ in opening.ranges:
            if is_world(range_.text() or "") and opening.all_traffic:
                yield Finding(range_, "named ports and peers; all traffic may leave for everywhere")

    yield from each([opening for opening in openings(group) if opening.direction == "egress"], check)


@rule(
    "network-rules-described",
    types=(SECURITY_GROUP, SECURITY_GROUP_RULE, INGRESS_RULE, EGRESS_RULE),
    severity="low",
    ids=("CKV_AWS_23",),
    says="Every security group and rule says what it is for.",
    fix="set description to the traffic it is for",
)
def network_rules_described(group: Resource, _: Settings) -> Iterator[Outcome]:
    description = group.at("description")
    if (description.text() or "").strip() in ("", "Managed by Pulumi", "Managed by Terraform"):
        yield Finding(description, "a few words on what the traffic is")


@rule(
    "network-flow-logs",
    types=(VPC, FLOW_LOG),
    scope="stack",
    severity="medium",
    level="mandatory",
    ids=("EC2.6", "CKV2_AWS_11"),
    says="Every network records its flows.",
    fix="add an aws.ec2.FlowLog of the VPC with trafficType ALL or REJECT",
)
def network_flow_logs(stack: Stack, _: Settings) -> Iterator[Outcome]:
    def check(vpc: Resource) -> Iterator[Outcome]:
        if not stack.companions(vpc, FLOW_LOG, "vpcId"):
            yield Finding(missing("flow log"), "an aws.ec2.FlowLog with this vpcId")

    yield from each_resource(stack.of(VPC), check)


@rule(
    "network-default-group-empty",
    types=(VPC, DEFAULT_SECURITY_GROUP, SECURITY_GROUP_RULE, INGRESS_RULE, EGRESS_RULE),
    scope="stack",
    severity="medium",
    level="mandatory",
    ids=("EC2.2", "CKV2_AWS_12"),
    says="The default security group of every network lets nothing through.",
    fix="add an aws.ec2.DefaultSecurityGroup of the VPC without ingress and egress",
)
def network_default_group_empty(stack: Stack, _: Settings) -> Iterator[Outcome]:
    def check(vpc: Resource) -> Iterator[Outcome]:
        groups = stack.companions(vpc, DEFAULT_SECURITY_GROUP, "vpcId")
        if not groups:
            yield Finding(
                missing("default security group"), "an aws.ec2.DefaultSecurityGroup with this vpcId and no rules"
            )
        for group in groups:
            for direction in ("ingress", "egress"):
                if not group.computed(direction) and (rules := group.at(direction)).elements():
                    yield Finding(rules, "no rules at all", group.urn)
            for rule_ in stack.of(SECURITY_GROUP_RULE, INGRESS_RULE, EGRESS_RULE):
                if refers(rule_, "securityGroupId", group):
                    yield Finding(rule_.at("securityGroupId"), "no rule on the default group", rule_.urn)

    yield from each_resource(stack.of(VPC), check)


def _no_mapping(inputs: dict[str, Any]) -> bool:
    if inputs.get("mapPublicIpOnLaunch") in (None, False):
        return False
    inputs["mapPublicIpOnLaunch"] = False
    return True


@rule(
    "subnets-assign-no-public-addresses",
    types=(SUBNET,),
    severity="high",
    ids=("EC2.15", "CKV_AWS_130"),
    says="No subnet gives its machines public addresses.",
    fix="leave mapPublicIpOnLaunch out or set it to false; load balancers don't need it",
    remedy=_no_mapping,
)
def subnets_assign_no_public_addresses(subnet: Resource, _: Settings) -> Iterator[Outcome]:
    if (mapped := subnet.at("mapPublicIpOnLaunch")).boolean():
        yield Finding(mapped, "false")


@rule(
    "one-group-owned-by-the-cluster",
    types=(SECURITY_GROUP,),
    severity="medium",
    level="mandatory",
    says=(
        "Only the group that EKS makes carries the cluster's tag; a second one on an interface stops the load balancer"
        " controller."
    ),
    fix="drop the kubernetes.io/cluster/... tag from the group",
)
def one_group_owned_by_the_cluster(group: Resource, _: Settings) -> Iterator[Outcome]:
    for key, value in group.at("tags").entries().items():
        if key.startswith("kubernetes.io/cluster/"):
            yield Finding(value, "no cluster tag on a group of one's own")
