"""What machines on the premises need to join the cluster: a role they take through Systems Manager, and an access entry
for it.

Such nodes have no instance profile. Each is activated by a code that Systems Manager ties to this role.
"""

from __future__ import annotations

from collections.abc import Mapping

import pulumi
import pulumi_aws as aws

from components.identity import policy_documents

# EKS User Guide, credentials for hybrid nodes: these, and the statements below.
_POLICIES = ("AmazonSSMManagedInstanceCore", "AmazonEC2ContainerRegistryPullOnly")
# The tag of an activation, which the machines that it registers get; the guide's own name for it.
CLUSTER_TAG = "EKSClusterARN"


def declare(
    name: str,
    *,
    region: str,
    account: pulumi.Input[str],
    cluster: aws.eks.Cluster,
    tags: Mapping[str, str],
    children: pulumi.ResourceOptions,
) -> pulumi.Output[str]:
    """Returns the name of the role, which `nodeadm` activations are made for.

    An activation carries the tag `EKSClusterARN` with the cluster's ARN: without it `nodeadm uninstall` can't
    deregister its machines.
    """
    ours = {"StringEquals": {"aws:SourceAccount": account}}
    machines = pulumi.Output.concat(
        "arn:", policy_documents.partition(region), f":ssm:{region}:", account, ":managed-instance/*"
    )
    role = aws.iam.Role(
        f"{name}-hybrid-node",
        description="Nodes on the premises: join the cluster and pull images",
        assume_role_policy=policy_documents.trust("ssm.amazonaws.com", conditions=ours),
        tags={**tags, "Name": f"{name}-hybrid-node"},
        opts=children,
    )
    for policy in _POLICIES:
        aws.iam.RolePolicyAttachment(
            f"{name}-hybrid-node-{policy}",
            role=role.name,
            policy_arn=policy_documents.managed(region, policy),
            opts=children,
        )
    aws.iam.RolePolicy(
        f"{name}-hybrid-node",
        role=role.name,
        policy=policy_documents.document(*_rights(cluster, machines)),
        opts=children,
    )
    aws.eks.AccessEntry(
        f"{name}-hybrid-node",
        cluster_name=cluster.name,
        principal_arn=role.arn,
        type="HYBRID_LINUX",
        tags={**tags, "Name": f"{name}-hybrid-node"},
        opts=children,
    )
    return role.name


def _rights(cluster: aws.eks.Cluster, machines: pulumi.Output[str]) -> tuple[policy_documents.Statement, ...]:
    """What a node does itself: join, and leave. `machines` is the ARN of all machines that Systems Manager knows."""
    return (
        policy_documents.Statement(
            sid="Join",
            # nodeadm looks whether the role has its access entry before it joins.
            actions=("eks:DescribeCluster", "eks:ListAccessEntries", "eks-auth:AssumeRoleForPodIdentity"),
            resources=(cluster.arn,),
        ),
        # `nodeadm uninstall` looks its machine up, which no resource narrows, and takes it off the list.
        policy_documents.Statement(sid="FindItself", actions=("ssm:DescribeInstanceInformation",)),
        policy_documents.Statement(
            sid="Leave",
            actions=("ssm:DeregisterManagedInstance",),
            resources=(machines,),
            # A machine of another cluster, or of none, is not this role's to take away.
            conditions={"StringEquals": {f"ssm:resourceTag/{CLUSTER_TAG}": cluster.arn}},
        ),
    )
