"""The machine a plan runs on: a card's peaks, memory and links, and how many share a node and a fast domain.

Hides where the figures come from: the catalog for EC2 types, and a dated table of vendors' data sheets for every other machine.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from components.naming import nearest

if TYPE_CHECKING:
    from components.catalog import InstanceType

AS_OF = "2026-11-30"


@dataclass(frozen=True, slots=True, kw_only=True)
class CardProfile:
    """One accelerator: dense TFLOP/s, GiB, GB/s. `link_gb_per_s` is one direction inside the fast domain."""

    name: str
    generation: str
    tflops: float
    fp8_tflops: float | None
    memory_gib: float
    usable_gib: float
    memory_gb_per_s: float
    link_gb_per_s: float
    network_gbps: float  # per card, when the task file does not say
    cards_per_node: int
    domain: int  # cards joined by the fast links
    bf16: bool = True
    power: float = 1.0  # sustained clock under load against the reference part of its generation
    source: str


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


def _card(name: str, generation: str, peaks: tuple[float, float | None], memory: tuple[float, float, float], links: tuple[float, float],
          shape: tuple[int, int], source: str, *, bf16: bool = True, power: float = 1.0) -> CardProfile:  # fmt: skip
    return CardProfile(name=name, generation=generation, tflops=peaks[0], fp8_tflops=peaks[1], memory_gib=memory[0], usable_gib=memory[1],
                memory_gb_per_s=memory[2], link_gb_per_s=links[0], network_gbps=links[1], cards_per_node=shape[0], domain=shape[1],
                bf16=bf16, power=power, source=source)  # fmt: skip


# Dense peaks of the vendors' data sheets; usable memory is what the driver shows a program. Read or recalled as of AS_OF.
# name, generation, (16-bit, fp8) TFLOP/s, (GiB, usable, GB/s), (link GB/s one way, network Gbit/s a card), (cards a node, a domain)
_ROWS: tuple[CardProfile, ...] = (
    _card("v100", "volta", (125, None), (32, 31.7, 900), (150, 25), (8, 8), "NVIDIA V100 data sheet, SXM2/3 32 GB", bf16=False),
    _card("v100-16", "volta", (125, None), (16, 15.8, 900), (150, 12.5), (8, 8), "NVIDIA V100 data sheet, SXM2 16 GB", bf16=False),
    _card("a100-40", "ampere", (312, None), (40, 39.4, 1555), (300, 200), (8, 8), "NVIDIA A100 data sheet, SXM 40 GB"),
    _card("a100-80", "ampere", (312, None), (80, 79.1, 2039), (300, 200), (8, 8), "NVIDIA A100 data sheet, SXM 80 GB"),
    _card("a800", "ampere", (312, None), (80, 79.1, 2039), (200, 200), (8, 8), "NVIDIA A800: A100 with 400 GB/s NVLink"),
    _card("a10g", "ada", (70, None), (24, 22.4, 600), (16, 12.5), (8, 8), "AWS g5; PCIe 4"),
    _card("l4", "ada", (121, 242), (24, 22.4, 300), (16, 12.5), (8, 8), "NVIDIA L4 data sheet; PCIe 4"),
    _card("l40s", "ada", (362, 733), (48, 44.7, 864), (25, 50), (8, 8), "NVIDIA L40S data sheet; PCIe 4"),
    _card("h100", "hopper", (989.5, 1979), (80, 79.1, 3350), (450, 400), (8, 8), "NVIDIA H100 data sheet, SXM5 80 GB, 700 W"),
    _card("h100-96", "hopper", (989.5, 1979), (96, 95.0, 2400), (450, 400), (8, 8),
          "torchtitan benchmarks/llama3_h100_202412: HBM2e 96 GB, 2.4 TB/s, 500 W", power=0.87),
    _card("h100-pcie", "hopper", (756, 1513), (80, 79.1, 2000), (60, 200), (8, 8), "NVIDIA H100 PCIe data sheet, 350 W", power=0.75),
    _card("h100-nvl", "hopper", (835, 1671), (94, 93.1, 3900), (300, 200), (8, 2), "NVIDIA H100 NVL data sheet, bridges of two", power=0.8),
    _card("gh200", "hopper", (989.5, 1979), (96, 95.0, 4000), (450, 400), (1, 1), "NVIDIA GH200 data sheet"),
    _card("h200", "hopper", (989.5, 1979), (141, 139.8, 4800), (450, 400), (8, 8), "NVIDIA H200 data sheet, SXM"),
    _card("h800", "hopper", (989.5, 1979), (80, 79.1, 3350), (200, 400), (8, 8), "NVIDIA H800: H100 with 400 GB/s NVLink"),
    _card("h20", "hopper", (148, 296), (96, 95.0, 4000), (450, 400), (8, 8), "NVIDIA H20 data sheet"),
    _card("b200", "blackwell", (2250, 4500), (180, 178.4, 8000), (900, 400), (8, 8), "NVIDIA DGX B200 data sheet"),
    _card("b300", "blackwell", (2250, 4500), (288, 267.0, 8000), (900, 800), (8, 8), "NVIDIA DGX B300 data sheet"),
    _card("gb200", "blackwell", (2500, 5000), (186, 184.0, 8000), (900, 400), (4, 72), "NVIDIA GB200 NVL72 data sheet"),
    _card("gb300", "blackwell", (2500, 5000), (288, 276.0, 8000), (900, 800), (4, 72), "NVIDIA GB300 NVL72 data sheet"),
    _card("mi250x", "cdna", (383, None), (128, 127.0, 3277), (200, 100), (4, 4), "AMD MI250X data sheet (both dies)"),
    _card("mi300x", "cdna", (1307, 2614), (192, 191.0, 5300), (448, 400), (8, 8), "AMD MI300X data sheet"),
    _card("mi325x", "cdna", (1307, 2614), (256, 255.0, 6000), (448, 400), (8, 8), "AMD MI325X data sheet"),
    _card("tpu-v3", "tpu", (123, None), (32, 31.0, 900), (140, 100), (4, 1024), "Google TPU v3 page, a chip; two dimensions", power=0.75),
    _card("tpu-v4", "tpu", (275, None), (32, 31.0, 1200), (200, 100), (4, 4096), "Google TPU v4 page, a chip; two dimensions"),
    _card("tpu-v5e", "tpu", (197, None), (16, 15.5, 819), (100, 50), (4, 256), "Google TPU v5e page; two dimensions of its torus"),
    _card("tpu-v5p", "tpu", (459, None), (95, 94.0, 2765), (400, 100), (4, 8960), "Google TPU v5p page; two dimensions of its torus"),
    _card("tpu-v6e", "tpu", (918, None), (32, 31.0, 1640), (180, 100), (4, 256), "Google TPU v6e page; two dimensions of its torus"),
    _card("trainium", "trainium", (190, None), (32, 31.0, 820), (192, 50), (16, 16), "AWS Neuron trn1 page"),
    _card("trainium2", "trainium", (667, 1299), (96, 94.0, 2900), (512, 200), (16, 16), "AWS Neuron trn2 page"),
    _card("gaudi2", "gaudi", (432, 865), (96, 94.0, 2450), (262, 300), (8, 8), "Intel Gaudi 2 white paper"),
    _card("gaudi3", "gaudi", (1835, 1835), (128, 126.0, 3700), (525, 600), (8, 8), "Intel Gaudi 3 white paper"),
)  # fmt: skip
CARDS: dict[str, CardProfile] = {card.name: card for card in _ROWS}
_ALIASES = {
    "a100": "a100-80", "h100-80": "h100", "h200-141": "h200", "v100-32": "v100", "b200-180": "b200", "b200-192": "b200",
    "trn1": "trainium", "trn2": "trainium2", "trainium1": "trainium", "tpuv3": "tpu-v3", "tpuv4": "tpu-v4",
    "tpu-v5": "tpu-v5p", "h100-500w": "h100-96", "a800-80": "a800", "h800-80": "h800",
}  # fmt: skip
# The catalog's model names, and those with figures of their own.
_MODELS = {
    "A100": "a100-80", "H100": "h100", "H200": "h200", "B200": "b200", "B300": "b300", "GB200": "gb200", "Trainium": "trainium",
    "Trainium2": "trainium2",
    "A10G": "a10g", "L4": "l4", "L40S": "l40s", "V100": "v100",
}  # fmt: skip


def card_named(name: str) -> CardProfile | None:
    """The card that a task file calls `name`, whatever its case and separators."""
    key = _key(name)
    return CARDS.get(_ALIASES.get(key, key))


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
    base = CARDS.get(_MODELS.get(found.model, "")) or card_named(found.model)
    peak = found.bf16_tflops or (base.tflops if base else None)
    bandwidth = found.memory_bandwidth_gb_per_s or (base.memory_gb_per_s if base else None)
    if peak is None or bandwidth is None:
        return None
    link = found.interconnect_gb_per_s / 2 if found.interconnect_gb_per_s else (base.link_gb_per_s if base else 16.0)
    card = CardProfile(
        name=found.model.lower(),
        generation=base.generation if base else "ada",
        tflops=base.tflops if base and abs(base.tflops / peak - 1) < 0.01 else peak,
        fp8_tflops=found.fp8_tflops or (base.fp8_tflops if base else None),
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
        name=instance.name, card=card, cards=found.count, network_gbps=network_gbps or instance.network.gbps, instance=instance
    )
