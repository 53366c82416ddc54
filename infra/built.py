"""What a build of a stack made: its components by their nouns."""

from __future__ import annotations

from dataclasses import dataclass, field

from components.cluster import Cluster
from components.gpu_pool import GpuPool
from components.in_cluster.devices import Devices
from components.in_cluster.namespaces import Namespaces
from components.in_cluster.observability import Observability
from components.in_cluster.queueing import Queueing
from components.in_cluster.volumes import Volumes
from components.karpenter import Karpenter
from components.lustre import Lustre
from components.network import Network
from components.object_store import ObjectStore
from components.registry import Registry


@dataclass(kw_only=True)
class Built:
    """The components of a stack by their nouns; those on AWS are None on the premises."""

    network: Network | None = None
    registry: Registry | None = None
    store: ObjectStore | None = None
    lustre: dict[str, Lustre] = field(default_factory=dict[str, Lustre])
    cluster: Cluster | None = None
    karpenter: Karpenter | None = None
    pools: dict[str, GpuPool] = field(default_factory=dict[str, GpuPool])
    namespaces: Namespaces | None = None
    volumes: Volumes | None = None
    devices: Devices | None = None
    queueing: Queueing | None = None
    observability: Observability | None = None
