"""The VPC endpoints a stack needs: the compute network has no other way to AWS, nor has an isolated management network.

Each feature of the stack adds the endpoints of the services that it talks to.
"""

from __future__ import annotations

from dataclasses import dataclass

from components import file_systems
from components.planning import nodes
from components.spec.network import NetworkSpec
from components.spec.stack import StackSpec

GATEWAY = "s3"


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """One service by the last part of its endpoint's name, and who needs it for what."""

    service: str
    why: str
    policy: bool = True  # whether the service is known to take an endpoint policy


# What every node and pod of an EKS cluster without a route to the internet needs (EKS User Guide, private clusters).
BASE = (
    Endpoint(service="ec2", why="the VPC CNI attaches addresses, the cloud controller reads topology"),
    Endpoint(service="ecr.api", why="nodes ask for image credentials"),
    Endpoint(service="ecr.dkr", why="nodes pull images"),
    Endpoint(service="eks", why="nodes and controllers describe the cluster"),
    Endpoint(service="eks-auth", why="the pod identity agent fetches the roles of service accounts", policy=False),
    Endpoint(service="logs", why="nodes and jobs ship logs"),
    Endpoint(service="monitoring", why="nodes and jobs ship metrics"),
    Endpoint(service="sts", why="programs ask who they are and take roles"),
    Endpoint(service=GATEWAY, why="datasets, checkpoints and the layers of images"),
)


def of_network(spec: NetworkSpec) -> tuple[Endpoint, ...]:
    """The endpoints of a network whose features nobody named: the base set and the spec's own."""
    return _sorted((*BASE, *_extra(spec)))


def needed(stack: StackSpec) -> tuple[Endpoint, ...]:
    """Every endpoint that the stack's features need, sorted by service."""
    if stack.network is None:
        return ()
    found = [*BASE, *_extra(stack.network)]
    found += [Endpoint(service=service, why=why) for service, why in file_systems.endpoints(stack)]
    if stack.governance.threat_detection:
        # GuardDuty makes one itself where there is none, with a group that outlives the stack and keeps its VPC.
        found.append(Endpoint(service="guardduty-data", why="GuardDuty's agents report what they see on the nodes"))
    if stack.observability.alerts_to:
        found.append(Endpoint(service="sns", why="alerts are published to topics"))
    if stack.network.egress == "isolated":
        found += [
            Endpoint(
                service="elasticloadbalancing",
                why="controllers manage load balancers, with no other way to the service",
            ),
            Endpoint(service="kms", why="programs that encrypt for themselves have no other way to the service"),
        ]
        if any(nodes.bought_nodes(pool) for pool in stack.pools):
            # Prices it carries with it, and IAM it doesn't ask where the instance profile is given.
            found += [
                Endpoint(service="sqs", why="Karpenter hears of machines that EC2 takes back"),
                Endpoint(service="ssm", why="Karpenter finds the images of nodes"),
            ]
    return _sorted(found)


def _extra(spec: NetworkSpec) -> list[Endpoint]:
    return [Endpoint(service=service, why="asked for in the stack file") for service in spec.extra_endpoints]


def _sorted(found: list[Endpoint] | tuple[Endpoint, ...]) -> tuple[Endpoint, ...]:
    return tuple(sorted({each.service: each for each in reversed(found)}.values(), key=lambda each: each.service))


def interfaces(endpoints: tuple[Endpoint, ...]) -> tuple[Endpoint, ...]:
    """Those with an interface in every control subnet, all but the S3 gateway."""
    return tuple(each for each in endpoints if each.service != GATEWAY)
