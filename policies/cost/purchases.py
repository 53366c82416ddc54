"""A purchase: machines that a resource buys, of which types, how, and how many.

Hides the shapes in which machines are bought: node groups with their template, single instances, auto-scaling groups,
Karpenter's pools.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from policies.declared.resources import Resource, Stack
from policies.declared.types import (
    AUTOSCALING_GROUP,
    INSTANCE,
    KARPENTER_POOL,
    LAUNCH_TEMPLATE,
    NODE_GROUP,
    SPOT_REQUEST,
)
from policies.declared.values import Node

BUYING = (NODE_GROUP, INSTANCE, SPOT_REQUEST, AUTOSCALING_GROUP, LAUNCH_TEMPLATE)
KARPENTER_CAPACITY = "karpenter.sh/capacity-type"
INSTANCE_TYPE_LABEL = "node.kubernetes.io/instance-type"


@dataclass(frozen=True)
class Purchase:
    """What one resource buys. The numbers are nodes that may not be known."""

    resource: Resource
    types: tuple[Node, ...]
    spot: bool
    block: bool
    template: Resource | None
    minimum: Node
    desired: Node
    maximum: Node

    @property
    def reserved(self) -> bool:
        """Whether the machines come from a reservation, which is paid for whether they run or not."""
        if self.template is None:
            return False
        return not self.template.at("capacityReservationSpecification", "capacityReservationTarget").absent

    @property
    def capacity(self) -> str:
        return "block" if self.block else "spot" if self.spot else "reservation" if self.reserved else "on-demand"


def template_of(stack: Stack, resource: Resource, holder: Node | None = None) -> Resource | None:
    """The launch template that a group uses, if it is in this stack."""
    reference = resource.at("launchTemplate") if holder is None else holder
    if reference.absent:
        return None
    wired = resource.targets("launchTemplate" if holder is None else "mixedInstancesPolicy", LAUNCH_TEMPLATE)
    for template in stack.of(LAUNCH_TEMPLATE):
        named = {value for key in ("id", "name") if isinstance(value := reference.at(key).value, str)}
        if template.urn in wired or template.at("id").value in named or (template.at("name").value in named and named):
            return template
    return None


def purchases(stack: Stack) -> Iterator[Purchase]:
    """Everything that machines are bought by."""
    for group in stack.of(NODE_GROUP):
        yield _node_group(stack, group)
    for machine in stack.of(INSTANCE, SPOT_REQUEST):
        spot = machine.type == SPOT_REQUEST or machine.at("instanceMarketOptions", "marketType").value == "spot"
        one = Node(1, "instance")
        template = template_of(stack, machine)
        types = _types(machine.at("instanceType"), template)
        yield Purchase(machine, types, spot, False, template, one, one, one)
    for group in stack.of(AUTOSCALING_GROUP):
        yield _autoscaling(stack, group)


def _types(own: Node, template: Resource | None) -> tuple[Node, ...]:
    named = () if own.absent else tuple(own.one_or_many()) if not own.opaque else (own,)
    if named or template is None:
        return named
    inherited = template.at("instanceType")
    return () if inherited.absent else (inherited,)


def _node_group(stack: Stack, group: Resource) -> Purchase:
    template = template_of(stack, group)
    kind = group.at("capacityType").value
    market = template.at("instanceMarketOptions", "marketType").value if template else None
    scaling = group.at("scalingConfig")
    return Purchase(
        group,
        _types(group.at("instanceTypes"), template),
        kind == "SPOT" or market == "spot",
        kind == "CAPACITY_BLOCK" or market == "capacity-block",
        template,
        scaling.at("minSize"),
        scaling.at("desiredSize"),
        scaling.at("maxSize"),
    )


def _autoscaling(stack: Stack, group: Resource) -> Purchase:
    policy = group.at("mixedInstancesPolicy")
    holder = policy.at("launchTemplate", "launchTemplateSpecification") if not policy.absent else None
    template = template_of(stack, group, holder)
    overrides = policy.at("launchTemplate", "overrides").elements()
    types = tuple(override.at("instanceType") for override in overrides) or _types(policy.at("none"), template)
    share = policy.at("instancesDistribution", "onDemandPercentageAboveBaseCapacity").value
    spot = (not policy.absent and share not in (None, 100) and isinstance(share, int | float) and share < 100) or (
        template is not None and template.at("instanceMarketOptions", "marketType").value == "spot"
    )
    return Purchase(
        group, types, spot, False, template, group.at("minSize"), group.at("desiredCapacity"), group.at("maxSize")
    )


def requirement(pool: Resource, key: str) -> list[Node]:
    """The values that a Karpenter pool asks for under one key; none when it leaves the key open."""
    found: list[Node] = []
    for entry in pool.at("spec", "template", "spec", "requirements").elements():
        if entry.at("key").text() == key and entry.at("operator").text() == "In":
            found += entry.at("values").elements()
    return found


def karpenter_pools(stack: Stack) -> Iterator[Resource]:
    yield from stack.of(KARPENTER_POOL)
