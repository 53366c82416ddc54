"""The EKS cluster as the stack file words it."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from components.spec.base import Cidr, Flag, LogDays, NodeCount, Spec, StrictText, Text, in_quotes, matching


def _timeless(value: Any) -> Any:
    if isinstance(value, date):
        # What the engine makes of an unquoted time isn't what was written.
        raise PydanticCustomError(
            "unquoted_time", "an unquoted date or time inside is spelt otherwise when it arrives: put it in quotes"
        )
    inner: list[Any] = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    for each in inner:
        _timeless(each)
    return value


KubernetesVersion = Annotated[
    StrictText,
    BeforeValidator(in_quotes),
    matching(r"1\.[0-9]{2}", 'a minor version of Kubernetes such as "1.35" is wanted'),
]
ControlPlaneTier = Literal["standard", "tier-xl", "tier-2xl", "tier-4xl", "tier-8xl"]

SYSTEM_ROOT_GIB = 100  # root volume of a system node


class EndpointSpec(Spec):
    """Who reaches the Kubernetes API."""

    public: Flag = Field(default=False, description="whether the API answers on a public address")
    allowed_cidrs: tuple[Cidr, ...] = Field(default=(), description="ranges that may reach the public address")
    private_cidrs: tuple[Cidr, ...] = Field(
        default=(), description="networks beyond the VPC (VPN, peering) whose machines may reach the private address"
    )


class SystemPoolSpec(Spec):
    """Untainted nodes for controllers, DNS and monitoring, spread over the zones."""

    instance_type: Text = Field(default="m7i.2xlarge", description="EC2 instance type")
    nodes: NodeCount = Field(default=3, description="how many nodes, over all zones")


class AddonSpec(Spec):
    """Another version or settings for an EKS add-on than the catalog's."""

    version: Text | None = Field(default=None, description="add-on version; the catalog's pin when left out")
    policies: tuple[Text, ...] = Field(
        default=(),
        description="managed policies, by ARN or by AWS's name, of the role that the add-on's service account gets",
    )
    configuration: Annotated[dict[str, Any], AfterValidator(_timeless)] = Field(
        default_factory=dict, description="configuration values, by the add-on's own schema"
    )


class ClusterSpec(Spec):
    """Version, control plane, API endpoint, administrators and the system pool."""

    version: KubernetesVersion = Field(default="1.35", description='Kubernetes version in quotes, such as "1.35"')
    control_plane_tier: ControlPlaneTier = Field(
        default="standard", description="provisioned size of the control plane"
    )
    support: Literal["standard", "extended"] = Field(
        default="standard", description="what happens at the end of standard support"
    )
    service_cidr: Cidr | None = Field(
        default=None, description="range of Kubernetes services; the first that meets no other when left out"
    )
    zonal_shift: Flag = Field(
        default=False, description="whether AWS may move traffic away from a zone in trouble (ARC zonal shift)"
    )
    endpoint: EndpointSpec = Field(default_factory=EndpointSpec)
    admins: tuple[Text, ...] = Field(default=(), description="IAM role ARNs with administrator access entries")
    system_pool: SystemPoolSpec = Field(default_factory=SystemPoolSpec)
    logs_days: LogDays = Field(default=90, description="how long control-plane logs are kept")
    addons: dict[str, AddonSpec] = Field(
        default_factory=dict, description="add-ons that differ from the catalog's pins"
    )
