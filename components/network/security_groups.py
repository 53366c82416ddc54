"""The network's security groups and every rule between them.

One table for each direction says who may start a connection to whom, on which ports and why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import pulumi
import pulumi_aws as aws


@dataclass(frozen=True, kw_only=True)
class Port:
    """A named port, or a range of them, and what goes over it."""

    name: str
    first: int
    why: str
    last: int | None = None
    protocol: str = "tcp"


DNS = (
    Port(name="dns-tcp", first=53, why="pods ask CoreDNS, large answers"),
    Port(name="dns-udp", first=53, protocol="udp", why="pods ask CoreDNS"),
)
# From the control plane to controllers that run on management nodes.
WEBHOOKS = (
    Port(name="webhook-https", first=443, why="admission webhooks of services on 443"),
    Port(name="kueue-visibility", first=8082, why="the aggregated API of waiting workloads"),
    Port(name="webhook-9443", first=9443, why="webhooks of Kueue, JobSet and other controllers"),
    Port(name="metrics-server", first=10251, why="the aggregated metrics API"),
)
# The Prometheus operator's webhook listens on the kubelet's number.
KUBELET = Port(name="kubelet", first=10250, why="logs, exec and resource metrics")
# From the management nodes' Prometheus and metrics-server to compute nodes.
METRICS = (
    KUBELET,
    Port(name="node-metrics", first=9100, why="node exporter"),
    Port(name="exporters", first=9400, last=9403, why="metrics of cards (9400), jobs (9402) and EFA (9403)"),
)
Way = Literal["in", "out"]

HTTPS = Port(name="https", first=443, why="HTTPS")


class Groups:
    """Five groups and the rules between them; `children` are the options of their resources."""

    def __init__(
        self, name: str, *, vpc_id: pulumi.Input[str], tags: Mapping[str, str], children: pulumi.ResourceOptions
    ) -> None:
        self._name, self._tags, self._children = name, tags, children
        self.rules: list[pulumi.Resource] = []  # nodes wait for them, and so outlive none of them on destroy

        def group(role: str, words: str) -> aws.ec2.SecurityGroup:
            return aws.ec2.SecurityGroup(
                f"{name}-{role}",
                vpc_id=vpc_id,
                description=words,
                tags={**tags, "Name": f"{name}-{role}"},
                opts=children,
            )

        # Whoever forgets to name a group gets this one, which lets nothing through.
        aws.ec2.DefaultSecurityGroup(
            f"{name}-default", vpc_id=vpc_id, tags={**tags, "Name": f"{name}-default-unused"}, opts=children
        )
        self.management = group(
            "management", "Management nodes: system, preprocessing and other pools without accelerators"
        )
        self.compute = group("compute-nodes", "Accelerator nodes and their pods")
        self.efa = group("efa", "EFA interfaces among themselves")
        self.endpoints = group("endpoints", "Interface endpoints of AWS services")

    def declare(
        self,
        *,
        ranges: Sequence[str],
        remote: Sequence[str],
        to_internet: bool,
        s3_prefix_list: pulumi.Input[str],
    ) -> None:
        """All rules. `ranges` are those whose machines reach the interface endpoints; `remote` are on-premises nodes
        and pods.

        Nodes of either network don't carry the cluster's own group, whose members talk freely: with it, compute nodes
        would reach on management nodes whatever the control plane may. The rules to and from the control plane come
        with the cluster.
        """
        self._within_groups()
        for port in DNS:
            self.allow_in("compute-to-management", self.management, self.compute, port)
            self.allow_out("compute-to-management", self.compute, self.management, port)
        for port in METRICS:
            self.allow_out("management-to-compute", self.management, self.compute, port)
            self.allow_in("management-to-compute", self.compute, self.management, port)
        https = Port(name="https", first=443, why="AWS services through interface endpoints")
        for role, group in (("management", self.management), ("compute", self.compute)):
            self.allow_out(f"{role}-to-endpoints", group, self.endpoints, https)
            self._egress(
                f"{role}-to-s3", group, HTTPS, "S3 through the gateway endpoint", prefix_list_id=s3_prefix_list
            )
        if to_internet:
            self._egress(
                "management-to-internet",
                self.management,
                HTTPS,
                "images, charts and AWS services without an endpoint, through NAT",
                cidr_ipv4="0.0.0.0/0",
            )
        for cidr in remote:
            for port in DNS:
                self._ingress(
                    f"remote-to-management-{port.name}-{cidr}", self.management, port, port.why, cidr_ipv4=cidr
                )
            for port in METRICS:
                self._egress(
                    f"management-to-remote-{port.name}-{cidr}", self.management, port, port.why, cidr_ipv4=cidr
                )
        for cidr in ranges:
            self._ingress(f"endpoints-{cidr}", self.endpoints, HTTPS, f"AWS services from {cidr}", cidr_ipv4=cidr)

    def _within_groups(self) -> None:
        # EFA's traffic isn't IP: a rule to 0.0.0.0/0 doesn't cover it, only the group itself does, both ways.
        efa_in, efa_out = (
            Port(name="all", first=-1, protocol="-1", why=f"EFA traffic {way} the group itself")
            for way in ("from", "to")
        )
        self.allow_in("efa-self", self.efa, self.efa, efa_in)
        self.allow_out("efa-self", self.efa, self.efa, efa_out)
        for role, group in (("management", self.management), ("compute", self.compute)):
            everything = Port(name="all", first=-1, protocol="-1", why=f"{role} nodes and their pods among themselves")
            self.allow_in(f"{role}-self", group, group, everything)
            self.allow_out(f"{role}-self", group, group, everything)

    def allow_in(self, key: str, target: aws.ec2.SecurityGroup, source: aws.ec2.SecurityGroup, port: Port) -> None:
        self._ingress(f"{key}-{port.name}", target, port, port.why, referenced_security_group_id=source.id)

    def allow_out(self, key: str, source: aws.ec2.SecurityGroup, target: aws.ec2.SecurityGroup, port: Port) -> None:
        self._egress(f"{key}-{port.name}", source, port, port.why, referenced_security_group_id=target.id)

    def _ingress(
        self, key: str, group: aws.ec2.SecurityGroup, port: Port, why: str, **other: pulumi.Input[str]
    ) -> None:
        self._rule("in", key, group, port, why, other)

    def _egress(self, key: str, group: aws.ec2.SecurityGroup, port: Port, why: str, **other: pulumi.Input[str]) -> None:
        self._rule("out", key, group, port, why, other)

    def _rule(
        self,
        way: Way,
        key: str,
        group: aws.ec2.SecurityGroup,
        port: Port,
        why: str,
        other: Mapping[str, pulumi.Input[str]],
    ) -> None:
        name = f"{self._name}-{way}-{key}"
        self.rules.append(
            declare(
                name, way, group=group.id, port=port, why=why, other=other, tags=self._tags, children=self._children
            )
        )


def declare(
    name: str,
    way: Way,
    *,
    group: pulumi.Input[str],
    port: Port,
    other: Mapping[str, pulumi.Input[str]],
    tags: Mapping[str, str],
    children: pulumi.ResourceOptions,
    why: str | None = None,
) -> pulumi.Resource:
    """One rule on a group; `other` names the other side in EC2's words, such as `referenced_security_group_id` or
    `cidr_ipv4`.
    """
    kind = aws.vpc.SecurityGroupIngressRule if way == "in" else aws.vpc.SecurityGroupEgressRule
    return kind(
        name,
        security_group_id=group,
        ip_protocol=port.protocol,
        from_port=first(port),
        to_port=last(port),
        description=f"{port.name}: {why or port.why}",
        tags={**tags, "Name": name},
        opts=children,
        **other,
    )


def first(port: Port) -> int | None:
    """None for all protocols, where EC2 takes no ports."""
    return None if port.protocol == "-1" else port.first


def last(port: Port) -> int | None:
    return None if port.protocol == "-1" else port.last or port.first
