"""Regions: which the catalog knows, and what separates them.

Hides that a region is known by the machines sold there, and that regions of two partitions share nothing.
"""

from __future__ import annotations

from components.catalog.catalog import Catalog


def known(cat: Catalog) -> tuple[str, ...]:
    """Regions in which any type of the catalog is sold, sorted."""
    return tuple(sorted({region for instance in cat.instances.values() for region in instance.zones}))


def partition(region: str) -> str:
    """The first word of every ARN in that region."""
    if region.startswith("cn-"):
        return "aws-cn"
    return "aws-us-gov" if region.startswith("us-gov-") else "aws"
