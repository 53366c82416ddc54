"""Regions: which the catalog knows, and what separates them.

A region is known if the catalog lists machines sold in it. Regions of two partitions share nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from components.catalog import aws_types
from components.catalog.catalog import Catalog

# Zones whose subnets EKS refuses for a cluster; nodes may lie there.
WITHOUT_CONTROL_PLANE = aws_types.table()["aws:eks/cluster:Cluster"].barred_zones


def known(cat: Catalog) -> tuple[str, ...]:
    """Regions in which any type of the catalog is sold, sorted."""
    return tuple(sorted({region for instance in cat.instances.values() for region in instance.zones}))


def partition(region: str) -> str:
    """The first word of every ARN in that region."""
    if region.startswith("cn-"):
        return "aws-cn"
    return "aws-us-gov" if region.startswith("us-gov-") else "aws"


def control_zones(zones: Iterable[str]) -> tuple[str, ...]:
    """Those of the zones that a cluster's control plane can reach into, sorted."""
    return tuple(sorted(set(zones) - WITHOUT_CONTROL_PLANE))
