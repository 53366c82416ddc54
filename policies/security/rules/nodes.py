"""Rules of machines: node groups, launch templates, and instances that somebody adds beside them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from policies.declared.pools import is_training
from policies.declared.resources import Resource, Stack
from policies.declared.types import (
    ADDRESS,
    ADDRESS_ASSOCIATION,
    INSTANCE,
    KARPENTER_CLASS,
    LAUNCH_CONFIGURATION,
    LAUNCH_TEMPLATE,
    NODE_GROUP,
    SPOT_REQUEST,
    SUBNET,
)
from policies.declared.values import LEFT_OUT, UNKNOWN, Node
from policies.packs.policy_rule import (
    Doubt,
    Finding,
    Outcome,
    Settings,
    each,
    each_resource,
    editable,
    editable_elements,
    rule,
)
from policies.security.credentials import decoded, held_in
from policies.security.network_openings import public_subnets

MACHINES = (LAUNCH_TEMPLATE, INSTANCE, SPOT_REQUEST, LAUNCH_CONFIGURATION, KARPENTER_CLASS)


def described(machine: Resource) -> Node:
    """Where a resource describes its machines: a node class of Karpenter does so under `spec`."""
    return machine.at("spec") if is_node_class(machine) else machine.node


def is_node_class(machine: Resource) -> bool:
    return machine.type.endswith(":EC2NodeClass")


@rule(
    "nodes-no-open-ssh",
    types=(NODE_GROUP,),
    severity="high",
    ids=("CKV_AWS_100",),
    says="Remote access to nodes is limited to named security groups.",
    fix="drop remoteAccess (Session Manager needs no key), or set remoteAccess.sourceSecurityGroupIds",
)
def nodes_no_open_ssh(group: Resource, _: Settings) -> Iterator[Outcome]:
    key = group.at("remoteAccess", "ec2SshKey")
    sources = group.at("remoteAccess", "sourceSecurityGroupIds")
    # With a key and no groups EKS opens port 22 to the world.
    if (key.unknown or key.text()) and not sources.elements():
        yield Finding(sources, "the groups that may use the key")


@rule(
    "nodes-in-private-subnets",
    types=(NODE_GROUP, INSTANCE, KARPENTER_CLASS, SUBNET),
    scope="stack",
    severity="high",
    ids=("CIS-EKS 5.4.3",),
    says="Nodes live in subnets without a route from the internet.",
    fix="give the pool the network's node or compute subnets",
)
def nodes_in_private_subnets(stack: Stack, _: Settings) -> Iterator[Outcome]:
    public = public_subnets(stack)
    known = {name for subnet in public for name in (subnet.at("id").value, subnet.urn) if isinstance(name, str)}
    left_out = {subnet.urn for subnet in stack.of(SUBNET) if subnet.left_out}

    def check(machine: Resource) -> Iterator[Outcome]:
        key, node, parts = _placed(machine)
        sources = set(machine.targets(key, SUBNET))
        # A subnet that isn't known yet is told by the dependency; without one it is a doubt.
        named = {text for part in parts if not (part.opaque and sources) and (text := part.text())}
        if found := (sources | named) & known:
            place = sorted(found)[0].rpartition("::")[2]
            yield Finding(node, f"private subnets; {place} assigns public addresses or routes to an internet gateway")
        elif sources & left_out:
            yield Doubt(node.path, LEFT_OUT)

    yield from each_resource(stack.of(NODE_GROUP, INSTANCE, KARPENTER_CLASS), check)


def _placed(machine: Resource) -> tuple[str, Node, list[Node]]:
    """The input that places a machine, as a whole and in its parts."""
    if is_node_class(machine):
        terms = machine.at("spec", "subnetSelectorTerms")
        # By tags Karpenter finds subnets of its own accord: no id, no dependency, so nothing can be told.
        parts = [Node(UNKNOWN, term.path) if (named := term.at("id")).absent else named for term in terms.elements()]
        return "spec", terms, parts
    key = "subnetIds" if machine.type == NODE_GROUP else "subnetId"
    node = machine.at(key)
    return key, node, [node] if node.opaque else node.one_or_many()


@rule(
    "training-pools-never-forced",
    types=(NODE_GROUP,),
    severity="high",
    says="An update of a training pool waits for its pods.",
    fix="set forceUpdateVersion to false and drain the pool through its queue first",
)
def training_pools_never_forced(group: Resource, _: Settings) -> Iterator[Outcome]:
    forced = group.at("forceUpdateVersion")
    if forced.boolean() and is_training(group):
        yield Finding(forced, "false on a training pool: forcing ends jobs that a disruption budget protects")


def _require_tokens(inputs: dict[str, Any]) -> bool:
    options = None if "spec" in inputs else editable(inputs, "metadataOptions")
    if options is None or options.get("httpTokens") == "required":
        return False
    options["httpTokens"] = "required"
    return True


@rule(
    "machines-require-metadata-tokens",
    types=MACHINES,
    severity="high",
    ids=("EC2.170", "EC2.8", "CKV_AWS_79"),
    says="The metadata service answers only requests with a token.",
    fix='set metadataOptions.httpTokens to "required"',
    remedy=_require_tokens,
)
def machines_require_metadata_tokens(machine: Resource, _: Settings) -> Iterator[Outcome]:
    options = described(machine).at("metadataOptions")
    if options.at("httpEndpoint").text() == "disabled" or (is_node_class(machine) and options.absent):
        # Left out, Karpenter asks for tokens and one hop.
        return
    if (tokens := options.at("httpTokens")).text() != "required":
        yield Finding(tokens, '"required"')


def _one_hop(inputs: dict[str, Any]) -> bool:
    options = None if "spec" in inputs else editable(inputs, "metadataOptions")
    if options is None or options.get("httpPutResponseHopLimit") == 1:
        return False
    options["httpPutResponseHopLimit"] = 1
    return True


@rule(
    "machines-metadata-one-hop",
    types=MACHINES,
    severity="medium",
    level="mandatory",
    ids=("CT.EC2.PR.2", "CKV_AWS_341"),
    says="Pods can't reach the node's credentials through the metadata service.",
    fix="set metadataOptions.httpPutResponseHopLimit to 1 and give pods their own identity",
    remedy=_one_hop,
)
def machines_metadata_one_hop(machine: Resource, _: Settings) -> Iterator[Outcome]:
    options = described(machine).at("metadataOptions")
    if options.at("httpEndpoint").text() == "disabled" or (is_node_class(machine) and options.absent):
        return
    limit = options.at("httpPutResponseHopLimit")
    hops = limit.number()
    if hops is None or hops > 1:
        # Left out, the image's setting holds, and EKS images ask for 2.
        yield Finding(limit, "1")


def volumes(machine: Resource) -> list[Node]:
    """The EBS volumes that a machine or template declares."""
    if machine.type == LAUNCH_TEMPLATE or is_node_class(machine):
        mappings = described(machine).at("blockDeviceMappings").elements()
        return [mapping.at("ebs") for mapping in mappings if not mapping.at("ebs").absent]
    root = machine.at("rootBlockDevice")
    return [*([] if root.absent else [root]), *machine.at("ebsBlockDevices").elements()]


def _encrypt_mappings(inputs: dict[str, Any]) -> bool:
    changed = False
    for mapping in editable_elements(inputs, "blockDeviceMappings"):
        volume = editable(mapping, "ebs") if mapping.get("ebs") else None
        if volume is not None and volume.get("encrypted") != "true":
            volume["encrypted"] = "true"
            changed = True
    return changed


@rule(
    "template-volumes-encrypted",
    types=(LAUNCH_TEMPLATE, KARPENTER_CLASS),
    severity="high",
    ids=("EC2.181",),
    says="Every volume of a launch template or of a node class is encrypted.",
    fix='set ebs.encrypted to "true" in each of blockDeviceMappings',
    remedy=_encrypt_mappings,
)
def template_volumes_encrypted(template: Resource, _: Settings) -> Iterator[Outcome]:
    declared = volumes(template)
    if not declared:
        yield Finding(described(template).at("blockDeviceMappings"), "the root volume, declared as encrypted")
    yield from each(declared, _encrypted)


def _encrypted(volume: Node) -> Iterator[Outcome]:
    encrypted = volume.at("encrypted")
    if not encrypted.boolean():
        yield Finding(encrypted, "true")


@rule(
    "instance-volumes-encrypted",
    types=(INSTANCE, SPOT_REQUEST, LAUNCH_CONFIGURATION),
    severity="high",
    ids=("CKV_AWS_8",),
    says="Every volume of an instance is encrypted.",
    fix="set encrypted to true on rootBlockDevice and in each of ebsBlockDevices",
)
def instance_volumes_encrypted(machine: Resource, _: Settings) -> Iterator[Outcome]:
    if (root := machine.at("rootBlockDevice")).absent:
        yield Finding(root, "a root volume declared as encrypted")
    yield from each(volumes(machine), _encrypted)


def _no_public_address(inputs: dict[str, Any]) -> bool:
    changed = False
    for interface in editable_elements(inputs, "networkInterfaces"):
        if interface.get("associatePublicIpAddress") not in (None, "", "false"):
            interface["associatePublicIpAddress"] = "false"
            changed = True
    return changed


@rule(
    "machines-no-public-address",
    types=(*MACHINES, ADDRESS, ADDRESS_ASSOCIATION),
    severity="high",
    ids=("EC2.25", "EC2.9", "CKV_AWS_88"),
    says="Machines have no public address; one with several network cards could not even start with it.",
    fix="leave associatePublicIpAddress out or set it to false on every interface",
    remedy=_no_public_address,
)
def machines_no_public_address(machine: Resource, _: Settings) -> Iterator[Outcome]:
    if machine.type in (ADDRESS, ADDRESS_ASSOCIATION):
        for key in ("instance", "instanceId", "networkInterface", "networkInterfaceId"):
            if not (named := machine.at(key)).absent:
                yield Finding(named, "no machine; gateways and load balancers alone have public addresses")
        return

    def check(holder: Node) -> Iterator[Outcome]:
        for key in ("associatePublicIpAddress", "associatePublicIPAddress"):
            if (wish := holder.at(key)).boolean():
                yield Finding(wish, "false")

    yield from each([described(machine)], check)
    if machine.type == LAUNCH_TEMPLATE:
        yield from each(machine.at("networkInterfaces").elements(), check)


@rule(
    "machines-no-secrets-in-user-data",
    types=MACHINES,
    severity="critical",
    ids=("CKV_AWS_46",),
    says="User data, which every pod on a node may read, holds no credentials.",
    fix="fetch the value at run time through the node's or the pod's role",
)
def machines_no_secrets_in_user_data(machine: Resource, _: Settings) -> Iterator[Outcome]:
    for key in ("userData", "userDataBase64"):
        node = described(machine).at(key)
        text = decoded(node.text() or "")
        yield from held_in(node, text)
