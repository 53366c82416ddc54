"""Pools of nodes and how their machines are bought, as the stack file words them."""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, AliasChoices, BeforeValidator, Discriminator, Field, Tag
from pydantic_core import PydanticCustomError

from components.spec.base import (
    Count,
    CountOrZero,
    Flag,
    Name,
    NodeCount,
    NodeCountOrZero,
    ReservationId,
    Spec,
    StrictText,
    Text,
    ZoneId,
    matching,
)
from components.spec.reading.scalars import moment

Purpose = Literal["training", "finetuning", "preprocessing", "evaluation", "system"]
# How machines are bought.
CapacityKind = Literal["on-demand", "reservation", "block", "spot"]
TaintEffect = Literal["NoSchedule", "PreferNoSchedule", "NoExecute", "NO_SCHEDULE", "PREFER_NO_SCHEDULE", "NO_EXECUTE"]


def _aware(value: datetime) -> datetime:
    if value.tzinfo is None:
        raise PydanticCustomError("timezone", "a time with its zone is wanted, such as 2026-12-10T11:30:00Z")
    return value


def _written(value: object) -> object:
    if isinstance(value, str) and re.match(r"\d{4}-\d\d?-\d", value):
        # The engine hands an unquoted time to the program in Go's spelling.
        return moment(value) or value
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        raise PydanticCustomError("timezone", "a time with its zone is wanted, such as 2026-12-10T11:30:00Z")
    # Pydantic would take a number, in quotes too, as seconds since 1970.
    raise PydanticCustomError("no_moment", "a time is wanted, such as 2026-12-10T11:30:00Z")


Moment = Annotated[datetime, BeforeValidator(_written), AfterValidator(_aware)]

PlacementGroup = Annotated[
    StrictText,
    matching(
        r"[ -~]{1,255}", "the name of a placement group is wanted: at most 255 printable ASCII characters", sealed=True
    ),
]
ImageId = Annotated[
    StrictText, matching(r"ami-[0-9a-f]{8,17}", "the id of an AMI such as ami-0a1b2c3d4e5f60718 is wanted", sealed=True)
]
SecurityGroupId = Annotated[
    StrictText,
    matching(r"sg-[0-9a-f]{8,17}", "the id of a security group such as sg-0a1b2c3d4e5f60718 is wanted", sealed=True),
]
ResourceGroupArn = Annotated[
    StrictText,
    matching(
        r"arn:aws[a-z-]*:resource-groups:[a-z0-9-]+:[0-9]{12}:group/[A-Za-z0-9_.-]{1,300}(/[a-z0-9]+)?",
        "the ARN of a resource group is wanted, such as arn:aws:resource-groups:us-west-2:111122223333:group/reserved",
        sealed=True,
    ),
]


class NodeRange(Spec):
    """A pool that follows its queue between two sizes."""

    min: NodeCountOrZero = Field(default=0, description="fewest nodes")
    max: NodeCount = Field(description="most nodes")


def _nodes_shape(value: object) -> str:
    return "range" if isinstance(value, dict | NodeRange) else "fixed"


Nodes = Annotated[Annotated[NodeCount, Tag("fixed")] | Annotated[NodeRange, Tag("range")], Discriminator(_nodes_shape)]


class OnDemand(Spec):
    """Bought by the hour, when there is room."""

    kind: Literal["on-demand"] = Field(description="bought when they start, without any promise")
    placement_group: PlacementGroup | None = Field(
        default=None, description="an existing cluster placement group by name, in place of one made for the pool"
    )


class Reservation(Spec):
    """On-Demand Capacity Reservations, targeted by id or through a resource group."""

    kind: Literal["reservation"] = Field(description="from On-Demand Capacity Reservations")
    ids: tuple[ReservationId, ...] = Field(default=(), description="capacity reservation ids")
    resource_group_arn: ResourceGroupArn | None = Field(
        default=None, description="ARN of a resource group of reservations, in place of ids"
    )
    sizes: dict[ReservationId, NodeCount] = Field(
        default_factory=dict, description="instances in each reservation; split evenly when left out"
    )
    reserved_nodes: NodeCount | None = Field(
        default=None, description="instances reserved in all, checked against nodes"
    )
    placement_group: PlacementGroup | None = Field(
        default=None, description="the placement group the reservation was made in, if it was"
    )
    preference: Text | None = Field(
        default=None, description="always the targeted reservation; any other word is refused"
    )


