"""What an accelerator family answers about itself: resource, taint, images, plugin, job environment, health codes.

A family is one frozen value, so a new family is only data and no component has to know its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal

from components import node_labels
from components.catalog.instances import AcceleratorCard as Card

Action = Literal["replace", "reboot", "application", "watch"]
NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


class NoImageFamily(LookupError):
    """The family has no EKS machine image for an architecture."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostMount:
    """A host folder that a node daemon sees; `kind` is Kubernetes' hostPath type."""

    name: str
    path: str
    mount: str
    kind: Literal["", "Directory", "DirectoryOrCreate"] = ""
    read_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DevicePlugin:
    """The daemon that shows cards (or fabric devices) to the kubelet. `image` is a key of the catalog's container
    images.

    `cluster_rules` are the RBAC rules its own service account needs; empty for a plugin that never calls the API.
    """

    name: str
    image: str
    resource_name: str
    mounts: tuple[HostMount, ...]
    command: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    node_name_variable: str | None = None
    privileged: bool = False
    host_network: bool = False
    cluster_rules: tuple[Mapping[str, tuple[str, ...]], ...] = ()
    memory_mib: int = 128
    why_privileged: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthCode:
    """A fault that the driver reports, and what a node with it needs."""

    code: str
    meaning: str
    action: Action


@dataclass(frozen=True, slots=True, kw_only=True)
class Telemetry:
    """The exporter of the family's card metrics; `image` is a key of the catalog's container images.

    `fault_metric` holds the last health code as a number; the error metrics are counters.
    """

    name: str
    image: str
    port: int
    arguments: tuple[str, ...]
    added_capabilities: tuple[str, ...]
    privileged: bool
    memory_limit_mib: int
    fault_metric: str
    memory_error_metrics: tuple[str, ...] = ()
    link_error_metrics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Accelerator:
    """One family of cards. `resource_name` is what pods ask for and also the key of the taint that keeps other pods
    away.
    """

    vendor: str
    resource_name: str
    image_families: Mapping[str, str]  # architecture -> EKS amiType
    collective_backend: str  # what the framework calls its collective library
    device_plugin: DevicePlugin
    environment: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    health_codes: tuple[HealthCode, ...] = ()
    # Reasons of the monitoring agent for which no node of a gang is taken away.
    left_alone: tuple[str, ...] = ()
    telemetry: Telemetry | None = None
    # The name of its device files in workload/preflight/gate.py; None where that program doesn't know them.
    gate_kind: str | None = None
    # A command that fails on a node whose cards don't answer, and what its container must have set.
    probe: str | None = None
    probe_environment: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    # What EFA's environment adds for these cards, and what it adds where only PCIe joins them.
    efa_environment: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    efa_environment_of_pcie: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    # Cores of a card that one process drives, by the card's model; a model that isn't named has one process a card.
    cores_per_process: Mapping[str, int] = field(default_factory=lambda: MappingProxyType(dict[str, int]()))
    taint_value: str = "present"
    extra_labels: Mapping[str, str] = field(default_factory=lambda: NOTHING)

    @property
    def taint_key(self) -> str:
        return self.resource_name

    @property
    def taint_effect(self) -> str:
        """As pods' tolerations and Kubernetes nodes spell it."""
        return "NoSchedule"

    @property
    def eks_taint_effect(self) -> str:
        """As the EKS API spells the same effect."""
        return "NO_SCHEDULE"

    @property
    def labels(self) -> Mapping[str, str]:
        """What the family's nodes carry and its daemons select."""
        return MappingProxyType({node_labels.ACCELERATOR: self.vendor, **self.extra_labels})

    def image_family(self, arch: str) -> str:
        """The EKS amiType for `arch` (`x86_64` or `arm64`). Raises NoImageFamily when EKS offers none."""
        try:
            return self.image_families[arch]
        except KeyError:
            known = ", ".join(sorted(self.image_families))
            raise NoImageFamily(f"EKS has no {self.vendor} machine image for {arch}; it has {known}") from None

    def processes_per_card(self, card: Card | None) -> int:
        """Processes that drive one card: one, or one for each logical core where the family wants it so."""
        cores = self.cores_per_process.get(card.model) if card else None
        return card.cores // cores if card and cores else 1

    def job_environment(self, *, cards: int) -> dict[str, str]:
        """Environment of a training container with `cards` cards, sorted by name; the user's own words override it."""
        return dict(sorted((name, value.replace("{cards}", str(cards))) for name, value in self.environment.items()))

    def health_code(self, code: str) -> HealthCode | None:
        return next((known for known in self.health_codes if known.code == code), None)
