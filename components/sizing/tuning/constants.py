"""Every constant the planner assumes, with its value, its plausible range and its source.

A fitted constant says so and keeps its value before any fit; `Tuning` is the set that the step-time model reads.
"""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """One assumption; `fitted` when the value came from the calibration rows, within `low`..`high`."""

    name: str
    value: float
    low: float
    high: float
    unit: str
    source: str
    fitted: bool = False
    expected: float | None = None  # a fitted one's value before any fit

    @property
    def prior(self) -> float:
        return self.value if self.expected is None else self.expected


_FITTED = (
    "fitted on the published step times in data/calibration.json, pulled "
    "towards the middle of its range (bench/planner.py)"
)

CONSTANTS: tuple[Constant, ...] = (
    # --- arithmetic
    Constant(
        name="matrix_volta",
        value=0.70,
        low=0.55,
        high=0.85,
        unit="of peak",
        source="large fp16 products on V100: 85-95 of 125 TFLOP/s in cuBLAS reports",
    ),
    Constant(
        name="matrix_ampere",
        value=0.819,
        low=0.70,
        high=0.95,
        unit="of peak",
        source=_FITTED,
        fitted=True,
        expected=0.85,
    ),
    Constant(
        name="matrix_hopper",
        value=0.72,
        low=0.60,
        high=0.85,
        unit="of peak",
        source=_FITTED,
        fitted=True,
        expected=0.72,
    ),
    Constant(
        name="matrix_hopper_fp8",
        value=0.648,
        low=0.45,
        high=0.75,
        unit="of fp8 peak",
        source=_FITTED,
        fitted=True,
        expected=0.62,
    ),
    Constant(
        name="matrix_blackwell",
        value=0.691,
        low=0.55,
        high=0.85,
        unit="of peak",
        source=_FITTED,
        fitted=True,
        expected=0.70,
    ),
    Constant(
        name="matrix_blackwell_fp8",
        value=0.58,
        low=0.40,
        high=0.75,
        unit="of fp8 peak",
        source=_FITTED,
        fitted=True,
        expected=0.58,
    ),
    Constant(
        name="matrix_tpu",
        value=0.80,
        low=0.65,
        high=0.95,
        unit="of peak",
        source="PaLM reports 57.8 % hardware utilization end to end on TPU v4",
    ),
    Constant(
        name="matrix_trainium",
        value=0.62,
        low=0.45,
        high=0.80,
        unit="of peak",
        source="engineering choice: a systolic array on large tiles, below GPUs' large products",
    ),
    Constant(
        name="matrix_other",
        value=0.62,
        low=0.40,
        high=0.80,
        unit="of peak",
        source="engineering choice for cards without published large runs",
    ),
    Constant(
        name="attention_kernel",
        value=0.7,
        low=0.45,
        high=0.90,
        unit="of a large product's rate",
        source=_FITTED,
        fitted=True,
        expected=0.70,
    ),
    Constant(
        name="attention_kernel_hopper",
        value=0.597,
        low=0.30,
        high=0.85,
        unit="of a large product's rate (Hopper and later)",
        source=_FITTED,
        fitted=True,
        expected=0.58,
    ),
    Constant(
        name="memory_bandwidth",
        value=0.75,
        low=0.60,
        high=0.92,
        unit="of peak",
        source=_FITTED,
        fitted=True,
        expected=0.75,
    ),
    Constant(
        name="roofline_overlap",
        value=0.50,
        low=0.0,
        high=1.0,
        unit="share of the shorter of arithmetic and memory time that adds to the longer",
        source="engineering choice: tiles prefetch, their edges don't",
    ),
    Constant(
        name="kernel_gap",
        value=4e-6,
        low=1e-6,
        high=1e-5,
        unit="s per kernel",
        source="launch gaps seen in profiler traces; CUDA launch costs 2-6 us",
    ),
    Constant(
        name="elementwise_passes",
        value=1,
        low=0.6,
        high=1.8,
        unit="of the traffic of plainly fused norms, activations and residuals",
        source=_FITTED,
        fitted=True,
        expected=1.0,
    ),
    Constant(
        name="plain_framework",
        value=1.62,
        low=1.0,
        high=3.0,
        unit="times that traffic in frameworks without hand-fused kernels (torchtitan, DeepSpeed)",
        source=_FITTED,
        fitted=True,
        expected=1.5,
    ),
    # --- links
    Constant(
        name="link_efficiency",
        value=0.75,
        low=0.55,
        high=0.92,
        unit="of the link's one-way peak",
        source=_FITTED,
        fitted=True,
        expected=0.75,
    ),
    Constant(
        name="network_efficiency",
        value=0.75,
        low=0.50,
        high=0.92,
        unit="of the network's one-way peak",
        source=_FITTED,
        fitted=True,
        expected=0.75,
    ),
    Constant(
        name="link_latency",
        value=3e-6,
        low=1e-6,
        high=1e-5,
        unit="s per ring step inside a domain",
        source="nccl-tests small-message latency",
    ),
    Constant(
        name="network_latency",
        value=8e-6,
        low=4e-6,
        high=3e-5,
        unit="s per ring step between nodes",
        source="nccl-tests small-message latency",
    ),
    Constant(
        name="tensor_overlap",
        value=0.15,
        low=0.0,
        high=0.6,
        unit="of tensor-parallel traffic hidden",
        source=_FITTED,
        fitted=True,
        expected=0.15,
    ),
    Constant(
        name="tensor_overlap_fp8",
        value=0.475,
        low=0.0,
        high=0.8,
        unit="of tensor-parallel traffic hidden by the stacks that multiply in 8 bits",
        source=_FITTED,
        fitted=True,
        expected=0.45,
    ),
    Constant(
        name="data_overlap",
        value=0.7,
        low=0.2,
        high=0.95,
        unit="of data-parallel traffic hidden where arithmetic lasts long enough",
        source=_FITTED,
        fitted=True,
        expected=0.70,
    ),
    Constant(
        name="shard_overlap",
        value=0.85,
        low=0.5,
        high=0.97,
        unit="of weight gathering (zero3) hidden where arithmetic lasts long enough",
        source=_FITTED,
        fitted=True,
        expected=0.85,
    ),
    Constant(
        name="pipeline_overlap",
        value=0.50,
        low=0.0,
        high=0.9,
        unit="of stage-to-stage traffic hidden",
        source="engineering choice",
    ),
    Constant(
        name="expert_overlap",
        value=0.85,
        low=0.5,
        high=0.97,
        unit="of expert traffic hidden, where the task says that it runs beside another micro-batch",
        source="DeepSeek-V3 section 3.2: nearly all of it under DualPipe; Megatron's overlap leaves the ends",
    ),
    Constant(
        name="exchange_efficiency",
        value=0.862,
        low=0.6,
        high=1.0,
        unit="of a link's one-way peak when tokens go to their experts",
        source=_FITTED + "; DeepEP reports 43 to 51 of 50 GB/s between nodes",
        fitted=True,
        expected=0.85,
    ),
    Constant(
        name="expert_host",
        value=0.006,
        low=1e-3,
        high=1.2e-2,
        unit="s to launch a sparse layer's kernels, forward and backward; the card waits where it is faster",
        source=_FITTED,
        fitted=True,
        expected=6e-3,
    ),
    Constant(
        name="layer_host",
        value=0.0012,
        low=5e-4,
        high=3e-3,
        unit="s to launch a dense layer's kernels, forward and backward",
        source="about 150 launches of 5 to 10 us",
    ),
    Constant(
        name="context_overlap",
        value=0.80,
        low=0.3,
        high=0.95,
        unit="of ring-attention traffic hidden",
        source="engineering choice",
    ),
    # --- scale
    Constant(
        name="straggler",
        value=0.00788,
        low=0.0,
        high=0.02,
        unit="step time added per doubling of nodes",
        source=_FITTED,
        fitted=True,
        expected=0.006,
    ),
    Constant(
        name="step_overhead",
        value=0.01,
        low=0.0,
        high=0.05,
        unit="s per step",
        source="data loading and logging; engineering choice",
    ),
)