class BlockPart(Spec):
    """One Capacity Block of a pool that has several."""

    id: ReservationId = Field(description="the block's reservation id")
    start: Moment = Field(description="when the block begins, with its time zone")
    end: Moment = Field(description="when the block ends, with its time zone")
    nodes: NodeCount = Field(description="instances in this block, at most 64")
    running: Flag = Field(
        default=False, description="set when deployed after the block's start: its nodes come at once"
    )


class Block(Spec):
    """EC2 Capacity Blocks: prepaid machines between a start and an end."""

    kind: Literal["block"] = Field(description="from an EC2 Capacity Block")
    id: ReservationId | None = Field(default=None, description="the block's reservation id")
    start: Moment | None = Field(default=None, description="when the block begins, with its time zone")
    end: Moment | None = Field(default=None, description="when the block ends, with its time zone")
    running: Flag = Field(
        default=False, description="set when deployed after the block's start: its nodes come at once"
    )
    blocks: tuple[BlockPart, ...] = Field(default=(), description="several blocks, in place of id, start and end")


class Spot(Spec):
    """Interruptible machines, for work that can lose one."""

    kind: Literal["spot"] = Field(description="spare machines that AWS may take back")


Capacity = Annotated[OnDemand | Reservation | Block | Spot, Field(discriminator="kind")]


class TaintSpec(Spec):
    """A taint of the pool's nodes, in Kubernetes' or EKS' spelling of the effect."""

    key: Text = Field(description="the taint's key")
    value: str = Field(default="", description="the taint's value")
    effect: TaintEffect = Field(description="what happens to pods that don't tolerate it")


class RepairSpec(Spec):
    """What EKS does about one reason for which a node is unhealthy, in place of its own answer."""

    condition: Literal[
        "AcceleratedHardwareReady", "ContainerRuntimeReady", "KernelReady", "NetworkingReady", "StorageReady", "Ready"
    ] = Field(description="the condition of a node that the monitoring agent raises")
    reason: Text = Field(description="the reason the monitoring agent gives, such as NvidiaXID31Error")
    wait_minutes: Count = Field(description="minutes before acting")
    action: Literal["Replace", "Reboot", "NoAction"] = Field(description="what node repair does about it")


NetworkName = Annotated[
    StrictText,
    matching(
        r"([a-z0-9][a-z0-9-]{0,62}/)?[a-z0-9][a-z0-9.-]{0,252}",
        "the name of a NetworkAttachmentDefinition is wanted, such as kube-system/rdma-0",
    ),
]


AdapterName = Annotated[
    StrictText,
    matching(
        r"[a-z][a-z0-9_-]{0,62}(:[0-9]{1,3})?", "the name of an RDMA adapter is wanted, such as mlx5_0, or mlx5_0:1"
    ),
]


class HostSpec(Spec):
    """The machines of a self-hosted pool, which no catalog describes."""

    accelerator: Text = Field(description="the card's model, such as h100")
    # A word, not a closed list: the adapters say which families there are.
    vendor: Text = Field(default="nvidia", description="whose adapter drives the cards: nvidia or neuron")
    cards: Count = Field(description="cards in one node")
    vcpu: Count = Field(description="logical processors in one node")
    memory_gib: Count = Field(description="memory of one node in GiB")
    rdma_devices: CountOrZero = Field(default=0, description="RDMA devices of one node, for infiniband and roce")
    rdma_resource: Text = Field(
        default="rdma/hca_shared_devices_a", description="the resource under which the cluster offers them to pods"
    )
    rdma_adapters: tuple[AdapterName, ...] = Field(
        default=(),
        description=(
            "names of the RDMA adapters that NCCL uses, such as [mlx5_0, mlx5_1]; every mlx5 adapter when left out,"
            " those of plain Ethernet too"
        ),
    )
    networks: tuple[NetworkName, ...] = Field(
        default=(),
        description="networks that Multus attaches to each pod, NAMESPACE/NAME, one for each RDMA device: for roce",
    )
    reserved_vcpu: CountOrZero | None = Field(
        default=None,
        description="processors that the system and its daemons keep on each node; computed as on EC2 when left out",
    )
    reserved_memory_gib: CountOrZero | None = Field(
        default=None, description="memory in GiB that they keep; computed as on EC2 when left out"
    )
    labels: dict[str, str] = Field(default_factory=dict, description="labels that the pool's nodes already carry")


