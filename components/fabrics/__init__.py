"""The fabrics, each a module of its own and one entry here.

A pool gets the fabric that the stack file names, or the best one its machines have when the file names none.
"""

from __future__ import annotations

from components.catalog import Catalog, InstanceType
from components.fabrics.efa import Efa
from components.fabrics.fabric import Fabric, Interface, InterfaceType, Node
from components.fabrics.infiniband import INFINIBAND
from components.fabrics.roce import ROCE
from components.fabrics.tcp import Tcp
from components.spec.pools import PoolSpec

FABRICS: dict[str, Fabric] = {fabric.kind: fabric for fabric in (Efa(), Tcp(), INFINIBAND, ROCE)}

__all__ = ["FABRICS", "Fabric", "Interface", "InterfaceType", "Node", "node_of", "of"]

_SINGLE_NODE = frozenset({"preprocessing", "system"})


def node_of(pool: PoolSpec, cat: Catalog) -> Node | None:
    """The pool's machine: its hosts, or the first of its types; None where neither is known."""
    if pool.hosts:
        return pool.hosts
    return cat.instances.get(pool.types[0]) if pool.types else None


def of(pool: PoolSpec, node: Node | None) -> Fabric:
    """The pool's fabric. If the file names none: EFA where the cards can use it directly, else TCP.

    Raises KeyError for a fabric that isn't registered.
    """
    if pool.fabric is not None:
        return FABRICS[pool.fabric]
    capable = isinstance(node, InstanceType) and node.cards > 0 and bool(node.network.gpudirect_rdma) and node.efa
    return FABRICS["efa" if capable and pool.purpose not in _SINGLE_NODE else "tcp"]
