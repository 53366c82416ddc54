"""Roles, bindings and admission rules of the people whom a stack names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi

from components import catalog
from components.in_cluster.kubernetes_object import declare
from components.manifests import access
from components.planning import alone
from components.refused import refuse
from components.spec.stack import StackSpec


@dataclass(frozen=True, kw_only=True)
class PeopleArgs:
    """`namespaces`: those of jobs by name. `after`: what must be there before anything in the cluster."""

    spec: StackSpec
    namespaces: Mapping[str, pulumi.Resource]
    after: Sequence[pulumi.Resource] = ()


class People(pulumi.ComponentResource):
    """Nothing for a stack that names nobody."""

    def __init__(self, name: str, args: PeopleArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        refuse("People", name, alone.of_stack(args.spec, catalog.load()))
        super().__init__("trainshed:access:People", name, args.spec.access.model_dump(mode="json"), opts)
        found = access.objects(args.spec)
        made: dict[str, pulumi.Resource] = {}
        for key, manifest in found.items():
            namespace = args.namespaces.get(manifest["metadata"].get("namespace", ""))
            # A binding names its role, and an admission binding its rule, which both stand before it.
            before = [*args.after, *([namespace] if namespace else []), *made.values()]
            made[key] = declare(f"{name}-{key}", manifest, pulumi.ResourceOptions(parent=self, depends_on=before))
        self.register_outputs({"objects": sorted(made)})
