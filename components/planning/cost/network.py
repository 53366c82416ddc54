"""What the network costs: gateways, addresses, endpoints, and bytes between zones and out of the region.

Use that no resource states (bytes a month) is taken as a wide range, which each line names in its basis.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from components.planning.cost.lines import Found, Pricer, Range, Setting, between, hourly, used
from components.record import Record

# GB a month that no resource tells. Wide on purpose: these lines are small beside the cards.
NAT_GB: Range = (10.0, 500.0, 5000.0)
INTERNET_GB: Range = (0.1, 5.0, 200.0)
ENDPOINT_GB: Range = (1.0, 100.0, 2000.0)
TRANSIT_GB: Range = (10.0, 1000.0, 20000.0)
# Each byte that crosses zones is paid on both sides: pods of one pool that talk to pods or file servers of another
# zone.
CROSS_ZONE_GB_A_NODE: Range = (1.0, 50.0, 1000.0)
BOTH_SIDES = 2


def nat(resource: Record, given: Setting) -> Found:
    """Hours, bytes through it, the few that leave for the internet, and those that come from another zone to the only
    gateway.
    """
    name = resource.name
    yield from hourly(resource, given, "nat-hour", f"{name}: gateway hours")
    yield from used(resource, given, "nat-gb", f"{name}: traffic", NAT_GB, between(NAT_GB[0], NAT_GB[2], "GB"))
    yield from used(
        resource,
        given,
        "data-to-internet",
        f"{name}: to the internet",
        INTERNET_GB,
        between(INTERNET_GB[0], INTERNET_GB[2], "GB"),
    )
    zones = len(given.stack.network.zones) if given.stack and given.stack.network else 1
    if zones > 1 and len(given.of(resource.type)) == 1:
        far = (zones - 1) / zones
        amounts = (NAT_GB[0] * far, NAT_GB[1] * far, NAT_GB[2] * far)
        basis = f"{between(amounts[0], amounts[2], 'GB')} of {zones - 1} other zones"
        yield from used(resource, given, "data-cross-zone", f"{name}: cross-zone traffic", amounts, basis)


def between_zones(of: Record, zones: int, sizes: Range, given: Setting) -> Found:
    """What nodes spread over zones send to other zones; a pool in one zone keeps its bytes there."""
    if zones < 2:
        return
    amounts = (
        sizes[0] * CROSS_ZONE_GB_A_NODE[0] * BOTH_SIDES,
        sizes[1] * CROSS_ZONE_GB_A_NODE[1] * BOTH_SIDES,
        sizes[2] * CROSS_ZONE_GB_A_NODE[2] * BOTH_SIDES,
    )
    basis = f"{between(CROSS_ZONE_GB_A_NODE[0], CROSS_ZONE_GB_A_NODE[2], 'GB')} a machine in {zones} zones, both sides"
    yield from used(of, given, "data-cross-zone", f"{of.name}: cross-zone traffic", amounts, basis)


def address(resource: Record, given: Setting) -> Found:
    yield from hourly(resource, given, "public-ipv4", f"{resource.name}: public address")


def endpoint(resource: Record, given: Setting) -> Found:
    """An interface endpoint by its zones; a gateway endpoint is free of charge."""
    if resource.inputs.get("vpcEndpointType", "Gateway") == "Gateway":
        return
    subnets: Any = resource.inputs.get("subnetIds")
    zones = len(subnets) if isinstance(subnets, list) and subnets else 1
    yield from hourly(resource, given, "endpoint-hour", f"{resource.name}: endpoint hours", zones)
    yield from used(
        resource,
        given,
        "endpoint-gb",
        f"{resource.name}: traffic",
        ENDPOINT_GB,
        between(ENDPOINT_GB[0], ENDPOINT_GB[2], "GB"),
    )


def transit(resource: Record, given: Setting) -> Found:
    yield from hourly(resource, given, "transit-gateway-attachment-hour", f"{resource.name}: attachment hours")
    yield from used(
        resource,
        given,
        "transit-gateway-gb",
        f"{resource.name}: traffic",
        TRANSIT_GB,
        between(TRANSIT_GB[0], TRANSIT_GB[2], "GB"),
    )


PRICERS: Mapping[str, Pricer] = {
    "aws:ec2/eip:Eip": address,
    "aws:ec2/natGateway:NatGateway": nat,
    "aws:ec2/vpcEndpoint:VpcEndpoint": endpoint,
    "aws:ec2transitgateway/vpcAttachment:VpcAttachment": transit,
}
