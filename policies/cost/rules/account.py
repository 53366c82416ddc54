"""Cost rules of the whole stack: tags that name a payer, gateways, addresses, budgets, and the ceilings."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from policies.declared.resources import Resource, Stack, refers
from policies.declared.types import (
    ADDRESS,
    ADDRESS_ASSOCIATION,
    AUTOSCALING_GROUP,
    BUCKET,
    BUDGET,
    CAPACITY_RESERVATION,
    CLUSTER,
    FILE_SYSTEM,
    INSTANCE,
    KARPENTER_CLASS,
    KEY,
    LAUNCH_TEMPLATE,
    LOG_GROUP,
    LUSTRE,
    NAT_GATEWAY,
    NODE_GROUP,
    REPOSITORY,
    SPOT_REQUEST,
    SUBNET,
    VOLUME,
    VPC,
    VPC_ENDPOINT,
)
from policies.declared.values import Node
from policies.packs.policy_rule import Finding, Outcome, Settings, each, each_resource, editable, missing, rule

TAGGED = (
    CLUSTER,
    NODE_GROUP,
    INSTANCE,
    SPOT_REQUEST,
    VOLUME,
    FILE_SYSTEM,
    LUSTRE,
    BUCKET,
    REPOSITORY,
    KEY,
    LOG_GROUP,
    NAT_GATEWAY,
    ADDRESS,
    VPC,
    VPC_ENDPOINT,
    CAPACITY_RESERVATION,
)
REQUIRED = ["owner", "team", "cost-center"]
# A changed tag of a machine rolls its nodes, so whom to ask stays off them.
NOT_ON_MACHINES = ["owner"]


@rule(
    "tags-name-a-payer",
    types=(*TAGGED, LAUNCH_TEMPLATE, AUTOSCALING_GROUP, KARPENTER_CLASS),
    severity="medium",
    level="mandatory",
    says=(
        "Everything that costs money carries the tags of who pays for it, down to the machines and volumes that a"
        " template starts."
    ),
    fix="set the tag in trainshed:tags; a template needs it in tagSpecifications for instance and for volume",
    parameters={
        "tags": {"type": "array", "items": {"type": "string"}, "default": REQUIRED},
        "not_on_machines": {
            "type": "array",
            "items": {"type": "string"},
            "default": NOT_ON_MACHINES,
            "description": "tags that machines and volumes of a template need not carry",
        },
    },
)
def tags_name_a_payer(resource: Resource, settings: Settings) -> Iterator[Outcome]:
    wanted: list[str] = settings["tags"]
    if resource.type == LAUNCH_TEMPLATE or resource.type.endswith(":EC2NodeClass"):
        wanted = [key for key in wanted if key not in settings["not_on_machines"]]
    if resource.type == LAUNCH_TEMPLATE:
        yield from _specifications(resource, wanted)
    elif resource.type == AUTOSCALING_GROUP:
        nodes = [tag for tag in resource.at("tags").elements() if tag.at("propagateAtLaunch").boolean()]
        present = {tag.at("key").text() or "" for tag in nodes if tag.at("value").text()}
        yield from _lacking(resource.at("tags"), wanted, present, "with propagateAtLaunch")
    else:
        tags = resource.at("spec", "tags") if resource.type.endswith(":EC2NodeClass") else resource.at("tags")
        present = {key for key, value in tags.entries().items() if value.opaque or value.text()}
        yield from _lacking(tags, wanted, present | _given(resource.provider_inputs), "with a value")


def _lacking(node: Node, wanted: list[str], present: set[str], how: str) -> Iterator[Outcome]:
    have = {key.lower() for key in present}
    if lacking := [key for key in wanted if key.lower() not in have]:
        yield Finding(node, f"{', '.join(lacking)} too, {how}")


def _specifications(template: Resource, wanted: list[str]) -> Iterator[Outcome]:
    given = template.at("tagSpecifications")
    by_kind = {node.at("resourceType").text(): node for node in given.elements()}
    for kind in ("instance", "volume"):
        node = by_kind.get(kind)
        if node is None:
            yield Finding(Node.of(None, f"tagSpecifications for {kind}"), f"one with {', '.join(wanted)}")
            continue
        tags = node.at("tags")
        yield from each(
            [tags],
            lambda tags: _lacking(
                tags, wanted, {key for key, value in tags.entries().items() if value.text()}, "with a value"
            ),
        )


def _given(provider: Mapping[str, Any] | None) -> set[str]:
    """The keys of the provider's default tags, which the wire writes as JSON text."""
    defaults = (provider or {}).get("defaultTags")
    if isinstance(defaults, str):
        try:
            defaults = json.loads(defaults)
        except json.JSONDecodeError:
            return set()
    tags = defaults.get("tags") if isinstance(defaults, Mapping) else None
    return {str(key) for key in tags} if isinstance(tags, Mapping) else set()


@rule(
    "gateways-counted",
    types=(NAT_GATEWAY, SUBNET, VPC),
    scope="stack",
    severity="medium",
    level="mandatory",
    says="A network has at most one NAT gateway a zone, and no more than the environment allows.",
    fix="route each zone through one gateway, or all through the same one (trainshed:network.nat_gateways: one)",
    parameters={
        "most": {
            "type": "integer",
            "default": 0,
            "minimum": 0,
            "description": "the most gateways in a network; 0 sets no limit beyond one for each zone",
        }
    },
)
def gateways_counted(stack: Stack, settings: Settings) -> Iterator[Outcome]:
    def check(vpc: Resource) -> Iterator[Outcome]:
        subnets = [subnet for subnet in stack.of(SUBNET) if refers(subnet, "vpcId", vpc)]
        gateways = [
            gateway
            for gateway in stack.of(NAT_GATEWAY)
            if any(refers(gateway, "subnetId", subnet) for subnet in subnets)
        ]
        zones = {zone for subnet in subnets if (zone := _zone(subnet))}
        most = min(len(zones), settings["most"] or len(zones))
        if len(gateways) > most:
            yield Finding(Node(len(gateways), "NAT gateways"), f"at most {most}", gateways[-1].urn)

    yield from each_resource(stack.of(VPC), check)


