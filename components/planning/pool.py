"""A pool of the stack file together with what the catalog knows of its machines.

Templates, node pools, flavors and tolerations are all made from the same value, so that they agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from components import accelerators, fabrics, node_labels
from components.accelerators import Accelerator
from components.catalog import Catalog, ImageFamily, InstanceType
from components.fabrics import Fabric, Node, efa
from components.planning import nodes
from components.planning.nodes import Taint
from components.spec.pools import HostSpec, PoolSpec, Reservation
from components.spec.stack import StackSpec


@dataclass(frozen=True)
class Pool:
    """A pool and its machines. Each answer is looked up when it is first asked for, and once.

    What can't be known of an unknown type raises UnknownInstanceType: `instance`, and what is read from it.
    """

    spec: PoolSpec
    catalog: Catalog = field(repr=False, compare=False)

    @property
    def name(self) -> str:
        return self.spec.name

    @cached_property
    def machines(self) -> Sequence[InstanceType]:
        """The pool's types, when the catalog knows every one of them; else none, and a rule on names reports it."""
        found = self.catalog.instances
        return tuple(found[name] for name in self.spec.types) if all(name in found for name in self.spec.types) else ()

    @cached_property
    def known_machines(self) -> tuple[InstanceType, ...]:
        """Those of the pool's types that the catalog knows."""
        return tuple(self.catalog.instances[name] for name in self.spec.types if name in self.catalog.instances)

    @cached_property
    def instance(self) -> InstanceType:
        """The pool's type, the first of several. Raises UnknownInstanceType, or ValueError for a pool of hosts."""
        if not self.spec.types:
            raise ValueError(f"pool {self.name} has no instance type")
        return self.catalog.instance(self.spec.types[0])

    @cached_property
    def node(self) -> Node | None:
        """The pool's machine: its hosts, or the first of its types; None where neither is known."""
        return fabrics.node_of(self.spec, self.catalog)

    @cached_property
    def accelerator(self) -> Accelerator | None:
        """The adapter that drives the pool's cards; None for a pool without cards, and where the type is unknown."""
        if self.node is None:
            return None
        return (
            accelerators.for_vendor(self.node.vendor) if isinstance(self.node, HostSpec) else accelerators.of(self.node)
        )

    @cached_property
    def fabric(self) -> Fabric:
        """Raises KeyError for a fabric that isn't registered."""
        return fabrics.of(self.spec, self.node)

    @cached_property
    def cards(self) -> int:
        """Cards of one node, the fewest of several types; 0 for types that the catalog doesn't know."""
        if self.spec.hosts:
            return self.spec.hosts.cards
        return min((each.cards for each in self.known_machines), default=0)

    @property
    def cards_to_share(self) -> int:
        """Cards that queues may hand out: those of all nodes but the spares."""
        return max(0, self.spec.max_nodes - self.spec.spares) * self.cards

    @property
    def in_compute_network(self) -> bool:
        """Whether the pool's nodes live in the compute network: whether any of its types has cards."""
        return any(each.cards > 0 for each in self.known_machines)

    @cached_property
    def layers(self) -> int:
        """Network layers that EC2 names for all of the pool's types; 0 where it names none, and on the premises."""
        return min((each.topology_layers for each in self.known_machines), default=0)

    @property
    def placed_by_topology(self) -> bool:
        """Whether Kueue places the pool's jobs by network layer: it sees only nodes that are there, so not where any
        are bought when a job waits. Those of a block are all there while its queue is open.
        """
        return not nodes.sizes_itself(self.spec) and self.layers > 0

    @property
    def placeable(self) -> bool:
        """Whether the pool's node groups can be planned; where they can't, another rule reports the word at fault."""
        capacity = self.spec.capacity
        if isinstance(capacity, Reservation) and capacity.sizes and set(capacity.sizes) != set(capacity.ids):
            return False
        return bool(self.machines) and self.fabric_known

    @property
    def fabric_known(self) -> bool:
        """Whether the file names a fabric that is registered, or leaves the choice."""
        return self.spec.fabric is None or self.spec.fabric in fabrics.FABRICS

    @cached_property
    def has_efa(self) -> bool:
        """Whether pods of the pool ask for EFA devices. Raises UnknownInstanceType."""
        if self.spec.hosts or not self.fabric_known:
            return False
        return efa.RESOURCE in self.fabric.pod_resources(self.spec, self.instance)

    @cached_property
    def image(self) -> ImageFamily:
        """The image family: the user's, CUSTOM for an own image, else the one that fits cards and architecture.

        Raises NoImageFamily when EKS has none, KeyError for a family that the catalog doesn't know.
        """
        images = self.catalog.images
        if self.spec.image_family:
            return images.family(self.spec.image_family)
        if self.spec.image_id:
            return images.family("CUSTOM")
        machine = self.instance
        if self.accelerator:
            return images.family(self.accelerator.image_family(machine.arch))
        return images.family("AL2023_ARM_64_STANDARD" if machine.arch == "arm64" else "AL2023_x86_64_STANDARD")

    @property
    def image_runs_plugin(self) -> bool:
        """Whether the pool's image runs a device plugin for its cards itself, beside which a second would register the
        same resource: Bottlerocket's NVIDIA variants do, as a service of the host (bottlerocket-os/bottlerocket 3992).
        """
        named = self.spec.image_family
        family = self.catalog.images.families.get(named) if named and not self.spec.image_id else None
        return family is not None and family.system == "bottlerocket" and family.vendor == "nvidia"

    @property
    def repaired(self) -> bool:
        """Whether EKS repairs nodes of the pool's groups: those with cards, whose faults end a job anyway, unless said
        otherwise.
        """
        return self.accelerator is not None if self.spec.node_repair is None else self.spec.node_repair

    @cached_property
    def taints(self) -> tuple[Taint, ...]:
        """The accelerator's taint, then the user's, by key and effect."""
        family = self.accelerator
        own = [Taint(key=family.taint_key, value=family.taint_value, effect="NoSchedule")] if family else []
        extra = [nodes.taint(each.key, each.value, each.effect) for each in self.spec.taints]
        return tuple(own + sorted(extra, key=lambda taint: (taint.key, taint.effect)))

    def labels(self, *, capacity: str | None = None, block: str | None = None) -> dict[str, str]:
        """Labels of every node, sorted. `capacity` and `block` are a node group's own words, the pool's when left
        out.
        """
        family = self.accelerator
        fixed = node_labels.of_pool(
            pool=self.name,
            purpose=self.spec.purpose,
            capacity=capacity or self.spec.capacity.kind,
            fabric=self.fabric.kind,
            accelerator=family.vendor if family else None,
            efa=self.has_efa,
        )
        of_family = dict(family.labels) if family else {}
        of_block = {node_labels.BLOCK: block} if block else {}
        return dict(sorted({**of_family, **self.spec.labels, **fixed, **of_block}.items()))


def of_stack(stack: StackSpec, cat: Catalog) -> Iterator[Pool]:
    """Every pool of the stack, in the file's order."""
    for spec in stack.pools:
        yield Pool(spec, cat)
