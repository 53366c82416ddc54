"""Kueue's objects for a stack: topologies, flavors, queues, cohorts, priorities, and the controllers' own settings.

Kueue's rules must hold: a flavor's tolerations equal its pool's taints, the lowest topology level is the host (only
then does Kueue look at taints), and a queue covers every resource that a job may ask for, or the job waits for ever.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from components.catalog import Catalog
from components.manifests import quantities
from components.manifests.nodes import whole_node
from components.planning.pool import Pool, of_stack
from components.spec.pools import Block
from components.spec.quantities import Cards, Nodes
from components.spec.queues import QueueSpec
from components.spec.stack import StackSpec

API: Final = "kueue.x-k8s.io/v1beta2"
QUEUE_LABEL: Final = "kueue.x-k8s.io/queue-name"
PRIORITY_LABEL: Final = "kueue.x-k8s.io/priority-class"
PREFERRED: Final = "kueue.x-k8s.io/podset-preferred-topology"
REQUIRED: Final = "kueue.x-k8s.io/podset-required-topology"
HOSTNAME: Final = "kubernetes.io/hostname"
LAYER: Final = "topology.k8s.aws/network-node-layer-"
PRIORITIES: Final = {"low": 100, "normal": 1000, "high": 10000}
MAX_FLAVOR_TOLERATIONS: Final = 8  # the CRD's own limit

Manifest = dict[str, Any]


def priority_class(word: str) -> str:
    """The WorkloadPriorityClass of a task's priority."""
    return f"trainshed-{word}"


def topology_name(layers: int) -> str:
    return f"aws-{layers}-layers"


def layer_labels(layers: int) -> list[str]:
    """Node labels from the widest layer (1) to the one nearest to the node."""
    return [f"{LAYER}{number}" for number in range(1, layers + 1)]


def layer_label(layers: int, within: str) -> str:
    """The label of the leaf (the layer nearest to the node) or of the spine above it."""
    number = layers if within == "leaf" else max(1, layers - 1)
    return f"{LAYER}{number}"


def _object(kind: str, name: str, spec: Manifest, namespace: str | None = None) -> Manifest:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": API, "kind": kind, "metadata": metadata, "spec": spec}


def topology(layers: int) -> Manifest:
    levels = [*layer_labels(layers), HOSTNAME]
    return _object("Topology", topology_name(layers), {"levels": [{"nodeLabel": label} for label in levels]})


def flavor_name(pool: Pool) -> str:
    """The pool's name, and its topology's where it has one: a flavor's topology can't be changed, so another one is
    another flavor.
    """
    return f"{pool.name}-{topology_name(pool.layers)}" if pool.placed_by_topology else pool.name


def flavor(pool: Pool) -> Manifest:
    """The pool's nodes as a flavor. It names a topology only where its nodes are there before the job."""
    spec: Manifest = {"nodeLabels": whole_node.labels_of(pool.spec)}
    found = whole_node.tolerations(pool)
    if found:
        spec["tolerations"] = found
    if pool.placed_by_topology:
        spec["topologyName"] = topology_name(pool.layers)
    return _object("ResourceFlavor", flavor_name(pool), spec)


def quota_nodes(queue: QueueSpec, pool: Pool) -> Nodes:
    """Nodes that the queue may fill, a started one counted whole."""
    machine = whole_node.machine_of(pool)
    per_node = machine.cards if machine else Cards(0)
    if per_node.count:
        cards = Cards(queue.cards if queue.cards is not None else pool.cards_to_share)
        return cards.whole_nodes(per_node) + Nodes(1 if cards.rest(per_node).count else 0)
    return Nodes(queue.nodes if queue.nodes is not None else max(pool.spec.max_nodes - pool.spec.spares, 0))


def quota(queue: QueueSpec, pool: Pool) -> dict[str, str]:
    """What the queue may use at once, by resource; cards exactly as many as it names."""
    machine = whole_node.machine_of(pool)
    if machine is None:
        return {}
    amounts = machine.quota(quota_nodes(queue, pool))
    if machine.resource_name and machine.cards.count:
        amounts[machine.resource_name] = quantities.whole(
            queue.cards if queue.cards is not None else pool.cards_to_share
        )
    return amounts


