"""How machines reach FSx for Lustre over EFA: the interfaces that AWS's own set-up gives to Lustre, and how many FSx
serves.

The table is by instance type. For a type that it doesn't name, the answer follows from the number of its network cards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from types import MappingProxyType

from components.catalog.instances import InstanceType
from components.catalog.pins import Origin


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class EfaClients:
    """`connections_max`: EFA interfaces that a file system serves, of all its clients; what one too many meets is
    unverified.
    """

    connections_max: int
    interfaces: Mapping[str, int]
    interfaces_of_several_cards: int
    interfaces_of_one_card: int
    peer_credits: int
    origin: Origin

    def count(self, machine: InstanceType) -> int:
        """EFA interfaces of one node that Lustre uses by default, no more than the type takes."""
        several = machine.network.cards > 1
        usual = self.interfaces_of_several_cards if several else self.interfaces_of_one_card
        return min(self.interfaces.get(machine.name, usual), machine.network.max_efa)


EFA_CLIENTS = EfaClients(
    connections_max=1024,
    interfaces=MappingProxyType(
        {
            "p5.48xlarge": 8,
            "p5e.48xlarge": 8,
            "p5en.48xlarge": 8,
            "p6-b200.48xlarge": 8,
            "p6e-gb200.36xlarge": 8,
            "p6-b300.48xlarge": 16,
        }
    ),
    interfaces_of_several_cards=2,
    interfaces_of_one_card=1,
    peer_credits=32,
    origin=Origin(
        as_of=date(2026, 11, 30),
        source=(
            "FSx for Lustre User Guide, Configuring EFA clients, in public copies; aws-parallelcluster tests repeat its"
            " table"
        ),
    ),
)
