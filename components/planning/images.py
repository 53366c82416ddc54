"""Every image that runs where there is no route to the internet: whose it is, where the account's registry keeps it,
and how it gets there.

The mirror has a folder for each publisher, so that two images of one name never collide. Names must fit the registry's
limits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import Final, Literal

from components import accelerators, file_systems
from components.catalog import Catalog, ImagePin
from components.fabrics import efa
from components.naming import listed
from components.planning import nodes
from components.planning.pool import Pool
from components.spec.form import SelfHosted
from components.spec.stack import StackSpec
from components.spec.storage import RegistrySpec

FOLDERS: Final = {
    "public.ecr.aws": "ecr-public",
    "registry.k8s.io": "kubernetes",
    "quay.io": "quay",
    "ghcr.io": "github",
    "docker.io": "docker-hub",
    "nvcr.io": "nvcr",
    "602401143452.dkr.ecr.us-west-2.amazonaws.com": "eks",
}
# What ECR calls the publishers' registries where it isn't their own name.
UPSTREAMS: Final = {"docker.io": "registry-1.docker.io"}
# Controllers, which reach their publishers through NAT where there is one.
_CONTROLLERS: Final = ("jobset", "kueue")
# Of the quarantine controller and of the checks of nodes that it has taken out.
_HEALTH_CONTROLLER: Final = "python"
_HEALTH_CHECK: Final = "amazonlinux"
# What the chart of the monitoring stack runs beside the node exporter.
MONITORING: Final = (
    "alertmanager",
    "kube-state-metrics",
    "kube-webhook-certgen",
    "prometheus",
    "prometheus-config-reloader",
    "prometheus-operator",
)
How = Literal["cached", "copied"]

# Amazon ECR User Guide, service quotas of private registries, read 2026-11-30. Requests a second; downloads of layers
# are S3's.
BATCH_GET_IMAGE: Final = 2000
DOWNLOAD_URL: Final = 3000
# Layers of a framework image: base, driver-side libraries, framework, collective library, own programs, in 20 to 40
# steps.
_LAYERS: Final = 40
# What a node of a large type takes from S3 at once while it unpacks: containerd writes to local disks at about 1 GB/s.
_NODE_BYTES_PER_SECOND: Final = 1e9


@dataclass(frozen=True, kw_only=True)
class Mirrored:
    """An image of others: `upstream` is where its publisher has it, `path` where the account's registry has it.

    `cached` images come through a pull-through rule with their first pull, which needs a route to the internet;
    `copied` ones are pushed by hand.
    """

    name: str
    upstream: str
    registry: str
    repository: str
    tag: str
    how: How

    @property
    def path(self) -> str:
        """`folder/repository:tag`, below the account's registry."""
        return f"{self.repository}:{self.tag}"

    def as_plan(self) -> dict[str, object]:
        return {"name": self.name, "upstream": self.upstream, "path": self.path, "how": self.how}


def folder(registry: str) -> str:
    """The mirror's folder for a publisher's registry. Raises KeyError naming the known ones."""
    try:
        return FOLDERS[registry]
    except KeyError:
        raise KeyError(
            f"no folder of the mirror holds {registry}; there are folders for {listed(sorted(FOLDERS))}"
        ) from None


def repository(pin: ImagePin) -> str:
    """`folder/repository`, below the account's registry."""
    return f"{folder(pin.registry)}/{pin.repository}"


def path(pin: ImagePin) -> str:
    """`folder/repository:tag`, below the account's registry."""
    return f"{repository(pin)}:{pin.tag}"


def upstream(registry: str) -> str:
    """The host that a pull-through rule names for a publisher."""
    return UPSTREAMS.get(registry, registry)


def cached_registries(spec: RegistrySpec, cat: Catalog) -> tuple[str, ...]:
    """Publishers that a pull-through rule reaches: those that ask nobody, and those whose secret the stack names;
    sorted.
    """
    reached = cat.charts.pull_through
    return tuple(
        sorted(
            each
            for each in FOLDERS
            if upstream(each) in reached and (not reached[upstream(each)] or upstream(each) in spec.credentials)
        )
    )


def cached_by(stack: StackSpec, cat: Catalog) -> tuple[str, ...]:
    """Publishers whose images come through the cache of this stack's network: none without a route to the internet,
    which a first pull needs.

    ECR User Guide, interface endpoints: the network that asks for an image for the first time must reach the internet;
    later pulls don't.
    """
    return () if _isolated(stack) else cached_registries(stack.storage.registry, cat)