def part_of(count: int | None, pool: Pool) -> dict[str, str] | None:
    """So many cards of the pool, or nodes of one without cards, with all that their nodes hold; None for no limit."""
    machine = whole_node.machine_of(pool)
    if machine is None or count is None:
        return None
    if not machine.cards.count:
        return machine.quota(Nodes(count))
    cards = Cards(count)
    amounts = machine.quota(cards.whole_nodes(machine.cards) + Nodes(1 if cards.rest(machine.cards).count else 0))
    return amounts | ({machine.resource_name: quantities.whole(count)} if machine.resource_name else {})


def cluster_queue(queue: QueueSpec, pool: Pool) -> Manifest:
    amounts = quota(queue, pool)
    limits = {
        "borrowingLimit": part_of(queue.borrow, pool),
        "lendingLimit": part_of(queue.lend, pool),
    }
    resources = [
        {"name": name, "nominalQuota": amount, **{key: part[name] for key, part in limits.items() if part is not None}}
        for name, amount in amounts.items()
    ]
    spec: Manifest = {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": queue.namespace}},
        "queueingStrategy": "BestEffortFIFO",
        "preemption": {
            "withinClusterQueue": "LowerPriority",
            "reclaimWithinCohort": "Any" if queue.cohort else "Never",
            "borrowWithinCohort": {"policy": "Never"},
        },
        "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"},
        "resourceGroups": [
            {"coveredResources": list(amounts), "flavors": [{"name": flavor_name(pool), "resources": resources}]}
        ],
    }
    # For pools of Capacity Blocks the policy is the block clock's: said here, a deployment would open a queue that it
    # holds.
    if queue.hold or not isinstance(pool.spec.capacity, Block):
        spec["stopPolicy"] = "Hold" if queue.hold else "None"
    if queue.cohort:
        spec["cohortName"] = queue.cohort
    if queue.weight is not None:
        spec["fairSharing"] = {"weight": str(queue.weight)}
    return _object("ClusterQueue", queue.name, spec)


def local_queue(queue: QueueSpec) -> Manifest:
    spec = {"clusterQueue": queue.name, "stopPolicy": "Hold" if queue.hold else "None"}
    return _object("LocalQueue", queue.name, spec, queue.namespace)


def workload_priority(word: str) -> Manifest:
    made = _object("WorkloadPriorityClass", priority_class(word), {})
    del made["spec"]
    return made | {"value": PRIORITIES[word], "description": f"tasks with priority: {word}"}


@dataclass(frozen=True, kw_only=True)
class QueueObjects:
    """All objects of a stack's queues, each group keyed by name and in the order in which one needs the other."""

    topologies: dict[str, Manifest]
    flavors: dict[str, Manifest]
    cohorts: dict[str, Manifest]
    cluster_queues: dict[str, Manifest]
    local_queues: dict[str, Manifest]
    priorities: dict[str, Manifest]

    def all(self) -> list[Manifest]:
        groups = (self.topologies, self.flavors, self.cohorts, self.cluster_queues, self.local_queues, self.priorities)
        return [manifest for group in groups for manifest in group.values()]


def objects(stack: StackSpec, cat: Catalog) -> QueueObjects:
    """Everything Kueue needs for the stack's queues; queues that name an unknown pool are a rule's business."""
    pools = {pool.name: pool for pool in of_stack(stack, cat)}
    queues = sorted((queue for queue in stack.queues if queue.pool in pools), key=lambda queue: queue.name)
    used = [pools[name] for name in sorted({queue.pool for queue in queues})]
    depths = sorted({pool.layers for pool in used if pool.placed_by_topology})
    return QueueObjects(
        topologies={topology_name(depth): topology(depth) for depth in depths},
        flavors={pool.name: flavor(pool) for pool in used},
        cohorts={
            name: _object("Cohort", name, {}) for name in sorted({queue.cohort for queue in queues if queue.cohort})
        },
        cluster_queues={queue.name: cluster_queue(queue, pools[queue.pool]) for queue in queues},
        local_queues={queue.name: local_queue(queue) for queue in queues},
        priorities={word: workload_priority(word) for word in PRIORITIES},
    )


def queue_of(stack: StackSpec, pool: str, named: str | None = None) -> QueueSpec | None:
    """The queue a task waits in: the one it names, else the pool's only one; None when there is none or the choice is
    open.
    """
    if named:
        return next((queue for queue in stack.queues if queue.name == named), None)
    found = [queue for queue in stack.queues if queue.pool == pool]
    return found[0] if len(found) == 1 else None
