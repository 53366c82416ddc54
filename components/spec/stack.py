"""The whole stack file as one frozen value."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from components.spec.access import AccessSpec
from components.spec.base import Flag, Region, Spec, matching
from components.spec.cluster import ClusterSpec
from components.spec.form import Cloud, Form, SelfHosted
from components.spec.network import NetworkSpec
from components.spec.operations import (
    AcknowledgedSpec,
    BudgetSpec,
    GovernanceSpec,
    NodeHealthSpec,
    ObservabilitySpec,
    PlanSpec,
)
from components.spec.pools import PoolSpec
from components.spec.queues import QueueSpec
from components.spec.storage import StorageSpec

Environment = Literal["dev", "staging", "prod", "standby"]
TagKey = Annotated[
    str,
    StringConstraints(strict=True, max_length=128),
    matching(r"[\w .:/=+@-]+", "a tag's key is wanted: letters, digits, spaces and . : / = + @ _ -"),
]
TagValue = Annotated[
    str,
    StringConstraints(strict=True, max_length=256),
    matching(r"[\w .:/=+@-]*", "a tag's value is wanted: letters, digits, spaces and . : / = + @ _ -", sealed=True),
]


class StackSpec(Spec):
    """What one environment declares. `network` and `cluster` are there unless the form is self-hosted."""

    region: Region = Field(default="us-west-2", description="the AWS region")
    environment: Environment = Field(description="dev, staging, prod or standby")
    form: Form = Field(default=Cloud(kind="cloud"), description="where the cluster runs: cloud, self-hosted or hybrid")
    tags: dict[TagKey, TagValue] = Field(
        default_factory=dict,
        description="tags of every resource; owner alone is left off machines, as a changed tag of a machine rolls it",
    )
    spot_preprocessing: Flag = Field(default=True, description="whether preprocessing pools run on spot")
    network: NetworkSpec | None = None
    cluster: ClusterSpec | None = None
    pools: tuple[PoolSpec, ...] = Field(default=(), description="the stack's pools")
    storage: StorageSpec = Field(default_factory=StorageSpec)
    queues: tuple[QueueSpec, ...] = ()
    access: AccessSpec = Field(default_factory=AccessSpec)
    observability: ObservabilitySpec = Field(default_factory=ObservabilitySpec)
    node_health: NodeHealthSpec = Field(default_factory=NodeHealthSpec)
    budget: BudgetSpec | None = None
    governance: GovernanceSpec = Field(default_factory=GovernanceSpec)
    acknowledged: tuple[AcknowledgedSpec, ...] = ()
    plan: PlanSpec | None = None

    @property
    def on_aws(self) -> bool:
        return not isinstance(self.form, SelfHosted)

    def pool(self, name: str) -> PoolSpec:
        """Raises KeyError for a name no pool has."""
        for pool in self.pools:
            if pool.name == name:
                return pool
        raise KeyError(name)

    @property
    def zones(self) -> tuple[str, ...]:
        """Zone ids in one order, whatever the order in the file."""
        return tuple(sorted(self.network.zones)) if self.network else ()
