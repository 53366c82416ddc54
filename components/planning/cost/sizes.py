"""How many machines what is declared may run, of which types: node groups, and node pools that Karpenter buys for."""

from __future__ import annotations

from typing import Any

from components.planning.cost.lines import Range, Setting
from components.record import Record

GROUP = "aws:eks/nodeGroup:NodeGroup"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
POOL = "kubernetes:karpenter.sh/v1:NodePool"
NODE_CLASS = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
CAPACITY_TYPE = "karpenter.sh/capacity-type"
# A pool that follows its queue is taken as half used between its two sizes: no record says how busy it will be.
EXPECTED_SHARE = 0.5


def types_of(group: Record, template: Record | None) -> list[str]:
    """The machine types a group may be made of."""
    named: Any = group.inputs.get("instanceTypes") or []
    own = template.inputs.get("instanceType") if template else None
    return [str(each) for each in named] or ([str(own)] if own else [])


def sizes_of(group: Record) -> Range:
    """Smallest, expected and largest size of a group."""
    scaling = group.part("scalingConfig")
    low, high = float(scaling.get("minSize") or 0), float(scaling.get("maxSize") or 0)
    desired = scaling.get("desiredSize")
    if low == high:
        return low, float(desired) if isinstance(desired, int | float) else low, high
    return low, low + EXPECTED_SHARE * (high - low), high


def asked(pool: Record, key: str) -> list[str]:
    """The values that a node pool asks for under one label."""
    template: Any = pool.part("spec").get("template") or {}
    requirements: Any = (template.get("spec") or {}).get("requirements") or []
    return [str(value) for each in requirements if each.get("key") == key for value in each.get("values") or []]


def bought(pool: Record) -> Range:
    """A node pool starts from nothing and ends at its limit; without one there is no end to count."""
    limits: Any = pool.part("spec").get("limits") or {}
    most = float(limits.get("nodes") or 0)
    return 0.0, EXPECTED_SHARE * most, most


def nodes_of(setting: Setting) -> Range:
    """Nodes of the whole stack."""
    sizes = [*(sizes_of(each) for each in setting.of(GROUP)), *(bought(each) for each in setting.of(POOL))]
    return sum(each[0] for each in sizes), sum(each[1] for each in sizes), sum(each[2] for each in sizes)


def vcpus_of(setting: Setting) -> Range:
    """Their processors, of the largest type that each may be made of."""
    found = [(types_of(each, each.one(setting.by_urn, TEMPLATE)), sizes_of(each)) for each in setting.of(GROUP)]
    found += [(asked(each, INSTANCE_TYPE), bought(each)) for each in setting.of(POOL)]
    totals = [0.0, 0.0, 0.0]
    for types, sizes in found:
        counts = [setting.cat.instances[each].vcpu for each in types if each in setting.cat.instances]
        for index, size in enumerate(sizes):
            totals[index] += size * max(counts, default=0)
    return totals[0], totals[1], totals[2]
