"""An EC2 instance type as a value: its cards, network cards, disks, zones and prices.

The data file is packed: zones are digits after a region's prefix. A row becomes a value when it is first asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any, Literal

Vendor = str  # whose cards they are; the adapters in components/accelerators say which of them can be driven
Architecture = Literal["x86_64", "arm64"]


def _nothing() -> Mapping[str, int]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceleratorCard:
    """The cards of one machine; figures are for one card. Memory in GiB, peaks in dense TFLOP/s, bandwidths in GB/s."""

    vendor: Vendor
    model: str
    count: int
    memory_gib: float  # as advertised (and, for NVIDIA, as EC2's API says)
    usable_memory_gib: float  # what the driver shows a program: the planner fits models into this
    bf16_tflops: float | None
    fp8_tflops: float | None
    memory_bandwidth_gb_per_s: float | None
    interconnect_kind: str
    interconnect_gb_per_s: float | None  # per card, both directions together; None between PCIe cards
    cores: int = 1  # NeuronCores of a Trainium chip as the driver counts them; 1 elsewhere


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalDisks:
    """Instance-store NVMe disks, all of one size in GB (decimal)."""

    count: int
    size_gb: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkCards:
    """Network cards and what may be attached to them. `efa_cards` names the cards that take an EFA interface."""

    cards: int
    gbps: float
    max_efa: int
    card0_efa: bool
    max_interfaces: int
    interfaces_per_card: int
    ipv4_per_interface: int
    nitro: int | None
    rdma_read: bool | None
    rdma_write: bool | None
    gpudirect_rdma: bool | None
    efa_cards: tuple[int, ...] = ()
    tcp_established_timeout_seconds: int = 432000  # idle TCP is dropped after this: 350 on Nitro v6


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceType:
    """One EC2 instance type; `unverified` names the fields that no primary source was read for."""

    name: str
    family: str
    vcpu: int
    memory_gib: float
    arch: Architecture
    accelerator: AcceleratorCard | None
    local_disks: LocalDisks | None
    network: NetworkCards
    topology_layers: int
    max_pods: int
    image_families: tuple[str, ...]
    zones: Mapping[str, tuple[str, ...]]
    on_demand_usd_per_hour: float | None
    spot_usd_per_hour: Mapping[str, tuple[float, float]]
    capacity_block: bool
    spot: bool
    on_demand: bool
    lustre_efa_client: bool
    quota_family: str
    source: str
    unverified: tuple[str, ...] = ()
    ebs_baseline_mbps: int | None = None
    placement_strategies: tuple[str, ...] = ()
    gpudirect_storage: bool = False
    nccl_protocol: Literal["RDMA", "SENDRECV"] | None = None  # what the EFA plugin speaks on it by default
    ultraserver: Mapping[str, int] = field(default_factory=_nothing)  # UltraServer type -> machines in it

    def __hash__(self) -> int:
        return hash(self.name)  # mappings don't hash; a name is one type

    @property
    def cards(self) -> int:
        """Accelerator cards on the machine; 0 without any."""
        return self.accelerator.count if self.accelerator else 0

    @property
    def efa(self) -> bool:
        """Whether the type takes at least one EFA interface."""
        return self.network.max_efa > 0


@cache
def _zone_ids(prefix: str, digits: str) -> tuple[str, ...]:
    return tuple(f"{prefix}-az{digit}" for digit in digits)


def parse(name: str, row: Mapping[str, Any], prefixes: Mapping[str, str]) -> InstanceType:
    """The value of one row of data/instances.json."""
    accelerator = row.get("accelerator")
    disks = row.get("local_disks")
    network: dict[str, Any] = dict(row["network"])
    network["efa_cards"] = tuple(network["efa_cards"])
    spot: Mapping[str, list[float]] = row.get("spot_usd_per_hour", {})
    zones: Mapping[str, str] = row["zones"]
    return InstanceType(
        name=name,
        family=name.partition(".")[0],
        vcpu=row["vcpu"],
        memory_gib=row["memory_gib"],
        arch=row["arch"],
        accelerator=AcceleratorCard(**accelerator) if accelerator else None,
        local_disks=LocalDisks(**disks) if disks else None,
        network=NetworkCards(**network),
        topology_layers=row["topology_layers"],
        max_pods=row["max_pods"],
        image_families=tuple(row["image_families"]),
        zones=MappingProxyType({region: _zone_ids(prefixes[region], digits) for region, digits in zones.items()}),
        on_demand_usd_per_hour=row["on_demand_usd_per_hour"],
        spot_usd_per_hour=MappingProxyType({region: (low, high) for region, (low, high) in spot.items()}),
        capacity_block=row["capacity_block"],
        spot=row["spot"],
        on_demand=row["on_demand"],
        lustre_efa_client=row["lustre_efa_client"],
        quota_family=row["quota_family"],
        source=row["source"],
        unverified=tuple(row["unverified"]),
        ebs_baseline_mbps=row["ebs_baseline_mbps"],
        placement_strategies=tuple(row["placement_strategies"]),
        gpudirect_storage=row["gpudirect_storage"],
        nccl_protocol=row["nccl_protocol"],
        ultraserver=MappingProxyType(dict(row.get("ultraserver", {}))),
    )


class Rows(Mapping[str, InstanceType]):
    """All types of the data file by name. A run asks for a handful of them, so each is parsed once, when it is asked
    for.
    """

    def __init__(self, rows: Mapping[str, Mapping[str, Any]], prefixes: Mapping[str, str]) -> None:
        self._rows = rows
        self._prefixes = prefixes
        self._parsed: dict[str, InstanceType] = {}

    def __getitem__(self, name: str) -> InstanceType:
        found = self._parsed.get(name)
        if found is None:
            found = self._parsed[name] = parse(name, self._rows[name], self._prefixes)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)
