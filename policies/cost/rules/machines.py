"""Cost rules of machines: which may be bought, by which kinds, and how many cards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase

from policies.cost.catalog import catalog
from policies.cost.purchases import (
    CARD_RESOURCES,
    INSTANCE_TYPE_LABEL,
    Purchase,
    grown,
    karpenter_pools,
    purchases,
    requirement,
)
from policies.declared.resources import Resource, Stack
from policies.declared.types import (
    AUTOSCALING_GROUP,
    CAPACITY_RESERVATION,
    COMPUTE_ENVIRONMENT,
    FLEET,
    INSTANCE,
    KARPENTER_POOL,
    LAUNCH_TEMPLATE,
    NODE_GROUP,
    SAGEMAKER,
    SPOT_FLEET,
    SPOT_REQUEST,
)
from policies.declared.values import Node
from policies.packs.policy_rule import Doubt, Finding, Outcome, Settings, each, each_resource, rule

TEXTS = {"type": "array", "items": {"type": "string"}}
BUYERS = (NODE_GROUP, INSTANCE, SPOT_REQUEST, AUTOSCALING_GROUP, LAUNCH_TEMPLATE)


def each_purchase(stack: Stack, check: Callable[[Purchase], Iterator[Outcome]]) -> Iterator[Outcome]:
    bought = list(purchases(stack))
    by_urn = {purchase.resource.urn: purchase for purchase in bought}
    yield from each_resource((purchase.resource for purchase in bought), lambda resource: check(by_urn[resource.urn]))


def cards_of(node: Node) -> int:
    machine = catalog().machine(node.text() or "")
    return machine.cards if machine else 0


def has_cards(purchase: Purchase) -> bool:
    return any(not node.opaque and cards_of(node) for node in purchase.types)


@rule(
    "machines-on-the-list",
    types=(
        NODE_GROUP,
        INSTANCE,
        SPOT_REQUEST,
        LAUNCH_TEMPLATE,
        AUTOSCALING_GROUP,
        CAPACITY_RESERVATION,
        KARPENTER_POOL,
    ),
    severity="high",
    says="Only the environment's instance types are bought.",
    fix="choose a listed type, or add the type to the environment's list",
    parameters={
        "allowed": {
            **TEXTS,
            "default": ["*"],
            "description": "patterns of instance types; a type that the catalog doesn't know is never allowed",
        }
    },
)
def machines_on_the_list(buyer: Resource, settings: Settings) -> Iterator[Outcome]:
    def check(node: Node) -> Iterator[Outcome]:
        name = node.text() or ""
        if catalog().machine(name) is None:
            yield Finding(node, "a type that the catalog knows, since nothing is known of its cards and price")
        elif not any(fnmatchcase(name, pattern) for pattern in settings["allowed"]):
            yield Finding(node, f"one of {', '.join(settings['allowed'])}")

    yield from each(_named_types(buyer), check)
    if buyer.type.endswith(":NodePool") and not _named_types(buyer):
        yield Finding(
            buyer.at("spec", "template", "spec", "requirements"),
            f"a requirement on {INSTANCE_TYPE_LABEL}; without it every type may be bought",
        )


def _named_types(buyer: Resource) -> list[Node]:
    if buyer.type.endswith(":NodePool"):
        return requirement(buyer, INSTANCE_TYPE_LABEL)
    if buyer.type == NODE_GROUP:
        node = buyer.at("instanceTypes")
        return [node] if node.opaque else node.elements()
    if buyer.type == AUTOSCALING_GROUP:
        return [
            entry.at("instanceType")
            for entry in buyer.at("mixedInstancesPolicy", "launchTemplate", "overrides").elements()
        ]
    node = buyer.at("instanceType")
    # A template may leave the type to its group.
    return [] if node.absent and buyer.type == LAUNCH_TEMPLATE else [node]


@rule(
    "machines-bought-by-known-kinds",
    types=(FLEET, SPOT_FLEET, COMPUTE_ENVIRONMENT, SAGEMAKER),
    severity="high",
    says="Machines are bought by kinds whose number and price the packs count.",
    fix="buy them by a node group or a NodePool",
)
def machines_bought_by_known_kinds(buyer: Resource, _: Settings) -> Iterator[Outcome]:
    yield Finding(Node(buyer.type, "type"), "a node group, a NodePool, an instance or an auto-scaling group")


@rule(
    "cards-not-on-demand",
    types=(*BUYERS, KARPENTER_POOL),
    scope="stack",
    severity="high",
    says="Cards of the listed types come from reservations, blocks or spot.",
    fix="reserve the capacity, buy a block, or use a smaller type",
    parameters={
        "types": {**TEXTS, "default": [], "description": "patterns of instance types that may not be bought on demand"}
    },
)
def cards_not_on_demand(stack: Stack, settings: Settings) -> Iterator[Outcome]:
    def check(purchase: Purchase) -> Iterator[Outcome]:
        if (purchase.capacity != "on-demand" and not purchase.falls_back) or purchase.maximum.value == 0:
            return
        for node in purchase.types:
            if any(fnmatchcase(node.text() or "", pattern) for pattern in settings["types"]):
                yield Finding(node, "capacity that isn't on demand")

    yield from each_purchase(stack, check)
    pools = {purchase.resource.urn: purchase for purchase in grown(stack, catalog())}
    yield from each_resource(
        karpenter_pools(stack), lambda pool: check(pools[pool.urn]) if pool.urn in pools else iter(())
    )


@rule(
    "cards-within-the-limit",
    types=(*BUYERS, CAPACITY_RESERVATION, KARPENTER_POOL),
    scope="stack",
    severity="critical",
    says="All pools at their largest hold no more cards than the environment's limit.",
    fix="lower maxSize, or have the environment's limit raised",
    parameters={"cards": {"type": "integer", "default": 64, "minimum": 0}},
)
def cards_within_the_limit(stack: Stack, settings: Settings) -> Iterator[Outcome]:
    held: dict[str, tuple[int, Node]] = {}
    reserved: dict[str, tuple[int, Node]] = {}

    def bought(purchase: Purchase) -> Iterator[Outcome]:
        if not purchase.types:
            yield Doubt("instanceTypes", "is said neither by the group nor by a template of this stack")
        if any(catalog().machine(node.text() or "") is None for node in purchase.types):
            yield Finding(purchase.types[0], "types whose cards the catalog knows")
        per_node = max((cards_of(node) for node in purchase.types), default=0)
        if per_node:
            held[purchase.resource.urn] = (per_node * int(purchase.maximum.number() or 0), purchase.maximum)

    def kept(reservation: Resource) -> Iterator[Outcome]:
        count = reservation.at("instanceCount")
        reserved[reservation.urn] = (cards_of(reservation.at("instanceType")) * int(count.number() or 0), count)
        yield from ()

    def limited(pool: Resource) -> Iterator[Outcome]:
        limits = pool.at("spec", "limits")
        limit = next((node for key, node in limits.entries().items() if key in CARD_RESOURCES), None)
        if limit is not None:
            limit.require_known()
            held[pool.urn] = (int(float(str(limit.value))), limit)
        elif any(cards_of(node) for node in requirement(pool, INSTANCE_TYPE_LABEL)):
            yield Finding(limits, "a limit on cards; without one the pool grows without end")

    yield from each_purchase(stack, bought)
    yield from each_resource(stack.of(CAPACITY_RESERVATION), kept)
    yield from each_resource(karpenter_pools(stack), limited)
    # Reservations are what the pools run in, so the larger of the two sums counts.
    in_pools, in_reservations = (sum(cards for cards, _ in part.values()) for part in (held, reserved))
    most = held if in_pools >= in_reservations else reserved
    if max(in_pools, in_reservations) > settings["cards"]:
        urn, (_, node) = max(most.items(), key=lambda item: item[1][0])
        yield Finding(
            node,
            f"at most {settings['cards']} cards in all; pools at their largest hold {in_pools}, "
            f"reservations {in_reservations}",
            urn,
        )
