"""Rules on the cluster: its version, who reaches it, its add-ons, its control plane and the tags of everything.

Nothing here reads a clock: a version's support is judged on the catalog's day.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta

from components.catalog import Catalog, UnknownInstanceType, UnknownKubernetesVersion, regions
from components.naming import did_you_mean, listed
from components.planning import addons
from components.planning.rules.registry import rule, until_unread
from components.problems import Problem, Where
from components.spec.cluster import ClusterSpec
from components.spec.stack import StackSpec

WORLD = "0.0.0.0/0"
SOON = timedelta(days=60)
# EKS best practices: scale is planned for above 300 nodes, and with AWS above 1,000.
_TIERS = ((1000, "tier-4xl"), (300, "tier-xl"))
_CARRIES = {"standard": 300, "tier-xl": 1000, "tier-2xl": 1000}
_ORDER = ("standard", "tier-xl", "tier-2xl", "tier-4xl", "tier-8xl")
_NAME = re.compile(r"[0-9A-Za-z_-]+")
_ROLE = re.compile(r"^arn:aws[a-z-]*:iam::[0-9]{12}:(role|user)/\S+$")
_ASSUMED = re.compile(r"^arn:(aws[a-z-]*):sts::([0-9]{12}):assumed-role/([^/]+)/")
_ADDON_VERSION = re.compile(r"^v[0-9]+\.[0-9]+\.[0-9]+-eksbuild\.[0-9]+$")
MOST_TAGS = 50  # of one AWS resource
SET_HERE = (
    "Name",
    "environment",
    "managed-by",
    "project",
    "stack",
)  # on every resource, by the settings and the components


def check_name(stack: StackSpec, name: str, file: str) -> list[Problem]:
    """The cluster is called after its stack, and EKS takes letters, digits, dashes and underscores."""
    return until_unread(_name(stack, name, file))[0]


def _name(stack: StackSpec, name: str, file: str) -> Iterator[Problem]:
    if stack.on_aws and not _NAME.fullmatch(name):
        said = (
            f'the name "{name}" becomes part of the cluster\'s, and EKS takes letters of a to z, digits, dashes and'
            " underscores there"
        )
        better = re.sub(r"[^0-9A-Za-z]+", "-", name).strip("-") or "dev"
        where = Where(file=file, line=1, column=1) if file else None
        yield Problem(
            id="stack-name", path="", said=said, hint=f"call the stack {better}, in Pulumi.{better}.yaml", where=where
        )


@rule()
def version_is_supported(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """The Kubernetes version is one that EKS takes for a new cluster."""
    if stack.cluster is None:
        return
    name, today = stack.cluster.version, date.fromisoformat(cat.as_of)
    try:
        version = cat.kubernetes.version(name)
    except UnknownKubernetesVersion:
        hint = f'use "{cat.kubernetes.default}"; EKS offers {", ".join(cat.kubernetes.offered(today))}'
        yield Problem(
            id="version-unknown",
            path="cluster.version",
            said=f"EKS has no Kubernetes {name} that the catalog knows",
            hint=hint,
        )
        return
    default, support = cat.kubernetes.default, version.support(today)
    if support == "ended":
        said = f"Kubernetes {name} is out of support: it ended on {version.extended_ends}"
        yield Problem(id="version-out-of-support", path="cluster.version", said=said, hint=f'use "{default}"')
    elif support == "not yet":
        said = f"Kubernetes {name} comes to EKS on {version.released}"
        yield Problem(id="version-not-yet", path="cluster.version", said=said, hint=f'use "{default}"')
    elif support == "extended" and stack.cluster.support == "standard":
        said = (
            f"Kubernetes {name} left standard support on {version.standard_ends}, and a cluster on standard support"
            " can't have it"
        )
        hint = (
            f'use "{default}", or set cluster.support: extended, whose hour costs several times as much, until'
            f" {version.extended_ends}"
        )
        yield Problem(id="version-out-of-support", path="cluster.version", said=said, hint=hint)
    elif support == "standard" and version.standard_ends - today <= SOON:
        said = f"Kubernetes {name} leaves standard support on {version.standard_ends}"
        yield Problem(
            id="version-ends-soon", path="cluster.version", said=said, hint=f'plan for "{default}"', severity="warning"
        )


@rule()
def endpoint_is_closed(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """A public API answers named ranges only; a private one must be reachable from where the engine runs."""
    if stack.cluster is None:
        return
    endpoint, path = stack.cluster.endpoint, "cluster.endpoint.allowed_cidrs"
    limit = cat.limits.public_endpoint_cidrs.value
    if endpoint.public and not endpoint.allowed_cidrs:
        said = "the API is public and no range is named, which EKS takes as the whole world"
        yield Problem(
            id="endpoint-open", path=path, said=said, hint="name the ranges that may reach it, such as [203.0.113.0/24]"
        )
    for index, cidr in enumerate(endpoint.allowed_cidrs):
        if cidr == WORLD:
            said = "0.0.0.0/0 opens the API to the whole world"
            hint = "name the ranges that may reach it, or set endpoint.public: false and take them out"
            yield Problem(id="endpoint-open", path=f"{path}[{index}]", said=said, hint=hint)
    if endpoint.allowed_cidrs and not endpoint.public:
        said = "ranges are named for the public address, and endpoint.public is false"
        hint = "use private_cidrs for networks that reach the private address, or set endpoint.public: true"
        yield Problem(id="allowed-cidrs-without-use", path=path, said=said, hint=hint, severity="warning")
    if len(set(endpoint.allowed_cidrs)) > limit:
        said = f"{len(set(endpoint.allowed_cidrs))} ranges, and EKS takes {limit}"
        yield Problem(id="allowed-cidrs-too-many", path=path, said=said, hint="join them into fewer")
    if not endpoint.public and not endpoint.private_cidrs:
        said = "the Kubernetes API answers inside the VPC only"
        hint = (
            "run `pulumi up` where it is reached, and name networks beyond the VPC (VPN, peering) in"
            " cluster.endpoint.private_cidrs; elsewhere it waits at the first Kubernetes object"
        )
        yield Problem(id="endpoint-private", path="cluster.endpoint", said=said, hint=hint, severity="note")


@rule()
def administrators_are_roles(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Somebody can enter the cluster, by an ARN that an access entry takes."""
    if stack.cluster is None:
        return
    if not stack.cluster.admins and not any(who.startswith("arn:") for who in stack.access.admins):
        said = (
            "no administrator is named, so whoever creates the cluster becomes its only one, and no stack file says who"
            " that was"
        )
        hint = "name IAM roles, the deploying one among them, such as [arn:aws:iam::111122223333:role/platform-admin]"
        yield Problem(id="admins-empty", path="cluster.admins", said=said, hint=hint, severity="warning")
    for index, arn in enumerate(stack.cluster.admins):
        if _ROLE.match(arn):
            continue
        session = _ASSUMED.match(arn)
        hint = "use the ARN of an IAM role, such as arn:aws:iam::111122223333:role/platform-admin"
        if session:
            hint = (
                f"use the role behind the session, arn:{session[1]}:iam::{session[2]}:role/{session[3]} (with its path,"
                " if it has one)"
            )
        said = f"{arn} is no IAM role or user, and access entries take no other"
        yield Problem(id="admin-not-a-role", path=f"cluster.admins[{index}]", said=said, hint=hint)


