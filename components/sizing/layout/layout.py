"""How a job is laid out: the split over cards, and the job that is split.

Hides the order of the groups: tensor ranks lie innermost, then context, then data (experts inside it), pipeline stages outermost.
"""

from __future__ import annotations

from dataclasses import dataclass

from components.sizing.machine.profiles import NodeProfile
from components.sizing.model.shape import Shape
from components.spec.sizing import Precision, Recompute, Sharding


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is trained, on which machine, with which arithmetic. `global_batch` counts sequences."""

    shape: Shape
    machine: NodeProfile
    precision: Precision
    global_batch: int
    optimizer: str = "adam"
    lora_rank: int = 0

    @property
    def tokens_per_step(self) -> int:
        return self.global_batch * self.shape.sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The split. `data` counts replicas of the whole model; `virtual` the chunks of a stage."""

    tensor: int = 1
    pipeline: int = 1
    context: int = 1
    expert: int = 1
    data: int = 1
    virtual: int = 1
    micro_batch: int = 1
    sequence_parallel: bool = True
    recompute: Recompute = "none"
    sharding: Sharding = "zero1"
    fused_attention: bool = True

    @property
    def cards(self) -> int:
        return self.tensor * self.pipeline * self.context * self.data

    def micro_batches(self, global_batch: int) -> int:
        """Forward passes of one pipeline in a step; rounded up when the batch does not divide."""
        return -(-global_batch // (self.data * self.micro_batch))


def stage_layers(layers: int, pipeline: int) -> tuple[int, int, int] | None:
    """Layers of the first, a middle and the last stage; None when they can't be dealt out.

    Layers divide evenly, or, on an even number of stages, the embedding and the output layer count as a layer each (Llama 3: 126 on 16;
    BLOOM: 70 on 12), and on a power of two a third place may hold a prediction module (DeepSeek-V3: 61 on 16).
    """
    if layers % pipeline == 0:
        each = layers // pipeline
        return each, each, each
    if pipeline >= 4 and pipeline % 2 == 0 and (layers + 2) % pipeline == 0:
        each = (layers + 2) // pipeline
        return each - 1, each, each - 1
    if pipeline >= 8 and pipeline & (pipeline - 1) == 0 and (layers + 3) % pipeline == 0 and (layers + 3) // pipeline >= 3:
        each = (layers + 3) // pipeline
        return each - 1, each, each - 2
    return None


def fused_by_default(precision: Precision, recompute: Recompute | None, generation: str) -> bool:
    """Whether attention is one kernel when the task file leaves it open: what published runs of that kind did."""
    if generation == "volta" or precision == "fp16":
        return False
    return not (recompute in ("selective", "full") and generation == "ampere")
