"""What the planner is asked: the sections of a task file with their gaps filled, and every reason to refuse them.

Left out, the machine is a p5.48xlarge and the goal thirty days. All problems are reported at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from components.catalog import Catalog, UnknownInstanceType
from components.naming import listed
from components.problems import Problem, errors
from components.sizing.layout import pipeline_text
from components.sizing.machine import profiles
from components.sizing.machine.profiles import NodeProfile
from components.sizing.model import shape
from components.sizing.model.shape import Shape
from components.sizing.step.measured import Measured
from components.sizing.tuning.constants import DEFAULT, Tuning
from components.spec.pools import CapacityKind
from components.spec.sizing import HardwareSpec, SizingSpec

DEFAULT_INSTANCE = "p5.48xlarge"
DEFAULT_DAYS = 30.0


@dataclass(frozen=True, kw_only=True)
class PoolFacts:
    """The pool that the task runs in, as far as it is known: with a stack all of it, without one its name."""

    name: str
    purpose: str | None = None
    zone: str | None = None
    fabric: str | None = None
    capacity: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class Request:
    """A question the planner can answer.

    `nodes` is None when it follows from `days`. `keep_last` counts checkpoints.
    """

    name: str
    spec: SizingSpec
    shape: Shape
    machine: NodeProfile
    nodes: int | None
    days: float | None
    keep_last: int = 5
    filled: tuple[str, ...] = ()
    tuning: Tuning = DEFAULT
    measured: Measured | None = None
    buying: CapacityKind | None = None  # how the pool's machines are bought; the first kind that has a price when None
    pool: PoolFacts | None = None
    quick: bool = False  # whether the search may leave out splits that are rarely best

    @property
    def lora_rank(self) -> int:
        return self.spec.training.rank if self.spec.training.method == "lora" else 0


def build(
    spec: SizingSpec,
    cat: Catalog,
    *,
    name: str = "task",
    keep_last: int = 5,
    task_nodes: int | None = None,
    pool: PoolFacts | None = None,
) -> tuple[Request | None, list[Problem]]:
    """The request, or the problems that stand in its way."""
    problems = [*_model(spec), *hardware_problems(spec.hardware, cat), *_precision(spec, cat), *_split(spec, cat)]
    machine = _machine(spec, cat)
    if errors(problems) or machine is None:
        return None, problems
    filled: list[str] = []
    if not spec.hardware.instance_type and not spec.hardware.accelerator:
        filled.append(f"hardware is left out: {DEFAULT_INSTANCE}")
    nodes = spec.hardware.nodes or task_nodes
    if spec.hardware.nodes is None and task_nodes:
        filled.append(f"hardware.nodes is left out: resources.nodes, {task_nodes}")
    days = spec.goal.days
    if nodes is None and days is None:
        days = DEFAULT_DAYS
        filled.append(f"neither hardware.nodes nor goal.days is given: {DEFAULT_DAYS:g} days")
    request = Request(
        name=name,
        spec=spec,
        shape=shape.of(spec.model),
        machine=machine,
        nodes=nodes,
        days=days,
        keep_last=keep_last,
        filled=tuple(filled),
        pool=pool,
    )
    return request, problems


def _machine(spec: SizingSpec, cat: Catalog) -> NodeProfile | None:
    hardware = spec.hardware
    if hardware.accelerator:
        card = profiles.card_named(hardware.accelerator)
        return profiles.of_accelerator(card, hardware.cards_per_node, hardware.network_gbps) if card else None
    instance = cat.instances.get(hardware.instance_type or DEFAULT_INSTANCE)
    return profiles.of_instance(instance, hardware.network_gbps) if instance else None


def _model(spec: SizingSpec) -> Iterator[Problem]:
    model = spec.model
    if model.head_dim is None and model.hidden % model.heads:
        yield Problem(
            id="heads-divide",
            path="model.heads",
            said=f"hidden {model.hidden} does not divide by {model.heads} heads",
            hint="give model.head_dim",
        )
    if model.kv_heads is not None and model.heads % model.kv_heads:
        yield Problem(
            id="kv-heads-divide",
            path="model.kv_heads",
            said=f"{model.heads} heads do not divide by {model.kv_heads} key-value heads",
            hint=f"use one of: {_divisors(model.heads)}",
        )
    if experts := model.experts:
        if experts.active > experts.count:
            yield Problem(
                id="experts-active",
                path="model.experts.active",
                said=f"{experts.active} active experts outnumber the {experts.count} experts",
                hint=f"at most {experts.count}",
            )
        if experts.dense_layers >= model.layers:
            yield Problem(
                id="experts-layers",
                path="model.experts.dense_layers",
                said=f"{experts.dense_layers} dense layers leave none of the {model.layers} layers for experts",
                hint=f"at most {model.layers - 1}",
            )


def hardware_problems(hardware: HardwareSpec, cat: Catalog) -> Iterator[Problem]:
    """What is wrong with the machines alone; the other sections may be unreadable."""
    if hardware.instance_type and hardware.accelerator:
        yield Problem(
            id="hardware-twice",
            path="hardware.accelerator",
            said="both an instance_type and an accelerator are named",
            hint="keep instance_type for machines of the catalog, accelerator for others",
        )
        return
    if hardware.accelerator and profiles.card_named(hardware.accelerator) is None:
        near = profiles.closest(hardware.accelerator)
        hint = f'did you mean "{near}"?' if near else f"use one of: {', '.join(profiles.names())}"
        yield Problem(
            id="accelerator-unknown",
            path="hardware.accelerator",
            said=f'"{hardware.accelerator}" is not a known accelerator',
            hint=hint,
        )
    if hardware.instance_type:
        try:
            instance = cat.instance(hardware.instance_type)
        except UnknownInstanceType as error:
            yield Problem(
                id="instance-type-unknown",
                path="hardware.instance_type",
                said=f'"{hardware.instance_type}" is not in the catalog',
                hint=error.hint,
            )
            return
        if instance.accelerator is None:
            yield Problem(
                id="instance-without-cards",
                path="hardware.instance_type",
                said=f"{instance.name} has no accelerator",
                hint="use a type such as p5.48xlarge",
            )
        elif profiles.of_instance(instance) is None:
            yield Problem(
                id="instance-speed-unknown",
                path="hardware.instance_type",
                said=f"no source gives the speed of {instance.name}'s cards",
                hint="use a type such as p5.48xlarge",
            )
        elif hardware.cards_per_node and hardware.cards_per_node != instance.cards:
            yield Problem(
                id="cards-per-node",
                path="hardware.cards_per_node",
                said=f"{hardware.cards_per_node} cards a node do not match {instance.name}, which has {instance.cards}",
                hint="leave cards_per_node out",
            )


def _precision(spec: SizingSpec, cat: Catalog) -> Iterator[Problem]:
    machine = _machine(spec, cat)
    if machine is None:
        return
    card = machine.card
    asked = spec.training.precision
    if asked.startswith("fp8") and card.fp8_tflops is None:
        able = [other.name for other in profiles.CARDS.values() if other.fp8_tflops]
        yield Problem(
            id="precision-missing",
            path="training.precision",
            said=f"{asked} is asked for, but {machine.name}'s cards have no 8-bit arithmetic",
            hint=f"use bf16, or cards that have it: {listed(able[:6], 'or')}",
        )
    if (asked == "nvfp4" and card.fp4_tflops is None) or (
        asked == "fp8-mx" and card.fp8_tflops and card.generation != "blackwell"
    ):
        able = [other.name for other in profiles.CARDS.values() if other.fp4_tflops]
        yield Problem(
            id="precision-missing",
            path="training.precision",
            said=f"{asked} is asked for, but {machine.name}'s cards don't scale small blocks",
            hint=f"use {'fp8' if card.fp8_tflops else 'bf16'}, or cards that do: {listed(able, 'or')}",
        )
    if spec.training.precision == "bf16" and not card.bf16:
        yield Problem(
            id="precision-missing",
            path="training.precision",
            said=f"bf16 is asked for, but {machine.name}'s cards multiply only in fp16",
            hint="use precision: fp16",
        )


def _split(spec: SizingSpec, cat: Catalog) -> Iterator[Problem]:
    yield from _heads(spec)
    yield from _stages(spec)
    yield from _sequence_and_experts(spec)
    yield from _batch_and_sharding(spec)
    yield from _recomputed(spec)
    machine = _machine(spec, cat)
    if machine is not None:
        yield from _cards(spec, machine)


def _heads(spec: SizingSpec) -> Iterator[Problem]:
    model, split = spec.model, spec.parallelism
    if split.tensor and model.heads % split.tensor:
        yield Problem(
            id="heads-tensor",
            path="parallelism.tensor",
            said=f"{model.heads} heads do not divide by tensor {split.tensor}",
            hint=f"use one of: {_divisors(model.heads, 16)}",
        )
    kv_heads = model.kv_heads or model.heads
    if split.tensor and not model.heads % split.tensor and kv_heads % split.tensor and split.tensor % kv_heads:
        yield Problem(
            id="kv-heads-tensor",
            path="parallelism.tensor",
            said=f"{kv_heads} key-value heads and tensor {split.tensor} do not divide one another",
            hint=f"use one of: {_divisors(kv_heads, 16)}",
        )


def _sequence_and_experts(spec: SizingSpec) -> Iterator[Problem]:
    model, split = spec.model, spec.parallelism
    if split.context and model.sequence % split.context:
        yield Problem(
            id="sequence-context",
            path="parallelism.context",
            said=f"a sequence of {model.sequence} does not divide by context {split.context}",
            hint="use a power of two",
        )
    if split.expert and split.expert > 1 and model.experts is None:
        yield Problem(
            id="expert-without-experts",
            path="parallelism.expert",
            said=f"expert {split.expert} is asked for, but the model has no experts",
            hint="describe them in model.experts, or leave expert out",
        )
    if split.expert and model.experts and model.experts.count % split.expert:
        yield Problem(
            id="experts-expert",
            path="parallelism.expert",
            said=f"{model.experts.count} experts do not divide by expert {split.expert}",
            hint=f"use one of: {_divisors(model.experts.count)}",
        )


def _batch_and_sharding(spec: SizingSpec) -> Iterator[Problem]:
    split = spec.parallelism
    training = spec.training
    if training.batch_from and training.global_batch and training.batch_from >= training.global_batch:
        yield Problem(
            id="batch-ramp",
            path="training.batch_from",
            said=f"the batch starts at {training.batch_from} sequences and ends at {training.global_batch}",
            hint=f"below {training.global_batch}, or leave batch_from out",
        )
    if split.shard and (split.shard < 1 or spec.training.sharding == "ddp"):
        yield Problem(
            id="shard-nothing",
            path="parallelism.shard",
            said="a shard group is given, but ddp shares nothing",
            hint="use sharding: zero1, zero2 or zero3, or leave shard out",
        )


def _recomputed(spec: SizingSpec) -> Iterator[Problem]:
    if spec.training.recompute_modules and spec.training.recompute not in (None, "selective"):
        yield Problem(
            id="recompute-modules",
            path="training.recompute_modules",
            said=f"modules are named, but recompute is {spec.training.recompute}",
            hint="use recompute: selective, or leave the modules out",
        )
    if spec.training.recompute_layers and spec.training.recompute not in (None, "full"):
        yield Problem(
            id="recompute-layers",
            path="training.recompute_layers",
            said=f"a number of layers is given, but recompute is {spec.training.recompute}",
            hint="use recompute: full, or leave the number out",
        )


def _cards(spec: SizingSpec, machine: NodeProfile) -> Iterator[Problem]:
    """Whether the split fits the machine's fast links and the number of cards."""
    split = spec.parallelism
    if split.tensor and split.tensor > machine.domain:
        yield Problem(
            id="tensor-domain",
            path="parallelism.tensor",
            said=(
                f"tensor {split.tensor} is wider than the {machine.domain} cards that fast links join on {machine.name}"
            ),
            hint=f"at most {machine.domain} are fast; split further by pipeline",
            severity="warning",
        )
    nodes, batch = spec.hardware.nodes, spec.training.global_batch
    if nodes is None:
        return
    cards = nodes * machine.cards
    inner = (split.tensor or 1) * (split.pipeline or 1) * (split.context or 1)
    if inner > cards:
        yield Problem(
            id="split-cards",
            path="parallelism",
            said=f"tensor x pipeline x context is {inner}, more than the {cards} cards of {nodes} nodes",
            hint=f"use at least {-(-inner // machine.cards)} nodes or a smaller split",
        )
    elif split.tensor and split.pipeline and cards % inner:
        fewer = cards // inner * inner
        yield Problem(
            id="split-cards",
            path="parallelism",
            said=f"{cards} cards do not divide by tensor x pipeline x context {inner}: {cards - fewer} stay idle",
            hint=f"use {-(-fewer // machine.cards)} nodes, or another split",
            severity="warning",
        )
    elif split.tensor and split.pipeline and batch:
        data = cards // inner
        step = data * (split.micro_batch or 1)
        if batch % step:
            near = max(1, round(batch / step)) * step
            yield Problem(
                id="batch-data",
                path="training.global_batch",
                said=f"{batch} sequences do not divide by data {data} x micro_batch {split.micro_batch or 1}: "
                "some ranks wait in the last round",
                hint=f"use {near}",
                severity="warning",
            )