@rule()
def addons_are_known(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Every add-on exists and has a version for the cluster's Kubernetes."""
    cluster = stack.cluster
    if cluster is None or cluster.version not in cat.kubernetes.versions:
        return
    pins = cat.addons.pins(cluster.version)
    for name in addons.wanted(stack):
        own, path = cluster.addons.get(name), f"cluster.addons.{name}"
        if name not in cat.addons.known and name not in addons.OFFERED:
            known = (*cat.addons.known, *addons.OFFERED)
            yield Problem(
                id="addon-unknown", path=path, said=f'"{name}" is no EKS add-on', hint=did_you_mean(name, known)
            )
        elif own and own.version:
            yield from _version_fits(name, own.version, cluster, path)
        elif name not in pins:
            others = [
                each
                for each in cat.kubernetes.versions
                if name in cat.addons.known and each in cat.addons.known[name].versions
            ]
            said = f"no version of the add-on {name} is known for Kubernetes {cluster.version}"
            hint = f"write its version, or use Kubernetes {others[-1]}" if others else "write its version"
            yield Problem(id="addon-version-missing", path=f"{path}.version", said=said, hint=hint)


@rule()
def addons_may_call_aws(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """An add-on that calls AWS has rights of its own, and one that doesn't is given none in vain."""
    cluster = stack.cluster
    for name, own in sorted(cluster.addons.items()) if cluster else ():
        path, known = f"cluster.addons.{name}", cat.addons.known.get(name)
        caller = addons.CALLERS.get(name)
        if caller is not None and not (own.policies or caller.policies):
            said = f"{name} calls AWS, no policy of AWS's fits what it may do here, and without one it is denied"
            hint = "name the managed policies of its role as policies, by ARN"
            yield Problem(id="addon-without-identity", path=f"{path}.policies", said=said, hint=hint)
        elif own.policies and caller is None and (known is None or known.service_account is None):
            said = f"{name} has no service account that calls AWS"
            yield Problem(id="addon-policies-unused", path=f"{path}.policies", said=said, hint="take policies out")
        if name == "amazon-cloudwatch-observability":
            said = f"{name} makes log groups that are kept for ever, and metrics beside those of this stack"
            hint = "set the retention of /aws/containerinsights/* yourself, or take it out"
            yield Problem(id="addon-logs-for-ever", path=path, said=said, hint=hint, severity="warning")


@rule()
def addons_bring_nothing_twice(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """The stack runs Prometheus with its exporters already."""
    for name in sorted(stack.cluster.addons) if stack.cluster else ():
        if name in addons.SECOND:
            said = f"{name} brings {addons.SECOND[name]}, which this stack runs already"
            yield Problem(
                id="addon-twice",
                path=f"cluster.addons.{name}",
                said=said,
                hint="take it out: Prometheus in the namespace monitoring has these metrics",
                severity="warning",
            )


def _version_fits(name: str, version: str, cluster: ClusterSpec, path: str) -> Iterator[Problem]:
    if not _ADDON_VERSION.match(version):
        said = f'"{version}" is no version of an EKS add-on'
        yield Problem(
            id="addon-version-unknown", path=f"{path}.version", said=said, hint="write it like v1.2.3-eksbuild.1"
        )
    elif name == "kube-proxy" and not version.startswith(f"v{cluster.version}."):
        said = f"{name} {version} is not for Kubernetes {cluster.version}"
        hint = f"use a version that begins with v{cluster.version}."
        yield Problem(id="addon-version-unknown", path=f"{path}.version", said=said, hint=hint)


@rule()
def tags_are_ours_to_set(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """No tag that AWS, EKS or this project sets itself."""
    for key in sorted(stack.tags):
        if key.lower().startswith("aws:"):
            said = f'the tag "{key}" begins with aws:, which AWS keeps for itself'
            yield Problem(id="tag-reserved", path="tags", said=said, hint="choose another key")
        if key.startswith("kubernetes.io/cluster/"):
            said = (
                f'the tag "{key}" marks the security group that EKS manages; on every group a load-balancer controller'
                " finds two and stops"
            )
            yield Problem(id="tag-reserved", path="tags", said=said, hint="take it out: EKS sets it where it belongs")
        if key in SET_HERE:
            said = f'the tag "{key}" is set here on every resource, and the value "{stack.tags[key]}" is lost'
            yield Problem(
                id="tag-taken",
                path=f"tags.{key}",
                said=said,
                hint="choose another key, or take it out",
                severity="warning",
            )
    if len(stack.tags) > MOST_TAGS - len(SET_HERE):
        said = f"{len(stack.tags)} tags, and a resource takes {MOST_TAGS}, {len(SET_HERE)} of them set here"
        yield Problem(id="tags-too-many", path="tags", said=said, hint=f"keep at most {MOST_TAGS - len(SET_HERE)}")


@rule()
def control_plane_is_large_enough(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Large clusters have a provisioned control plane."""
    if stack.cluster is None:
        return
    nodes = stack.cluster.system_pool.nodes + sum(pool.max_nodes for pool in stack.pools)
    tier = stack.cluster.control_plane_tier
    for above, wanted in _TIERS:
        if nodes > above:
            if _ORDER.index(tier) < _ORDER.index(wanted):
                said = (
                    f'up to {nodes:,} nodes on a control plane of "{tier}", which is planned for up to'
                    f" {_CARRIES[tier]:,}"
                )
                hint = f"use control_plane_tier: {wanted}"
                yield Problem(
                    id="control-plane-small",
                    path="cluster.control_plane_tier",
                    said=said,
                    hint=hint,
                    severity="warning",
                )
            return


@rule()
def system_pool_fits(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """The system pool's type exists, has no cards to waste, and more than one node."""
    if stack.cluster is None:
        return
    pool = stack.cluster.system_pool
    try:
        instance = cat.instance(pool.instance_type)
    except UnknownInstanceType as unknown:
        said = f'"{pool.instance_type}" is not in the catalog'
        yield Problem(
            id="instance-type-unknown", path="cluster.system_pool.instance_type", said=said, hint=unknown.hint
        )
        return
    if instance.cards:
        said = f"{instance.name} has {instance.cards} accelerator cards, which controllers leave idle"
        hint = "use a general type such as m7i.2xlarge"
        yield Problem(id="system-pool-accelerated", path="cluster.system_pool.instance_type", said=said, hint=hint)
    elif stack.region in regions.known(cat) and not cat.zones_offering(instance.name, stack.region):
        said = f"{instance.name} is not offered in {stack.region}"
        hint = "use a general type such as m7i.2xlarge"
        yield Problem(id="instance-type-not-offered", path="cluster.system_pool.instance_type", said=said, hint=hint)
    elif stack.region in regions.known(cat) and not any(
        zone in stack.zones for zone in cat.zones_offering(instance.name, stack.region)
    ):
        sold = cat.zones_offering(instance.name, stack.region)
        said = f"no zone of the network offers {instance.name}"
        hint = f"add {listed(sold, 'or')} to network.zones, or use another type"
        yield Problem(id="zone-without-type", path="cluster.system_pool.instance_type", said=said, hint=hint)
    if pool.nodes == 1:
        said = "one system node: CoreDNS and every controller stop when it does"
        yield Problem(
            id="system-pool-single",
            path="cluster.system_pool.nodes",
            said=said,
            hint="use at least 2",
            severity="warning",
        )
