"""Cost rules of how machines are bought: spot, reservations, blocks, and none that stand idle."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from policies.cost.catalog import HOURS_A_MONTH, catalog
from policies.cost.estimate import region_of
from policies.cost.purchases import (
    INSTANCE_TYPE_LABEL,
    KARPENTER_CAPACITY,
    Purchase,
    karpenter_pools,
    requirement,
)
from policies.cost.rules.machines import BUYERS, cards_of, each_purchase, has_cards
from policies.declared.pools import is_preprocessing, is_training, purposes
from policies.declared.resources import Resource, Stack
from policies.declared.types import (
    CAPACITY_RESERVATION,
    KARPENTER_POOL,
    NODE_GROUP,
    SCHEDULE,
)
from policies.declared.values import Node
from policies.packs.policy_rule import Finding, Outcome, Settings, each_resource, missing, rule


@rule(
    "training-never-on-spot",
    types=(*BUYERS, KARPENTER_POOL),
    scope="stack",
    severity="critical",
    says="Training, and whatever has EFA interfaces, never runs on spot machines.",
    fix="buy the pool on demand, by reservation or as a block; spot is for preprocessing",
)
def training_never_on_spot(stack: Stack, _: Settings) -> Iterator[Outcome]:
    def check(purchase: Purchase) -> Iterator[Outcome]:
        kind = purchase.resource.at("capacityType" if purchase.resource.type == NODE_GROUP else "instanceMarketOptions")
        if kind.unknown:
            kind.require_known()
        if not purchase.spot or is_preprocessing(purchase.resource):
            return
        training = is_training(purchase.resource) or (purchase.template is not None and is_training(purchase.template))
        if training or _has_efa(purchase.template) or _has_efa(purchase.resource):
            yield Finding(kind, "no spot for training or EFA")
        elif has_cards(purchase) and "evaluation" not in purposes(purchase.resource):
            yield Finding(kind, "no spot for cards, unless the pool's purpose is evaluation or preprocessing")

    def karpenter(pool: Resource) -> Iterator[Outcome]:
        spot = [node for node in requirement(pool, KARPENTER_CAPACITY) if node.text() == "spot"]
        cards = any(cards_of(node) for node in requirement(pool, INSTANCE_TYPE_LABEL))
        if spot and (is_training(pool) or (cards and not is_preprocessing(pool))):
            yield Finding(spot[0], "no spot for training or cards")

    yield from each_purchase(stack, check)
    yield from each_resource(karpenter_pools(stack), karpenter)


def _has_efa(resource: Resource | None) -> bool:
    if resource is None:
        return False
    interfaces = resource.at("networkInterfaces")
    if interfaces.opaque:
        return False
    return any(str(node.at("interfaceType").value).startswith("efa") for node in interfaces.elements())


@rule(
    "preprocessing-on-spot",
    types=(NODE_GROUP, KARPENTER_POOL),
    scope="stack",
    severity="medium",
    says="Preprocessing runs on spot machines; an on-demand group beside them stays at zero until they run out.",
    fix="set trainshed:spot_preprocessing to true",
)
def preprocessing_on_spot(stack: Stack, _: Settings) -> Iterator[Outcome]:
    groups = [group for group in stack.of(NODE_GROUP) if is_preprocessing(group)]
    on_spot = any(group.at("capacityType").value == "SPOT" for group in groups)

    def check(group: Resource) -> Iterator[Outcome]:
        kind = group.at("capacityType")
        if kind.text() == "SPOT":
            return
        idle = (
            not group.at("scalingConfig", "desiredSize").number() and not group.at("scalingConfig", "minSize").number()
        )
        if not (on_spot and idle):
            yield Finding(kind, '"SPOT"')

    yield from each_resource(groups, check)


@rule(
    "spot-pools-mixed",
    types=(NODE_GROUP,),
    severity="medium",
    says="A spot pool may choose among several types, so that one that runs out doesn't stop it.",
    fix="list at least three types of alike processors and memory",
    parameters={"types": {"type": "integer", "default": 3, "minimum": 1}},
)
def spot_pools_mixed(group: Resource, settings: Settings) -> Iterator[Outcome]:
    if (
        group.at("capacityType").text() == "SPOT"
        and len((types := group.at("instanceTypes")).elements()) < settings["types"]
    ):
        yield Finding(types, f"at least {settings['types']} types")


@rule(
    "reservations-end",
    types=(CAPACITY_RESERVATION,),
    severity="high",
    says="A capacity reservation, which costs as much as running machines, has an end.",
    fix='set endDateType to "limited" and endDate to the day when the job is over',
    parameters={"days": {"type": "integer", "default": 90, "minimum": 1}},
)
def reservations_end(reservation: Resource, settings: Settings) -> Iterator[Outcome]:
    kind, end = reservation.at("endDateType"), reservation.at("endDate")
    if kind.text() != "limited" or not end.text():
        yield Finding(kind if kind.text() != "limited" else end, '"limited", with an endDate')
        return
    last = _moment(end)
    if last is None:
        yield Finding(end, "a date such as 2026-12-24T11:30:00Z")
    elif last.date() > settings.require_today() + timedelta(days=settings["days"]):
        yield Finding(end, f"an end within {settings['days']} days of {settings.require_today().isoformat()}")


def _moment(node: Node) -> datetime | None:
    try:
        moment = datetime.fromisoformat((node.text() or "").replace("Z", "+00:00"))
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@rule(
    "blocks-within-their-dates",
    types=(*BUYERS, SCHEDULE),
    scope="stack",
    severity="high",
    says="Nodes of a capacity block run only between its start and its end, and something ends them.",
    fix="set desiredSize to 0 outside the block's dates, and let an EventBridge schedule set it to 0 before the end",
    parameters={"nodes": {"type": "integer", "default": 64, "description": "EC2 sells no block with more instances"}},
)
def blocks_within_their_dates(stack: Stack, settings: Settings) -> Iterator[Outcome]:
    schedules = list(stack.of(SCHEDULE))

    def check(purchase: Purchase) -> Iterator[Outcome]:
        if not purchase.block:
            return
        if (purchase.maximum.number() or 0) > settings["nodes"]:
            yield Finding(purchase.maximum, f"at most {settings['nodes']} nodes in a block")
        moments = _moments_of(purchase.resource, schedules)
        if not moments:
            yield Finding(missing("end of the block"), "a schedule that sets the group to 0 before the block ends")
            return
        if not max(purchase.desired.number() or 0, purchase.minimum.number() or 0):
            return
        today = settings.require_today()
        # Two moments are a start that is still to come and the end; a single one is the end of a block that has begun.
        if len(moments) > 1 and today < min(moments).date():
            yield Finding(
                purchase.desired, f"0 on {today.isoformat()}; the block starts on {min(moments).date().isoformat()}"
            )
        elif today > max(moments).date():
            yield Finding(
                purchase.desired, f"0 on {today.isoformat()}; the block ended on {max(moments).date().isoformat()}"
            )

    yield from each_purchase(stack, check)


def _moments_of(group: Resource, schedules: list[Resource]) -> list[datetime]:
    """When schedules that were made from this group act."""
    found: list[datetime] = []
    for schedule in schedules:
        if group.urn in schedule.depends_on or group.urn in schedule.property_depends_on.get("target", ()):
            written = schedule.at("scheduleExpression")
            moment = _moment(Node((written.text() or "").removeprefix("at(").removesuffix(")"), written.path))
            if moment is not None:
                found.append(moment)
    return found


@rule(
    "cards-not-idle",
    types=BUYERS,
    scope="stack",
    severity="medium",
    says="Machines with cards that are paid by the hour start at zero and follow the queue.",
    fix="set desiredSize and minSize to 0, and let the queue's autoscaler raise them",
    parameters={
        "region": {"type": "string", "default": "us-west-2", "description": "where resources live that don't say"}
    },
)
def cards_not_idle(stack: Stack, settings: Settings) -> Iterator[Outcome]:
    def check(purchase: Purchase) -> Iterator[Outcome]:
        if purchase.capacity not in ("on-demand", "spot") or not has_cards(purchase):
            return
        for node in (purchase.desired, purchase.minimum):
            if count := node.number():
                where = region_of(purchase.resource, settings["region"])
                rates = [
                    rate
                    for kind in purchase.types
                    if (rate := catalog().hourly(kind.text() or "", where, purchase.capacity))
                ]
                cost = f"${rates[0][1] * count * HOURS_A_MONTH:,.0f} a month" if rates else "an unknown price"
                yield Finding(node, f"0; {int(count)} idle nodes cost {cost}")
                return

    yield from each_purchase(stack, check)
