"""The rule of EFA interfaces: each one needs a security group that is open to itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from policies.declared.resources import Resource, Stack, refers
from policies.declared.types import (
    EGRESS_RULE,
    INGRESS_RULE,
    KARPENTER_CLASS,
    LAUNCH_TEMPLATE,
    NETWORK_INTERFACE,
    SECURITY_GROUP,
    SECURITY_GROUP_RULE,
)
from policies.declared.values import UNKNOWN, Node
from policies.packs.policy_rule import Doubt, Finding, Outcome, Settings, each, each_resource, rule
from policies.security.network_openings import opens_itself, rules_of_group

DIRECTIONS = {"ingress": "lets in all traffic from itself", "egress": "lets out all traffic to itself"}


@dataclass(frozen=True)
class _Groups:
    """What can be told of the groups on one interface."""

    known: tuple[Resource, ...]
    foreign: tuple[str, ...]
    # Groups of which `unknown` many are on the interface too; which ones is only known after the update.
    candidates: tuple[Resource, ...]
    unknown: int


@rule(
    "efa-groups-open-to-themselves",
    types=(
        LAUNCH_TEMPLATE,
        KARPENTER_CLASS,
        NETWORK_INTERFACE,
        SECURITY_GROUP,
        SECURITY_GROUP_RULE,
        INGRESS_RULE,
        EGRESS_RULE,
    ),
    scope="stack",
    severity="high",
    says="Every EFA interface has a group that allows all traffic from itself and, by a rule of its own, to itself.",
    fix="add two rules of protocol -1 with the group itself as the peer, one in each direction; "
    "0.0.0.0/0 does not cover EFA",
)
def efa_groups_open_to_themselves(stack: Stack, _: Settings) -> Iterator[Outcome]:
    def template(holder: Resource) -> Iterator[Outcome]:
        yield from each(
            holder.at("networkInterfaces").elements(),
            lambda interface: _interface(stack, holder, interface, "networkInterfaces"),
        )

    def node_class(holder: Resource) -> Iterator[Outcome]:
        # Every interface has the class's groups.
        if any(_is_efa(interface) for interface in holder.at("spec", "networkInterfaces").elements()):
            terms = holder.at("spec", "securityGroupSelectorTerms")
            ids = [_selected(term) for term in terms.elements()]
            yield from _judged(stack, _groups_of(stack, holder, ids, "spec"), terms)

    yield from each_resource(stack.of(LAUNCH_TEMPLATE), template)
    yield from each_resource(stack.of(KARPENTER_CLASS), node_class)
    yield from each_resource(
        stack.of(NETWORK_INTERFACE), lambda holder: _interface(stack, holder, holder.node, "securityGroups")
    )


def _is_efa(interface: Node) -> bool:
    return (interface.at("interfaceType").text() or "").startswith("efa")


def _selected(term: Node) -> Node:
    """The id that a selector names; by a name or tags Karpenter finds groups of its own accord."""
    named = term.at("id")
    return Node(UNKNOWN, term.path) if named.absent else named


def _interface(stack: Stack, holder: Resource, interface: Node, key: str) -> Iterator[Outcome]:
    if not _is_efa(interface):
        return
    named = interface.at("securityGroups")
    if not named.opaque and not named.elements():
        # EC2 then takes the network's default group, which lets nothing through.
        yield Finding(named, "a group that is open to itself; without one the network's default group holds")
        return
    parts = [named] if named.opaque else named.elements()
    yield from _judged(stack, _groups_of(stack, holder, parts, key), named)


def _judged(stack: Stack, groups: _Groups, named: Node) -> Iterator[Outcome]:
    for direction, does in DIRECTIONS.items():
        if any(_opens(stack, group, direction) for group in groups.known):
            continue
        hidden = [group for group in groups.known if _rules_hidden(stack, group, direction)]
        closed = [group for group in groups.candidates if not _opens(stack, group, direction)]
        if groups.unknown > len(closed) and groups.candidates:
            # The interface has more of the candidates than there are closed ones, so an open one is among them.
            continue
        if hidden:
            yield Doubt(named.path, f"can't be judged: rules of {hidden[0].name} are not known")
        elif groups.foreign:
            yield Doubt(named.path, f"names {', '.join(groups.foreign)}, which this stack doesn't declare")
        elif groups.unknown and (not groups.candidates or len(closed) < len(groups.candidates)):
            yield Doubt(named.path, "is not known before the update")
        else:
            names = ", ".join(sorted(group.name for group in (*groups.known, *groups.candidates)))
            yield Finding(named, f"a group that {does}; {names} does not")


def _groups_of(stack: Stack, holder: Resource, parts: list[Node], key: str) -> _Groups:
    known: list[Resource] = []
    foreign: list[str] = []
    unknown = 0
    sources = holder.targets(key, SECURITY_GROUP)
    for part in parts:
        if part.opaque:
            unknown += 1
        elif found := [group for group in stack.of(SECURITY_GROUP) if part.value in (group.at("id").value, group.name)]:
            known.append(found[0])
        elif str(part.value).startswith("sg-") or not sources:
            foreign.append(str(part.value))
        else:
            # A stand-in for an id that only the service gives.
            unknown += 1
    candidates = [group for group in stack.of(SECURITY_GROUP) if group.urn in sources and group not in known]
    return _Groups(tuple(known), tuple(foreign), tuple(candidates if unknown else ()), unknown)


def _opens(stack: Stack, group: Resource, direction: str) -> bool:
    return not group.left_out and direction in opens_itself(rules_of_group(stack, group))


def _rules_hidden(stack: Stack, group: Resource, direction: str) -> bool:
    """Whether a rule that isn't known may be the one that opens the group."""
    if group.left_out or group.at(direction).unknown:
        return True
    kinds = (SECURITY_GROUP_RULE, INGRESS_RULE if direction == "ingress" else EGRESS_RULE)
    return any(
        refers(rule_, "securityGroupId", group) is None
        or (rule_.left_out and group.urn in rule_.depends_on)
        or (refers(rule_, "securityGroupId", group) and _peer_hidden(rule_))
        for rule_ in stack.of(*kinds)
    )


def _peer_hidden(rule_: Resource) -> bool:
    """Whether the rule's peer is unknown and no dependency tells it."""
    return (
        any(
            rule_.at(key).opaque and not rule_.targets(key, SECURITY_GROUP)
            for key in ("referencedSecurityGroupId", "sourceSecurityGroupId")
        )
        or rule_.at("protocol" if rule_.type == SECURITY_GROUP_RULE else "ipProtocol").opaque
    )
