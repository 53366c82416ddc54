"""The node a plan runs on: its cards' peaks, memory and links, and how many share a node and a fast domain.

Figures of EC2 types come from the catalog, those of every other machine from the table of vendors' data sheets.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from components.naming import nearest
from components.sizing.machine.table import ALIASES, CARDS, MODELS, CardProfile

if TYPE_CHECKING:
    from components.catalog import InstanceType


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeProfile:
    """`cards` cards of one kind with `network_gbps` between nodes; `name` is the instance type or the accelerator."""

    name: str
    card: CardProfile
    cards: int
    network_gbps: float
    instance: InstanceType | None = None

    @property
    def domain(self) -> int:
        # Eight-card boards end with the node; a rack (NVL72) or a torus goes on, and a bridge joins two.
        return self.cards if self.card.domain == self.card.cards_per_node else self.card.domain

    @property
    def network_bytes_per_card(self) -> float:
        return self.network_gbps * 1e9 / 8 / self.cards


def card_named(name: str) -> CardProfile | None:
    """The card that a task file calls `name`, whatever its case and separators."""
    key = _key(name)
    return CARDS.get(ALIASES.get(key, key))


def _key(name: str) -> str:
    """`NVIDIA A100-SXM4-80GB` as `a100-80`."""
    key = re.sub(r"[\s_]+", "-", name.strip().lower())
    key = re.sub(r"^(nvidia|google|aws|amd|intel)-", "", key)
    return re.sub(r"-?sxm[2-6]?\b", "", re.sub(r"(?<=\d)gb\b", "", key))


def names() -> tuple[str, ...]:
    return tuple(CARDS)


def closest(name: str) -> str | None:
    return nearest(_key(name), CARDS)


def of_accelerator(card: CardProfile, cards_per_node: int | None, network_gbps: float | None) -> NodeProfile:
    """A machine that is not in the catalog."""
    cards = cards_per_node or card.cards_per_node
    return NodeProfile(name=card.name, card=card, cards=cards, network_gbps=network_gbps or card.network_gbps * cards)


def of_instance(instance: InstanceType, network_gbps: float | None = None) -> NodeProfile | None:
    """The machine of an EC2 type; None when it has no accelerator whose peak is known."""
    found = instance.accelerator
    if found is None:
        return None
    base = CARDS.get(MODELS.get(found.model, "")) or card_named(found.model)
    peak = found.bf16_tflops or (base.tflops if base else None)
    bandwidth = found.memory_bandwidth_gb_per_s or (base.memory_gb_per_s if base else None)
    if peak is None or bandwidth is None:
        return None
    link = found.interconnect_gb_per_s / 2 if found.interconnect_gb_per_s else (base.link_gb_per_s if base else 16.0)
    if base and base.generation == "trainium":
        link /= 2  # a ring uses two of the four links that join a card to its neighbours in a torus
    card = CardProfile(
        name=found.model.lower(),
        generation=base.generation if base else "ada",
        tflops=base.tflops if base and abs(base.tflops / peak - 1) < 0.01 else peak,
        fp8_tflops=found.fp8_tflops or (base.fp8_tflops if base else None),
        fp4_tflops=base.fp4_tflops if base else None,
        host_gb_per_s=base.host_gb_per_s if base else 25.0,
        watts=base.watts if base else 400.0,
        memory_gib=found.memory_gib,
        usable_gib=found.usable_memory_gib,
        memory_gb_per_s=bandwidth,
        link_gb_per_s=link,
        network_gbps=instance.network.gbps / found.count,
        cards_per_node=found.count,
        domain=base.domain if base and base.domain > base.cards_per_node else found.count,
        source=instance.source,
    )
    return NodeProfile(
        name=instance.name,
        card=card,
        cards=found.count,
        network_gbps=network_gbps or instance.network.gbps,
        instance=instance,
    )
