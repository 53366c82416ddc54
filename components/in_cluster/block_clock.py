"""The part of a block's calendar that runs in the cluster: it holds a pool's queues and tells its jobs to leave before
the nodes go.

A small program on the system nodes runs every five minutes, sets Kueue's stop policy and drains the block's nodes.
`block_calendar` brings and removes the nodes from outside the cluster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi

from components.catalog import Catalog
from components.in_cluster.kubernetes_object import declare
from components.manifests import block_clock
from components.planning import alone
from components.refused import refuse
from components.spec.stack import StackSpec


@dataclass(frozen=True, kw_only=True)
class BlockClockArgs:
    """`registry_prefix`: the account's registry when images must not come from their publishers. `after`: Kueue and its
    namespace.
    """

    spec: StackSpec
    catalog: Catalog
    registry_prefix: pulumi.Input[str] | None = None
    after: Sequence[pulumi.Resource] = ()


class BlockClock(pulumi.ComponentResource):
    """One clock for every pool of blocks that a queue hands out; nothing for a stack without any. `pools`: their
    names.
    """

    pools: list[str]

    def __init__(self, name: str, args: BlockClockArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        refuse("BlockClock", name, alone.of_stack(args.spec, args.catalog))
        found = block_clock.pools(args.spec)
        super().__init__("trainshed:queueing:BlockClock", name, {"pools": [pool.name for pool in found]}, opts)
        self.pools = [pool.name for pool in found]
        for pool in found:
            registry = None if args.registry_prefix is None else ""
            objects = block_clock.objects(args.spec, pool, args.catalog, registry=registry)
            if args.registry_prefix is not None:
                objects["timetable"] = _from(args.registry_prefix, objects["timetable"])
            before: list[pulumi.Resource] = list(args.after)
            for role, manifest in objects.items():
                made = declare(
                    f"{name}-{role}-{pool.name}", manifest, pulumi.ResourceOptions(parent=self, depends_on=before)
                )
                before = [*before, made]
        self.register_outputs({"pools": self.pools})


def _from(prefix: pulumi.Input[str], timetable: Mapping[str, Any]) -> dict[str, Any]:
    """The timetable with its image in the account's registry."""
    job = timetable["spec"]["jobTemplate"]["spec"]
    pod = job["template"]["spec"]
    (container,) = pod["containers"]
    pod = {**pod, "containers": [{**container, "image": pulumi.Output.concat(prefix, "/", container["image"])}]}
    template = {"spec": {**job, "template": {"spec": pod}}}
    return {**timetable, "spec": {**timetable["spec"], "jobTemplate": template}}
