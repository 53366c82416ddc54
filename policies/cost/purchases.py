"""A purchase: machines that a resource buys, of which types, how, and how many.

Node groups with their template, single instances, auto-scaling groups and Karpenter's pools come out in one shape.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from policies.cost.catalog import Catalog
from policies.declared.resources import Resource, Stack
from policies.declared.types import (
    AUTOSCALING_GROUP,
    INSTANCE,
    KARPENTER_CLASS,
    KARPENTER_POOL,
    LAUNCH_TEMPLATE,
    NODE_GROUP,
    SPOT_REQUEST,
)
from policies.declared.values import UNKNOWN, Node

BUYING = (NODE_GROUP, INSTANCE, SPOT_REQUEST, AUTOSCALING_GROUP)
CARD_RESOURCES = ("nvidia.com/gpu", "aws.amazon.com/neuron", "aws.amazon.com/neurondevice")
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
    # Whether machines are bought on demand where spot runs out.
    falls_back: bool = False
    node_class: Resource | None = None

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


def grown(stack: Stack, catalog: Catalog) -> Iterator[Purchase]:
    """What Karpenter buys when pods wait: from none to the pool's limit, half of it as the expectation."""
    for pool in karpenter_pools(stack):
        if pool.left_out:
            continue
        types = tuple(requirement(pool, INSTANCE_TYPE_LABEL))
        kinds = [node.value for node in requirement(pool, KARPENTER_CAPACITY)]
        fixed, most = pool.at("spec", "replicas"), most_nodes(pool, types, catalog)
        half = Node(most.value / 2, most.path) if isinstance(most.value, float) else most
        # A pool of a fixed size keeps that many nodes, whatever waits.
        low, middle, high = (Node(0, "spec.limits"), half, most) if fixed.absent else (fixed, fixed, fixed)
        yield Purchase(
            resource=pool,
            types=types,
            spot="spot" in kinds,
            block=False,
            template=None,
            minimum=low,
            desired=middle,
            maximum=high,
            falls_back="on-demand" in kinds or not kinds,
            node_class=_class_of(stack, pool),
        )


def most_nodes(pool: Resource, types: tuple[Node, ...], catalog: Catalog) -> Node:
    """The most nodes that a pool's limits let it have; unknown without a limit."""
    limits = pool.at("spec", "limits")
    machines = [catalog.machine(str(node.value)) for node in types]
    found: list[float] = []
    for key, limit in ({} if limits.opaque else limits.entries()).items():
        if limit.opaque or (amount := quantity(str(limit.value))) is None:
            continue
        # The smallest machine gives the most nodes.
        if key == "nodes":
            found.append(amount)
        elif key in CARD_RESOURCES and all(machine and machine.cards for machine in machines) and machines:
            found.append(amount // min(machine.cards for machine in machines if machine))
        elif key == "cpu" and all(machine and machine.vcpu for machine in machines) and machines:
            found.append(amount // min(machine.vcpu for machine in machines if machine))
    return Node(float(min(found)), "spec.limits") if found else Node(UNKNOWN, "spec.limits")


def quantity(text: str) -> float | None:
    """A Kubernetes quantity of processors, cards or nodes."""
    units = {"m": 0.001, "k": 1000.0}
    scale = units.get(text[-1:], 1.0)
    try:
        return float(text[:-1] if text[-1:] in units else text) * scale
    except ValueError:
        return None


def _class_of(stack: Stack, pool: Resource) -> Resource | None:
    """The node class of a pool, which says what volumes its machines have."""
    wanted = pool.at("spec", "template", "spec", "nodeClassRef", "name").value
    for node_class in stack.of(KARPENTER_CLASS):
        if not node_class.left_out and node_class.at("metadata", "name").value == wanted:
            return node_class
    return None
