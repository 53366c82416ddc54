"""The network: one VPC holding the management and the compute network, with their routes, groups, endpoints and flow
logs.

The two networks are kept apart by route tables (the compute network has no route to the internet) and by security
groups (see `security_groups`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pulumi
import pulumi_aws as aws

from components.network import endpoints as network_endpoints
from components.network import flow_logs
from components.network.security_groups import Groups
from components.planning import addresses, alone
from components.planning.address_needs import AddressNeed
from components.planning.addresses import Kind, Subnet
from components.planning.endpoints import Endpoint, of_network
from components.refused import refuse
from components.spec.network import NetworkSpec


@dataclass(frozen=True, kw_only=True)
class NetworkArgs:
    """`compute` says which zones hold accelerator nodes and file systems, and how many addresses they take there.

    `endpoints` defaults to what any cluster needs; `remote_cidrs` are on-premises ranges whose machines use the
    endpoints too; a transit gateway leads the control plane and the management nodes to them, never the compute
    network.
    """

    spec: NetworkSpec
    region: str
    compute: tuple[AddressNeed, ...] = ()
    endpoints: tuple[Endpoint, ...] | None = None
    remote_cidrs: tuple[str, ...] = ()
    transit_gateway_id: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict[str, str])


class Network(pulumi.ComponentResource):
    """Attributes: `vpc_id`, `account_id`, the four group ids, `plan` (the address plan), `ready` (what nodes
    wait for).
    """

    def __init__(self, name: str, args: NetworkArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        found = alone.of_network(
            args.spec,
            args.region,
            compute=args.compute,
            remote_cidrs=args.remote_cidrs,
            transit_gateway=args.transit_gateway_id,
        )
        refuse("Network", name, found)
        super().__init__("trainshed:network:Network", name, args.spec.model_dump(mode="json"), opts)
        self._prefix, self._args = name, args
        self._children = pulumi.ResourceOptions(parent=self)
        self.plan = addresses.plan(args.spec, args.compute)
        spec = args.spec

        self._vpc = vpc = self._declare_vpc()
        ranges = self._further_ranges()
        further = {"compute", "nodes"} if spec.node_cidr else {"compute"}
        self._subnets = {
            (each.kind, each.zone): self._subnet(each, ranges if each.kind in further else [])
            for each in self.plan.subnets
        }
        gateways = self._public()
        tables, self.ready = self._private(gateways)
        self.ready += self._prefixes()

        groups = Groups(name, vpc_id=vpc.id, tags=args.tags, children=self._children)
        s3 = network_endpoints.gateway(
            name,
            region=args.region,
            vpc=vpc,
            route_tables=[table.id for table in tables],
            to_internet=spec.egress == "nat",
            tags=args.tags,
            children=self._children,
        )
        groups.declare(
            ranges=sorted({*spec.ranges, *args.remote_cidrs}),
            remote=sorted(set(args.remote_cidrs)),
            to_internet=spec.egress == "nat",
            s3_prefix_list=s3.prefix_list_id,
        )
        endpoints = self._interface_endpoints(groups)
        flow_logs.declare(
            name, region=args.region, vpc=vpc, days=spec.flow_log_days, tags=args.tags, children=self._children
        )

        self.vpc_id, self.account_id = vpc.id, vpc.owner_id
        self.management_security_group_id = groups.management.id
        self.compute_security_group_id = groups.compute.id
        self.efa_security_group_id = groups.efa.id
        self.endpoint_security_group_id = groups.endpoints.id
        self.ready += [s3, *endpoints, *groups.rules]
        groups_told = {
            f"{word}_security_group_id": getattr(self, f"{word}_security_group_id")
            for word in ("compute", "management", "efa", "endpoint")
        }
        self.register_outputs({"vpc_id": self.vpc_id, **groups_told})

    def _declare_vpc(self) -> aws.ec2.Vpc:
        return aws.ec2.Vpc(
            f"{self._prefix}-vpc",
            cidr_block=self._args.spec.cidr,
            enable_dns_support=True,
            enable_dns_hostnames=True,  # endpoints' private names need both
            tags=self._tags("vpc"),
            opts=self._children,
        )

    def _further_ranges(self) -> list[pulumi.Resource]:
        """The VPC's further address ranges, which the subnets in them wait for."""
        return [
            aws.ec2.VpcIpv4CidrBlockAssociation(
                f"{self._prefix}-range-{cidr}", vpc_id=self._vpc.id, cidr_block=cidr, opts=self._children
            )
            for cidr in sorted(set(self._args.spec.further_cidrs))
        ]

    def subnet_ids(self, kind: Kind, zone: str) -> pulumi.Output[str]:
        """The subnet of that kind in that zone. Raises KeyError when the plan has none."""
        return self._subnets[kind, zone].id

    def _tags(self, role: str, further: Mapping[str, str] | None = None) -> dict[str, str]:
        return {**self._args.tags, "Name": f"{self._prefix}-{role}", **(further or {})}

    def _subnet(self, each: Subnet, after: list[pulumi.Resource]) -> aws.ec2.Subnet:
        roles = {
            "nodes": {"kubernetes.io/role/internal-elb": "1"},
            "public": {"kubernetes.io/role/elb": "1"},
            "control": {},
            "compute": {},
        }
        return aws.ec2.Subnet(
            f"{self._prefix}-{each.kind}-{each.zone}",
            vpc_id=self._vpc.id,
            cidr_block=each.cidr,
            availability_zone_id=each.zone,
            # NAT gateways bring an address of their own, and nothing else lives in a public subnet.
            map_public_ip_on_launch=False,
            tags=self._tags(f"{each.kind}-{each.zone}", {"trainshed.io/subnet": each.kind, **roles[each.kind]}),
            opts=pulumi.ResourceOptions(parent=self, depends_on=after),
        )

    def _interface_endpoints(self, groups: Groups) -> list[pulumi.Resource]:
        args = self._args
        return [
            *network_endpoints.declare_interfaces(
                self._prefix,
                args.endpoints if args.endpoints is not None else of_network(args.spec),
                region=args.region,
                vpc=self._vpc,
                subnets=[self._subnets["control", zone].id for zone in self.plan.zones("control")],
                security_group=groups.endpoints.id,
                tags=args.tags,
                children=self._children,
            )
        ]

    def _prefixes(self) -> list[pulumi.Resource]:
        """Blocks of the compute subnets from which only prefixes are taken."""
        return [
            aws.ec2.SubnetCidrReservation(
                f"{self._prefix}-prefixes-{cidr}",
                subnet_id=self._subnets["compute", need.zone].id,
                cidr_block=cidr,
                reservation_type="prefix",
                description="Prefixes of pods; single addresses stay below",
                opts=self._children,
            )
            for need in sorted(self._args.compute, key=lambda each: each.zone)
            if need not in self.plan.unplaced
            for cidr in addresses.reservations(self.plan.subnet("compute", need.zone), need)
        ]

    def _public(self) -> dict[str, aws.ec2.NatGateway]:
        """The internet gateway and the NAT gateways by zone; nothing in an isolated network."""
        zones, name = self.plan.zones("public"), self._prefix
        if not zones:
            return {}
        internet = aws.ec2.InternetGateway(
            f"{name}-internet", vpc_id=self._vpc.id, tags=self._tags("internet"), opts=self._children
        )
        table = aws.ec2.RouteTable(
            f"{name}-public", vpc_id=self._vpc.id, tags=self._tags("public"), opts=self._children
        )
        route = aws.ec2.Route(
            f"{name}-public-internet",
            route_table_id=table.id,
            destination_cidr_block="0.0.0.0/0",
            gateway_id=internet.id,
            opts=self._children,
        )
        for zone in zones:
            self._associate(table, "public", zone)
        gateways: dict[str, aws.ec2.NatGateway] = {}
        for zone in zones if self._args.spec.nat_gateways == "per-zone" else zones[:1]:
            address = aws.ec2.Eip(
                f"{name}-nat-{zone}", domain="vpc", tags=self._tags(f"nat-{zone}"), opts=self._children
            )
            gateways[zone] = aws.ec2.NatGateway(
                f"{name}-nat-{zone}",
                allocation_id=address.id,
                subnet_id=self._subnets["public", zone].id,
                tags=self._tags(f"nat-{zone}"),
                opts=pulumi.ResourceOptions(parent=self, depends_on=[route]),
            )
        return gateways

    def _private(
        self, gateways: Mapping[str, aws.ec2.NatGateway]
    ) -> tuple[list[aws.ec2.RouteTable], list[pulumi.Resource]]:
        """Route tables of everything private, and what must be there before a node starts: its routes.

        Control and compute subnets have tables that lead nowhere but to S3 (and the premises); node subnets have one
        each, so that a switch between one gateway and several only changes routes.
        """
        name = self._prefix
        control, compute = (
            aws.ec2.RouteTable(f"{name}-{kind}", vpc_id=self._vpc.id, tags=self._tags(kind), opts=self._children)
            for kind in ("control", "compute")
        )
        ready: list[pulumi.Resource] = [
            self._associate(control if each.kind == "control" else compute, each.kind, each.zone)
            for each in self.plan.subnets
            if each.kind in ("control", "compute")
        ]
        tables = [compute, control]
        only = next(iter(gateways.values()), None)
        for zone in self.plan.zones("nodes"):
            table = aws.ec2.RouteTable(
                f"{name}-nodes-{zone}", vpc_id=self._vpc.id, tags=self._tags(f"nodes-{zone}"), opts=self._children
            )
            tables.append(table)
            ready.append(self._associate(table, "nodes", zone))
            gateway = gateways.get(zone, only)
            if gateway is not None:
                ready.append(
                    aws.ec2.Route(
                        f"{name}-nodes-{zone}-nat",
                        route_table_id=table.id,
                        destination_cidr_block="0.0.0.0/0",
                        nat_gateway_id=gateway.id,
                        opts=self._children,
                    )
                )
        return tables, [
            *ready,
            *self._premises({"control": control, **dict(zip(self.plan.zones("nodes"), tables[2:], strict=True))}),
        ]

    def _premises(self, tables: Mapping[str, aws.ec2.RouteTable]) -> list[pulumi.Resource]:
        """The way to on-premises ranges through the transit gateway, from these tables."""
        gateway, name = self._args.transit_gateway_id, self._prefix
        if gateway is None:
            return []
        attachment = aws.ec2transitgateway.VpcAttachment(
            f"{name}-premises",
            transit_gateway_id=gateway,
            vpc_id=self._vpc.id,
            subnet_ids=[self._subnets["control", zone].id for zone in self.plan.zones("control")],
            tags=self._tags("premises"),
            opts=self._children,
        )
        return [
            aws.ec2.Route(
                f"{name}-{key}-premises-{cidr}",
                route_table_id=table.id,
                destination_cidr_block=cidr,
                transit_gateway_id=gateway,
                opts=pulumi.ResourceOptions(parent=self, depends_on=[attachment]),
            )
            for key, table in sorted(tables.items())
            for cidr in sorted(set(self._args.remote_cidrs))
        ]

    def _associate(self, table: aws.ec2.RouteTable, kind: Kind, zone: str) -> aws.ec2.RouteTableAssociation:
        return aws.ec2.RouteTableAssociation(
            f"{self._prefix}-{kind}-{zone}",
            route_table_id=table.id,
            subnet_id=self._subnets[kind, zone].id,
            opts=self._children,
        )
