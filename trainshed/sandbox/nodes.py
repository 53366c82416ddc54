"""Nodes that exist only in the API server, with the labels and resources real ones would have.

kwok plays their kubelets: it lets pods that are bound to them run and end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from trainshed.sandbox import tools
from trainshed.sandbox.api import Api, Object
from trainshed.sandbox.plane import ControlPlane, program

PROGRAMS = ("kwok",)
ANNOTATION = {"kwok.x-k8s.io/node": "fake"}

# pod-complete stays out: it would end every Job pod at once, and a training worker runs until its test says otherwise.
_STAGES = ("node/fast/node-initialize.yaml", "pod/fast/pod-ready.yaml", "pod/fast/pod-delete.yaml")


@dataclass(frozen=True, kw_only=True)
class NodeShape:
    """What every node of one pool looks like.

    `layers` are the labels of the network layers, outermost first, and `fanout` says how many of each lie in the one
    above: `("spine", "leaf")` with `(8, 8)` puts 8 nodes in a leaf and 8 leaves in a spine.
    """

    name: str
    count: int
    resources: Mapping[str, str]
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    taints: Sequence[Mapping[str, str]] = ()
    layers: Sequence[str] = ()
    fanout: Sequence[int] = ()


def nodes(shape: NodeShape) -> Iterator[Object]:
    """The pool's nodes in order; neighbours in number are neighbours in the network."""
    for index in range(shape.count):
        name = f"{shape.name}-{index:05d}"
        yield {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "annotations": dict(ANNOTATION),
                "labels": {
                    "kubernetes.io/hostname": name,
                    "kubernetes.io/os": "linux",
                    **shape.labels,
                    **layer_labels(shape, index),
                },
            },
            "spec": {"taints": [dict(taint) for taint in shape.taints]},
            "status": {"capacity": dict(shape.resources), "allocatable": dict(shape.resources)},
        }


def layer_labels(shape: NodeShape, index: int) -> dict[str, str]:
    """The network place of the node with this number: the innermost layer changes first."""
    labels: dict[str, str] = {}
    position = index
    places: list[int] = []
    for size in reversed(shape.fanout):
        position //= size
        places.append(position)
    for layer, place in zip(shape.layers, reversed(places), strict=True):
        labels[layer] = f"{shape.name}-{layer.rsplit('/', 1)[-1]}-{place}"
    return labels


def create(api: Api, shapes: Sequence[NodeShape]) -> None:
    for shape in shapes:
        api.each(api.create, nodes(shape))


def start_kwok(plane: ControlPlane, *, held_back: Sequence[str] = ()) -> None:
    """Keep fake nodes ready and their pods running, but for pods whose `app.kubernetes.io/name` is `held_back`."""
    folder: Path = tools.asset("kwok", "kustomize/stage")
    loaded = [yaml.safe_load((folder / stage).read_text()) for stage in _STAGES]
    for stage in loaded:
        if stage["metadata"]["name"] == "pod-ready" and held_back:
            own_name = '.metadata.labels["app.kubernetes.io/name"]'
            stage["spec"]["selector"]["matchExpressions"].append(
                {"key": own_name, "operator": "NotIn", "values": list(held_back)}
            )
    stages = plane.folder / "stages.yaml"
    stages.write_text(yaml.safe_dump_all(loaded))
    port = plane.processes.ports.take()
    plane.processes.start(
        "kwok",
        [
            program("kwok"),
            f"--kubeconfig={plane.kubeconfig}",
            f"--config={stages}",
            "--manage-all-nodes=false",
            "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
            # Leases would cost 125 writes a second at 1,250 nodes; the node-lifecycle controller's patience stands for
            # them.
            "--node-lease-duration-seconds=0",
            f"--server-address=127.0.0.1:{port}",
            f"--node-port={port}",
            "--node-ip=127.0.0.1",
        ],
    )
