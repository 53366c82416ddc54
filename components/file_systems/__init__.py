"""File systems that jobs mount: one module a kind, one entry here. Rules, plans and manifests ask these functions and
never a kind by its name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from components.catalog import Catalog
from components.file_systems.csi import CSI
from components.file_systems.file_system import (
    CONTENTS,
    Addresses,
    Alarm,
    AlarmMetric,
    Content,
    FileSystem,
    NeededAddon,
    System,
    VolumeSource,
)
from components.file_systems.lustre.adapter import LUSTRE
from components.planning.cost.lines import Pricer
from components.spec.stack import StackSpec

__all__ = [
    "CONTENTS",
    "KINDS",
    "Addresses",
    "Alarm",
    "AlarmMetric",
    "Content",
    "FileSystem",
    "NeededAddon",
    "System",
    "VolumeSource",
    "addons",
    "addresses",
    "endpoints",
    "images",
    "pricers",
    "systems",
]

KINDS: dict[str, FileSystem] = {kind.kind: kind for kind in (LUSTRE, CSI)}


def systems(stack: StackSpec, cat: Catalog) -> list[System]:
    """All file systems of the stack, in the order of the stack file, kind by kind."""
    return [each for kind in KINDS.values() for each in kind.systems(stack, cat)]


def _used(stack: StackSpec) -> list[FileSystem]:
    return [kind for kind in KINDS.values() if kind.present(stack)]


def addons(stack: StackSpec) -> Mapping[str, NeededAddon]:
    """EKS add-ons that mount the stack's file systems, by name."""
    return {kind.addon.name: kind.addon for kind in _used(stack) if kind.addon}


def endpoints(stack: StackSpec) -> Sequence[tuple[str, str]]:
    """Services that drivers call, each with the reason."""
    return [kind.endpoint for kind in _used(stack) if kind.endpoint]


def images(stack: StackSpec) -> set[str]:
    return {name for kind in _used(stack) for name in kind.images}


def addresses(stack: StackSpec, cat: Catalog) -> list[Addresses]:
    """What each system takes of the compute subnets, sorted by its name."""
    found = sorted(systems(stack, cat), key=lambda each: each.name)
    taken = [KINDS[each.kind].addresses(each, stack) for each in found]
    return [each for each in taken if each is not None]


def pricers() -> Mapping[str, Pricer]:
    """Prices of every type that a kind declares."""
    return {type_: pricer for kind in KINDS.values() for type_, pricer in kind.pricers().items()}