def _stages(spec: SizingSpec) -> Iterator[Problem]:
    """Stages that layers can't be dealt to; uneven ones are nobody's mistake."""
    model, split = spec.model, spec.parallelism
    pipeline, virtual = split.pipeline, split.virtual_stages or 1
    if split.pipeline_layout is not None:
        yield from _written_layout(spec, split.pipeline_layout)
        return
    if split.stages is not None and (problem := _written_stages(model.layers, pipeline, virtual, split.stages)):
        yield problem
        return
    if pipeline and pipeline > model.layers + 2:
        yield Problem(
            id="layers-pipeline",
            path="parallelism.pipeline",
            said=f"{pipeline} stages are more than {model.layers} layers, embedding and output layer",
            hint=f"at most {model.layers + 2}",
        )
    elif virtual > 1 and pipeline == 1:
        yield Problem(
            id="layers-virtual",
            path="parallelism.virtual_stages",
            said="virtual stages need a pipeline of more than one stage",
            hint="leave virtual_stages out",
        )
    elif pipeline and virtual > 1 and pipeline * virtual > model.layers + 2:
        yield Problem(
            id="layers-virtual",
            path="parallelism.virtual_stages",
            said=(
                f"{pipeline} stages of {virtual} chunks are more than {model.layers} layers, embedding and output layer"
            ),
            hint=f"at most {max(1, (model.layers + 2) // pipeline)}",
        )
    chunks = {"gpipe": 1, "1f1b": 1, "zero-bubble": 1, "dualpipe": 1, "zbv": 2}.get(split.schedule or "")
    if chunks and split.virtual_stages and virtual != chunks:
        yield Problem(
            id="schedule-virtual",
            path="parallelism.virtual_stages",
            said=f"schedule {split.schedule} has {chunks} chunk{'s' if chunks > 1 else ''} a stage, not {virtual}",
            hint="use schedule: interleaved, or leave virtual_stages out",
        )


