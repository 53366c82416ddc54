"""Security groups and subnets as a whole: the rules of a group from all four places where one may be written, and which
subnets are public.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from policies.declared.resources import Resource, Stack, names_of, refers
from policies.declared.types import (
    DEFAULT_ROUTE_TABLE,
    EGRESS_RULE,
    INGRESS_RULE,
    INTERNET_GATEWAY,
    MAIN_TABLE,
    ROUTE,
    ROUTE_ASSOCIATION,
    ROUTE_TABLE,
    SECURITY_GROUP,
    SECURITY_GROUP_RULE,
    SUBNET,
    VPC,
)
from policies.declared.values import Node


@dataclass(frozen=True)
class Opening:
    """One rule of a security group: a direction, a protocol, ports, and the nodes that name its peers."""

    direction: str
    node: Node
    protocol: Node
    first: Node
    last: Node
    ranges: tuple[Node, ...]
    to_itself: bool

    @property
    def all_traffic(self) -> bool:
        return str(self.protocol.value) in ("-1", "all")

    def ports(self) -> tuple[int, int]:
        """The first and last port; every port where the protocol or the missing numbers say so."""
        self.protocol.require_known()
        if self.all_traffic:
            return (0, 65535)
        first, last = self.first.number(), self.last.number()
        if first is None or last is None or (first, last) == (-1, -1):
            return (0, 65535)
        return (int(first), int(last))


def openings(resource: Resource) -> Iterator[Opening]:
    """The rules that a security group or a rule resource declares."""
    if resource.type == SECURITY_GROUP:
        for direction in ("ingress", "egress"):
            node = resource.at(direction)
            for rule in [] if node.unknown else node.elements():
                ranges = (*_elements(rule, "cidrBlocks"), *_elements(rule, "ipv6CidrBlocks"))
                yield Opening(
                    direction,
                    rule,
                    rule.at("protocol"),
                    rule.at("fromPort"),
                    rule.at("toPort"),
                    ranges,
                    rule.at("self").value is True,
                )
    elif resource.type == SECURITY_GROUP_RULE:
        direction = resource.at("type").text() or "ingress"
        ranges = (*_elements(resource.node, "cidrBlocks"), *_elements(resource.node, "ipv6CidrBlocks"))
        itself = resource.at("self").value is True or _same(resource, "sourceSecurityGroupId")
        yield Opening(
            direction,
            resource.node,
            resource.at("protocol"),
            resource.at("fromPort"),
            resource.at("toPort"),
            ranges,
            itself,
        )
    elif resource.type in (INGRESS_RULE, EGRESS_RULE):
        direction = "ingress" if resource.type == INGRESS_RULE else "egress"
        ranges = tuple(node for key in ("cidrIpv4", "cidrIpv6") if not (node := resource.at(key)).absent)
        itself = _same(resource, "referencedSecurityGroupId")
        yield Opening(
            direction,
            resource.node,
            resource.at("ipProtocol"),
            resource.at("fromPort"),
            resource.at("toPort"),
            ranges,
            itself,
        )


def _elements(rule: Node, key: str) -> list[Node]:
    node = rule.at(key)
    return [node] if node.opaque else node.elements()


def _same(rule: Resource, key: str) -> bool:
    """Whether the rule's peer is the group it stands on."""
    own, peer = rule.at("securityGroupId"), rule.at(key)
    if not own.opaque and not peer.opaque:
        return not peer.absent and own.value == peer.value
    owners, peers = set(rule.targets("securityGroupId", SECURITY_GROUP)), set(rule.targets(key, SECURITY_GROUP))
    return peer.opaque and bool(peers) and owners == peers and len(peers) == 1


def rules_of_group(stack: Stack, group: Resource) -> list[Opening]:
    """Every rule of a group, inline or in a resource of its own."""
    found = list(openings(group))
    for resource in stack.of(SECURITY_GROUP_RULE, INGRESS_RULE, EGRESS_RULE):
        if refers(resource, "securityGroupId", group):
            found.extend(openings(resource))
    return found


def opens_itself(rules: list[Opening]) -> set[str]:
    """The directions in which a group allows all traffic with itself."""
    return {rule.direction for rule in rules if rule.to_itself and rule.all_traffic}


def public_subnets(stack: Stack) -> list[Resource]:
    """Subnets that assign public addresses or whose route table leads to an internet gateway."""
    open_tables = [table for table in stack.of(ROUTE_TABLE, DEFAULT_ROUTE_TABLE) if _leads_out(stack, table)]
    main_tables = [table for table in open_tables if _is_main(stack, table)]
    public: list[Resource] = []
    for subnet in stack.of(SUBNET):
        associations = [item for item in stack.of(ROUTE_ASSOCIATION) if refers(item, "subnetId", subnet)]
        routed = any(refers(item, "routeTableId", table) for item in associations for table in open_tables)
        # A subnet without an association follows its network's main table.
        routed = routed or (not associations and any(_same_network(stack, subnet, table) for table in main_tables))
        if subnet.at("mapPublicIpOnLaunch").value is True or routed:
            public.append(subnet)
    return public


def _is_main(stack: Stack, table: Resource) -> bool:
    return table.type == DEFAULT_ROUTE_TABLE or any(
        refers(item, "routeTableId", table) for item in stack.of(MAIN_TABLE)
    )


def _same_network(stack: Stack, subnet: Resource, table: Resource) -> bool:
    """Whether both belong to one VPC; a default table names it by the table's own id, so the dependency tells it."""
    for vpc in stack.of(VPC):
        of_table = refers(table, "vpcId", vpc) or (
            table.type == DEFAULT_ROUTE_TABLE and vpc.urn in table.targets("defaultRouteTableId", VPC)
        )
        if of_table and refers(subnet, "vpcId", vpc):
            return True
    return False


def _leads_out(stack: Stack, table: Resource) -> bool:
    gateways = list(stack.of(INTERNET_GATEWAY))
    named = {name for gateway in gateways for name in names_of(gateway)}

    def through(node: Node) -> bool:
        return isinstance(node.value, str) and (node.value in named or node.value.startswith("igw-"))

    inline = table.at("routes")
    if not inline.opaque and any(through(route.at("gatewayId")) for route in inline.elements()):
        return True
    if table.targets("routes", INTERNET_GATEWAY):
        return True
    routes = [route for route in stack.of(ROUTE) if refers(route, "routeTableId", table)]
    return any(through(route.at("gatewayId")) or route.targets("gatewayId", INTERNET_GATEWAY) for route in routes)
