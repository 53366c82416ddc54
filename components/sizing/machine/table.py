"""Cards by name, from vendors' data sheets: dense peaks, memory, links and power, read or recalled as of AS_OF."""

from __future__ import annotations

from dataclasses import dataclass, replace

AS_OF = "2026-11-30"


@dataclass(frozen=True, slots=True, kw_only=True)
class CardProfile:
    """One accelerator: dense TFLOP/s, GiB, GB/s. `link_gb_per_s` is one direction inside the fast domain."""

    name: str
    generation: str
    tflops: float
    fp8_tflops: float | None
    fp4_tflops: float | None = None
    host_gb_per_s: float = 25.0  # one way between a card and its host
    watts: float = 700.0  # the card's power limit
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


def _card(
    name: str,
    generation: str,
    peaks: tuple[float, float | None],
    memory: tuple[float, float, float],
    links: tuple[float, float],
    shape: tuple[int, int],
    source: str,
    *,
    bf16: bool = True,
    power: float = 1.0,
) -> CardProfile:
    return CardProfile(
        name=name,
        generation=generation,
        tflops=peaks[0],
        fp8_tflops=peaks[1],
        memory_gib=memory[0],
        usable_gib=memory[1],
        memory_gb_per_s=memory[2],
        link_gb_per_s=links[0],
        network_gbps=links[1],
        cards_per_node=shape[0],
        domain=shape[1],
        bf16=bf16,
        power=power,
        source=source,
    )


