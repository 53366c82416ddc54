"""The management and the compute network as the stack file words them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from components.spec.base import Cidr, LogDays, Spec, StrictText, ZoneId, matching

EndpointService = Annotated[
    StrictText,
    matching(
        r"[a-z0-9][a-z0-9.-]{0,60}", "the name of a service's endpoint is wanted, such as secretsmanager or ecr.api"
    ),
]


class NetworkSpec(Spec):
    """Address ranges, zones and the route to the internet."""

    zones: tuple[ZoneId, ...] = Field(
        min_length=1, description="zone ids the cluster spans, such as [usw2-az2, usw2-az3]"
    )
    cidr: Cidr = Field(
        default="10.0.0.0/16",
        description="management network: control-plane interfaces, system nodes, endpoints, load balancers",
    )
    node_cidr: Cidr | None = Field(
        default=None,
        description=(
            "a further range for nodes without cards and their pods, where cidr has no room for them; to set it later"
            " moves their subnets, and with them the nodes"
        ),
    )
    compute_cidrs: tuple[Cidr, ...] = Field(
        default=("100.64.0.0/16",),
        min_length=1,
        description="compute network: accelerator nodes and their pods; never a route to the internet",
    )
    egress: Literal["nat", "isolated"] = Field(default="nat", description="the management network's way out")
    nat_gateways: Literal["per-zone", "one"] = Field(
        default="per-zone", description="how many NAT gateways when egress is nat"
    )
    compute_subnets: dict[ZoneId, Cidr] = Field(
        default_factory=dict,
        description=(
            "compute subnets that stay where they are, by zone id; computed from the zone and its need when left out"
        ),
    )
    extra_endpoints: tuple[EndpointService, ...] = Field(
        default=(), description="further AWS services to reach through interface endpoints, such as [secretsmanager]"
    )
    flow_log_days: LogDays = Field(default=30, description="how long flow logs are kept")

    @property
    def further_cidrs(self) -> tuple[str, ...]:
        """Ranges of the VPC beside its first."""
        return (*((self.node_cidr,) if self.node_cidr else ()), *self.compute_cidrs)

    @property
    def ranges(self) -> tuple[str, ...]:
        """Every range of the VPC, its first before the others."""
        return (self.cidr, *self.further_cidrs)