@dataclass(frozen=True, slots=True)
class Tuning:
    """The constants that the step-time model reads, by name; `DEFAULT` holds the values above."""

    matrix_volta: float
    matrix_ampere: float
    matrix_hopper: float
    matrix_hopper_fp8: float
    matrix_blackwell: float
    matrix_blackwell_fp8: float
    matrix_tpu: float
    matrix_trainium: float
    matrix_other: float
    attention_kernel: float
    attention_kernel_hopper: float
    memory_bandwidth: float
    roofline_overlap: float
    kernel_gap: float
    elementwise_passes: float
    plain_framework: float
    link_efficiency: float
    network_efficiency: float
    link_latency: float
    network_latency: float
    tensor_overlap: float
    tensor_overlap_fp8: float
    data_overlap: float
    shard_overlap: float
    pipeline_overlap: float
    expert_overlap: float
    exchange_efficiency: float
    expert_host: float
    layer_host: float
    context_overlap: float
    straggler: float
    step_overhead: float

    def plain_share(self, generation: str) -> float:
        """Share of the 16-bit peak that large products sustain."""
        named = {
            "volta": self.matrix_volta,
            "ampere": self.matrix_ampere,
            "hopper": self.matrix_hopper,
            "blackwell": self.matrix_blackwell,
            "tpu": self.matrix_tpu,
            "trainium": self.matrix_trainium,
        }
        return named.get(generation, self.matrix_other)

    def narrow_share(self, generation: str) -> float:
        """Share of the 8-bit or 4-bit peak that large products sustain."""
        return self.matrix_blackwell_fp8 if generation == "blackwell" else self.matrix_hopper_fp8

    def attention_share(self, generation: str) -> float:
        """Rate of the attention kernel against a large product's."""
        return self.attention_kernel_hopper if generation in ("hopper", "blackwell") else self.attention_kernel


_VALUES = {constant.name: constant.value for constant in CONSTANTS}
DEFAULT = Tuning(**{field.name: _VALUES[field.name] for field in fields(Tuning)})
PRIOR = Tuning(**{constant.name: constant.prior for constant in CONSTANTS if constant.name in _VALUES})
FITTED = tuple(constant for constant in CONSTANTS if constant.fitted)