# Dense peaks of the vendors' data sheets; usable memory is what the driver shows a program. Read or recalled as of
# AS_OF.
# name, generation, (16-bit, fp8) TFLOP/s, (GiB, usable, GB/s), (link GB/s one way, network Gbit/s a card), (cards a
# node, a domain)
_ROWS: tuple[CardProfile, ...] = (
    _card(
        "v100",
        "volta",
        (125, None),
        (32, 31.7, 900),
        (150, 25),
        (8, 8),
        "NVIDIA V100 data sheet, SXM2/3 32 GB",
        bf16=False,
    ),
    _card(
        "v100-16",
        "volta",
        (125, None),
        (16, 15.8, 900),
        (150, 12.5),
        (8, 8),
        "NVIDIA V100 data sheet, SXM2 16 GB",
        bf16=False,
    ),
    _card("a100-40", "ampere", (312, None), (40, 39.4, 1555), (300, 200), (8, 8), "NVIDIA A100 data sheet, SXM 40 GB"),
    _card("a100-80", "ampere", (312, None), (80, 79.1, 2039), (300, 200), (8, 8), "NVIDIA A100 data sheet, SXM 80 GB"),
    _card(
        "a800", "ampere", (312, None), (80, 79.1, 2039), (200, 200), (8, 8), "NVIDIA A800: A100 with 400 GB/s NVLink"
    ),
    _card("a10g", "ada", (70, None), (24, 22.4, 600), (16, 12.5), (8, 8), "AWS g5; PCIe 4"),
    _card("l4", "ada", (121, 242), (24, 22.4, 300), (16, 12.5), (8, 8), "NVIDIA L4 data sheet; PCIe 4"),
    _card("l40s", "ada", (362, 733), (48, 44.7, 864), (25, 50), (8, 8), "NVIDIA L40S data sheet; PCIe 4"),
    _card(
        "h100",
        "hopper",
        (989.5, 1979),
        (80, 79.1, 3350),
        (450, 400),
        (8, 8),
        "NVIDIA H100 data sheet, SXM5 80 GB, 700 W",
    ),
    _card(
        "h100-96",
        "hopper",
        (989.5, 1979),
        (96, 95.0, 2400),
        (450, 400),
        (8, 8),
        "torchtitan benchmarks/llama3_h100_202412: HBM2e 96 GB, 2.4 TB/s, 500 W",
        power=0.80,
    ),
    _card(
        "h100-pcie",
        "hopper",
        (756, 1513),
        (80, 79.1, 2000),
        (60, 200),
        (8, 8),
        "NVIDIA H100 PCIe data sheet, 350 W",
        power=0.75,
    ),
    _card(
        "h100-nvl",
        "hopper",
        (835, 1671),
        (94, 93.1, 3900),
        (300, 200),
        (8, 2),
        "NVIDIA H100 NVL data sheet, bridges of two",
        power=0.8,
    ),
    _card("gh200", "hopper", (989.5, 1979), (96, 95.0, 4000), (450, 400), (1, 1), "NVIDIA GH200 data sheet"),
    _card("h200", "hopper", (989.5, 1979), (141, 139.8, 4800), (450, 400), (8, 8), "NVIDIA H200 data sheet, SXM"),
    _card(
        "h800", "hopper", (989.5, 1979), (80, 79.1, 3350), (200, 400), (8, 8), "NVIDIA H800: H100 with 400 GB/s NVLink"
    ),
    _card("h20", "hopper", (148, 296), (96, 95.0, 4000), (450, 400), (8, 8), "NVIDIA H20 data sheet"),
    _card("b200", "blackwell", (2250, 4500), (180, 178.4, 8000), (900, 400), (8, 8), "NVIDIA DGX B200 data sheet"),
    _card("b300", "blackwell", (2250, 4500), (288, 267.0, 8000), (900, 800), (8, 8), "NVIDIA DGX B300 data sheet"),
    _card("gb200", "blackwell", (2500, 5000), (186, 184.0, 8000), (900, 400), (4, 72), "NVIDIA GB200 NVL72 data sheet"),
    _card("gb300", "blackwell", (2500, 5000), (288, 276.0, 8000), (900, 800), (4, 72), "NVIDIA GB300 NVL72 data sheet"),
    _card("mi250x", "cdna", (383, None), (128, 127.0, 3277), (200, 100), (4, 4), "AMD MI250X data sheet (both dies)"),
    _card("mi300x", "cdna", (1307, 2614), (192, 191.0, 5300), (448, 400), (8, 8), "AMD MI300X data sheet"),
    _card("mi325x", "cdna", (1307, 2614), (256, 255.0, 6000), (448, 400), (8, 8), "AMD MI325X data sheet"),
    _card(
        "tpu-v3",
        "tpu",
        (123, None),
        (32, 31.0, 900),
        (140, 100),
        (4, 1024),
        "Google TPU v3 page, a chip; two dimensions",
        power=0.75,
    ),
    _card(
        "tpu-v4",
        "tpu",
        (275, None),
        (32, 31.0, 1200),
        (200, 100),
        (4, 4096),
        "Google TPU v4 page, a chip; two dimensions",
    ),
    _card(
        "tpu-v5e",
        "tpu",
        (197, None),
        (16, 15.5, 819),
        (100, 50),
        (4, 256),
        "Google TPU v5e page; two dimensions of its torus",
    ),
    _card(
        "tpu-v5p",
        "tpu",
        (459, None),
        (95, 94.0, 2765),
        (400, 100),
        (4, 8960),
        "Google TPU v5p page; two dimensions of its torus",
    ),
    _card(
        "tpu-v6e",
        "tpu",
        (918, None),
        (32, 31.0, 1640),
        (180, 100),
        (4, 256),
        "Google TPU v6e page; two dimensions of its torus",
    ),
    _card(
        "trainium",
        "trainium",
        (190, None),
        (32, 31.0, 820),
        (96, 50),
        (16, 16),
        "AWS Neuron trn1 page; half a torus' links",
    ),
    _card(
        "trainium2",
        "trainium",
        (667, 1299),
        (96, 94.0, 2900),
        (256, 200),
        (16, 16),
        "AWS Neuron trn2 page; half a torus' links",
    ),
    _card("gaudi2", "gaudi", (432, 865), (96, 94.0, 2450), (262, 300), (8, 8), "Intel Gaudi 2 white paper"),
    _card("gaudi3", "gaudi", (1835, 1835), (128, 126.0, 3700), (525, 600), (8, 8), "Intel Gaudi 3 white paper"),
)
# name: (dense 4-bit TFLOP/s, host GB/s one way, watts a card's limit); PCIe 4 x16 gives 25 GB/s, PCIe 5 50,
# NVLink-C2C some 350.
_MORE: dict[str, tuple[float | None, float, float]] = {
    "v100": (None, 12, 300),
    "v100-16": (None, 12, 300),
    "a100-40": (None, 25, 400),
    "a100-80": (None, 25, 400),
    "a800": (None, 25, 400),
    "a10g": (None, 25, 300),
    "l4": (None, 25, 72),
    "l40s": (None, 25, 350),
    "h100": (None, 50, 700),
    "h100-96": (None, 50, 500),
    "h100-pcie": (None, 50, 350),
    "h100-nvl": (None, 50, 400),
    "gh200": (None, 350, 700),
    "h200": (None, 50, 700),
    "h800": (None, 50, 700),
    "h20": (None, 50, 400),
    "b200": (9000, 50, 1000),
    "b300": (13500, 50, 1100),
    "gb200": (10000, 175, 1200),
    "gb300": (15000, 175, 1400),
    "mi250x": (None, 25, 560),
    "mi300x": (None, 50, 750),
    "mi325x": (None, 50, 1000),
    "tpu-v3": (None, 12, 450),
    "tpu-v4": (None, 12, 192),
    "tpu-v5e": (None, 12, 170),
    "tpu-v5p": (None, 25, 350),
    "tpu-v6e": (None, 25, 300),
    "trainium": (None, 12, 250),
    "trainium2": (None, 25, 500),
    "gaudi2": (None, 25, 600),
    "gaudi3": (None, 50, 900),
}


def _whole(card: CardProfile) -> CardProfile:
    four, host, watts = _MORE[card.name]
    return replace(card, fp4_tflops=four, host_gb_per_s=host, watts=watts)


CARDS: dict[str, CardProfile] = {card.name: _whole(card) for card in _ROWS}
ALIASES = {
    "a100": "a100-80",
    "h100-80": "h100",
    "h200-141": "h200",
    "v100-32": "v100",
    "b200-180": "b200",
    "b200-192": "b200",
    "trn1": "trainium",
    "trn2": "trainium2",
    "trainium1": "trainium",
    "tpuv3": "tpu-v3",
    "tpuv4": "tpu-v4",
    "tpu-v5": "tpu-v5p",
    "h100-500w": "h100-96",
    "a800-80": "a800",
    "h800-80": "h800",
}
# The catalog's model names, and those with figures of their own.
MODELS = {
    "A100": "a100-80",
    "H100": "h100",
    "H200": "h200",
    "B200": "b200",
    "B300": "b300",
    "GB200": "gb200",
    "Trainium": "trainium",
    "Trainium2": "trainium2",
    "A10G": "a10g",
    "L4": "l4",
    "L40S": "l40s",
    "V100": "v100",
}
