"""The catalog: every fact about AWS and the charts that the rest of the project builds on, in one immutable value.

The facts are kept as JSON beside this module and as tables in its modules. They are read once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from components.catalog.addons import ADDONS, Addons
from components.catalog.charts import CHARTS, Charts
from components.catalog.images import IMAGES, Images
from components.catalog.instances import InstanceType, Rows
from components.catalog.kubernetes import KUBERNETES, Kubernetes
from components.catalog.limits import LIMITS, Limits
from components.catalog.lustre import LUSTRE, LustreFacts
from components.catalog.prices import Buying, Prices, load_prices
from components.naming import listed, nearest

DATA = Path(__file__).parent / "data"

_EXAMPLES = ("p5.48xlarge", "p5en.48xlarge", "trn1.32xlarge", "g6e.48xlarge", "m7i.8xlarge")


class UnknownInstanceType(KeyError):
    """The instance type isn't in the catalog; `hint` has the nearest one that is."""

    def __init__(self, name: str, known: Mapping[str, InstanceType]) -> None:
        super().__init__(name)
        self.name = name
        match = nearest(name, known)
        self.hint = f'did you mean "{match}"?' if match else f"use a type such as {listed(_EXAMPLES, 'or')}"

    def __str__(self) -> str:
        return f'"{self.name}" is not in the catalog; {self.hint}'


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Catalog:
    """All facts, dated. `replace` and `with_instance` give a changed copy, so that a test can add a family."""

    as_of: str
    sources: Mapping[str, str]
    instances: Mapping[str, InstanceType]
    kubernetes: Kubernetes
    addons: Addons
    charts: Charts
    images: Images
    limits: Limits
    lustre: LustreFacts
    prices: Prices

    def instance(self, name: str) -> InstanceType:
        """Raises UnknownInstanceType, which names the nearest type."""
        found = self.instances.get(name)
        if found is None:
            raise UnknownInstanceType(name, self.instances)
        return found

    def zones_offering(self, name: str, region: str) -> tuple[str, ...]:
        """Zone ids of the region that sell the type; empty where none does. Raises UnknownInstanceType."""
        return self.instance(name).zones.get(region, ())

    def regions_offering(self, name: str) -> tuple[str, ...]:
        """Regions with at least one zone that sells the type, sorted. Raises UnknownInstanceType."""
        return tuple(sorted(self.instance(name).zones))

    def price(self, name: str, region: str, kind: Buying = "on-demand") -> tuple[float, float] | None:
        """USD an hour for one machine as (lowest, highest); None where unknown. Raises UnknownInstanceType.

        An on-demand price is that of us-east-1 where the region charges the same; `prices.machine_unverified` says how
        sure that is.
        """
        return self.prices.machine_hour(self.instance(name), region, kind)

    def quota_family(self, name: str) -> str:
        """The vCPU quota that the type counts against: P, G, Trn, DL, HPC or Standard. Raises UnknownInstanceType."""
        return self.instance(name).quota_family

    def usable_kubernetes(self, on: date) -> tuple[str, ...]:
        """Versions that EKS offers on that day and for which every add-on that comes before nodes is pinned, oldest
        first.
        """
        needed = [name for name, addon in self.addons.known.items() if addon.before_nodes]
        return tuple(
            version
            for version in self.kubernetes.offered(on)
            if all(name in self.addons.pins(version) for name in needed)
        )

    def with_instance(self, *instances: InstanceType) -> Catalog:
        """A copy that also holds these types."""
        return replace(
            self, instances=MappingProxyType({**self.instances, **{entry.name: entry for entry in instances}})
        )


@lru_cache(maxsize=1)
def load() -> Catalog:
    """The catalog that ships with the project; read once."""
    data = json.loads((DATA / "instances.json").read_text())
    return Catalog(
        as_of=data["as_of"],
        sources=MappingProxyType(data["sources"]),
        instances=Rows(data["instances"], data["regions"]),
        kubernetes=KUBERNETES,
        addons=ADDONS,
        charts=CHARTS,
        images=IMAGES,
        limits=LIMITS,
        lustre=LUSTRE,
        prices=load_prices(DATA / "prices.json"),
    )
