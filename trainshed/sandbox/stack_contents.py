"""What a stack looks like on a sandbox: its pools as fake nodes, its in-cluster half as objects; it hides what
only AWS could tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from components import node_labels
from components.catalog import Catalog
from components.manifests.nodes import whole_node
from components.manifests.queues import controllers, kueue
from components.planning import placement
from components.planning.pool import Pool, of_stack
from components.spec.pools import PoolSpec
from components.spec.stack import StackSpec
from infra.offline.recorder import UNKNOWN
from trainshed.sandbox.api import Object
from trainshed.sandbox.cloud import karpenter
from trainshed.sandbox.cloud.purchases import NODE_POOL, Purchases
from trainshed.sandbox.contents import SandboxContents
from trainshed.sandbox.controllers import ClientLimits
from trainshed.sandbox.nodes import NodeShape

# What a node keeps for its own daemons beside the whole-node worker; workers ask for the rest.
_DAEMONS_MILLICPU = 2000
_DAEMONS_MIB = 8192
_PODS = 110

# EC2 does not say how many nodes lie under one leaf; 8 leaves of 8 under each spine is what the project's benchmarks
# assume.
_NODES_A_LEAF = 8
_PLACES_A_LAYER = 8
_PLACES_AT_THE_TOP = 64


@dataclass(frozen=True, kw_only=True)
class Counts:
    """How many nodes each pool has from the start: as many as its stack file allows, or `limit` for pools with cards.

    Of a pool that is `bought` only those that are always there: the others come when jobs wait for them.
    """

    limit: int | None
    bought: frozenset[str] = frozenset()

    def of(self, pool: PoolSpec, *, cards: int) -> int:
        if pool.name in self.bought:
            return pool.min_nodes
        return self.limit if self.limit is not None and cards else pool.max_nodes


def shape(pool: Pool, counts: Counts) -> NodeShape | None:
    """The pool's fake nodes; None where its machines are unknown or it has none."""
    machine = whole_node.machine_of(pool)
    if machine is None:
        return None
    depth = pool.layers
    resources = {
        "cpu": f"{machine.millicpu + _DAEMONS_MILLICPU}m",
        "memory": f"{machine.memory_mib + _DAEMONS_MIB}Mi",
        "ephemeral-storage": f"{machine.disk_gib}Gi",
        "pods": str(_PODS),
        **machine.extended,
    }
    count = counts.of(pool.spec, cards=machine.cards.count)
    if not count:
        return None
    return NodeShape(
        name=pool.name,
        count=count,
        resources=resources,
        labels=labels_of(pool),
        # A pool's pods carry a toleration for each of its taints and nothing more.
        taints=tuple(
            {key: each[key] for key in ("key", "value", "effect") if key in each}
            for each in whole_node.tolerations(pool)
        ),
        layers=tuple(kueue.layer_labels(depth)),
        fanout=fanout(depth),
    )


def fanout(layers: int) -> tuple[int, ...]:
    """How many of each layer lie in the one above, outermost first."""
    if layers == 0:
        return ()
    inner = (_PLACES_A_LAYER,) * (layers - 1) + (_NODES_A_LEAF,)
    return inner if layers < 2 else (_PLACES_AT_THE_TOP,) * (layers - 2) + inner[-2:]


def labels_of(pool: Pool) -> dict[str, str]:
    """What real nodes of the pool carry: the pool's own labels on EC2, the machines' own where they stand in a rack."""
    if pool.spec.hosts:
        return {**whole_node.labels_of(pool.spec), node_labels.PURPOSE: pool.spec.purpose}
    return {**pool.labels(), **whole_node.labels_of(pool.spec)}


def system_shape(stack: StackSpec) -> NodeShape:
    """Nodes for what runs beside the jobs; the stack's controllers select them."""
    return NodeShape(
        name="system",
        count=stack.cluster.system_pool.nodes if stack.cluster and stack.cluster.system_pool else 3,
        resources={"cpu": "8", "memory": "32Gi", "ephemeral-storage": "80Gi", "pods": str(_PODS)},
        labels={node_labels.PURPOSE: "system"},
    )


