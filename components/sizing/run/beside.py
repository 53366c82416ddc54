"""What runs beside the training: nodes that prepare the data, nodes that serve a checkpoint, and what the hosts
themselves need.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from components.sizing.machine.profiles import NodeProfile
from components.sizing.model.shape import Shape
from components.sizing.tuning.constants import Constant

TOKENISING = Constant(
    name="tokens_per_vcpu",
    value=150_000.0,
    low=30_000.0,
    high=600_000.0,
    unit="tokens/s a vCPU",
    source="engineering choice: filtering, deduplication and tokenising together; tokenisers alone reach some 250,000",
)
PREPARATION_DAYS = Constant(
    name="preparation_days",
    value=14.0,
    low=3.0,
    high=60.0,
    unit="days",
    source="planning choice: data is ready two weeks after the start",
)
LOADER_VCPUS = Constant(
    name="loader_vcpus",
    value=6.0,
    low=3.0,
    high=12.0,
    unit="vCPUs a card",
    source="one process, its launches, and loader workers",
)
PROCESS_GIB = Constant(
    name="process_gib",
    value=24.0,
    low=12.0,
    high=48.0,
    unit="GiB of host memory a card",
    source="a torch process with pinned buffers and loaders",
)
_PREPARING_VCPUS = 32  # of one m7i.8xlarge
_SERVING_SPARE = 1.3  # keys and values, workspaces
_GIB = 1024.0**3


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """`preparing_nodes` of 32 vCPUs for `preparing_days`.

    Host figures are for one training node, None where the machine is unknown.
    """

    preparing_nodes: int
    preparing_days: float
    serving_cards: int
    serving_nodes: int
    host_vcpus_needed: int
    host_vcpus: int | None
    host_gib_needed: int
    host_gib: int | None

    @property
    def short(self) -> tuple[str, ...]:
        """What the hosts lack."""
        lacking: list[str] = []
        if self.host_vcpus is not None and self.host_vcpus < self.host_vcpus_needed:
            lacking.append(f"{self.host_vcpus_needed} vCPUs are needed and {self.host_vcpus} there")
        if self.host_gib is not None and self.host_gib < self.host_gib_needed:
            lacking.append(f"{self.host_gib_needed:,} GiB of host memory are needed and {self.host_gib:,} there")
        return tuple(lacking)


def beside(
    machine: NodeProfile, shape: Shape, tokens: float, nodes: int, checkpoint_bytes: float, offloaded_bytes: float
) -> Beside:
    """Sizes of what the campaign needs besides its training cards; bytes are of the whole job and of one card."""
    preparing = tokens / (TOKENISING.value * _PREPARING_VCPUS * PREPARATION_DAYS.value * 86400)
    serving = math.ceil(2.0 * shape.total * _SERVING_SPARE / (machine.card.usable_gib * _GIB))
    serving_cards = 1 << max(0, serving - 1).bit_length()
    # An asynchronous checkpoint keeps the node's share in host memory until it is written, and the next one may
    # begin meanwhile.
    copies = 2 * checkpoint_bytes / nodes / _GIB
    needed = machine.cards * (PROCESS_GIB.value + offloaded_bytes / _GIB) + copies
    instance = machine.instance
    return Beside(
        preparing_nodes=math.ceil(preparing),
        preparing_days=tokens / (TOKENISING.value * _PREPARING_VCPUS * math.ceil(preparing) * 86400),
        serving_cards=serving_cards,
        serving_nodes=-(-serving_cards // machine.cards),
        host_vcpus_needed=math.ceil(machine.cards * LOADER_VCPUS.value),
        host_vcpus=instance.vcpu if instance else None,
        host_gib_needed=math.ceil(needed),
        host_gib=int(instance.memory_gib) if instance else None,
    )


CONSTANTS = (TOKENISING, PREPARATION_DAYS, LOADER_VCPUS, PROCESS_GIB)
