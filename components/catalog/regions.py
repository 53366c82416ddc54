"""Regions: which the catalog knows, and what separates them.

A region is known if the catalog lists machines sold in it. Regions of two partitions share nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from components.catalog import aws_types
from components.catalog.catalog import Catalog

# Zones whose subnets EKS refuses for a cluster; nodes may lie there.
WITHOUT_CONTROL_PLANE = aws_types.table()["aws:eks/cluster:Cluster"].barred_zones


def known(cat: Catalog) -> tuple[str, ...]:
    """Regions in which any type of the catalog is sold, sorted."""
    return tuple(sorted({region for instance in cat.instances.values() for region in instance.zones}))


@dataclass(frozen=True, kw_only=True)
class Partition:
    """A part of AWS with accounts of its own: the first word of its ARNs, and the domain of its hosts."""

    word: str
    title: str
    domain: str = "amazonaws.com"


_COMMERCIAL = Partition(word="aws", title="AWS")
# By what their regions' names begin with; words and domains as in botocore's partitions.json of 2026-11.
_OTHERS = {
    "cn-": Partition(word="aws-cn", title="AWS China", domain="amazonaws.com.cn"),
    "us-gov-": Partition(word="aws-us-gov", title="AWS GovCloud (US)"),
    "eusc-": Partition(word="aws-eusc", title="the AWS European Sovereign Cloud", domain="amazonaws.eu"),
    "us-iso-": Partition(word="aws-iso", title="AWS ISO (US)", domain="c2s.ic.gov"),
    "us-isob-": Partition(word="aws-iso-b", title="AWS ISOB (US)", domain="sc2s.sgov.gov"),
    "eu-isoe-": Partition(word="aws-iso-e", title="AWS ISOE (Europe)", domain="cloud.adc-e.uk"),
    "us-isof-": Partition(word="aws-iso-f", title="AWS ISOF", domain="csp.hci.ic.gov"),
}


def partition_of(region: str) -> Partition:
    return next((each for head, each in _OTHERS.items() if region.startswith(head)), _COMMERCIAL)


def partition(region: str) -> str:
    """The first word of every ARN in that region."""
    return partition_of(region).word


def domain(region: str) -> str:
    """How the names of hosts in that region end. Service principals end in amazonaws.com everywhere but where a
    service's page says otherwise.
    """
    return partition_of(region).domain


def control_zones(zones: Iterable[str]) -> tuple[str, ...]:
    """Those of the zones that a cluster's control plane can reach into, sorted."""
    return tuple(sorted(set(zones) - WITHOUT_CONTROL_PLANE))