def known(value: Any) -> Any:
    """A value in which what only a cloud could say has a word of its own, so that the API server takes the object."""
    if isinstance(value, Mapping):
        return {key: known(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [known(inner) for inner in value]
    return value.replace(UNKNOWN, "not-known-in-a-sandbox") if isinstance(value, str) else value


def objects(resources: Iterable[Mapping[str, Any]]) -> list[Object]:
    """The Kubernetes objects among declared resources, in their order, without Helm releases: those are
    processes here.
    """
    made: list[Object] = []
    for resource in resources:
        inputs = resource["inputs"]
        if not str(resource["type"]).startswith("kubernetes:") or "apiVersion" not in inputs or "kind" not in inputs:
            continue
        metadata = {key: value for key, value in inputs.get("metadata", {}).items() if key != "annotations" or value}
        metadata.setdefault("name", resource["name"])
        made.append(known({**inputs, "metadata": metadata}))
    return made


def stage(
    name: str, stack: StackSpec, cat: Catalog, resources: Iterable[Mapping[str, Any]], *, nodes: int | None
) -> SandboxContents:
    """A stack's stage from its spec and its declared resources."""
    configuration = controllers.kueue_configuration(stack)
    limits = configuration["clientConnection"]
    given = list(resources)
    declared = objects(given)
    bought = [each["metadata"]["name"] for each in declared if each["kind"] == NODE_POOL]
    counts = Counts(limit=nodes, bought=frozenset(bought))
    shapes = [made for pool in of_stack(stack, cat) if (made := shape(pool, counts))]
    return SandboxContents(
        stack=name,
        shapes=(system_shape(stack), *shapes),
        objects=tuple(declared),
        kueue=ClientLimits(qps=limits["qps"], burst=limits["burst"]),
        jobset=ClientLimits(qps=controllers.REQUESTS_PER_SECOND, burst=controllers.BURST),
        kueue_settings=configuration,
        kueue_gates={"TopologyAwareScheduling": True},
        purchases=purchases(name, stack, cat, given, bought) if bought else None,
    )


def purchases(
    name: str, stack: StackSpec, cat: Catalog, resources: Iterable[Mapping[str, Any]], bought: Sequence[str]
) -> Purchases:
    """What Karpenter may buy for these node pools, and at which prices. A spot price is the middle of what was seen."""
    pools = {pool.name: pool for pool in stack.pools if pool.name in bought}
    on_demand: dict[str, float] = {}
    spot: dict[str, float] = {}
    for kind_of_machine in sorted({each for pool in pools.values() for each in pool.types}):
        machine = cat.instance(kind_of_machine)
        if found := cat.prices.machine_hour(machine, stack.region, "on-demand"):
            on_demand[kind_of_machine] = found[0]
        if found := cat.prices.machine_hour(machine, stack.region, "spot"):
            spot[kind_of_machine] = sum(found) / 2
    return Purchases(
        region=stack.region,
        cluster=f"trainshed-{name}",
        zones={pool.name: placement.pool_zones(Pool(pool, cat), stack.zones) for pool in pools.values()},
        on_demand=on_demand,
        spot=spot,
        memory_overhead=_memory_overhead(resources),
    )


def _memory_overhead(resources: Iterable[Mapping[str, Any]]) -> float:
    """As the stack's release of Karpenter sets it."""
    for resource in resources:
        if str(resource["type"]).startswith("kubernetes:helm.sh/") and resource["inputs"].get("name") == "karpenter":
            return float(resource["inputs"]["values"]["settings"]["vmMemoryOverheadPercent"])
    return karpenter.KarpenterSettings().memory_overhead


class WrongStack(ValueError):
    """The stack file has errors; the text holds all of them."""


def stage_of(stack: str, *, nodes: int | None = None) -> SandboxContents:
    """The stage of a stack file by name or path, with everything that the program declares inside the cluster.
    Raises WrongStack.
    """
    from components.problems import errors, render
    from infra import settings

    read = settings.from_file(stack)
    wrong = errors(read.problems)
    if wrong:
        raise WrongStack("\n".join(render(problem) for problem in wrong))
    # Importing the program takes the SDK's time: a wrong stack file is told sooner.
    from infra.build import build
    from infra.offline.recorder import run

    def program() -> None:
        build(read)

    recording = run(program, stack=read.name)
    resources = [record.as_json() for record in recording.records]
    return stage(read.name, read.valid, read.catalog, resources, nodes=nodes)
