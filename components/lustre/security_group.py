"""The security group of a Lustre file system and every rule between it and its clients.

Lustre needs its ports both ways over TCP, and all traffic both ways where clients come over EFA.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws


@dataclass(frozen=True, kw_only=True)
class Client:
    """The security group of machines that mount the file system; `efa` for those that reach it over EFA too."""

    name: str
    security_group_id: pulumi.Input[str]
    efa: bool = False


@dataclass(frozen=True, kw_only=True)
class _Traffic:
    key: str
    protocol: str
    first: int | None
    last: int | None
    why: str


def _traffic(ports: Sequence[tuple[int, int]], everything: bool) -> list[_Traffic]:
    if everything:
        return [
            _Traffic(key="all", protocol="-1", first=None, last=None, why="EFA traffic, which is no IP, and Lustre")
        ]
    return [_Traffic(key=str(first), protocol="tcp", first=first, last=last, why="Lustre") for first, last in ports]


class LustreGroup:
    """`group` and `rules`; a file system made before all the rules are there fails, or its mounts hang until it is made
    anew.
    """

    def __init__(
        self,
        name: str,
        *,
        vpc_id: pulumi.Input[str],
        clients: Sequence[Client],
        ports: Sequence[tuple[int, int]],
        efa: bool,
        tags: Mapping[str, str],
        children: pulumi.ResourceOptions,
    ) -> None:
        self._name, self._tags, self._children = name, tags, children
        self.group = aws.ec2.SecurityGroup(
            f"{name}-servers",
            vpc_id=vpc_id,
            description="Servers of the Lustre file system",
            tags={**tags, "Name": f"{name}-servers"},
            opts=children,
        )
        self.rules: list[pulumi.Resource] = []
        servers = self.group.id
        for each in _traffic(ports, efa):
            self._allow("self", servers, servers, each, "among the servers")
        for client in sorted(clients, key=lambda each: each.name):
            for each in _traffic(ports, efa and client.efa):
                self._allow(
                    f"from-{client.name}",
                    servers,
                    client.security_group_id,
                    each,
                    f"{client.name} clients call the servers",
                )
                self._allow(
                    f"to-{client.name}",
                    client.security_group_id,
                    servers,
                    each,
                    f"the servers call {client.name} clients back",
                )

    def _allow(
        self, key: str, listener: pulumi.Input[str], caller: pulumi.Input[str], traffic: _Traffic, why: str
    ) -> None:
        """`caller` may start, and `listener` may answer: one rule on each side."""
        words = f"{traffic.why}: {why}"
        name = f"{key}-{traffic.key}"
        self.rules.append(
            aws.vpc.SecurityGroupIngressRule(
                f"{self._name}-in-{name}",
                security_group_id=listener,
                referenced_security_group_id=caller,
                ip_protocol=traffic.protocol,
                from_port=traffic.first,
                to_port=traffic.last,
                description=words,
                tags={**self._tags, "Name": f"{self._name}-in-{name}"},
                opts=self._children,
            )
        )
        self.rules.append(
            aws.vpc.SecurityGroupEgressRule(
                f"{self._name}-out-{name}",
                security_group_id=caller,
                referenced_security_group_id=listener,
                ip_protocol=traffic.protocol,
                from_port=traffic.first,
                to_port=traffic.last,
                description=words,
                tags={**self._tags, "Name": f"{self._name}-out-{name}"},
                opts=self._children,
            )
        )