def _zone(subnet: Resource) -> str:
    """The zone of a subnet. One that isn't known counts as a zone of its own, so that no valid gateway is refused."""
    named = next(
        (node for key in ("availabilityZoneId", "availabilityZone") if not (node := subnet.at(key)).absent), None
    )
    if named is None:
        return ""
    return subnet.urn if named.opaque else str(named.value)


@rule(
    "storage-reached-without-gateway",
    types=(VPC, VPC_ENDPOINT),
    scope="stack",
    severity="medium",
    level="mandatory",
    says="Traffic to object storage goes through the free gateway endpoint and not through a NAT gateway.",
    fix="add an aws.ec2.VpcEndpoint of type Gateway for s3, with all route tables",
)
def storage_reached_without_gateway(stack: Stack, _: Settings) -> Iterator[Outcome]:
    def check(vpc: Resource) -> Iterator[Outcome]:
        endpoints = stack.companions(vpc, VPC_ENDPOINT, "vpcId")
        names = [
            endpoint.at("serviceName").text() or ""
            for endpoint in endpoints
            if (endpoint.at("vpcEndpointType").text() or "Gateway") == "Gateway"
        ]
        if not any(name.endswith(".s3") for name in names):
            yield Finding(missing("gateway endpoint for s3"), "one in this network")

    yield from each_resource(stack.of(VPC), check)


@rule(
    "addresses-used",
    types=(ADDRESS, ADDRESS_ASSOCIATION, NAT_GATEWAY),
    scope="stack",
    severity="medium",
    level="mandatory",
    ids=("CKV2_AWS_19", "EC2.12"),
    says="Every public address that is paid for is used.",
    fix="release the address, or attach it to a gateway or a balancer",
)
def addresses_used(stack: Stack, _: Settings) -> Iterator[Outcome]:
    def check(address: Resource) -> Iterator[Outcome]:
        if any(not address.at(key).absent and address.at(key).value != "" for key in ("instance", "networkInterface")):
            return
        users = (
            *stack.of(NAT_GATEWAY, ADDRESS_ASSOCIATION),
            *stack.of("aws:lb/loadBalancer:LoadBalancer", "aws:ec2transitgateway/*", "aws:globalaccelerator/*"),
        )
        keys = ("allocationId", "subnetMappings", "secondaryAllocationIds")
        if not any(address.urn in user.depends_on or refers(user, key, address) for user in users for key in keys):
            yield Finding(missing("association"), "a gateway, balancer or machine that uses the address")

    yield from each_resource(stack.of(ADDRESS), check)


def _standard(inputs: dict[str, Any]) -> bool:
    policy = editable(inputs, "upgradePolicy")
    if policy is None or policy.get("supportType") == "STANDARD":
        return False
    policy["supportType"] = "STANDARD"
    return True


@rule(
    "cluster-standard-support",
    types=(CLUSTER,),
    severity="medium",
    level="mandatory",
    says="The cluster never slides into extended support, which costs six times as much an hour.",
    fix='set upgradePolicy.supportType to "STANDARD"',
    remedy=_standard,
)
def cluster_standard_support(cluster: Resource, _: Settings) -> Iterator[Outcome]:
    if (kind := cluster.at("upgradePolicy", "supportType")).text() != "STANDARD":
        yield Finding(kind, '"STANDARD"')


@rule(
    "control-plane-tier-allowed",
    types=(CLUSTER,),
    severity="medium",
    level="mandatory",
    says="The control plane is of a tier that the environment needs.",
    fix="choose an allowed tier in trainshed:cluster.control_plane_tier",
    parameters={
        "tiers": {
            "type": "array",
            "items": {"type": "string"},
            "default": ["standard", "tier-xl", "tier-2xl", "tier-4xl"],
        }
    },
)
def control_plane_tier_allowed(cluster: Resource, settings: Settings) -> Iterator[Outcome]:
    tier = cluster.at("controlPlaneScalingConfig", "tier")
    if (tier.text() or "standard") not in settings["tiers"]:
        yield Finding(tier, f"one of {', '.join(settings['tiers'])}")


@rule(
    "budget-watches",
    types=(BUDGET, CLUSTER),
    scope="stack",
    severity="high",
    says="A stack with a cluster has a budget that tells somebody.",
    fix="set trainshed:budget.monthly_usd and trainshed:observability.alerts_to",
)
def budget_watches(stack: Stack, _: Settings) -> Iterator[Outcome]:
    clusters = list(stack.of(CLUSTER))
    budgets = list(stack.of(BUDGET))
    if clusters and not budgets:
        yield Finding(missing("budget"), "an aws.budgets.Budget with notifications", clusters[0].urn)

    def check(budget: Resource) -> Iterator[Outcome]:
        notifications = budget.at("notifications")
        reported = [
            node
            for node in notifications.elements()
            if any(not node.at(key).absent and (node.at(key).opaque or node.at(key).elements()) for key in SUBSCRIBERS)
        ]
        if not reported:
            yield Finding(notifications, "a notification with somebody to tell")
        if not (limit := budget.at("limitAmount")).unknown and not limit.text() and budget.at("autoAdjustData").absent:
            yield Finding(limit, "an amount")

    yield from each_resource(budgets, check)


SUBSCRIBERS = ("subscriberEmailAddresses", "subscriberSnsTopicArns")
