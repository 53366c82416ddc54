"""The role that every node of a cluster has, and the system pool on which controllers and DNS run.

The role may let a node join, pull images and hand out pod identities, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components import node_labels
from components.catalog import Catalog
from components.identity import policy_documents
from components.planning import turnover
from components.spec.cluster import SYSTEM_ROOT_GIB, SystemPoolSpec

_POLICIES = ("AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly")


@dataclass(frozen=True, kw_only=True)
class SystemImage:
    """The system pool's AMI type, its pinned release (the newest when None) and the device of its root volume."""

    family: str
    release: str | None
    root_device: str


def system_image(spec: SystemPoolSpec, version: str, cat: Catalog) -> SystemImage:
    """The plain image for the pool's processor. Raises UnknownInstanceType."""
    arch = cat.instance(spec.instance_type).arch
    family = cat.images.family("AL2023_ARM_64_STANDARD" if arch == "arm64" else "AL2023_x86_64_STANDARD")
    return SystemImage(
        family=family.name, release=cat.images.release(family.name, version), root_device=family.root_device
    )


def node_role(
    name: str, *, region: str, tags: Mapping[str, str], children: pulumi.ResourceOptions
) -> tuple[aws.iam.Role, list[pulumi.Resource]]:
    """The nodes' role and its attachments."""
    role = aws.iam.Role(
        f"{name}-node",
        description="Nodes: join the cluster and pull images",
        assume_role_policy=policy_documents.trust(policy_documents.ec2_principal(region)),
        tags={**tags, "Name": f"{name}-node"},
        opts=children,
    )
    attachments: list[pulumi.Resource] = [
        aws.iam.RolePolicyAttachment(
            f"{name}-node-{policy}", role=role.name, policy_arn=policy_documents.managed(region, policy), opts=children
        )
        for policy in _POLICIES
    ]
    return role, attachments


def system_pool(
    name: str,
    spec: SystemPoolSpec,
    image: SystemImage,
    *,
    version: str,
    cluster_name: pulumi.Output[str],
    role: aws.iam.Role,
    subnets: Sequence[pulumi.Input[str]],
    security_group: pulumi.Input[str],
    key_arn: pulumi.Output[str],
    after: Sequence[pulumi.Resource],
    tags: Mapping[str, str],
    parent: pulumi.Resource,
) -> aws.eks.NodeGroup:
    """An untainted managed node group over all zones."""
    named = {**tags, "Name": f"{name}-system"}
    pace = turnover.of_group(spec.nodes, has_cards=False)
    template = _system_template(
        name, image.root_device, security_group=security_group, key_arn=key_arn, tags=named, parent=parent
    )
    return aws.eks.NodeGroup(
        f"{name}-system",
        cluster_name=cluster_name,
        node_role_arn=role.arn,
        subnet_ids=list(subnets),
        instance_types=[spec.instance_type],
        ami_type=image.family,
        version=version,
        release_version=image.release,
        capacity_type="ON_DEMAND",
        scaling_config={"desired_size": spec.nodes, "min_size": spec.nodes, "max_size": spec.nodes},
        update_config={"max_unavailable": pace.at_once},
        labels={node_labels.POOL: node_labels.SYSTEM_POOL, node_labels.PURPOSE: "system"},
        launch_template={"id": template.id, "version": template.latest_version.apply(str)},
        tags=named,
        opts=pulumi.ResourceOptions(
            parent=parent,
            depends_on=list(after),
            custom_timeouts=pulumi.CustomTimeouts(
                create=pace.waits.create, update=pace.waits.update, delete=pace.waits.delete
            ),
        ),
    )


def _system_template(
    name: str,
    root_device: str,
    *,
    security_group: pulumi.Input[str],
    key_arn: pulumi.Output[str],
    tags: Mapping[str, str],
    parent: pulumi.Resource,
) -> aws.ec2.LaunchTemplate:
    return aws.ec2.LaunchTemplate(
        f"{name}-system",
        description="System nodes",
        update_default_version=True,
        vpc_security_group_ids=[security_group],
        metadata_options={
            "http_endpoint": "enabled",
            "http_tokens": "required",
            "http_put_response_hop_limit": 1,  # pods can't take the node's role
            "instance_metadata_tags": "disabled",
        },
        block_device_mappings=[
            {
                "device_name": root_device,
                "ebs": {
                    "encrypted": "true",
                    "kms_key_id": key_arn,
                    "volume_type": "gp3",
                    "volume_size": SYSTEM_ROOT_GIB,
                    "delete_on_termination": "true",
                },
            }
        ],
        tag_specifications=[
            {"resource_type": kind, "tags": turnover.machine_tags(tags)}
            for kind in ("instance", "volume", "network-interface")
        ],
        tags=tags,
        opts=pulumi.ResourceOptions(parent=parent),
    )
