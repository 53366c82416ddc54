"""Who reaches the cluster: administrators through access entries, machines through the cluster's own security group.

EKS makes that group itself for the control plane's interfaces. Nodes don't carry it, so what they may do is listed
here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pulumi
import pulumi_aws as aws

from components.identity.policy_documents import partition
from components.network import KUBELET, WEBHOOKS, Port, Way, declare
from components.spec.access import OidcSpec

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


def people(
    name: str,
    groups: Mapping[str, Sequence[str]],
    oidc: OidcSpec | None,
    *,
    groups_prefix: str,
    cluster_name: pulumi.Output[str],
    tags: Mapping[str, str],
    children: pulumi.ResourceOptions,
) -> list[pulumi.Resource]:
    """An access entry for each IAM principal with its Kubernetes groups, and the identity provider of the others.

    No policy of EKS' is attached: what a group may do, the cluster's own roles say.
    """
    out: list[pulumi.Resource] = [
        aws.eks.AccessEntry(
            f"{name}-person-{admin_key(arn)}",
            cluster_name=cluster_name,
            principal_arn=arn,
            type="STANDARD",
            kubernetes_groups=list(found),
            tags={**tags, "Name": f"{name}-person"},
            opts=children,
        )
        for arn, found in sorted(groups.items())
    ]
    if oidc is not None:
        out.append(
            aws.eks.IdentityProviderConfig(
                f"{name}-oidc",
                cluster_name=cluster_name,
                oidc=aws.eks.IdentityProviderConfigOidcArgs(
                    identity_provider_config_name="trainshed",
                    issuer_url=oidc.issuer,
                    client_id=oidc.client_id,
                    username_claim=oidc.username_claim,
                    # Names and groups of outside can't be taken for the cluster's own.
                    username_prefix=groups_prefix,
                    groups_claim=oidc.groups_claim,
                    groups_prefix=groups_prefix,
                ),
                tags={**tags, "Name": f"{name}-oidc"},
                opts=children,
            )
        )
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

    def rule(
        way: Way, key: str, group: pulumi.Input[str], port: Port, why: str | None = None, **other: pulumi.Input[str]
    ) -> pulumi.Resource:
        return declare(
            f"{name}-{way}-{key}", way, group=group, port=port, why=why, other=other, tags=tags, children=children
        )

    out: list[pulumi.Resource] = []
    for role, group in (("management", management_group), ("compute", compute_group)):
        out.append(rule("in", f"{role}-api", cluster_group, API, referenced_security_group_id=group))
        out.append(rule("out", f"{role}-api", group, API, referenced_security_group_id=cluster_group))
    for port in (KUBELET, *WEBHOOKS):
        out.append(
            rule("in", f"control-{port.name}", management_group, port, referenced_security_group_id=cluster_group)
        )
    out.append(
        rule(
            "in", f"control-compute-{KUBELET.name}", compute_group, KUBELET, referenced_security_group_id=cluster_group
        )
    )
    for cidr in sorted(set(private_cidrs)):
        out.append(rule("in", f"api-{cidr}", cluster_group, API, f"{API.why} from {cidr}", cidr_ipv4=cidr))
    return out
