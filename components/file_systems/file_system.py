"""What a kind of file system answers: which systems a stack has, what AWS and the cluster must bring for them, and how
pods mount them.

An adapter answers with frozen values and declares nothing. Whatever a kind doesn't need has an empty default.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Literal

from components.catalog import Catalog
from components.planning.cost.lines import Pricer
from components.problems import Problem
from components.spec.stack import StackSpec
from components.spec.storage import FileSystemSpec

Content = Literal["datasets", "checkpoints"]
CONTENTS: Final[tuple[Content, ...]] = ("datasets", "checkpoints")
NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class System:
    """One file system of a stack. `path` is its place in the stack file, `zone` None where every zone reaches it.

    `folders` says where datasets and checkpoints lie on it when the stack file ties them to it; `total_mbps` is the
    throughput in MB/s that was bought, None where it isn't known.
    """

    kind: str
    name: str
    path: str
    zone: str | None = None
    folders: Mapping[Content, str] = field(default_factory=lambda: MappingProxyType({}))
    capacity_gib: int | None = None
    total_mbps: float | None = None
    throughput_words: str = ""
    throughput_path: str = ""


@dataclass(frozen=True, kw_only=True)
class NeededAddon:
    """The EKS add-on whose driver mounts the kind, and all that its service account needs to do."""

    name: str
    actions: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Addresses:
    """Addresses that a system takes of the compute subnet in its zone."""

    zone: str
    count: int
    arithmetic: str


@dataclass(frozen=True, kw_only=True)
class VolumeSource:
    """What a PersistentVolume says of the driver. The handle and each attribute are parts to be joined, of which some
    are known only after an update.
    """

    driver: str
    handle: Sequence[Any]
    attributes: Mapping[str, Sequence[Any]]
    mount_options: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class AlarmMetric:
    """One CloudWatch metric of an alarm: a statistic over periods of so many seconds."""

    name: str
    statistic: Literal["Sum", "Minimum", "Maximum", "Average", "SampleCount"]
    period_seconds: int
    dimensions: Mapping[str, str] = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True, kw_only=True)
class Alarm:
    """A CloudWatch alarm on one file system: on the only metric, or on an `expression` over several by their keys.

    `dimensions` of a metric come beside the file system's own id.
    """

    role: str
    description: str
    metrics: Mapping[str, AlarmMetric]
    threshold: float
    comparison: Literal["GreaterThanThreshold", "LessThanThreshold"]
    evaluation_periods: int
    missing: Literal["missing", "notBreaching", "breaching"]
    expression: str | None = None
    label: str = ""


class FileSystem:
    """One kind of file system; a new kind overrides what it has."""

    kind: str
    #: Images of others that its preparation runs, by their names in the catalog.
    images: tuple[str, ...] = ()
    #: The interface endpoint that its driver calls, and why.
    endpoint: tuple[str, str] | None = None
    addon: NeededAddon | None = None
    #: Ports (first, last) that clients and servers open to each other over TCP.
    ports: tuple[tuple[int, int], ...] = ()

    def systems(self, stack: StackSpec, cat: Catalog) -> Sequence[System]:
        """The stack's systems of this kind, in the order of the stack file."""
        return [
            self.system(each, f"storage.file_systems[{index}]")
            for index, each in enumerate(stack.storage.file_systems)
            if each.kind == self.kind
        ]

    def present(self, stack: StackSpec) -> bool:
        """Whether the stack has a system of this kind."""
        return any(each.kind == self.kind for each in stack.storage.file_systems)

    def system(self, spec: FileSystemSpec, path: str) -> System:
        """One entry of `storage.file_systems`."""
        folders: dict[Content, str] = {content: f"/{content}" for content in CONTENTS}
        return System(kind=self.kind, name=spec.name, path=path, zone=spec.zone, folders=folders)

    def problems(self, spec: FileSystemSpec, path: str) -> Iterable[Problem]:
        """What is wrong with the settings of one entry of `storage.file_systems`."""
        return ()

    def addresses(self, system: System, stack: StackSpec) -> Addresses | None:
        return None

    def source(
        self, system: System, content: Content | None, folder: str, key: str, stack: StackSpec, wires: Mapping[str, Any]
    ) -> VolumeSource:
        """How a volume mounts `folder`, which holds `content`, or the whole system for None. `key` is the volume's
        alone. `wires` are the outputs of the component that declared the system, empty where it existed before.
        """
        raise NotImplementedError

    def prepared(self, system: System, stack: StackSpec) -> bool:
        """Whether a job makes the folders ready before others mount them."""
        return False

    def prepare(self, system: System, checkpoints: str, stack: StackSpec) -> Sequence[str]:
        """Shell lines of that job for the folder of checkpoints, run after the folders were made."""
        return ()

    def alarms(self, system: System, stack: StackSpec, cat: Catalog) -> Sequence[Alarm]:
        return ()

    def faster(self, system: System, wanted_mbps: float, stack: StackSpec, cat: Catalog) -> str:
        """The nearest change of the stack file that gives this throughput, as a hint."""
        return "use a faster file system"

    def pricers(self) -> Mapping[str, Pricer]:
        """Prices of the AWS types that the kind declares, by type."""
        return {}
