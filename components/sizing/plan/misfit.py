"""Why a request fits no card, and the nearest change that does.

Hides the order in which changes are tried: sharding, recomputation, a free split of the same cards, more nodes.
"""

from __future__ import annotations

from dataclasses import replace

from components.problems import Problem
from components.sizing.memory.memory import Memory
from components.sizing.plan.request import Request
from components.sizing.plan.search import Candidate, search


def no_split(request: Request, cards: int) -> Problem:
    """Why no split is possible at all, with what the pinned parts want."""
    split, batch = request.spec.parallelism, request.spec.training.global_batch
    inner = (split.tensor or 1) * (split.pipeline or 1) * (split.context or 1)
    if inner > cards:
        return Problem(
            id="split-cards",
            path="parallelism",
            said=f"tensor x pipeline x context is {inner}, more than the {cards} cards there are",
            hint=f"use at least {-(-inner // request.machine.cards)} nodes or a smaller split",
        )
    said = f"no split of {cards} cards deals out {request.shape.layers} layers, {request.shape.heads} heads"
    return Problem(
        id="no-split",
        path="parallelism",
        said=f"{said} and a batch of {batch} sequences" if batch else said,
        hint="free a part of parallelism, or change training.global_batch",
    )


def misfit(request: Request, cards: int, tightest: Candidate) -> Problem:
    """What does not fit, and the nearest change that does; only a warning where a freer split of the same cards fits."""
    held = tightest.memory
    layout = tightest.layout
    pinned = f"tensor {layout.tensor}, pipeline {layout.pipeline}, recompute {layout.recompute}, {layout.sharding}"
    said = f"{held.total:.1f} GiB a card are needed at {pinned}, and {request.machine.name} has {held.usable:.1f} usable"
    for change, freer in _freer(request):
        other = search(request.shape, request.machine, cards, freer.spec.training, freer.spec.parallelism)
        if other.fitting:
            best = other.fitting[0]
            return Problem(
                id="memory", path=change, said=said, hint=f"{_words(change, best)} fits in {best.memory.total:.1f} GiB", severity="warning"
            )
    free = request.spec.model_copy(update={"parallelism": type(request.spec.parallelism)()})
    free = free.model_copy(update={"training": free.training.model_copy(update={"recompute": None, "sharding": None})})
    nodes = max(1, cards // request.machine.cards)
    for factor in (2, 4, 8, 16, 32, 64):
        other = search(request.shape, request.machine, cards * factor, free.training, free.parallelism)
        if other.fitting:
            return Problem(
                id="memory",
                path="hardware.nodes" if request.nodes else "hardware",
                said=_none(request, cards, held),
                hint=f"the nearest that fits is {nodes * factor} nodes: {_short(other.fitting[0])}",
            )
    return Problem(id="memory", path="hardware", said=_none(request, cards, held), hint="use cards with more memory or a smaller model")


def _none(request: Request, cards: int, held: Memory) -> str:
    need = f"the tightest split needs {held.total:.1f} GiB a card of {held.usable:.1f} usable"
    return f"the model does not fit {cards} cards of {request.machine.name} under any split: {need}"


def _short(candidate: Candidate) -> str:
    layout = candidate.layout
    split = f"tensor {layout.tensor}, pipeline {layout.pipeline}, recompute {layout.recompute}, {layout.sharding}"
    return f"{split}, {candidate.memory.total:.1f} GiB a card"


def _words(change: str, candidate: Candidate) -> str:
    layout = candidate.layout
    return {
        "training.recompute": f"recompute: {layout.recompute}",
        "training.sharding": f"sharding: {layout.sharding}",
        "parallelism": f"tensor {layout.tensor}, pipeline {layout.pipeline}, context {layout.context}, micro_batch {layout.micro_batch} "
        f"with recompute {layout.recompute}",
    }[change]


def _freer(request: Request) -> list[tuple[str, Request]]:
    """The same request with one thing less pinned, the smallest change first."""
    spec = request.spec
    changes: list[tuple[str, Request]] = []
    training = spec.training
    if training.sharding in ("ddp", "zero1"):
        sharded = training.model_copy(update={"sharding": "zero2"})
        changes.append(("training.sharding", replace(request, spec=spec.model_copy(update={"training": sharded}))))
    if training.recompute is not None:
        free = training.model_copy(update={"recompute": None})
        changes.append(("training.recompute", replace(request, spec=spec.model_copy(update={"training": free}))))
    free = training.model_copy(update={"recompute": None, "sharding": None})
    loose = spec.model_copy(update={"training": free, "parallelism": type(spec.parallelism)()})
    changes.append(("parallelism", replace(request, spec=loose)))
    return changes
