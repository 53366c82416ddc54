"""How a job is distributed: the split over cards, and the job that is split.

Tensor ranks lie innermost, then context, then data; expert ranks are taken from all three, and pipeline stages lie
outermost.
"""

from __future__ import annotations

from dataclasses import dataclass

from components.sizing.layout.recipe import Recipe, recipe_of
from components.sizing.machine.profiles import NodeProfile
from components.sizing.model.shape import Shape
from components.spec.sizing import (
    ContextMethod,
    Dispatcher,
    Framework,
    Offloaded,
    Precision,
    Recompute,
    RecomputeModule,
    Schedule,
    Sharding,
    StatePrecision,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is trained, on which machine, with which arithmetic. `global_batch` counts sequences."""

    shape: Shape
    machine: NodeProfile
    precision: Precision
    global_batch: int
    optimizer: str = "adam"
    lora_rank: int = 0
    bf16_layers: int = 0
    expert_overlap: bool = False
    forward_only: bool = False
    framework: Framework | None = None

    @property
    def tokens_per_step(self) -> int:
        return self.global_batch * self.shape.sequence

    def plain_kernels(self, layout: Layout) -> bool:
        """Whether norms and activations run as compiled or eager kernels, not hand-fused ones.

        Left open, a dense model in 16 bits with sharded weights and no pipeline is taken for plain FSDP; narrow
        products come with fused libraries, experts with kernels of their own.
        """
        if self.framework is not None:
            return self.framework in ("torchtitan", "deepspeed")
        sharded = layout.sharding in ("zero2", "zero3") and layout.pipeline == 1
        return sharded and not self.recipe.narrow and self.shape.experts is None

    @property
    def recipe(self) -> Recipe:
        return recipe_of(self.precision, self.machine.card)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The split.

    `data` counts replicas of the whole model; `virtual` the chunks of a stage; `shard` 0 means all data ranks.
    """

    tensor: int = 1
    pipeline: int = 1
    context: int = 1
    expert: int = 1
    expert_tensor: int = 1
    data: int = 1
    virtual: int = 1
    micro_batch: int = 1
    sequence_parallel: bool = True
    recompute: Recompute = "none"
    recompute_modules: tuple[RecomputeModule, ...] = ()
    recompute_layers: int = 0  # with full recomputation: of each stage; 0 means all
    sharding: Sharding = "zero1"
    shard: int = 0
    fused_attention: bool = True
    schedule: Schedule = "1f1b"
    stages: tuple[int, ...] = ()  # layers of each chunk in the model's order; even when empty
    context_method: ContextMethod = "ring"
    dispatcher: Dispatcher = "node"
    states: StatePrecision = "fp32"
    offload: tuple[Offloaded, ...] = ()

    @property
    def cards(self) -> int:
        return self.tensor * self.pipeline * self.context * self.data

    @property
    def ranks(self) -> int:
        """Cards that hold the same part of the dense weights before data-parallel sharding."""
        return self.data * self.context

    @property
    def shard_ranks(self) -> int:
        """Of them, those that share one copy of what the sharding shares out."""
        return min(self.shard, self.ranks) if self.shard else self.ranks

    @property
    def expert_ranks(self) -> int:
        """Cards that hold the same routed experts: expert groups fold over tensor, context and data ranks."""
        return max(1, self.tensor * self.ranks // (self.expert * self.expert_tensor))

    @property
    def expert_shard_ranks(self) -> int:
        return max(1, min(self.expert_ranks, self.expert_ranks * self.shard_ranks // self.ranks))

    def micro_batches(self, global_batch: int) -> int:
        """Forward passes of one pipeline in a step; rounded up when the batch does not divide."""
        return -(-global_batch // (self.data * self.micro_batch))


def fused_by_default(precision: Precision, recompute: Recompute | None, generation: str) -> bool:
    """Whether attention is one kernel when the task file leaves it open: what published runs of that kind did."""
    if generation == "volta" or precision == "fp16":
        return False
    return not (recompute in ("selective", "full") and generation == "ampere")
