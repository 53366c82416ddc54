"""The stack's namespaces with their pod security level, network policies and quotas.

What each namespace may do is defined in `manifests/namespaces.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi

from components.catalog import Catalog
from components.in_cluster.kubernetes_object import declare
from components.manifests import namespaces
from components.planning import alone
from components.refused import refuse
from components.spec.stack import StackSpec


@dataclass(frozen=True, kw_only=True)
class NamespacesArgs:
    """`after`: what must be there before anything in the cluster, such as its access entries."""

    spec: StackSpec
    catalog: Catalog
    after: Sequence[pulumi.Resource] = ()


class Namespaces(pulumi.ComponentResource):
    """Attributes: `namespaces` by name, `job_namespaces` (names), `ready` (namespaces with their rules)."""

    namespaces: Mapping[str, pulumi.Resource]
    job_namespaces: list[str]
    ready: list[pulumi.Resource]

    def __init__(self, name: str, args: NamespacesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        refuse("Namespaces", name, alone.of_stack(args.spec, args.catalog))
        plan = namespaces.plan(args.spec, args.catalog)
        ranges = namespaces.own_ranges(args.spec, args.catalog)
        levels = {each.name: each.level for each in plan}
        super().__init__("trainshed:namespaces:Namespaces", name, {"levels": levels}, opts)
        outer = pulumi.ResourceOptions(parent=self, depends_on=list(args.after))
        declared: dict[str, pulumi.Resource] = {}
        rules: list[pulumi.Resource] = []
        for each in plan:
            declared[each.name] = declare(f"{name}-namespace-{each.name}", namespaces.namespace(each), outer)
            inner = pulumi.ResourceOptions(parent=self, depends_on=[declared[each.name]])
            for key, policy in namespaces.policies(each, ranges).items():
                rules.append(declare(f"{name}-policy-{each.name}-{key}", policy, inner))
            if each.jobs:
                rules.append(
                    declare(
                        f"{name}-quota-{each.name}",
                        namespaces.resource_quota(each.name, args.spec, args.catalog),
                        inner,
                    )
                )
        self.namespaces = declared
        self.job_namespaces = [each.name for each in plan if each.jobs]
        self.ready = [*declared.values(), *rules]
        self.register_outputs({"job_namespaces": self.job_namespaces})
