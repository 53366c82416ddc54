"""Which EKS add-ons a cluster gets, in which version, with which settings and whose permissions.

Add-ons without which nodes can't become ready come before the nodes; the rest come once the system pool has room.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from components import file_systems, node_labels
from components.catalog import Addon, AddonPin, Catalog
from components.spec.cluster import ClusterSpec
from components.spec.stack import StackSpec

# What the catalog doesn't pin but EKS offers (EKS User Guide, available and community add-ons); such a one needs its
# version from the user.
OFFERED = (
    "adot",
    "amazon-cloudwatch-observability",
    "amazon-sagemaker-hyperpod-taskgovernance",
    "aws-efs-csi-driver",
    "aws-guardduty-agent",
    "aws-mountpoint-s3-csi-driver",
    "aws-network-flow-monitoring-agent",
    "cert-manager",
    "external-dns",
    "fluent-bit",
    "kube-state-metrics",
    "prometheus-node-exporter",
    "snapshot-controller",
)


@dataclass(frozen=True, kw_only=True)
class Caller:
    """An offered add-on that calls AWS: its service account, and AWS's own policies for it where one is narrow enough.

    Source: EKS User Guide, AWS add-ons and community add-ons, read 2026-11-30; accounts and namespaces as each
    add-on's manifest names them.
    """

    namespace: str
    service_account: str
    policies: tuple[str, ...] = ()


CALLERS: Mapping[str, Caller] = {
    "adot": Caller(namespace="opentelemetry-operator-system", service_account="opentelemetry-operator"),
    "amazon-cloudwatch-observability": Caller(
        namespace="amazon-cloudwatch", service_account="cloudwatch-agent", policies=("CloudWatchAgentServerPolicy",)
    ),
    "aws-efs-csi-driver": Caller(
        namespace="kube-system",
        service_account="efs-csi-controller-sa",
        policies=("service-role/AmazonEFSCSIDriverPolicy",),
    ),
    # Its rights are those on the buckets that it mounts, which only the user knows.
    "aws-mountpoint-s3-csi-driver": Caller(namespace="kube-system", service_account="s3-csi-driver-sa"),
    "aws-network-flow-monitoring-agent": Caller(
        namespace="amazon-network-flow-monitor",
        service_account="aws-network-flow-monitor-agent-service-account",
        policies=("CloudWatchNetworkFlowMonitorAgentPublishPolicy",),
    ),
    # AWS's policy gives every zone of the account.
    "external-dns": Caller(namespace="external-dns", service_account="external-dns"),
    "fluent-bit": Caller(namespace="fluent-bit", service_account="fluent-bit"),
}
# What an add-on runs that the stack's own observability runs too (EKS User Guide, community add-ons; CloudWatch User
# Guide, Container Insights with enhanced observability for EKS; read 2026-11-30).
SECOND: Mapping[str, str] = {
    "amazon-cloudwatch-observability": "a second DCGM exporter on nodes with NVIDIA cards",
    "kube-state-metrics": "a second kube-state-metrics",
    "prometheus-node-exporter": "a second node exporter, which wants the same port of each node",
}
ALWAYS = (
    "vpc-cni",
    "kube-proxy",
    "eks-pod-identity-agent",
    "coredns",
    "aws-ebs-csi-driver",
    "eks-node-monitoring-agent",
    "metrics-server",
)
_SYSTEM = {node_labels.PURPOSE: "system"}
_EVERYWHERE = [{"operator": "Exists"}]

_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "vpc-cni": {
        "enableNetworkPolicy": "true",
        "env": {
            # One prefix of 16 holds the few pods of a training node; the next one is kept warm (see address_needs).
            "ENABLE_PREFIX_DELEGATION": "true",
            "WARM_PREFIX_TARGET": "1",
            # NAT gateways translate; the node doing it too would hide pods from on-premises networks and cost
            # connections.
            "AWS_VPC_K8S_CNI_EXTERNALSNAT": "true",
        },
    },
    # Its own tolerations leave out nodes that aren't ready, where the CNI waits for it.
    "eks-pod-identity-agent": {"tolerations": _EVERYWHERE},
    "coredns": {"nodeSelector": _SYSTEM, "autoScaling": {"enabled": True, "minReplicas": 2, "maxReplicas": 10}},
    "aws-ebs-csi-driver": {"controller": {"nodeSelector": _SYSTEM}},
    # The agent for cards comes without tolerations: on tainted nodes it would never start.
    "eks-node-monitoring-agent": {"dcgmAgent": {"tolerations": _EVERYWHERE}},
    "metrics-server": {"nodeSelector": _SYSTEM},
}
# Where AWS's own policy gives more than the driver needs.
_ACTIONS: Mapping[str, tuple[str, ...]] = {
    kind.addon.name: kind.addon.actions for kind in file_systems.KINDS.values() if kind.addon
}


@dataclass(frozen=True, kw_only=True)
class AddonPlan:
    """One add-on to declare. `managed_policies` or `actions` say what its service account may do, if it has one."""

    name: str
    version: str
    before_nodes: bool
    configuration: Mapping[str, Any] = field(default_factory=dict[str, Any])
    namespace: str = "kube-system"
    service_account: str | None = None
    managed_policies: tuple[str, ...] = ()  # by ARN, or by AWS's path and name
    actions: tuple[str, ...] = ()

    @property
    def has_identity(self) -> bool:
        return self.service_account is not None and bool(self.managed_policies or self.actions)


def wanted(stack: StackSpec) -> tuple[str, ...]:
    """Names of the stack's add-ons, sorted."""
    names = {*ALWAYS, *(stack.cluster.addons if stack.cluster else ()), *file_systems.addons(stack)}
    return tuple(sorted(names))


def needed(stack: StackSpec, cat: Catalog) -> tuple[AddonPlan, ...]:
    """Every add-on of the stack's cluster that has a version, sorted by name; the rules name those without one."""
    return of_cluster(stack.cluster, wanted(stack), cat) if stack.cluster else ()


def of_cluster(spec: ClusterSpec, names: tuple[str, ...], cat: Catalog) -> tuple[AddonPlan, ...]:
    """The same for a cluster without a stack file."""
    pins = cat.addons.pins(spec.version)
    plans = (_plan(name, spec, pins.get(name), cat.addons.known.get(name)) for name in sorted(set(names)))
    return tuple(plan for plan in plans if plan)


def _plan(name: str, spec: ClusterSpec, pin: AddonPin | None, known: Addon | None) -> AddonPlan | None:
    own = spec.addons.get(name)
    version = (own.version if own else None) or (pin.version if pin else None)
    if version is None:
        return None
    actions, caller = _ACTIONS.get(name, ()), CALLERS.get(name)
    usual = (known.managed_policy,) if known and known.managed_policy and not actions else ()
    policies = (own.policies if own else ()) or usual or (caller.policies if caller else ())
    account = known.service_account if known else None
    return AddonPlan(
        name=name,
        version=version,
        before_nodes=known.before_nodes if known else False,
        configuration=merged(_SETTINGS.get(name, {}), own.configuration if own else {}),
        namespace=caller.namespace if caller else known.namespace if known else "kube-system",
        service_account=caller.service_account if caller else account,
        managed_policies=policies,
        actions=actions,
    )


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`over` laid on `base`, key by key in nested maps; lists and scalars of `over` win."""
    out: dict[str, Any] = dict(base)
    for key, value in over.items():
        below = out.get(key)
        out[key] = merged(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return out
