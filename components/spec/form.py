"""Where the cluster runs: on AWS, on machines on the premises, or on both."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, SecretStr

from components.spec.base import Cidr, Name, Spec, StrictText, Text, matching


class Cloud(Spec):
    """Everything on AWS."""

    kind: Literal["cloud"] = Field(description="everything on AWS")


class SelfHosted(Spec):
    """A Kubernetes cluster that exists."""

    kind: Literal["self-hosted"] = Field(description="a Kubernetes cluster that exists")
    kubeconfig: SecretStr = Field(description="the cluster's kubeconfig, as a secret")
    context: Text | None = Field(default=None, description="the kubeconfig's context; its current one when left out")
    fabric: Literal["infiniband", "roce", "tcp"] = Field(
        default="infiniband", description="how cards on different nodes talk"
    )
    storage_class: Text = Field(default="shared", description="storage class of the parallel file system's claims")
    metrics_storage_class: Text | None = Field(
        default=None,
        description=(
            "storage class of Prometheus' own volume, on disks of one node; the cluster's default class when left out"
        ),
    )
    registry: Text | None = Field(default=None, description="registry that mirrors every image")


class RemoteNetwork(Spec):
    """On-premises ranges that EKS hybrid nodes and their pods use."""

    name: Name = Field(description="a name for the site")
    node_cidr: Cidr = Field(description="range of the machines' addresses")
    pod_cidr: Cidr | None = Field(default=None, description="range of their pods' addresses, where it is routed")


TransitGatewayId = Annotated[
    StrictText,
    matching(r"tgw-[0-9a-f]{8,17}", "a transit gateway id such as tgw-0a1b2c3d4e5f60718 is wanted", sealed=True),
]


class Hybrid(Spec):
    """EKS with nodes on premises beside those on AWS."""

    kind: Literal["hybrid"] = Field(description="EKS with machines on premises beside those on AWS")
    remote_networks: tuple[RemoteNetwork, ...] = Field(min_length=1, description="on-premises ranges")
    transit_gateway_id: TransitGatewayId | None = Field(
        default=None, description="transit gateway that leads to the premises; without it the routes are made elsewhere"
    )


Form = Annotated[Cloud | SelfHosted | Hybrid, Field(discriminator="kind")]
