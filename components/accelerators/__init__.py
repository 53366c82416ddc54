"""Accelerator adapters: one module a family, one entry here.

Components ask this package which family an instance type belongs to; they never compare a vendor's name.
"""

from __future__ import annotations

from components.accelerators.answers import Accelerator, DevicePlugin, HealthCode, HostMount, NoImageFamily, Telemetry
from components.accelerators.neuron import NEURON
from components.accelerators.nvidia import NVIDIA
from components.catalog.instances import InstanceType
from components.naming import listed

__all__ = [
    "FAMILIES",
    "Accelerator",
    "DevicePlugin",
    "HealthCode",
    "HostMount",
    "NoImageFamily",
    "Telemetry",
    "UnknownVendor",
    "for_vendor",
    "of",
    "processes_per_node",
]

FAMILIES: dict[str, Accelerator] = {family.vendor: family for family in (NVIDIA, NEURON)}


class UnknownVendor(LookupError):
    """No adapter drives cards of this vendor."""


def for_vendor(vendor: str) -> Accelerator:
    """The family of a vendor's name. Raises UnknownVendor, naming those that are known."""
    try:
        return FAMILIES[vendor]
    except KeyError:
        raise UnknownVendor(
            f'no adapter drives "{vendor}" cards; there are adapters for {listed(sorted(FAMILIES))}'
        ) from None


def processes_per_node(instance: InstanceType | None, vendor: str, cards: int) -> int:
    """Processes of one node: one on each card or logical core, and one on a node without cards."""
    card = instance.accelerator if instance else None
    family = FAMILIES.get(card.vendor if card else vendor)
    return max(cards, 1) * (family.processes_per_card(card) if family else 1)


def of(instance: InstanceType) -> Accelerator | None:
    """The family of an instance type's cards; None for a type without cards, and for cards that no adapter drives.

    A rule refuses pools of the latter kind, so a component that sees None has a CPU pool before it.
    """
    return FAMILIES.get(instance.accelerator.vendor) if instance.accelerator else None
