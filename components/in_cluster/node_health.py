"""The quarantine controller and the checks of the nodes that it has taken out, for every form of cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi

from components.catalog import Catalog
from components.in_cluster.kubernetes_object import declare
from components.manifests import node_health
from components.planning import images
from components.spec.stack import StackSpec


@dataclass(frozen=True, kw_only=True)
class NodeHealthArgs:
    """`registry_prefix`: the registry that nodes with cards pull from, None where they reach the publishers;
    `mirror`: the same for system nodes. `after`: what must be there before, the namespaces of jobs among it.
    """

    spec: StackSpec
    catalog: Catalog
    registry_prefix: pulumi.Input[str] | None = None
    mirror: pulumi.Input[str] | None = None
    after: Sequence[pulumi.Resource] = ()


class NodeHealth(pulumi.ComponentResource):
    """Nothing where the stack file turns it off. `checked`: the pools whose nodes a passed check releases."""

    checked: list[str]

    def __init__(self, name: str, args: NodeHealthArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        stack, cat = args.spec, args.catalog
        super().__init__("trainshed:health:NodeHealth", name, stack.node_health.model_dump(mode="json"), opts)
        self._args = args
        self.checked = []
        if stack.node_health.quarantine:
            before: list[pulumi.Resource] = list(args.after)
            controller = node_health.controller_objects(
                stack, cat, self._image(node_health.CONTROLLER_IMAGE, args.mirror)
            )
            for role, manifest in controller.items():
                child = pulumi.ResourceOptions(parent=self, depends_on=list(before))
                before.append(declare(f"{name}-{role}", manifest, child))
            image = self._image(node_health.CHECK_IMAGE, args.registry_prefix)
            for check in node_health.checks(stack, cat):
                child = pulumi.ResourceOptions(parent=self, depends_on=list(before))
                declare(f"{name}-check-{check.pool}", node_health.daemon_set(check, image), child)
                self.checked.append(check.pool)
        self.register_outputs({"checked": self.checked})

    def _image(self, key: str, registry: pulumi.Input[str] | None) -> pulumi.Input[str]:
        pin = self._args.catalog.charts.image(key)
        return pin.reference if registry is None else pulumi.Output.concat(registry, "/", images.path(pin))
