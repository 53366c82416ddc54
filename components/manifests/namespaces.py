"""The stack's namespaces: which there are, how strict each is, and what its pods may talk to.

A job's pods may reach each other, DNS, the endpoints over HTTPS and the pod identity agent, and the metrics collector
may reach them. Everything else is closed both ways. Controllers answer the API server and each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from components.catalog import Catalog
from components.manifests import quantities
from components.manifests.nodes import whole_node
from components.planning import addresses
from components.planning.pool import Pool
from components.spec.quantities import Nodes
from components.spec.queues import JOB_NAMESPACE
from components.spec.stack import StackSpec

MONITORING: Final = "monitoring"
Level = Literal["restricted", "baseline", "privileged"]
Manifest = dict[str, Any]

_PSA: Final = "pod-security.kubernetes.io"
_POD_IDENTITY_AGENT: Final = "169.254.170.23/32"
_INSTANCE_METADATA: Final = "169.254.169.254/32"
LISTED_NODES: Final = 200  # as many pods' addresses are listed in a policy; more go by ranges
# Admission of Kueue and JobSet, Kueue's view of waiting jobs, admission of the Prometheus operator.
_WEBHOOK_PORTS: Final = (8082, 9443, 10250)


@dataclass(frozen=True, kw_only=True)
class NamespacePlan:
    """`level` is the pod security standard that its pods must meet; `jobs` says whether tasks run there."""

    name: str
    level: Level
    jobs: bool


def job_namespaces(stack: StackSpec) -> list[str]:
    """Namespaces in which tasks run, sorted: those of the queues, and the common one."""
    return sorted({JOB_NAMESPACE, *(queue.namespace for queue in stack.queues)})


def plan(stack: StackSpec, cat: Catalog) -> list[NamespacePlan]:
    """Every namespace of the stack, by name."""
    jobs = [NamespacePlan(name=name, level="restricted", jobs=True) for name in job_namespaces(stack)]
    controllers = [
        NamespacePlan(name=cat.charts[chart].namespace, level="baseline", jobs=False) for chart in ("jobset", "kueue")
    ]
    # The node exporter reads the host's own counters.
    monitoring = NamespacePlan(name=MONITORING, level="privileged", jobs=False)
    return sorted([*jobs, *controllers, monitoring], key=lambda each: each.name)


def namespace(each: NamespacePlan) -> Manifest:
    labels = {
        "app.kubernetes.io/managed-by": "trainshed",
        f"{_PSA}/enforce": each.level,
        f"{_PSA}/audit": "restricted" if each.level == "baseline" else each.level,
        f"{_PSA}/warn": "restricted" if each.level == "baseline" else each.level,
        "trainshed.io/jobs": "true" if each.jobs else "false",
    }
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": each.name, "labels": labels}}


def _policy(
    name: str, namespace_name: str, *, ingress: list[Manifest] | None = None, egress: list[Manifest] | None = None
) -> Manifest:
    types = [word for word, rules in (("Ingress", ingress), ("Egress", egress)) if rules is not None]
    spec: Manifest = {"podSelector": {}, "policyTypes": types}
    if ingress:
        spec["ingress"] = ingress
    if egress:
        spec["egress"] = egress
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name, "namespace": namespace_name},
        "spec": spec,
    }


def _in_namespace(name: str) -> Manifest:
    return {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}


def own_ranges(stack: StackSpec, cat: Catalog) -> tuple[str, ...]:
    """Where the pods of jobs have their addresses, on a stack so large that they can't be listed one by one.

    A policy that selects pods is rewritten on every node with each pod that starts, and holds all their addresses. By
    ranges, pods of other namespaces on the same nodes can call as well, so smaller stacks keep to selectors. Empty
    there, and where the network isn't ours.
    """
    pools = [pool for pool in stack.pools if pool.purpose != "system"]
    if stack.network is None or sum(pool.max_nodes for pool in pools) <= LISTED_NODES:
        return ()
    in_compute = [Pool(pool, cat).in_compute_network for pool in pools]
    ranges = set(stack.network.compute_cidrs) if any(in_compute) else set[str]()
    if not all(in_compute):
        ranges |= {each.cidr for each in addresses.plan(stack.network).subnets if each.kind == "nodes"}
    return tuple(sorted({*ranges, *addresses.remote_pod_ranges(stack)}))


def policies(each: NamespacePlan, ranges: Sequence[str] = ()) -> dict[str, Manifest]:
    """The network policies of a namespace by name: a job's is closed both ways, the controllers' to what comes in."""
    found = _of_jobs(each.name, ranges) if each.jobs else _of_controllers(each.name)
    return {policy["metadata"]["name"]: policy for policy in found}


def _of_controllers(name: str) -> list[Manifest]:
    """Who may call a controller: its neighbours, Prometheus, and the API server, whose addresses lie outside every pod
    range.
    """
    ports = [{"protocol": "TCP", "port": port} for port in _WEBHOOK_PORTS]
    return [
        _policy("default-deny", name, ingress=[]),
        _policy("own-pods", name, ingress=[{"from": [{"podSelector": {}}]}]),
        _policy("webhooks", name, ingress=[{"ports": ports}]),
        _policy("metrics", name, ingress=[{"from": [_in_namespace(MONITORING)]}]),
    ]


def _of_jobs(name: str, ranges: Sequence[str]) -> list[Manifest]:
    own: list[Manifest] = [{"ipBlock": {"cidr": each}} for each in ranges] or [{"podSelector": {}}]
    dns = {**_in_namespace("kube-system"), "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}}}
    both = [{"protocol": protocol, "port": 53} for protocol in ("UDP", "TCP")]
    # S3's gateway endpoint keeps S3's public addresses, so an address range can't tell it from the internet: the route
    # tables do.
    https = {"ipBlock": {"cidr": "0.0.0.0/0", "except": [_INSTANCE_METADATA]}}
    return [
        _policy("default-deny", name, ingress=[], egress=[]),
        _policy("own-pods", name, ingress=[{"from": own}], egress=[{"to": own}]),
        _policy("dns", name, egress=[{"to": [dns], "ports": both}]),
        _policy("https", name, egress=[{"to": [https], "ports": [{"protocol": "TCP", "port": 443}]}]),
        _policy(
            "pod-identity",
            name,
            egress=[{"to": [{"ipBlock": {"cidr": _POD_IDENTITY_AGENT}}], "ports": [{"protocol": "TCP", "port": 80}]}],
        ),
        _policy(
            "metrics",
            name,
            ingress=[{"from": [_in_namespace(MONITORING)], "ports": [{"protocol": "TCP", "port": "metrics"}]}],
        ),
    ]


def resource_quota(name: str, stack: StackSpec, cat: Catalog) -> Manifest:
    """A backstop behind the queues: no more cards than the pools of the namespace's queues have, spares included.

    Spares count, because a pod on a node that vanished holds its cards until the node is gone, while its successor runs
    on a spare.
    """
    used = {queue.pool for queue in stack.queues if queue.namespace == name}
    cards: dict[str, int] = {}
    for pool in stack.pools:
        machine = whole_node.machine_of(Pool(pool, cat))
        if pool.name in used and machine and machine.resource_name:
            cards[machine.resource_name] = (
                cards.get(machine.resource_name, 0) + Nodes(pool.max_nodes).cards(machine.cards).count
            )
    hard = {f"requests.{resource}": quantities.whole(count) for resource, count in cards.items()}
    # Nothing that a job opens is reachable from outside.
    hard |= {"services.loadbalancers": "0", "services.nodeports": "0"}
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "jobs", "namespace": name},
        "spec": {"hard": dict(sorted(hard.items()))},
    }
