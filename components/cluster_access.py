"""Who reaches the cluster: administrators through access entries, machines through the cluster's own security group.

Hides that EKS makes that group itself for the control plane's interfaces: what nodes, which don't carry it, may do is named here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pulumi
import pulumi_aws as aws

from components.iam import partition
from components.network_rules import KUBELET, WEBHOOKS, Port, first, last

API = Port(name="api", first=443, why="the Kubernetes API")


def admin_key(arn: str) -> str:
    """A resource's name for an administrator: account and path, which no two roles share."""
    return arn.split(":", 4)[-1].replace(":", "-").replace("/", "-")


def administrators(
    name: str,
    admins: Sequence[str],
    *,
    region: str,
    cluster_name: pulumi.Output[str],
    tags: Mapping[str, str],
    children: pulumi.ResourceOptions,
) -> list[pulumi.Resource]:
    """An access entry with the cluster administrator's policy for each role."""
    out: list[pulumi.Resource] = []
    for arn in sorted(set(admins)):
        key = admin_key(arn)
        entry = aws.eks.AccessEntry(
            f"{name}-admin-{key}",
            cluster_name=cluster_name,
            principal_arn=arn,
            type="STANDARD",
            tags={**tags, "Name": f"{name}-admin"},
            opts=children,
        )
        association = aws.eks.AccessPolicyAssociation(
            f"{name}-admin-{key}",
            cluster_name=cluster_name,
            principal_arn=entry.principal_arn,
            policy_arn=f"arn:{partition(region)}:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy",
            access_scope={"type": "cluster"},
            opts=children,
        )
        out += [entry, association]
    return out


def rules(
    name: str,
    *,
    cluster_group: pulumi.Output[str],
    management_group: pulumi.Input[str],
    compute_group: pulumi.Input[str],
    private_cidrs: Sequence[str],
    tags: Mapping[str, str],
    children: pulumi.ResourceOptions,
) -> list[pulumi.Resource]:
    """Nodes and named networks to the API; the control plane to kubelets, and to webhooks on management nodes."""

    def tagged(key: str) -> dict[str, str]:
        return {**tags, "Name": f"{name}-{key}"}

    def ingress(key: str, group: pulumi.Input[str], source: pulumi.Input[str], port: Port) -> pulumi.Resource:
        return aws.vpc.SecurityGroupIngressRule(
            f"{name}-in-{key}",
            security_group_id=group,
            referenced_security_group_id=source,
            ip_protocol=port.protocol,
            from_port=first(port),
            to_port=last(port),
            description=f"{port.name}: {port.why}",
            tags=tagged(f"in-{key}"),
            opts=children,
        )

    def egress(key: str, group: pulumi.Input[str], target: pulumi.Input[str], port: Port) -> pulumi.Resource:
        return aws.vpc.SecurityGroupEgressRule(
            f"{name}-out-{key}",
            security_group_id=group,
            referenced_security_group_id=target,
            ip_protocol=port.protocol,
            from_port=first(port),
            to_port=last(port),
            description=f"{port.name}: {port.why}",
            tags=tagged(f"out-{key}"),
            opts=children,
        )

    out: list[pulumi.Resource] = []
    for role, group in (("management", management_group), ("compute", compute_group)):
        out += [ingress(f"{role}-api", cluster_group, group, API), egress(f"{role}-api", group, cluster_group, API)]
    out += [ingress(f"control-{port.name}", management_group, cluster_group, port) for port in (KUBELET, *WEBHOOKS)]
    out.append(ingress(f"control-compute-{KUBELET.name}", compute_group, cluster_group, KUBELET))
    for cidr in sorted(set(private_cidrs)):
        out.append(
            aws.vpc.SecurityGroupIngressRule(
                f"{name}-in-api-{cidr}",
                security_group_id=cluster_group,
                cidr_ipv4=cidr,
                ip_protocol=API.protocol,
                from_port=API.first,
                to_port=API.first,
                description=f"{API.name}: {API.why} from {cidr}",
                tags=tagged(f"in-api-{cidr}"),
                opts=children,
            )
        )
    return out
