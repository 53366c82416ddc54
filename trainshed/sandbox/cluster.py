"""A control plane with fake nodes, Kueue, JobSet and a stack's objects in it.

They come up in the order in which one needs the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from trainshed.sandbox import controllers, nodes
from trainshed.sandbox.api import Api, ApiError, Object
from trainshed.sandbox.cloud import account, karpenter
from trainshed.sandbox.cloud.purchases import is_karpenters, led_here
from trainshed.sandbox.contents import SandboxContents
from trainshed.sandbox.plane import CONTROLLERS, SERVERS, ControlPlane

PROGRAMS = (*SERVERS, *CONTROLLERS, *nodes.PROGRAMS, *controllers.PROGRAMS)

Tell = Callable[[str], None]


def raise_curtain(plane: ControlPlane, stage: SandboxContents, tell: Tell) -> list[str]:
    """Bring everything up in order; returns what was left out, each with its reason."""
    tell("JobSet and Kueue")
    controllers.start_jobset(plane, limits=stage.jobset)
    controllers.start_kueue(plane, limits=stage.kueue, settings=stage.kueue_settings, gates=stage.kueue_gates)
    tell("kwok")
    nodes.start_kwok(plane)
    total = sum(shape.count for shape in stage.shapes)
    tell(f"{total} nodes")
    nodes.create(plane.api, stage.shapes)
    tell(f"{len(stage.objects)} objects of the stack {stage.stack}")
    if stage.purchases is None:
        return apply_all(plane.api, stage.objects)
    return [
        *apply_all(plane.api, [each for each in stage.objects if not is_karpenters(each)]),
        *_let_buy(plane, stage, tell),
    ]


def _let_buy(plane: ControlPlane, stage: SandboxContents, tell: Tell) -> list[str]:
    """Start Karpenter over an account of its own, with the stack's node pools; returns what was left out."""
    wanted = stage.purchases
    assert wanted is not None
    tell("moto and Karpenter")
    karpenter.install_crds(plane.api)
    made = account.start(
        plane,
        region=wanted.region,
        cluster=wanted.cluster,
        zones=sorted({zone for zones in wanted.zones.values() for zone in zones}),
        market=account.Market(on_demand=wanted.on_demand, spot=wanted.spot),
    )
    karpenter.start(plane, made, karpenter.KarpenterSettings(memory_overhead=wanted.memory_overhead))
    objects, left_out = led_here([each for each in stage.objects if is_karpenters(each)], wanted, made)
    karpenter.declare(plane, objects)
    return left_out


def apply_all(api: Api, objects: Sequence[Object]) -> list[str]:
    """Apply objects in the order of their declaration, namespaces first; a kind that the server lacks is left
    out and named.
    """
    left_out: list[str] = []
    for name in sorted(_namespaces_used(objects)):
        if not api.exists("v1", "Namespace", name):
            api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    for thing in sorted(objects, key=lambda thing: thing["kind"] != "Namespace"):
        try:
            api.apply(thing)
        except ApiError as error:
            if error.status != 404:
                raise ApiError(
                    error.status, f"{thing['kind']} {thing['metadata']['name']}: {error.message}", error.answer
                ) from error
            left_out.append(
                f"{thing['kind']} {thing['metadata']['name']}: its kind belongs to an operator that is not here"
                f" ({thing['apiVersion']})"
            )
    return left_out


def _namespaces_used(objects: Iterable[Mapping[str, Any]]) -> set[str]:
    own = {thing["metadata"]["name"] for thing in objects if thing["kind"] == "Namespace"}
    return {thing["metadata"]["namespace"] for thing in objects if thing["metadata"].get("namespace")} - own
