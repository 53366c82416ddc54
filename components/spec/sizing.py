"""The planner's sections of a task file: model, training, hardware, parallelism and goal.

People write large numbers in several ways: `15.6e12` (which YAML reads as text), `15_600_000_000_000` and `15.6T` are
one number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import AliasChoices, BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from components.spec.base import Count, CountOrZero, Flag, Region, Spec, Text

Precision = Literal["bf16", "fp16", "fp8", "fp8-block", "fp8-mx", "nvfp4"]
Recompute = Literal["none", "selective", "full"]
RecomputeModule = Literal["core_attn", "mla_up_proj", "layernorm", "mlp", "moe", "moe_act", "shared_experts"]
Schedule = Literal["gpipe", "1f1b", "interleaved", "zero-bubble", "zbv", "dualpipe"]
ContextMethod = Literal["ring", "allgather", "alltoall"]
Dispatcher = Literal["node", "alltoall", "allgather"]
StatePrecision = Literal["fp32", "bf16", "fp8"]
Offloaded = Literal["activations", "optimizer"]
Framework = Literal["megatron", "torchtitan", "automodel", "deepspeed", "neuron"]
Sharding = Literal["ddp", "zero1", "zero2", "zero3"]

_SUFFIXES = {"": 1.0, "k": 1e3, "m": 1e6, "b": 1e9, "g": 1e9, "t": 1e12}
_WRITTEN = re.compile(r"^\s*(\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?)\s*([kKmMbBgGtT]?)\s*$")


def number(value: object) -> object:
    """A positive number as people write it; refuses booleans, other text and what is not finite or not above zero."""
    result: float
    if isinstance(value, bool):
        raise PydanticCustomError("number", "a number is wanted, such as 15.6e12 or 15.6T")
    if isinstance(value, int | float):
        result = float(value)
    elif isinstance(value, str) and (match := _WRITTEN.match(value)):
        result = float(match[1].replace("_", "")) * _SUFFIXES[match[2].lower()]
    elif isinstance(value, str) and _WRITTEN.match(value.strip().lstrip("-")):
        result = -1.0
    else:
        raise PydanticCustomError("number", "a number is wanted, such as 15.6e12 or 15.6T")
    if not math.isfinite(result) or result <= 0:
        raise PydanticCustomError("number", "a number above 0 is wanted")
    return result


Number = Annotated[
    float, BeforeValidator(number), WithJsonSchema({"type": ["number", "string"], "examples": ["15.6T", 2e9]})
]


class ExpertsSpec(Spec):
    """A mixture of experts in the layers after the first `dense_layers`."""

    count: Count = Field(description="routed experts of a layer")
    active: Count = Field(description="routed experts that a token visits")
    shared: CountOrZero = Field(default=0, description="experts that every token visits")
    ffn: Count | None = Field(default=None, description="inner width of one expert; the model's ffn when left out")
    dense_layers: CountOrZero = Field(default=0, description="first layers that have a plain feed-forward block")
    every: Count = Field(default=1, description="experts in every n-th of the other layers; plain blocks between")
    most_nodes: Count | None = Field(
        default=None, description="nodes that one token's experts may lie on (limited routing)"
    )
    imbalance: Annotated[float, Field(ge=1.0, le=8.0)] | None = Field(
        default=None, description="load of the fullest expert rank against the mean; 1 where a benchmark forces balance"
    )


class LatentSpec(Spec):
    """Multi-head latent attention: keys and values pass through a narrow projection."""

    kv_rank: Count = Field(description="width of the shared key-value projection")
    q_rank: Count | None = Field(default=None, description="width of the query projection; none when left out")
    rope_dim: Count = Field(default=64, description="rotary part of a head, added to head_dim")
    nope_dim: Count | None = Field(
        default=None, description="part of a query or key head without rotation; head_dim when left out"
    )
    value_dim: Count | None = Field(
        default=None,
        validation_alias=AliasChoices("value_dim", "v_dim", "v_head_dim"),
        description="width of a value head; head_dim when left out",
    )


class WindowSpec(Spec):
    """Attention to the nearest tokens only, in all layers but every `full_every`-th."""

    tokens: Count = Field(description="tokens that a layer with a window looks back")
    full_every: CountOrZero = Field(default=2, description="every n-th layer sees the whole sequence; 0 when none does")


class ModelSpec(Spec):
    """A decoder-only transformer by its shape."""

    layers: Count = Field(description="transformer layers")
    hidden: Count = Field(description="width of the residual stream")
    heads: Count = Field(description="query heads")
    kv_heads: Count | None = Field(default=None, description="key-value heads; as many as query heads when left out")
    head_dim: Count | None = Field(default=None, description="width of a head; hidden / heads when left out")
    ffn: Count | None = Field(
        default=None,
        description="inner width of the feed-forward block; 4 x hidden, or 8/3 x hidden when gated, when left out",
    )
    vocab: Count = Field(description="vocabulary, padding included")
    sequence: Count = Field(description="tokens in a sequence")
    gated_mlp: Flag = Field(
        default=True, description="whether the feed-forward block has a gate (SwiGLU): three matrices, not two"
    )
    tied_embeddings: Flag = Field(default=False, description="whether the output layer reuses the input embedding")
    experts: ExpertsSpec | None = Field(default=None, description="mixture of experts")
    latent_attention: LatentSpec | None = Field(
        default=None,
        validation_alias=AliasChoices("latent_attention", "mla", "latent"),
        description="multi-head latent attention",
    )
    sliding_window: WindowSpec | None = Field(default=None, description="attention limited to the nearest tokens")
    prediction_modules: CountOrZero = Field(
        default=0, description="multi-token prediction modules: one more layer and output pass each"
    )


class TrainingSpec(Spec):
    """What is trained on how much, and how the state is kept."""

    tokens: Number = Field(description="tokens of the whole run, such as 15.6e12 or 15.6T")
    global_batch: Count | None = Field(
        default=None, description="sequences in one optimizer step; about 4 million tokens when left out"
    )
    batch_from: Count | None = Field(default=None, description="sequences in the first steps, where the batch grows")
    ramp_tokens: Number | None = Field(default=None, description="tokens over which it grows to global_batch")
    precision: Precision = Field(
        default="bf16",
        description=(
            "arithmetic of the products; fp8 scales tensors, fp8-block tiles, fp8-mx and nvfp4 small blocks (Blackwell)"
        ),
    )
    bf16_layers: CountOrZero = Field(
        default=0, description="layers that stay in bf16 where others multiply in fewer bits"
    )
    optimizer_states: StatePrecision | None = Field(
        default=None,
        description="precision of the optimizer's moments; fp32 when left out, or bf16 where nothing else fits",
    )
    offload: tuple[Offloaded, ...] = Field(default=(), description="what waits in host memory while it is not used")
    framework: Framework | None = Field(default=None, description="the program that trains, for what it can't run")
    optimizer: Literal["adam", "adamw", "sgd", "adafactor"] = Field(
        default="adam", description="optimizer, for its state"
    )
    recompute: Recompute | None = Field(
        default=None, description="activations computed again in the backward pass; the least that fits when left out"
    )
    recompute_modules: tuple[RecomputeModule, ...] = Field(
        default=(), description="with recompute: selective, the parts of a layer that are computed again"
    )
    recompute_layers: Count | None = Field(
        default=None, description="with recompute: full, only so many layers of each stage"
    )
    sharding: Sharding | None = Field(
        default=None, description="what data-parallel ranks share out; zero1 when left out, or more where it must"
    )
    attention: Literal["auto", "fused", "unfused"] = Field(
        default="auto",
        description=(
            "fused never stores the score matrix; auto means unfused in fp16, on V100, and on A100 with recompute"
        ),
    )
    expert_overlap: Flag = Field(
        default=False,
        description=(
            "whether expert traffic runs beside another micro-batch's arithmetic (Megatron's overlap, DualPipe)"
        ),
    )
    method: Literal["full", "lora"] = Field(
        default="full", description="which weights learn: all, or low-rank additions"
    )
    rank: Count = Field(default=16, description="rank of the additions when method is lora")


class HardwareSpec(Spec):
    """The machines: an instance type of the catalog, or an accelerator by name."""

    instance_type: Text | None = Field(default=None, description="EC2 instance type of the catalog")
    accelerator: Text | None = Field(
        default=None, description="card by name, such as h100, for machines that are not in the catalog"
    )
    cards_per_node: Count | None = Field(
        default=None, description="cards in one machine of the accelerator; 8 when left out"
    )
    network_gbps: Number | None = Field(default=None, description="network of one machine in Gbit/s")
    nodes: Count | None = Field(default=None, description="machines that train; follows from goal.days when left out")
    region: Region | None = Field(
        default=None, description="region for prices and zones; one that sells the type when left out"
    )


class ParallelismSpec(Spec):
    """How the model and the batch are split; what is left out the planner chooses."""

    computed: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("data", "data_parallel", "data_parallel_size", "dp"),
        "data parallelism is computed: the task's cards divided by tensor x pipeline x context",
    )

    tensor: Count | None = Field(default=None, description="cards that share each matrix")
    pipeline: Count | None = Field(default=None, description="stages of consecutive layers")
    context: Count | None = Field(default=None, description="cards that share one sequence")
    expert: Count | None = Field(
        default=None,
        description="cards that share the experts of a layer, taken from tensor, context and data ranks alike",
    )
    expert_tensor: Count = Field(default=1, description="cards that share one expert's matrices")
    virtual_stages: Count | None = Field(default=None, description="model chunks of one stage (interleaving)")
    stages: tuple[CountOrZero, ...] | None = Field(
        default=None,
        description="layers of each pipeline stage, or of each chunk in the model's order; even when left out",
    )
    pipeline_layout: Text | None = Field(
        default=None,
        description=(
            "stages in Megatron's letters: E embedding, t layer, m prediction module, L loss, | a stage, (..)*n"
        ),
    )
    schedule: Schedule | None = Field(
        default=None, description="order of the micro-batches; 1f1b, or interleaved with virtual stages"
    )
    shard: Count | None = Field(
        default=None, description="data ranks that share one copy of the state (HSDP); all when left out"
    )
    context_method: ContextMethod = Field(
        default="ring",
        description="how context ranks see each other's keys: round a ring, gathered, or by exchanging heads (Ulysses)",
    )
    dispatcher: Dispatcher | None = Field(
        default=None,
        description="a token travels once to each node (DeepEP), once for each expert, or everywhere; "
        "for each expert when left out in groups of at most 8 without zero3, else to each node",
    )
    micro_batch: Count | None = Field(default=None, description="sequences of one forward pass")
    sequence_parallel: Flag | None = Field(
        default=None,
        description=(
            "whether norms are split over the tensor group; true when left "
            "out, but for fp16 without selective recompute"
        ),
    )


class GoalSpec(Spec):
    """What must be reached."""

    days: Number | None = Field(default=None, description="days from start to end, restarts included")
    usd: Number | None = Field(default=None, description="what the run may cost, storage included")


class PhaseSpec(Spec):
    """A part of the campaign beside the main run; what is left out is as there."""

    name: Text = Field(description="the phase's name")
    kind: Literal["long-context", "annealing", "finetuning", "evaluation"] = Field(
        description="what the phase does; evaluation runs forward only"
    )
    tokens: Number = Field(description="tokens of the phase")
    sequence: Count | None = Field(default=None, description="tokens in a sequence")
    global_batch: Count | None = Field(default=None, description="sequences in one step")
    nodes: Count | None = Field(default=None, description="nodes of the phase")


class SizingSpec(Spec):
    """The planner's input; other sections of the task file are not its business."""

    model: ModelSpec = Field(description="the model's shape: layers, hidden, heads, vocab, sequence")
    training: TrainingSpec = Field(description="what is trained on how much: at least tokens")
    hardware: HardwareSpec = Field(default_factory=HardwareSpec)
    parallelism: ParallelismSpec = Field(default_factory=ParallelismSpec)
    goal: GoalSpec = Field(default_factory=GoalSpec)
    phases: tuple[PhaseSpec, ...] = Field(default=(), description="what the campaign does beside the main run")
