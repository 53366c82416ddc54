"""GiB that one card of the fullest pipeline stage holds: states, activations and the framework's own share.

`ddp` shares nothing, `zero1` the optimizer state, `zero2` also gradients, `zero3` also weights, over the shard group of
each part.
"""

from __future__ import annotations

from dataclasses import dataclass

from components.sizing.layout.layout import Job, Layout
from components.sizing.layout.stages import StageLoad, holdings
from components.sizing.memory.activations import rank_activations
from components.sizing.step.counts import load_parameters, lora_parameters
from components.sizing.tuning.constants import Constant

GIB = 1024.0**3
FRAMEWORK = Constant(
    name="framework_memory",
    value=4.0,
    low=2.0,
    high=6.0,
    unit="GiB a card",
    source=(
        "contexts, collectives' buffers, workspaces; EleutherAI's cookbook "
        "finds about 5 GiB with fragments, counted apart here"
    ),
)
FRAGMENTATION = Constant(
    name="fragmentation",
    value=0.05,
    low=0.03,
    high=0.10,
    unit="of all tensors",
    source="5-10 % of the allocator's memory is lost to fragments; expandable segments reach the lower end",
)
_MOMENTS = {"adam": 2.0, "adamw": 2.0, "adafactor": 0.125, "sgd": 1.0}  # two moments, rows and columns of one, or one
_STATE_BYTES = {"fp32": 4.0, "bf16": 2.0, "fp8": 1.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """GiB of one card in the fullest stage."""

    weights: float
    gradients: float
    optimizer: float
    activations: float
    overhead: float
    usable: float

    @property
    def total(self) -> float:
        return self.weights + self.gradients + self.optimizer + self.activations + self.overhead

    @property
    def fits(self) -> bool:
        return self.total <= self.usable


@dataclass(frozen=True, slots=True)
class _States:
    weights: float
    gradients: float
    optimizer: float


def state_bytes(job: Job, layout: Layout) -> float:
    """Bytes of optimizer state a parameter: master copy and moments.

    With moments in 16 bits the weights are their own master copy.
    """
    width = _STATE_BYTES[layout.states]
    master = 4.0 if layout.states == "fp32" else 0.0
    return master + _MOMENTS[job.optimizer] * width


def _states(job: Job, layout: Layout, load: StageLoad) -> _States:
    """Bytes of weights, gradients and optimizer state on a card of one pipeline rank."""
    everywhere, routed = load_parameters(job, layout, load)
    trained, trained_routed = (lora_parameters(job, layout), 0.0) if job.lora_rank else (everywhere, routed)
    if job.forward_only:
        trained = trained_routed = 0.0
    ranks, expert_ranks = layout.shard_ranks, layout.expert_shard_ranks
    weight = job.recipe.weight_bytes
    weights = weight * (everywhere + routed)
    if layout.sharding == "zero3" and layout.pipeline == 1:
        # Sharded weights, and two layers gathered at a time; with a pipeline they stay gathered between micro-batches.
        layers = max(1, load.layers)
        sharded = 2.0 * (everywhere / ranks + routed / expert_ranks)
        gathered = 2 * 2.0 * ((everywhere if ranks > 1 else 0.0) + (routed if expert_ranks > 1 else 0.0)) / layers
        weights = sharded + gathered
    shared = layout.sharding in ("zero2", "zero3")
    # Narrow recipes add gradients up in bf16, others in 32 bits (NeMo performance recipes; Megatron's distributed
    # optimizer).
    each = job.recipe.gradient_bytes if layout.states == "fp32" else min(2.0, job.recipe.gradient_bytes)
    gradients = each * (trained / (ranks if shared else 1) + trained_routed / (expert_ranks if shared else 1))
    apart = layout.sharding != "ddp"
    optimizer = state_bytes(job, layout) * (
        trained / (ranks if apart else 1) + trained_routed / (expert_ranks if apart else 1)
    )
    return _States(weights, gradients, 0.0 if "optimizer" in layout.offload else optimizer)


def of(job: Job, layout: Layout) -> Memory:
    """Memory of the fullest rank."""
    fullest: tuple[float, _States, float] | None = None
    for rank, load in holdings(job.shape, layout):  # of ranks alike, the first holds the most micro-batches
        states, activations = _states(job, layout, load), rank_activations(job, layout, rank, load)
        total = states.weights + states.gradients + states.optimizer + activations
        if fullest is None or total > fullest[0]:
            fullest = total, states, activations
    assert fullest is not None  # a pipeline has at least one rank
    total, states, activations = fullest
    overhead = FRAMEWORK.value * GIB + FRAGMENTATION.value * total
    return Memory(
        weights=states.weights / GIB,
        gradients=states.gradients / GIB,
        optimizer=states.optimizer / GIB,
        activations=activations / GIB,
        overhead=overhead / GIB,
        usable=job.machine.card.usable_gib,
    )
