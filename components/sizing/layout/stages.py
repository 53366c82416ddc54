"""Which layers lie on which pipeline rank: even, uneven or as written, in one chunk a stage or several.

Layers are dealt to chunks in the model's order; a chunk's rank follows from the schedule. Every layer is dealt exactly
once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from components.sizing.layout.layout import Layout
from components.sizing.model.shape import Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class StageLoad:
    """What one pipeline rank holds, over all its chunks. `predictions` counts multi-token prediction modules."""

    dense: int
    sparse: int
    embedding: bool
    head: bool
    predictions: int = 0

    @property
    def layers(self) -> int:
        return self.dense + self.sparse


def even_chunks(layers: int, chunks: int) -> tuple[int, ...]:
    """Layers of each chunk: as equal as can be, the ends lighter: they hold the embedding and the output layer."""
    base, extra = divmod(layers, chunks)
    counts = [base] * chunks
    if extra:
        lighter = chunks - extra
        # Of the lighter chunks the last comes first, then the first, then those beside the ends in turn.
        order = [index // 2 if index % 2 else chunks - 1 - index // 2 for index in range(chunks)]
        light = set(order[:lighter])
        counts = [base if index in light else base + 1 for index in range(chunks)]
    return tuple(counts)


def rank_of(chunk: int, pipeline: int, schedule: str) -> int:
    """The pipeline rank of a chunk: round and round, or forth and back in a V."""
    turn, place = divmod(chunk, pipeline)
    return pipeline - 1 - place if schedule == "zbv" and turn % 2 else place


def chunks_of(layers: int, count: int, stages: Sequence[int]) -> tuple[int, ...]:
    """Layers of `count` chunks in the model's order.

    Stages that were written as one number each are cut into equal chunks.
    """
    if not stages:
        return even_chunks(layers, count)
    if len(stages) == count:
        return tuple(stages)
    per_stage = count // len(stages)
    dealt = [even_chunks(each, per_stage) for each in stages]
    return tuple(dealt[stage][chunk] for chunk in range(per_stage) for stage in range(len(stages)))


def stage_loads(shape: Shape, layout: Layout) -> tuple[StageLoad, ...]:
    """One load for each pipeline rank."""
    return _loads(_model(shape), layout.pipeline, layout.virtual, layout.stages, layout.schedule == "zbv")


def holdings(shape: Shape, layout: Layout) -> tuple[tuple[int, StageLoad], ...]:
    """What ranks keep in memory, each different one with the first rank that has it.

    That is a rank's stage, and under DualPipe also the stage at the other end.
    """
    return _holdings(
        _model(shape),
        layout.pipeline,
        layout.virtual,
        layout.stages,
        layout.schedule if layout.schedule in ("zbv", "dualpipe") else "",
    )


def counted(shape: Shape, layout: Layout) -> tuple[tuple[StageLoad, int], ...]:
    """The different loads with the number of ranks that have each."""
    return _counted(_model(shape), layout.pipeline, layout.virtual, layout.stages, layout.schedule == "zbv")


def _model(shape: Shape) -> tuple[int, int, int, int]:
    experts = shape.experts
    dense_first, every = (experts.dense_layers, experts.every) if experts else (shape.layers, 1)
    return shape.layers, dense_first, every, shape.predictions


@lru_cache(maxsize=8192)
def _counted(
    model: tuple[int, int, int, int], pipeline: int, virtual: int, stages: tuple[int, ...], folded: bool
) -> tuple[tuple[StageLoad, int], ...]:
    return tuple(Counter(_loads(model, pipeline, virtual, stages, folded)).items())


@lru_cache(maxsize=8192)
def _holdings(
    model: tuple[int, int, int, int], pipeline: int, virtual: int, stages: tuple[int, ...], schedule: str
) -> tuple[tuple[int, StageLoad], ...]:
    loads = _loads(model, pipeline, virtual, stages, schedule == "zbv")
    if schedule == "dualpipe":
        loads = tuple(
            StageLoad(
                dense=one.dense + other.dense,
                sparse=one.sparse + other.sparse,
                embedding=one.embedding or other.embedding,
                head=one.head or other.head,
                predictions=one.predictions + other.predictions,
            )
            for one, other in zip(loads, reversed(loads), strict=True)
        )
    first: dict[StageLoad, int] = {}
    for rank, load in enumerate(loads):
        first.setdefault(load, rank)
    return tuple((rank, load) for load, rank in first.items())


@lru_cache(maxsize=8192)
def _loads(
    model: tuple[int, int, int, int], pipeline: int, virtual: int, stages: tuple[int, ...], folded: bool
) -> tuple[StageLoad, ...]:
    layers, dense_first, every, predictions = model
    dense, sparse = [0] * pipeline, [0] * pipeline
    chunks = chunks_of(layers, pipeline * virtual, stages)
    schedule = "zbv" if folded else ""
    layer = 0
    for index, count in enumerate(chunks):
        rank = rank_of(index, pipeline, schedule)
        for _ in range(count):
            is_sparse = layer >= dense_first and (layer - dense_first) % every == every - 1
            (sparse if is_sparse else dense)[rank] += 1
            layer += 1
    last = rank_of(len(chunks) - 1, pipeline, schedule)
    return tuple(
        StageLoad(
            dense=dense[rank],
            sparse=sparse[rank],
            embedding=rank == 0,
            head=rank == last,
            predictions=predictions if rank == last else 0,
        )
        for rank in range(pipeline)
    )


def tidy(layers: int, pipeline: int) -> bool:
    """Whether stages come out equal, or with one layer less at the ends: what the search tries of its own accord."""
    counts = even_chunks(layers, pipeline)
    return max(counts) - min(counts) <= 1 and (
        layers % pipeline == 0 or (pipeline >= 4 and pipeline - layers % pipeline <= 3)
    )
