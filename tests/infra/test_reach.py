"""Who may start a connection to whom, read off what whole stacks declare: the groups that nodes really carry and every
rule on them.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_network
from typing import Any

import pytest

from tests.declared import Record
from tests.whole import NAMES, recording

ON_AWS = [name for name in NAMES if name != "onprem"]
Port = tuple[str, int | None, int | None]


def of_kind(records: Iterable[Record], kind: str) -> list[Record]:
    return [each for each in records if each.type.endswith(f":{kind}")]


def carried(records: list[Record], network: str) -> set[str]:
    """Groups on any interface of a node in one of the two networks: nodes with cards are in the compute network."""
    compute = {f"{each.name}-id" for each in of_kind(records, "Subnet") if "compute" in each.name}
    used = {
        group.inputs["launchTemplate"]["id"]: bool(set(group.inputs["subnetIds"]) & compute)
        for group in of_kind(records, "NodeGroup")
    }
    found: set[str] = set()
    for template in of_kind(records, "LaunchTemplate"):
        if used.get(f"{template.name}-id") is (network == "compute"):
            found |= set(template.inputs.get("vpcSecurityGroupIds", ()))
            for interface in template.inputs.get("networkInterfaces", ()):
                found |= set(interface["securityGroups"])
    for machines in of_kind(records, "EC2NodeClass"):
        spec = machines.inputs["spec"]
        if bool({each["id"] for each in spec["subnetSelectorTerms"]} & compute) is (network == "compute"):
            found |= {each["id"] for each in spec["securityGroupSelectorTerms"]}
    return found


def compute_ranges(records: list[Record]) -> list[Any]:
    return [ip_network(each.inputs["cidrBlock"]) for each in of_kind(records, "Subnet") if "compute" in each.name]


def opened(records: list[Record], caller: set[str], listener: set[str], ranges: Iterable[Any] = ()) -> set[Port]:
    """Ports on which a machine with the caller's groups, or an address in `ranges`, gets through to one with the
    listener's.
    """
    found: set[Port] = set()
    for rule in (each.inputs for each in of_kind(records, "SecurityGroupIngressRule")):
        by_address = "cidrIpv4" in rule and any(ip_network(rule["cidrIpv4"]).overlaps(each) for each in ranges)
        if rule["securityGroupId"] in listener and (rule.get("referencedSecurityGroupId") in caller or by_address):
            found.add((rule["ipProtocol"], rule.get("fromPort"), rule.get("toPort")))
    return found


@pytest.mark.parametrize("name", ON_AWS)
def test_compute_and_management_nodes_meet_on_the_named_ports_only(name: str) -> None:
    records = recording(name, known=True).records
    compute, management = carried(records, "compute"), carried(records, "management")
    assert compute, "no node with cards was found"
    assert management, "no other node was found"
    assert not compute & management
    assert opened(records, compute, management, compute_ranges(records)) == {("tcp", 53, 53), ("udp", 53, 53)}
    assert opened(records, management, compute) == {("tcp", 10250, 10250), ("tcp", 9100, 9100), ("tcp", 9400, 9403)}


@pytest.mark.parametrize("name", ON_AWS)
def test_no_node_carries_the_clusters_own_group(name: str) -> None:
    """Its members talk freely, so that compute nodes would reach what only the control plane may."""
    records = recording(name, known=True).records
    own = {
        rule.inputs["securityGroupId"]
        for rule in of_kind(records, "SecurityGroupIngressRule")
        if rule.name.endswith("-management-api")
    }
    assert len(own) == 1
    assert not own & (carried(records, "compute") | carried(records, "management"))


@pytest.mark.parametrize("name", ON_AWS)
def test_every_node_gets_out_to_the_api_the_endpoints_names_and_its_neighbours(name: str) -> None:
    """A group without a rule lets nothing out: a node that misses one of these never joins."""
    records = recording(name, known=True).records
    for network in ("compute", "management"):
        carries = carried(records, network)
        out = [
            each.inputs
            for each in of_kind(records, "SecurityGroupEgressRule")
            if each.inputs["securityGroupId"] in carries
        ]
        targets = {each.get("referencedSecurityGroupId") for each in out}
        assert "network-endpoints-id" in targets
        assert "cluster-cluster-security-group" in targets
        assert any("prefixListId" in each for each in out)
        assert any(each["ipProtocol"] == "-1" and each.get("referencedSecurityGroupId") in carries for each in out)
        dns = {each.get("fromPort") for each in out if each.get("referencedSecurityGroupId") == "network-management-id"}
        assert 53 in dns or network == "management"
