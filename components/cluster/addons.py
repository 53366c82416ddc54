"""The EKS add-ons of a cluster and the roles of their service accounts.

Every add-on gets its permissions by pod identity, the CNI too, so the node's role needs no right to touch interfaces.
Neither the CNI nor the pod identity agent needs a pod network, so both start on a node that isn't ready, and the CNI
restarts until the agent answers. The agent must be declared before any node: without it the CNI crashes without a
message (aws/amazon-vpc-cni-k8s issue 3840).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pulumi
import pulumi_aws as aws

from components.identity import policy_documents
from components.identity.pod_identity import PodIdentity, PodIdentityArgs, ServiceAccount
from components.planning.addons import AddonPlan


def declare(
    name: str,
    plans: Sequence[AddonPlan],
    *,
    region: str,
    cluster_name: pulumi.Output[str],
    key_arn: pulumi.Output[str],
    after: Sequence[pulumi.Resource],
    tags: Mapping[str, str],
    parent: pulumi.Resource,
) -> list[pulumi.Resource]:
    """Declare these add-ons, each after `after` and after its own role; returns what depends on them must wait for."""
    out: list[pulumi.Resource] = []
    for plan in plans:
        identity = _identity(f"{name}-{plan.name}", plan, region, cluster_name, key_arn, tags, parent)
        addon = aws.eks.Addon(
            f"{name}-{plan.name}",
            cluster_name=cluster_name,
            addon_name=plan.name,
            addon_version=plan.version,
            configuration_values=pulumi.Output.json_dumps(plan.configuration, sort_keys=True)
            if plan.configuration
            else None,
            # A first install takes over what EKS put there; an update keeps what somebody set by hand.
            resolve_conflicts_on_create="OVERWRITE",
            resolve_conflicts_on_update="PRESERVE",
            tags={**tags, "Name": f"{name}-{plan.name}"},
            opts=pulumi.ResourceOptions(parent=parent, depends_on=[*after, *identity]),
        )
        out += [*identity, addon]
    return out


def _identity(
    name: str,
    plan: AddonPlan,
    region: str,
    cluster_name: pulumi.Output[str],
    key_arn: pulumi.Output[str],
    tags: Mapping[str, str],
    parent: pulumi.Resource,
) -> list[pulumi.Resource]:
    if plan.service_account is None or not plan.has_identity:
        return []
    statements = [policy_documents.Statement(sid="Needs", actions=plan.actions)] if plan.actions else []
    if plan.name == "aws-ebs-csi-driver":
        # AWS's policy for the driver leaves out volumes encrypted with a key of one's own.
        statements += policy_documents.volumes_use_key(key_arn)
    identity = PodIdentity(
        f"{name}-identity",
        PodIdentityArgs(
            spec=ServiceAccount(namespace=plan.namespace, name=plan.service_account, purpose=f"the {plan.name} add-on"),
            cluster_name=cluster_name,
            statements=statements,
            managed_policies=_policies(plan, region),
            tags=tags,
        ),
        pulumi.ResourceOptions(parent=parent),
    )
    return identity.ready


def _policies(plan: AddonPlan, region: str) -> dict[str, str]:
    """ARNs by a short key, the first under the name that the only one always had."""
    arns = [
        each if each.startswith("arn:") else policy_documents.managed(region, each) for each in plan.managed_policies
    ]
    return {"aws" if index == 0 else arn.rsplit("/", 1)[-1]: arn for index, arn in enumerate(arns)}
