"""What Karpenter buys for a stack: its node classes and node pools as declared, led to the account on this machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from trainshed.sandbox.api import Object
from trainshed.sandbox.cloud.account import PROFILE, Account

NODE_CLASS: Final = "EC2NodeClass"
NODE_POOL: Final = "NodePool"
CAPACITY_TYPE: Final = "karpenter.sh/capacity-type"


@dataclass(frozen=True, kw_only=True)
class Purchases:
    """`zones` are each node pool's, by id. Prices are dollars an hour by machine type."""

    region: str
    cluster: str
    zones: Mapping[str, Sequence[str]]
    on_demand: Mapping[str, float]
    spot: Mapping[str, float]
    memory_overhead: float


def is_karpenters(thing: Mapping[str, Any]) -> bool:
    """Whether it is one of Karpenter's objects."""
    return thing["kind"] in (NODE_CLASS, NODE_POOL)


def led_here(objects: Iterable[Object], purchases: Purchases, account: Account) -> tuple[list[Object], list[str]]:
    """Karpenter's objects with the account's own network in place of the stack's, and what was left out, with reasons.

    Everything else stays as the stack declares it: images, volumes, interfaces, requirements, limits, disruption.
    """
    left_out: list[str] = []
    reserved: set[str] = set()
    made: list[Object] = []
    given = list(objects)
    for thing in given:
        if thing["kind"] == NODE_POOL and _buys(thing) == ["reserved"]:
            reserved.add(thing["metadata"]["name"])
            left_out.append(f"node pool {thing['metadata']['name']}: no capacity reservation exists in this account")
    for thing in given:
        name = thing["metadata"]["name"]
        if name in reserved:
            continue
        made.append(_class_led_here(thing, purchases.zones[name], account) if thing["kind"] == NODE_CLASS else thing)
    # A node pool is ready once its class is.
    return sorted(made, key=lambda thing: thing["kind"] != NODE_CLASS), left_out


def _buys(pool: Mapping[str, Any]) -> list[str]:
    requirements = pool["spec"]["template"]["spec"]["requirements"]
    return next((list(each["values"]) for each in requirements if each["key"] == CAPACITY_TYPE), [])


def _class_led_here(thing: Object, zones: Sequence[str], account: Account) -> Object:
    spec: Object = {
        **thing["spec"],
        "instanceProfile": PROFILE,
        "subnetSelectorTerms": [{"id": account.subnets[zone]} for zone in zones],
        "securityGroupSelectorTerms": [{"id": account.security_group}],
    }
    spec.pop("role", None)
    return {**thing, "spec": spec}
