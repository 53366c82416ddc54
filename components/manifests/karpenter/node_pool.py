"""A pool's NodePool: which machines Karpenter may buy for waiting pods, how many, and when they go again.

One NodePool holds both spot and on-demand: Karpenter takes spot first and falls back when spot is short, and one limit
holds over both. Two NodePools, one weighted above the other, would each have a limit of its own, so that twice the
pool could run. Nodes are taken away only when empty: neither drift nor age ends a running gang.
Source: sigs.k8s.io/karpenter v1.13.0, pkg/apis/v1/nodepool.go.
"""

from __future__ import annotations

from typing import Any, Final

from components import node_labels
from components.manifests.karpenter import node_class
from components.planning.placement import Elastic
from components.planning.pool import Pool

API: Final = "karpenter.sh/v1"
CAPACITY_TYPE: Final = "karpenter.sh/capacity-type"
INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"
DO_NOT_DISRUPT: Final = "karpenter.sh/do-not-disrupt"
# How long an empty node waits for the next job: a restart finds its nodes, with their images, still there.
EMPTY_MINUTES: Final = 10
_ARCHITECTURES: Final = {"x86_64": "amd64", "arm64": "arm64"}

Manifest = dict[str, Any]


def node_pool(pool: Pool, elastic: Elastic) -> Manifest:
    """The object; its name is the pool's."""
    spec: Manifest = {
        "template": {
            "metadata": {"labels": labels(pool, elastic)},
            "spec": {
                "nodeClassRef": {"group": node_class.API.split("/")[0], "kind": "EC2NodeClass", "name": pool.name},
                "requirements": requirements(pool, elastic),
                # A node's age is no reason to end a job. Nor is there a grace period after which pods are forced out.
                "expireAfter": "Never",
            },
        },
        "limits": limits(pool, elastic),
        "disruption": {
            "consolidationPolicy": "WhenEmpty",
            "consolidateAfter": f"{EMPTY_MINUTES}m",
            # A node that differs from its pool goes when it is empty, and a new one takes its place.
            "budgets": [
                {"nodes": "100%", "reasons": ["Empty"]},
                {"nodes": "0", "reasons": ["Drifted", "Underutilized"]},
            ],
        },
    }
    found = [{"key": each.key, "value": each.value, "effect": each.effect} for each in pool.taints]
    if found:
        spec["template"]["spec"]["taints"] = found
    return {"apiVersion": API, "kind": "NodePool", "metadata": {"name": pool.name}, "spec": spec}


def labels(pool: Pool, elastic: Elastic) -> dict[str, str]:
    """The pool's labels. How a node was bought stands there only where it is known beforehand; else Karpenter says."""
    word = elastic.capacity_word
    found = pool.labels(capacity=word)
    return found if word else {key: value for key, value in found.items() if key != node_labels.CAPACITY}


def requirements(pool: Pool, elastic: Elastic) -> list[Manifest]:
    """Machine types, how they are bought, and what they run."""
    arch = _ARCHITECTURES[pool.instance.arch]
    words = {
        INSTANCE_TYPE: list(elastic.types),
        CAPACITY_TYPE: list(elastic.buys),
        "kubernetes.io/arch": [arch],
        "kubernetes.io/os": ["linux"],
    }
    return [{"key": key, "operator": "In", "values": values} for key, values in words.items()]


def limits(pool: Pool, elastic: Elastic) -> dict[str, str]:
    """Nodes, and in the same measure what policies and people count: cards, or processors where there are none."""
    family, machine = pool.accelerator, pool.instance
    if family and machine.cards:
        return {"nodes": str(elastic.max_nodes), family.resource_name: str(elastic.max_nodes * machine.cards)}
    most = max(pool.catalog.instance(name).vcpu for name in elastic.types)
    return {"nodes": str(elastic.max_nodes), "cpu": str(elastic.max_nodes * most)}
