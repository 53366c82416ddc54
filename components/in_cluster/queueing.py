"""Kueue and JobSet, and the queues of the stack file.

Custom resources come after the release that brings their definitions. A first deployment and a preview of an empty
cluster then both work, and a destroy removes the queues while their controller still runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pulumi

from components.catalog import Catalog, ChartPin
from components.in_cluster.helm_release import HelmRelease, HelmReleaseArgs
from components.in_cluster.kubernetes_object import declare
from components.manifests import admission
from components.manifests.queues import accounts, controllers, kueue
from components.planning import alone
from components.refused import refuse
from components.spec.stack import StackSpec


@dataclass(frozen=True, kw_only=True)
class QueueingArgs:
    """`namespaces`: the namespaces by name, of the controllers and of the queues' jobs. `after`: what controllers must
    wait for.

    `mirror`: the account's registry when images must not come from their publishers (no way out at all).
    `charts`: a chart's folder or archive on this machine by chart name, in place of the publisher's.
    """

    spec: StackSpec
    catalog: Catalog
    namespaces: Mapping[str, pulumi.Resource]
    after: Sequence[pulumi.Resource] = ()
    mirror: pulumi.Input[str] | None = None
    charts: Mapping[str, str] = field(default_factory=dict[str, str])


class Queueing(pulumi.ComponentResource):
    """Attributes: `kueue`, `jobset` (the releases), `local_queues` by name, `ready` (what a job must wait for)."""

    kueue: HelmRelease
    jobset: HelmRelease
    local_queues: Mapping[str, pulumi.Resource]
    ready: list[pulumi.Resource]

    def __init__(self, name: str, args: QueueingArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        refuse("Queueing", name, alone.of_stack(args.spec, args.catalog))
        stack = args.spec
        record = {"queues": [queue.model_dump(mode="json") for queue in stack.queues]}
        super().__init__("trainshed:queueing:Queueing", name, record, opts)
        self._name, self._args = name, args
        self.jobset = self._release("jobset", controllers.jobset_values(stack, registry=self._image("jobset")))
        # Kueue looks for JobSet's definitions when it starts, to know which kinds to manage.
        self.kueue = self._release(
            "kueue", controllers.kueue_values(stack, registry=self._image("kueue")), [self.jobset]
        )
        roles = {each["metadata"]["name"]: each for each in controllers.aggregated_roles()}
        self._declare("role", roles, [self.kueue])
        objects = kueue.objects(stack, args.catalog)
        topologies = self._declare("topology", objects.topologies, [self.kueue])
        flavors = self._declare("flavor", objects.flavors, [self.kueue, *topologies.values()])
        cohorts = self._declare("cohort", objects.cohorts, [self.kueue])
        shared = self._declare(
            "cluster-queue", objects.cluster_queues, [self.kueue, *flavors.values(), *cohorts.values()]
        )
        priorities = self._declare("priority", objects.priorities, [self.kueue])
        self.local_queues = self._declare("queue", objects.local_queues, [self.kueue, *shared.values()])
        self._declare("account", {queue.name: accounts.manifest(queue) for queue in stack.queues}, [])
        rule = declare(f"{name}-admission", admission.policy(), pulumi.ResourceOptions(parent=self))
        bound = pulumi.ResourceOptions(parent=self, depends_on=[rule])
        declare(f"{name}-admission-binding", admission.binding(controllers.JOBS), bound)
        self.ready = [self.jobset, self.kueue, *self.local_queues.values(), *priorities.values()]
        self.register_outputs({"local_queue_names": sorted(self.local_queues)})

    def _image(self, chart: str) -> pulumi.Input[str] | None:
        return (
            None
            if self._args.mirror is None
            else pulumi.Output.concat(self._args.mirror, f"/kubernetes/{chart}/{chart}")
        )

    def _release(self, chart: str, values: dict[str, Any], after: Sequence[pulumi.Resource] = ()) -> HelmRelease:
        pin: ChartPin = self._args.catalog.charts[chart]
        local = self._args.charts.get(chart)
        namespace = self._args.namespaces.get(pin.namespace)
        args = HelmReleaseArgs(
            release=chart,
            chart=local or (pin.repository if pin.oci else pin.name),
            repository=None if local or pin.oci else pin.repository,
            version=None if local else pin.version,
            namespace=pin.namespace,
            values=values,
        )
        depends = [*self._args.after, *([namespace] if namespace else []), *after]
        return HelmRelease(
            f"{self._name}-release-{chart}", args, pulumi.ResourceOptions(parent=self, depends_on=depends)
        )

    def _declare(
        self, role: str, manifests: Mapping[str, dict[str, Any]], after: Sequence[pulumi.Resource]
    ) -> dict[str, pulumi.Resource]:
        declared: dict[str, pulumi.Resource] = {}
        for key, manifest in manifests.items():
            namespace = self._args.namespaces.get(manifest["metadata"].get("namespace", ""))
            opts = pulumi.ResourceOptions(parent=self, depends_on=[*after, *([namespace] if namespace else [])])
            declared[key] = declare(f"{self._name}-{role}-{key}", manifest, opts)
        return declared
