"""The launch template of a pool's nodes: interfaces, disks, metadata service, user data and what the machines are
bought through.

It must leave out what EKS refuses in a managed node group's template: a subnet, an instance profile, and a disk size or
a type that is given twice.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components.catalog import ImageFamily
from components.fabrics import Interface
from components.manifests.nodes import bottlerocket, nodeadm
from components.manifests.nodes.setup import ClusterDetails, NodeSetup
from components.planning import turnover
from components.planning.placement import NodeGroup
from components.spec.pools import PoolSpec

# Bottlerocket's system is on the first volume and never grows; containers and images live on the second.
_BOTTLEROCKET_SYSTEM_GIB = 4
# Pods get credentials from the pod identity agent and the daemons that read the metadata service run in the host's
# network: with one hop no other pod can take the node's role.
_METADATA_HOPS = 1


@dataclass(frozen=True, kw_only=True)
class ClusterWires:
    """The cluster's coordinates, as outputs."""

    name: pulumi.Input[str]
    endpoint: pulumi.Input[str]
    certificate_authority: pulumi.Input[str]
    service_cidr: pulumi.Input[str]


def declare(
    name: str,
    *,
    pool: PoolSpec,
    group: NodeGroup,
    family: ImageFamily,
    setup: NodeSetup,
    interfaces: Sequence[Interface],
    security_group_ids: Sequence[pulumi.Input[str]],
    placement_group: pulumi.Input[str] | None,
    cluster: ClusterWires,
    key_arn: pulumi.Input[str] | None,
    tags: Mapping[str, str],
    opts: pulumi.ResourceOptions,
) -> aws.ec2.LaunchTemplate:
    """One template; `group` is the first of the groups that share it."""
    named = {**turnover.machine_tags(tags), "Name": pool.name}
    block = group.capacity_type == "CAPACITY_BLOCK"
    target = _target(group)
    return aws.ec2.LaunchTemplate(
        name,
        description=f"Nodes of pool {pool.name}",
        # Blocks want the type here; everywhere else it is the node group's, which may name several.
        instance_type=group.types[0] if block else None,
        image_id=pool.image_id,
        ebs_optimized="true",
        block_device_mappings=_disks(pool, family, key_arn),
        metadata_options=aws.ec2.LaunchTemplateMetadataOptionsArgs(
            http_endpoint="enabled",
            http_tokens="required",
            http_put_response_hop_limit=_METADATA_HOPS,
            instance_metadata_tags="disabled",
        ),
        monitoring=aws.ec2.LaunchTemplateMonitoringArgs(enabled=True),
        network_interfaces=[_interface(each, security_group_ids) for each in interfaces],
        instance_market_options=aws.ec2.LaunchTemplateInstanceMarketOptionsArgs(market_type="capacity-block")
        if block
        else None,
        capacity_reservation_specification=target,
        placement=aws.ec2.LaunchTemplatePlacementArgs(group_name=placement_group)
        if placement_group is not None
        else None,
        user_data=_user_data(family, setup, cluster, custom=pool.image_id is not None),
        tag_specifications=[
            aws.ec2.LaunchTemplateTagSpecificationArgs(resource_type=kind, tags=named)
            for kind in ("instance", "network-interface", "volume")
        ],
        update_default_version=True,
        tags={**tags, "Name": name},
        opts=opts,
    )


def _target(group: NodeGroup) -> aws.ec2.LaunchTemplateCapacityReservationSpecificationArgs | None:
    if group.reservation:
        found = aws.ec2.LaunchTemplateCapacityReservationSpecificationCapacityReservationTargetArgs(
            capacity_reservation_id=group.reservation
        )
    elif group.reservation_group:
        found = aws.ec2.LaunchTemplateCapacityReservationSpecificationCapacityReservationTargetArgs(
            capacity_reservation_resource_group_arn=group.reservation_group
        )
    else:
        return None
    return aws.ec2.LaunchTemplateCapacityReservationSpecificationArgs(capacity_reservation_target=found)


def _disks(
    pool: PoolSpec, family: ImageFamily, key_arn: pulumi.Input[str] | None
) -> list[aws.ec2.LaunchTemplateBlockDeviceMappingArgs]:
    def volume(device: str, gib: int, iops: int, throughput: int) -> aws.ec2.LaunchTemplateBlockDeviceMappingArgs:
        return aws.ec2.LaunchTemplateBlockDeviceMappingArgs(
            device_name=device,
            ebs=aws.ec2.LaunchTemplateBlockDeviceMappingEbsArgs(
                volume_type="gp3",
                volume_size=gib,
                iops=iops,
                throughput=throughput,
                encrypted="true",
                kms_key_id=key_arn,
                delete_on_termination="true",
            ),
        )

    large = volume(family.root_device, pool.root_volume_gib, pool.root_volume_iops, pool.root_volume_mib_per_s)
    return (
        [large]
        if family.root_device == "/dev/xvda"
        else [volume("/dev/xvda", _BOTTLEROCKET_SYSTEM_GIB, 3000, 125), large]
    )


def _interface(interface: Interface, groups: Sequence[pulumi.Input[str]]) -> aws.ec2.LaunchTemplateNetworkInterfaceArgs:
    timeout = interface.tcp_established_timeout
    return aws.ec2.LaunchTemplateNetworkInterfaceArgs(
        network_card_index=interface.network_card_index,
        device_index=interface.device_index,
        interface_type=interface.interface_type,
        # EC2 refuses the word on an interface that takes no address at all.
        associate_public_ip_address="false" if interface.addressed else None,
        delete_on_termination="true",
        security_groups=list(groups),
        connection_tracking_specification=aws.ec2.LaunchTemplateNetworkInterfaceConnectionTrackingSpecificationArgs(
            tcp_established_timeout=timeout
        )
        if timeout
        else None,
    )


def _user_data(family: ImageFamily, setup: NodeSetup, cluster: ClusterWires, *, custom: bool) -> pulumi.Input[str]:
    render = bottlerocket.render if family.user_data == "bottlerocket" else nodeadm.render
    if not custom:
        return _encoded(render(setup))
    found = pulumi.Output.all(cluster.name, cluster.endpoint, cluster.certificate_authority, cluster.service_cidr)

    def whole(values: Sequence[str]) -> str:
        name, endpoint, authority, cidr = values
        details = ClusterDetails(name=name, endpoint=endpoint, certificate_authority=authority, service_cidr=cidr)
        return _encoded(render(setup, details))

    return found.apply(whole)


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