def _isolated(stack: StackSpec) -> bool:
    return stack.network is not None and stack.network.egress == "isolated"


def needed(stack: StackSpec, cat: Catalog) -> tuple[Mirrored, ...]:
    """Images of others that the stack's pods pull from the account's registry, by name.

    EKS' own add-ons aren't among them: EKS names their images in its registry of the stack's own region, which the
    endpoints reach.
    """
    if isinstance(stack.form, SelfHosted):
        # Its nodes' own daemons are the machines' owner's.
        health = (_HEALTH_CONTROLLER, _HEALTH_CHECK) if stack.node_health.quarantine else ()
        names = (*_CONTROLLERS, *MONITORING, "node-exporter", *health) if stack.form.registry else ()
        return tuple(_mirrored(cat.charts.images[name], "copied") for name in sorted(names))
    isolated, cached = _isolated(stack), cached_by(stack, cat)
    names = {
        *_in_compute_network(stack, cat),
        *((*_CONTROLLERS, *MONITORING) if isolated else ()),
        *((_HEALTH_CONTROLLER,) if isolated and stack.node_health.quarantine else ()),
        *(("karpenter",) if isolated and any(nodes.bought_nodes(pool) for pool in stack.pools) else ()),
        *file_systems.images(stack),
    }
    pins = [cat.charts.images[name] for name in sorted(names) if name in cat.charts.images]
    return tuple(_mirrored(pin, "cached" if pin.registry in cached else "copied") for pin in pins)


def _mirrored(pin: ImagePin, how: How) -> Mirrored:
    return Mirrored(
        name=pin.name, upstream=pin.reference, registry=pin.registry, repository=repository(pin), tag=pin.tag, how=how
    )


def _in_compute_network(stack: StackSpec, cat: Catalog) -> Iterator[str]:
    """Daemons of nodes with cards: device plugins, telemetry, and what measures every node."""
    pools = [pool for pool in stack.pools if Pool(pool, cat).in_compute_network]
    for pool in pools:
        for name in pool.types:
            family = accelerators.of(cat.instances[name]) if name in cat.instances else None
            if family is not None:
                yield family.device_plugin.image
                if family.telemetry is not None:
                    yield family.telemetry.image
        found = Pool(pool, cat)
        if found.node is not None and efa.RESOURCE in found.fabric.pod_resources(pool, found.node):
            yield "efa-device-plugin"
            yield "python"  # runs the exporter of EFA's counters
    if pools:
        if stack.node_health.quarantine:
            yield _HEALTH_CHECK
        yield "node-exporter"
        yield "fluent-bit"


@dataclass(frozen=True, kw_only=True)
class PullPlan:
    """How long the largest pool takes to fetch the training image when all its nodes start at once, and what holds it
    up.
    """

    nodes: int
    image_gib: int
    manifest_seconds: float
    layer_seconds: float
    download_seconds: float
    preloaded: bool

    @property
    def seconds(self) -> int:
        return ceil(self.manifest_seconds + max(self.layer_seconds, self.download_seconds))

    @property
    def arithmetic(self) -> str:
        """The arithmetic in words."""
        return (
            f"{self.nodes:,} nodes ask for a manifest at {BATCH_GET_IMAGE:,} a second: {self.manifest_seconds:.1f} s; "
            f"{self.nodes:,} x {_LAYERS} layers at {DOWNLOAD_URL:,} a second: {self.layer_seconds:.1f} s; "
            f"{self.image_gib} GiB on each node: {self.download_seconds:.0f} s"
        )

    def as_plan(self) -> dict[str, object]:
        return {
            "nodes": self.nodes,
            "image_gib": self.image_gib,
            "seconds": self.seconds,
            "reckoning": self.arithmetic,
            "preloaded": self.preloaded,
        }


def pull_plan(stack: StackSpec, cat: Catalog) -> PullPlan | None:
    """None for a stack without nodes with cards."""
    counts = [pool.max_nodes for pool in stack.pools if Pool(pool, cat).cards > 0]
    if not counts:
        return None
    registry, count = stack.storage.registry, max(counts)
    return PullPlan(
        nodes=count,
        image_gib=registry.image_gib,
        manifest_seconds=count / BATCH_GET_IMAGE,
        layer_seconds=count * _LAYERS / DOWNLOAD_URL,
        download_seconds=registry.image_gib * 1024**3 / _NODE_BYTES_PER_SECOND,
        preloaded=bool(registry.preload),
    )