def _written_stages(layers: int, pipeline: int | None, virtual: int, stages: tuple[int, ...]) -> Problem | None:
    said = hint = ""
    if pipeline is None:
        said, hint = "stages are given without a pipeline", f"set parallelism.pipeline: {len(stages)}"
    elif len(stages) not in (pipeline, pipeline * virtual):
        either = f"{pipeline}" if virtual == 1 else f"{pipeline} or {pipeline * virtual}"
        said, hint = f"{len(stages)} numbers are given for {either} stages", "give one for each stage"
    elif sum(stages) != layers:
        said, hint = f"the stages hold {sum(stages)} layers, the model has {layers}", "let them add up"
    return Problem(id="stages", path="parallelism.stages", said=said, hint=hint) if said else None


def _written_layout(spec: SizingSpec, text: str) -> Iterator[Problem]:
    path, split = "parallelism.pipeline_layout", spec.parallelism
    try:
        counts = pipeline_text.layers(text)
    except ValueError as error:
        hint = "E, t, m and L are embedding, layer, prediction module and loss; | ends a stage; (t|)*4 repeats"
        yield Problem(id="pipeline-layout", path=path, said=f"is no layout: {error}", hint=hint)
        return
    if split.stages is not None:
        yield Problem(
            id="pipeline-layout", path=path, said="stages are given twice", hint="keep pipeline_layout or stages"
        )
    if split.pipeline is None or len(counts) % split.pipeline:
        said = f"{len(counts)} stages don't divide by pipeline {split.pipeline or 1}"
        yield Problem(id="pipeline-layout", path=path, said=said, hint="set parallelism.pipeline to a divisor of them")
    elif split.virtual_stages and len(counts) != split.pipeline * split.virtual_stages:
        said = f"{len(counts)} stages are not pipeline {split.pipeline} x virtual_stages {split.virtual_stages}"
        yield Problem(
            id="pipeline-layout", path=path, said=said, hint="leave virtual_stages out: it follows from the layout"
        )
    if sum(counts) != spec.model.layers:
        said = f"it places {sum(counts)} layers, the model has {spec.model.layers}"
        yield Problem(id="pipeline-layout", path=path, said=said, hint="write one t for each layer")


def _divisors(number: int, most: int = 1024) -> str:
    return ", ".join(str(d) for d in range(1, min(number, most) + 1) if number % d == 0)
