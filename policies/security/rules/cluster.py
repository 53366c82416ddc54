"""Rules of the EKS cluster: its endpoint, its logs, its keys, and who administers it."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

from policies.declared.resources import Resource
from policies.declared.types import ACCESS_ENTRY, ACCESS_POLICY, CLUSTER, KEY
from policies.declared.values import Node
from policies.packs.policy_rule import Finding, Outcome, Settings, each, rule

LOG_TYPES = ("api", "audit", "authenticator", "controllerManager", "scheduler")


def is_world(cidr: str) -> bool:
    """Whether a range is open to everybody; one of /7 or wider is near enough."""
    try:
        return ipaddress.ip_network(cidr, strict=False).prefixlen < 8
    except ValueError:
        return False


@rule(
    "cluster-endpoint-not-open",
    types=(CLUSTER,),
    severity="critical",
    ids=("EKS.1", "CIS-EKS 5.4.1", "CIS-EKS 5.4.2", "CKV_AWS_38", "CKV_AWS_39"),
    says="The cluster's API is closed to the public, or open to named ranges only.",
    fix="set vpcConfig.endpointPublicAccess to false, or list the offices' ranges in vpcConfig.publicAccessCidrs",
)
def cluster_endpoint_not_open(cluster: Resource, _: Settings) -> Iterator[Outcome]:
    public = cluster.at("vpcConfig", "endpointPublicAccess")
    # Left out, the endpoint is public.
    if public.boolean() is False:
        return
    ranges = cluster.at("vpcConfig", "publicAccessCidrs")
    if not ranges.elements():
        # EKS reads an empty list as 0.0.0.0/0.
        yield Finding(ranges, "ranges that aren't the whole world, as endpointPublicAccess is not false")
    yield from each(ranges.elements(), _closed)


def _closed(cidr: Node) -> Iterator[Outcome]:
    if is_world(cidr.text() or "0.0.0.0/0"):
        yield Finding(cidr, "a range that isn't the whole world")


@rule(
    "cluster-endpoint-private",
    types=(CLUSTER,),
    severity="high",
    ids=("CIS-EKS 5.4.2",),
    says="Nodes reach the cluster's API inside the network.",
    fix="set vpcConfig.endpointPrivateAccess to true",
)
def cluster_endpoint_private(cluster: Resource, _: Settings) -> Iterator[Outcome]:
    private = cluster.at("vpcConfig", "endpointPrivateAccess")
    if not private.boolean():
        yield Finding(private, "true")


@rule(
    "cluster-logs",
    types=(CLUSTER,),
    severity="medium",
    level="mandatory",
    ids=("EKS.8", "CIS-EKS 2.1.1", "CKV_AWS_37"),
    says="The control plane writes the logs that an audit needs.",
    fix="list the missing types in enabledClusterLogTypes",
    parameters={
        "log_types": {"type": "array", "items": {"type": "string", "enum": list(LOG_TYPES)}, "default": list(LOG_TYPES)}
    },
)
def cluster_logs(cluster: Resource, settings: Settings) -> Iterator[Outcome]:
    enabled = cluster.at("enabledClusterLogTypes")
    lacking = [kind for kind in settings["log_types"] if kind not in enabled.texts()]
    if lacking:
        yield Finding(enabled, f"{', '.join(lacking)} too")


@rule(
    "cluster-secrets-encrypted",
    types=(CLUSTER,),
    severity="high",
    ids=("EKS.3", "CIS-EKS 5.3.1", "CKV_AWS_58"),
    says="Kubernetes secrets are encrypted with a key of the account.",
    fix="set encryptionConfig to resources [secrets] and provider.keyArn of a KMS key",
)
def cluster_secrets_encrypted(cluster: Resource, _: Settings) -> Iterator[Outcome]:
    configuration = cluster.at("encryptionConfig")
    resources = configuration.at("resources")
    if "secrets" not in resources.texts():
        yield Finding(resources, '"secrets" among them')
    key = configuration.at("provider", "keyArn")
    if key.unknown and cluster.targets("encryptionConfig", KEY):
        return
    if not key.text():
        yield Finding(key, "the ARN of a KMS key")


@rule(
    "cluster-version-supported",
    types=(CLUSTER,),
    severity="high",
    ids=("EKS.2", "CKV_AWS_339"),
    says="The cluster runs a Kubernetes version in standard support.",
    fix="step up to a listed version, one minor version at a time",
    parameters={"versions": {"type": "array", "items": {"type": "string"}, "default": ["1.34", "1.35", "1.36"]}},
)
def cluster_version_supported(cluster: Resource, settings: Settings) -> Iterator[Outcome]:
    version = cluster.at("version")
    if version.text() not in settings["versions"]:
        yield Finding(version, f"one of {', '.join(settings['versions'])}")


@rule(
    "cluster-access-by-entries",
    types=(CLUSTER,),
    severity="medium",
    level="mandatory",
    ids=("CIS-EKS 4.1.7",),
    says="Access to the cluster is given by access entries alone, and its creator is no hidden administrator.",
    fix="set accessConfig.authenticationMode to API and bootstrapClusterCreatorAdminPermissions to false",
)
def cluster_access_by_entries(cluster: Resource, _: Settings) -> Iterator[Outcome]:
    def mode(node: Node) -> Iterator[Outcome]:
        if node.text() != "API":
            yield Finding(node, '"API"')

    def creator(node: Node) -> Iterator[Outcome]:
        # Left out, the creator is made an administrator.
        if node.boolean() is not False:
            yield Finding(node, "false")

    access = cluster.at("accessConfig")
    yield from each([access.at("authenticationMode")], mode)
    yield from each([access.at("bootstrapClusterCreatorAdminPermissions")], creator)


@rule(
    "cluster-deletion-protected",
    types=(CLUSTER,),
    severity="medium",
    says="The cluster can't be deleted by mistake.",
    fix="set deletionProtection to true",
)
def cluster_deletion_protected(cluster: Resource, _: Settings) -> Iterator[Outcome]:
    protection = cluster.at("deletionProtection")
    if not protection.boolean():
        yield Finding(protection, "true")


# The second one changes nothing, but reads every Secret.
ADMIN_POLICIES = ("AmazonEKSAdminPolicy", "AmazonEKSAdminViewPolicy")
ADMINS: dict[str, Any] = {
    "principals": {
        "type": "array",
        "items": {"type": "string"},
        "default": [],
        "description": "patterns of the principal ARNs that may administer the cluster",
    }
}


@rule(
    "cluster-admins-named",
    types=(ACCESS_POLICY, ACCESS_ENTRY),
    severity="high",
    ids=("CIS-EKS 4.1.1",),
    says="Only the named roles administer the cluster.",
    fix=(
        "give AmazonEKSViewPolicy or AmazonEKSEditPolicy with a namespace scope, or list the role's ARN under"
        " principals"
    ),
    parameters=ADMINS,
)
def cluster_admins_named(access: Resource, settings: Settings) -> Iterator[Outcome]:
    if access.type == ACCESS_ENTRY:
        granted = next(
            (group for group in access.at("kubernetesGroups").elements() if group.text() == "system:masters"), None
        )
    else:
        policy = access.at("policyArn")
        # These are limited to the namespaces of their scope, unless that is the cluster.
        whole = access.at("accessScope", "type").text() != "namespace"
        name = (policy.text() or "").rpartition("/")[2]
        granted = policy if name == "AmazonEKSClusterAdminPolicy" or (name in ADMIN_POLICIES and whole) else None
    if granted is None:
        return
    principal = access.at("principalArn").text() or ""
    if not any(fnmatchcase(principal, pattern) for pattern in settings["principals"]):
        yield Finding(granted, f"a named administrator; {principal or 'the principal'} is none")