class PoolSpec(Spec):
    """Nodes alike in type, zone, fabric and capacity."""

    name: Name = Field(description="the pool's name, unique in the stack")
    # `formerly` is what this key was called before; both are read.
    previous_name: Name | None = Field(
        default=None,
        validation_alias=AliasChoices("previous_name", "formerly"),
        description=(
            "the pool's name before it was renamed, so that its node groups stay; until every stack has the new name"
        ),
    )
    purpose: Purpose = Field(description="what the pool is for")
    instance_type: Text | None = Field(default=None, description="EC2 instance type, such as p5.48xlarge")
    instance_types: tuple[Text, ...] = Field(default=(), description="several alike types, for preprocessing pools")
    hosts: HostSpec | None = Field(default=None, description="the machines of a self-hosted pool")
    zone: ZoneId | None = Field(
        default=None, description="the zone id of the pool's nodes; pools with accelerators name one"
    )
    zones: tuple[ZoneId, ...] = Field(
        default=(), description="several zones, for pools without accelerators; all of the network's when left out"
    )
    nodes: Nodes = Field(description="how many nodes, or {min, max} for a pool that follows its queue")
    spares: NodeCountOrZero = Field(
        default=0, description="nodes kept out of the queue's quota, warm, for replacements"
    )
    # A word, not a closed list: the registry of fabrics says which exist, so that a new family needs no change here.
    fabric: Text | None = Field(
        default=None, description="how cards on different nodes talk: efa, tcp, infiniband or roce"
    )
    capacity: Capacity = Field(default=OnDemand(kind="on-demand"), description="how the machines are bought")
    labels: dict[str, str] = Field(default_factory=dict, description="extra labels of the nodes")
    taints: tuple[TaintSpec, ...] = Field(default=(), description="extra taints of the nodes")
    root_volume_gib: Annotated[int, Field(strict=True, ge=20, le=16384)] = Field(
        default=200, description="encrypted gp3 root volume in GiB"
    )
    root_volume_iops: Annotated[int, Field(strict=True, ge=3000, le=16000)] = Field(
        default=6000, description="its operations a second"
    )
    root_volume_mib_per_s: Annotated[int, Field(strict=True, ge=125, le=1000)] = Field(
        default=600, description="its throughput in MiB/s"
    )
    image_family: Text | None = Field(
        default=None, description="EKS AMI type, in place of the one that fits the accelerator"
    )
    image_id: ImageId | None = Field(default=None, description="an own AMI, in place of a family and release")
    image_release: Text | None = Field(
        default=None, description="AMI release version; EKS' newest at the group's creation when left out"
    )
    efa_layout: Literal["efa-only", "efa"] = Field(default="efa-only", description="how EFA interfaces are laid out")
    efa_interfaces: Count | None = Field(
        default=None, description="fewer EFA interfaces than the type takes; all when left out"
    )
    security_groups: tuple[SecurityGroupId, ...] = Field(
        default=(), description="further security group ids on every interface"
    )
    node_repair: Flag | None = Field(default=None, description="whether EKS replaces unhealthy nodes by itself")
    update_max_unavailable: Annotated[int, Field(strict=True, ge=1, le=100)] | None = Field(
        default=None,
        description="nodes of one group that an update takes away at once; a tenth of the group when left out",
    )
    repairs: tuple[RepairSpec, ...] = Field(default=(), description="answers to single reasons, in place of EKS' own")
    protect: Flag = Field(default=False, description="whether the engine refuses to delete the pool's node groups")

    @property
    def max_nodes(self) -> int:
        return self.nodes if isinstance(self.nodes, int) else self.nodes.max

    @property
    def min_nodes(self) -> int:
        return self.nodes if isinstance(self.nodes, int) else self.nodes.min

    @property
    def autoscaled(self) -> bool:
        return not isinstance(self.nodes, int)

    @property
    def types(self) -> tuple[str, ...]:
        """Instance types in the user's words; empty for self-hosted pools."""
        return (self.instance_type,) if self.instance_type else self.instance_types
