"""The network of the good stack: its subnets, the way out, the groups, and the endpoints."""

from __future__ import annotations

from tests.policies.good.records import (
    REGION,
    TAGS,
    Record,
    record,
    urn,
)


def subnets() -> list[Record]:
    """The network, its flow log, its empty default group, and a private and a public subnet."""
    vpc = urn("aws:ec2/vpc:Vpc", "net")
    return [
        record("aws:ec2/vpc:Vpc", "net", {"id": "vpc-1", "cidrBlock": "10.0.0.0/16", "tags": TAGS}),
        record(
            "aws:ec2/flowLog:FlowLog",
            "net-flow",
            {"vpcId": "vpc-1", "trafficType": "ALL", "logDestination": "arn:aws:s3:::acme-log"},
            after=[vpc],
        ),
        record(
            "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup",
            "net-default",
            {"vpcId": "vpc-1", "ingress": [], "egress": []},
            after=[vpc],
        ),
        record(
            "aws:ec2/subnet:Subnet",
            "net-compute-usw2-az3",
            {
                "id": "subnet-1",
                "vpcId": "vpc-1",
                "cidrBlock": "10.0.0.0/20",
                "availabilityZoneId": "usw2-az3",
                "mapPublicIpOnLaunch": False,
            },
            after=[vpc],
        ),
        record(
            "aws:ec2/subnet:Subnet",
            "net-public-usw2-az3",
            {"id": "subnet-2", "vpcId": "vpc-1", "cidrBlock": "10.0.16.0/24", "availabilityZoneId": "usw2-az3"},
            after=[vpc],
        ),
    ]


def way_out() -> list[Record]:
    """The internet gateway, the public route, and the NAT gateway."""
    vpc = urn("aws:ec2/vpc:Vpc", "net")
    return [
        record("aws:ec2/internetGateway:InternetGateway", "net-out", {"id": "igw-1", "vpcId": "vpc-1"}, after=[vpc]),
        record("aws:ec2/routeTable:RouteTable", "net-public", {"id": "rtb-1", "vpcId": "vpc-1"}, after=[vpc]),
        record(
            "aws:ec2/route:Route",
            "net-public-out",
            {"routeTableId": "rtb-1", "destinationCidrBlock": "0.0.0.0/0", "gatewayId": "igw-1"},
        ),
        record(
            "aws:ec2/routeTableAssociation:RouteTableAssociation",
            "net-public",
            {"routeTableId": "rtb-1", "subnetId": "subnet-2"},
        ),
        record("aws:ec2/eip:Eip", "net-nat", {"id": "eipalloc-1", "domain": "vpc", "tags": TAGS}),
        record(
            "aws:ec2/natGateway:NatGateway",
            "net-nat",
            {"allocationId": "eipalloc-1", "subnetId": "subnet-2", "tags": TAGS},
            after=[urn("aws:ec2/eip:Eip", "net-nat")],
        ),
    ]


def groups() -> list[Record]:
    """The group of the EFA interfaces, open to itself, and the port of the file system."""
    vpc = urn("aws:ec2/vpc:Vpc", "net")
    efa = urn("aws:ec2/securityGroup:SecurityGroup", "net-efa")
    return [
        record(
            "aws:ec2/securityGroup:SecurityGroup",
            "net-efa",
            {"id": "sg-1", "vpcId": "vpc-1", "description": "EFA between compute nodes", "tags": TAGS},
            after=[vpc],
        ),
        record(
            "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
            "net-efa-in",
            {
                "securityGroupId": "sg-1",
                "referencedSecurityGroupId": "sg-1",
                "ipProtocol": "-1",
                "description": "EFA from the group itself",
            },
            after=[efa],
        ),
        record(
            "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule",
            "net-efa-out",
            {
                "securityGroupId": "sg-1",
                "referencedSecurityGroupId": "sg-1",
                "ipProtocol": "-1",
                "description": "EFA to the group itself",
            },
            after=[efa],
        ),
        record(
            "aws:ec2/securityGroupRule:SecurityGroupRule",
            "net-lustre",
            {
                "securityGroupId": "sg-1",
                "type": "ingress",
                "protocol": "tcp",
                "fromPort": 988,
                "toPort": 988,
                "cidrBlocks": ["10.0.0.0/16"],
                "description": "Lustre",
            },
        ),
    ]


def endpoints() -> list[Record]:
    """An endpoint of each service that nodes and programs call."""
    vpc = urn("aws:ec2/vpc:Vpc", "net")
    subnet = urn("aws:ec2/subnet:Subnet", "net-compute-usw2-az3")
    found: list[Record] = []
    services = ["ec2", "ecr.api", "ecr.dkr", "sts", "logs", "eks", "eks-auth", "elasticloadbalancing", "autoscaling"]
    for service in services:
        inputs = {
            "vpcId": "vpc-1",
            "serviceName": f"com.amazonaws.{REGION}.{service}",
            "vpcEndpointType": "Interface",
            "subnetIds": ["subnet-1"],
            "tags": TAGS,
        }
        found.append(record("aws:ec2/vpcEndpoint:VpcEndpoint", f"net-{service}", inputs, after=[vpc, subnet]))
    inputs = {"vpcId": "vpc-1", "serviceName": f"com.amazonaws.{REGION}.s3", "vpcEndpointType": "Gateway", "tags": TAGS}
    found.append(record("aws:ec2/vpcEndpoint:VpcEndpoint", "net-s3", inputs, after=[vpc]))
    return found
