"""The Kubernetes objects of the pools that Karpenter buys for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi

from components.in_cluster.kubernetes_object import declare
from components.manifests.karpenter.node_class import NodeWires, node_class
from components.manifests.karpenter.node_pool import node_pool
from components.manifests.nodes import setup as node_setup
from components.planning import node_images
from components.planning.placement import Elastic
from components.planning.pool import Pool


@dataclass(frozen=True, kw_only=True)
class BoughtPool:
    """A pool with what Karpenter buys of it, and where its nodes go: `subnet_ids` of its zones, `security_group_ids`
    of every interface, the placement group's name.
    """

    pool: Pool
    elastic: Elastic
    subnet_ids: Sequence[pulumi.Input[str]]
    security_group_ids: Sequence[pulumi.Input[str]]
    placement_group: pulumi.Input[str] | None = None
    lustre_efa_interfaces: int = 0


@dataclass(frozen=True, kw_only=True)
class Shared:
    """What all pools of a stack have in common."""

    kubernetes_version: str
    instance_profile: pulumi.Input[str]
    key_arn: pulumi.Input[str] | None
    tags: dict[str, str]


def declare_pool(
    name: str, pool: BoughtPool, shared: Shared, *, parent: pulumi.Resource, after: Sequence[pulumi.Resource]
) -> list[pulumi.Resource]:
    """A node class, then the node pool that names it: a destroy takes the pool, with its nodes, first."""
    spec = pool.pool.spec
    machines = node_class(
        pool.pool,
        pool.elastic,
        image=node_images.of_pool(pool.pool, shared.kubernetes_version),
        setup=node_setup.of_pool(pool.pool, lustre_efa_interfaces=pool.lustre_efa_interfaces),
        wires=NodeWires(
            subnet_ids=pool.subnet_ids,
            security_group_ids=pool.security_group_ids,
            instance_profile=shared.instance_profile,
            key_arn=shared.key_arn,
            placement_group=pool.placement_group,
            tags=shared.tags,
        ),
    )
    ordered = pulumi.ResourceOptions(parent=parent, depends_on=list(after))
    made = declare(f"{name}-class-{spec.name}", machines, ordered)
    protected = pulumi.ResourceOptions(parent=parent, depends_on=[*after, made], protect=spec.protect)
    return [made, declare(f"{name}-pool-{spec.name}", node_pool(pool.pool, pool.elastic), protected)]
