"""The AWS identity of one service account, through EKS Pod Identity.

The trust policy lets the pod identity service take the role for exactly this cluster's pods of exactly this service
account.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pulumi
import pulumi_aws as aws

from components.identity.policy_documents import Statement, document, trust
from components.spec.base import Spec


class ServiceAccount(Spec):
    """A Kubernetes service account by its namespace and name, and what it is for."""

    namespace: str
    name: str
    purpose: str


@dataclass(frozen=True, kw_only=True)
class PodIdentityArgs:
    """`statements` are what the account may do; `managed_policies` are ARNs to attach beside them, by a short key for
    each.
    """

    spec: ServiceAccount
    cluster_name: pulumi.Input[str]
    statements: Sequence[Statement] = ()
    managed_policies: Mapping[str, pulumi.Input[str]] = field(default_factory=dict[str, "pulumi.Input[str]"])
    tags: Mapping[str, str] = field(default_factory=dict[str, str])


class PodIdentity(pulumi.ComponentResource):
    """Attributes: `role_arn`, `role_name`, `ready` (what pods of the account wait for)."""

    def __init__(self, name: str, args: PodIdentityArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("trainshed:identity:PodIdentity", name, args.spec.model_dump(mode="json"), opts)
        children = pulumi.ResourceOptions(parent=self)
        account, tags = args.spec, {**args.tags, "Name": name}
        # The agent tags every session with these; an association made elsewhere by mistake can't have the role.
        only_here = {
            "aws:RequestTag/eks-cluster-name": args.cluster_name,
            "aws:RequestTag/kubernetes-namespace": account.namespace,
            "aws:RequestTag/kubernetes-service-account": account.name,
        }
        role = aws.iam.Role(
            f"{name}-role",
            description=f"{account.namespace}/{account.name}: {account.purpose}",
            assume_role_policy=trust(
                "pods.eks.amazonaws.com",
                actions=("sts:AssumeRole", "sts:TagSession"),
                conditions={"StringEquals": only_here},
            ),
            tags=tags,
            opts=children,
        )
        self.ready = []
        if args.statements:
            self.ready.append(
                aws.iam.RolePolicy(f"{name}-policy", role=role.name, policy=document(*args.statements), opts=children)
            )
        for key, arn in sorted(args.managed_policies.items(), key=lambda item: item[0]):
            self.ready.append(
                aws.iam.RolePolicyAttachment(f"{name}-managed-{key}", role=role.name, policy_arn=arn, opts=children)
            )
        association = aws.eks.PodIdentityAssociation(
            f"{name}-association",
            cluster_name=args.cluster_name,
            namespace=account.namespace,
            service_account=account.name,
            role_arn=role.arn,
            tags=tags,
            opts=pulumi.ResourceOptions(parent=self, depends_on=list(self.ready)),
        )
        self.ready.append(association)
        self.role_arn, self.role_name = role.arn, role.name
        self.register_outputs({"role_arn": self.role_arn, "role_name": self.role_name})
