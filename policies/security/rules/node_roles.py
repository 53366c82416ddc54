"""The rule of the nodes' role: a pod that breaks out of its container has whatever the node may do."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from policies.declared.documents import Statement, statements
from policies.declared.resources import Resource, Stack
from policies.declared.types import (
    ACCESS_ENTRY,
    ACCESS_POLICY,
    ADDON,
    CLUSTER,
    INSTANCE_PROFILE,
    KARPENTER_CLASS,
    KEY_GRANT,
    LAUNCH_TEMPLATE,
    NODE_GROUP,
    POD_IDENTITY,
    POLICY,
    POLICY_ATTACHMENT,
    ROLE,
    ROLE_ATTACHMENT,
    ROLE_ATTACHMENTS_EXCLUSIVE,
    ROLE_POLICIES_EXCLUSIVE,
    ROLE_POLICY,
)
from policies.declared.values import Node
from policies.packs.policy_rule import Doubt, Finding, Outcome, Settings, each, rule
from policies.security.permissions import RESOURCE_POLICIES, Grant, grants, node_roles

NODE_POLICIES = [
    "AmazonEKSWorkerNodePolicy",
    "AmazonEKSWorkerNodeMinimalPolicy",
    "AmazonEKS_CNI_Policy",
    "AmazonEC2ContainerRegistryReadOnly",
    "AmazonEC2ContainerRegistryPullOnly",
    "AmazonSSMManagedInstanceCore",
]
# What machines call to join a cluster and to pull images, those outside AWS included.
NODE_ACTIONS = [
    "ec2:Describe*",
    "eks:DescribeCluster",
    "eks:ListAccessEntries",
    "eks-auth:AssumeRoleForPodIdentity",
    "ecr:GetAuthorizationToken",
    "ecr:BatchCheckLayerAvailability",
    "ecr:BatchGetImage",
    "ecr:GetDownloadUrlForLayer",
    "ecr:BatchImportUpstreamImage",
    "ssm:DeregisterManagedInstance",
    "ssm:DescribeInstanceInformation",
]
TEXTS = {"type": "array", "items": {"type": "string"}}


@rule(
    "node-role-minimal",
    types=(
        NODE_GROUP,
        CLUSTER,
        ACCESS_ENTRY,
        ACCESS_POLICY,
        ADDON,
        POD_IDENTITY,
        KARPENTER_CLASS,
        LAUNCH_TEMPLATE,
        INSTANCE_PROFILE,
        ROLE,
        ROLE_ATTACHMENT,
        ROLE_ATTACHMENTS_EXCLUSIVE,
        POLICY_ATTACHMENT,
        ROLE_POLICY,
        ROLE_POLICIES_EXCLUSIVE,
        POLICY,
        KEY_GRANT,
        *RESOURCE_POLICIES,
    ),
    scope="stack",
    severity="high",
    ids=("CIS-EKS 5.1.3", "CIS-EKS 5.2.1"),
    says="The nodes' role joins the cluster and pulls images, no more; pods have identities of their own.",
    fix="move the permission to a role with an aws.eks.PodIdentityAssociation",
    parameters={
        "policies": {**TEXTS, "default": NODE_POLICIES, "description": "names of AWS's own managed policies"},
        "actions": {**TEXTS, "default": NODE_ACTIONS, "description": "actions that other policies may allow"},
    },
)
def node_role_minimal(stack: Stack, settings: Settings) -> Iterator[Outcome]:
    roles, doubts = node_roles(stack)
    yield from doubts
    seen: set[tuple[str, str]] = set()
    for role in roles:
        for grant in grants(stack, role):
            if isinstance(grant, Doubt):
                yield grant
                continue
            node = grant.arn or grant.document or grant.principal
            place = (grant.resource.urn, node.path if node else "")
            if place not in seen:
                seen.add(place)
                yield from each([grant], lambda grant: _judged(stack, grant, settings), urn=grant.resource.urn)


def _judged(stack: Stack, grant: Grant, settings: Settings) -> Iterator[Outcome]:
    if grant.principal is not None:
        yield Finding(grant.principal, "something other than the nodes' role, which every machine has")
    elif grant.document is not None:
        yield from _document(grant.document, settings)
    elif grant.arn is not None:
        yield from _attached(stack, grant.resource, grant.arn, settings)


def _attached(stack: Stack, holder: Resource, arn: Node, settings: Settings) -> Iterator[Outcome]:
    own = _declared(stack, holder, arn)
    if own is not None:
        yield from each([own], lambda policy: _document(policy.at("policy"), settings), urn=own.urn)
        return
    _, is_aws, name = (arn.text() or "").partition(":iam::aws:policy/")
    if not is_aws:
        yield Finding(arn, "a policy of AWS's own, or one whose actions this stack declares")
    elif name.rpartition("/")[2] not in settings["policies"]:
        yield Finding(arn, f"one of {', '.join(settings['policies'])}")


def _declared(stack: Stack, holder: Resource, arn: Node) -> Resource | None:
    """The policy of this stack that an attachment names."""
    sources = [urn for key in ("policyArn", "policyArns", "managedPolicyArns") for urn in holder.targets(key, POLICY)]
    for policy in stack.of(POLICY):
        if arn.opaque and policy.urn in sources:
            return policy
        name, known = policy.at("name"), policy.at("arn")
        if not arn.opaque and ":iam::aws:" not in str(arn.value):
            last = str(arn.value).rpartition("/")[2]
            if arn.value == known.value or last == name.value or (policy.urn in sources and name.absent):
                return policy
    return None


def _document(document: Node, settings: Settings) -> Iterator[Outcome]:
    patterns = [pattern.lower() for pattern in settings["actions"]]

    def check(statement: Statement) -> Iterator[Outcome]:
        if not statement.allows:
            return
        for action in statement.actions:
            if not any(fnmatchcase((action.text() or "").lower(), pattern) for pattern in patterns):
                yield Finding(action, f"one of {', '.join(settings['actions'])}")
        if not (excluded := statement.node.at("NotAction")).absent:
            yield Finding(excluded, "Action with named actions; NotAction allows all others")

    yield from each(statements(document), check)
