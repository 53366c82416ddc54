"""What a stack tells its users after an update: how to reach the cluster, where data goes, which pools there are."""

from __future__ import annotations

import pulumi

from infra.built import Built


def export(built: Built) -> None:
    """Export the stack's outputs; nothing secret is among them."""
    if built.cluster is not None:
        pulumi.export("cluster", built.cluster.name)
        pulumi.export("endpoint", built.cluster.endpoint)
    if built.network is not None:
        pulumi.export("vpc", built.network.vpc_id)
    if built.registry is not None:
        pulumi.export("registry", built.registry.prefix)
    if built.store is not None:
        pulumi.export("buckets", dict(built.store.bucket_names))
    if built.lustre:
        pulumi.export(
            "lustre", {name: {"dns": each.dns_name, "mount": each.mount_name} for name, each in built.lustre.items()}
        )
    pulumi.export("pools", {name: pool.node_group_names for name, pool in built.pools.items()})
