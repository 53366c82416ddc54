"""What machines cost that Karpenter buys when jobs wait: from none to the pool's limit, half of it as the expectation.

A pool that may fall back from spot to on-demand is cheapest on spot and dearest on demand; it is expected on spot.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from components.planning.cost.lines import HOURS, Found, Line, Pricer, Setting, Unpriced, between
from components.planning.cost.machines import Buying, detailed_metrics, rates, root_volumes
from components.planning.cost.network import between_zones
from components.planning.cost.sizes import CAPACITY_TYPE, INSTANCE_TYPE, NODE_CLASS, POOL, asked, bought
from components.record import Record


def node_pool(pool: Record, given: Setting) -> Found:
    """Machines, root volumes and metrics of one node pool."""
    types, buys, sizes = asked(pool, INSTANCE_TYPE), asked(pool, CAPACITY_TYPE), bought(pool)
    label = f"{pool.name}: {', '.join(types) or 'machines of unknown type'}"
    machines = [given.cat.instances[each] for each in types if each in given.cat.instances]
    if not types or len(machines) < len(types):
        yield Unpriced(what=label, why="the type is not in the catalog", urn=pool.urn)
        return
    first: Buying = "spot" if "spot" in buys else "on-demand"
    expected, most = rates(machines, first, given), rates(machines, "spot" if buys == ["spot"] else "on-demand", given)
    if expected and most:
        low, high = min(each[0] for each in expected), max(each[1] for each in [*expected, *most])
        middle = sum((a + b) / 2 for a, b in expected) / len(expected)
        yield Line(
            what=label,
            urn=pool.urn,
            low=sizes[0] * low * HOURS,
            expected=sizes[1] * middle * HOURS,
            high=sizes[2] * high * HOURS,
            basis=(
                f"{between(sizes[0], sizes[2], 'machines')} x {between(low, high, 'USD')} x {HOURS:.0f} h"
                f" ({' or '.join(buys)})"
            ),
            unverified=any(given.cat.prices.machine_unverified(each, given.region, first) for each in machines),
        )
    else:
        lacking = first if not expected else "on-demand"
        why = f"no {lacking} price is known in {given.region} for {between(sizes[0], sizes[2], 'machines')}"
        yield Unpriced(what=f"{label} {lacking}", why=why, urn=pool.urn)
    yield from _class(pool, given)


def _class(pool: Record, given: Setting) -> Found:
    """What the machines' class adds: volumes, metrics, and bytes between its zones."""
    machines, sizes = pool.one(given.by_urn, NODE_CLASS), bought(pool)
    if machines is None:
        return
    spec = machines.part("spec")
    mappings: Any = spec.get("blockDeviceMappings") or []
    disks: list[Mapping[str, Any]] = [each.get("ebs") or {} for each in mappings]
    gib = [{**each, "volumeSize": str(each.get("volumeSize") or "0").removesuffix("Gi")} for each in disks]
    yield from root_volumes(pool, gib, sizes, given)
    if spec.get("detailedMonitoring"):
        yield from detailed_metrics(pool, sizes, given)
    yield from between_zones(pool, len(spec.get("subnetSelectorTerms") or []), sizes, given)


PRICERS: Mapping[str, Pricer] = {POOL: node_pool}
