"""The device plugins of a stack's pools, as typed resources.

The accelerator adapters and the fabric say which plugins there are. Their images come from the account's registry,
since the compute network has no route to the internet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi

from components.catalog import Catalog
from components.in_cluster.kubernetes_object import declare
from components.manifests import device_plugins
from components.planning import alone, images
from components.refused import refuse
from components.spec.stack import StackSpec


@dataclass(frozen=True, kw_only=True)
class DevicesArgs:
    """`registry_prefix`: the account's registry, `ACCOUNT.dkr.ecr.REGION.amazonaws.com`. `after`: what must be there
    before the daemons.
    """

    spec: StackSpec
    catalog: Catalog
    registry_prefix: pulumi.Input[str]
    after: Sequence[pulumi.Resource] = ()


class Devices(pulumi.ComponentResource):
    """Attributes: `daemons` by name; `images` are the mirror's paths below the registry that they pull."""

    daemons: Mapping[str, pulumi.Resource]
    images: list[str]

    def __init__(self, name: str, args: DevicesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        refuse("Devices", name, alone.of_stack(args.spec, args.catalog))
        plan = device_plugins.daemons(args.spec, args.catalog)
        super().__init__("trainshed:devices:Devices", name, {"plugins": [each.plugin.name for each in plan]}, opts)
        declared: dict[str, pulumi.Resource] = {}
        paths: list[str] = []
        for daemon in plan:
            plugin = daemon.plugin
            path = images.path(args.catalog.charts.image(plugin.image))
            image = pulumi.Output.concat(args.registry_prefix, "/", path)
            child = pulumi.ResourceOptions(parent=self, depends_on=list(args.after))
            rights = [
                declare(f"{name}-{plugin.name}-{each['kind'].lower()}", each, child)
                for each in device_plugins.access(plugin)
            ]
            after = pulumi.ResourceOptions(parent=self, depends_on=[*args.after, *rights])
            declared[plugin.name] = declare(
                f"{name}-daemon-{plugin.name}", device_plugins.daemon_set(daemon, image), after
            )
            paths.append(path)
        self.daemons, self.images = declared, paths
        self.register_outputs({"images": paths})
