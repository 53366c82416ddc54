"""The rule of isolated networks: what nodes must reach through endpoints follows from what the stack declares."""

from __future__ import annotations

from collections.abc import Iterator

from policies.declared.resources import Resource, Stack, refers
from policies.declared.types import (
    ADDON,
    CHART,
    INTERNET_GATEWAY,
    NAT_GATEWAY,
    POD_IDENTITY,
    QUEUE,
    SUBNET,
    VPC,
    VPC_ENDPOINT,
)
from policies.declared.values import Node
from policies.packs.policy_rule import Finding, Outcome, Settings, each_resource, missing, rule

# EKS User Guide, "Deploy private clusters with limited internet access" (read in 2026-11).
ALWAYS = {
    "ec2": "the VPC CNI attaches addresses",
    "ecr.api": "nodes ask for image credentials",
    "ecr.dkr": "nodes pull images",
    "eks": "nodes and controllers describe the cluster",
    "s3": "the layers of images are objects",
    "sts": "programs take roles",
}
# What a chart's or an add-on's name holds, and the services that its program calls.
PROGRAMS = {
    "cluster-autoscaler": {"autoscaling": "the cluster autoscaler sets the sizes of node groups"},
    "karpenter": {"ssm": "Karpenter looks machine images up"},
    "load-balancer-controller": {"elasticloadbalancing": "the controller manages load balancers"},
    "fluent-bit": {"logs": "the log shipper writes to CloudWatch"},
    "cloudwatch-observability": {"logs": "the agent writes logs", "monitoring": "the agent writes metrics"},
    "fsx-csi-driver": {"fsx": "the driver describes file systems"},
    "efs-csi-driver": {"elasticfilesystem": "the driver describes file systems"},
    "secrets-store-csi-driver": {"secretsmanager": "the driver reads secrets"},
    "guardduty": {"guardduty-data": "the agent sends what it sees"},
}
WAYS_OUT = (
    NAT_GATEWAY,
    INTERNET_GATEWAY,
    "aws:ec2/internetGatewayAttachment:*",
    "aws:ec2/egressOnlyInternetGateway:*",
    "aws:ec2/vpnGateway:*",
    "aws:ec2transitgateway/vpcAttachment:*",
)


def needed(stack: Stack) -> dict[str, str]:
    """The services that the stack's nodes and programs call, and why."""
    found = dict(ALWAYS)
    programs = [*_texts(stack, ADDON, "addonName"), *_texts(stack, CHART, "chart")]
    if list(stack.of(POD_IDENTITY)) or any("pod-identity" in name for name in programs):
        found["eks-auth"] = "the pod identity agent fetches roles"
    for part, services in PROGRAMS.items():
        if any(part in name for name in programs):
            found |= services
    if "ssm" in found and list(stack.of(QUEUE)):
        found["sqs"] = "Karpenter reads interruptions from its queue"
    return found


def _texts(stack: Stack, type_: str, key: str) -> list[str]:
    nodes = (resource.at(key) for resource in stack.of(type_))
    return [node.value for node in nodes if isinstance(node.value, str) and not node.opaque]


@rule(
    "isolated-network-has-endpoints",
    types=(VPC, VPC_ENDPOINT, NAT_GATEWAY, INTERNET_GATEWAY, ADDON, CHART, POD_IDENTITY, QUEUE),
    scope="stack",
    severity="high",
    says="A network without a way out has an endpoint for every service that its nodes and programs call.",
    fix="add the endpoint, or choose network egress nat",
    parameters={
        "services": {
            "type": "array",
            "items": {"type": "string"},
            "default": [],
            "description": "services to ask for beyond those that follow from the stack",
        }
    },
)
def isolated_network_has_endpoints(stack: Stack, settings: Settings) -> Iterator[Outcome]:
    gateways = list(stack.of(*WAYS_OUT))
    subnets = list(stack.of(SUBNET))
    wanted = needed(stack) | dict.fromkeys(settings["services"], "the configuration asks for it")

    def check(vpc: Resource) -> Iterator[Outcome]:
        mine = [subnet for subnet in subnets if refers(subnet, "vpcId", vpc)]
        if not mine or any(
            refers(gateway, "vpcId", vpc) or any(refers(gateway, "subnetId", subnet) for subnet in mine)
            for gateway in gateways
        ):
            return
        endpoints = stack.companions(vpc, VPC_ENDPOINT, "vpcId")
        names = {_service(endpoint.at("serviceName")) for endpoint in endpoints}
        for service in sorted(set(wanted) - names):
            yield Finding(
                missing(f"endpoint {service}"),
                f"an endpoint for {service}, as this network has no way out and {wanted[service]}",
            )

    yield from each_resource(stack.of(VPC), check)


def _service(name: Node) -> str:
    """`ecr.api` of `com.amazonaws.us-west-2.ecr.api`, in any partition."""
    return (name.text() or "").partition("amazonaws.")[2].partition(".")[2]
