"""Why a request fits no card, and the nearest change that does.

Changes are tried in the order of what they cost: sharding, recomputation, smaller optimizer states, host memory, a free
split, more nodes. A split that the task fixes is never refused: it is planned with a warning.
"""

from __future__ import annotations

from dataclasses import replace

from components.problems import Problem
from components.sizing.memory.memory import Memory
from components.sizing.plan.request import Request
from components.sizing.plan.search import Candidate, search

_UNCERTAIN = 1.10  # published figures of memory are met within so much


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
    if split.expert:
        said += f", expert groups of {split.expert}"
    return Problem(
        id="no-split",
        path="parallelism",
        said=f"{said} and a batch of {batch} sequences" if batch else said,
        hint="free a part of parallelism, or change training.global_batch",
    )


def misfit(request: Request, cards: int, tightest: Candidate) -> Problem:
    """What does not fit, and the nearest change that does.

    Only a warning where the split is the task's, or a freer one fits.
    """
    held, layout = tightest.memory, tightest.layout
    pinned = f"tensor {layout.tensor}, pipeline {layout.pipeline}, recompute {layout.recompute}, {layout.sharding}"
    said = (
        f"{held.total:.1f} GiB a card are needed at {pinned}, and {request.machine.name} has {held.usable:.1f} usable"
    )
    if held.total <= _UNCERTAIN * held.usable:
        said += ", which the estimate can't tell apart"
    for change, freer in _freer(request):
        other = search(
            request.shape, request.machine, cards, freer.spec.training, freer.spec.parallelism, request.tuning
        )
        if other.fitting:
            best = other.fitting[0]
            return Problem(
                id="memory",
                path=change,
                said=said,
                hint=f"{_words(change, best)} fits in {best.memory.total:.1f} GiB",
                severity="warning",
            )
    split = request.spec.parallelism
    fixed = split.tensor is not None and split.pipeline is not None
    free = request.spec.model_copy(update={"parallelism": type(split)()})
    free = free.model_copy(update={"training": free.training.model_copy(update=_OPEN)})
    nodes = max(1, cards // request.machine.cards)
    path = "hardware.nodes" if request.nodes else "hardware"
    for factor in (2, 4, 8, 16, 32, 64):
        other = search(request.shape, request.machine, cards * factor, free.training, free.parallelism, request.tuning)
        if other.fitting:
            hint = f"the nearest that fits is {nodes * factor} nodes: {_short(other.fitting[0])}"
            return Problem(
                id="memory",
                path=path,
                said=said if fixed else _none(request, cards, held),
                hint=hint,
                severity="warning" if fixed else "error",
            )
    hint = "use cards with more memory or a smaller model"
    return Problem(
        id="memory",
        path="hardware",
        said=said if fixed else _none(request, cards, held),
        hint=hint,
        severity="warning" if fixed else "error",
    )


_OPEN = {"recompute": None, "sharding": None, "recompute_modules": (), "recompute_layers": None}


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
        "training.optimizer_states": f"optimizer_states: {layout.states} with recompute {layout.recompute}",
        "training.offload": f"offload: [{', '.join(layout.offload)}] with recompute {layout.recompute}",
        "parallelism": f"tensor {layout.tensor}, pipeline {layout.pipeline}, context {layout.context}, "
        f"micro_batch {layout.micro_batch} with recompute {layout.recompute}",
    }[change]


def _freer(request: Request) -> list[tuple[str, Request]]:
    """The same request with one thing less pinned, the smallest change first."""
    spec = request.spec
    training = spec.training

    def changed(**update: object) -> Request:
        return replace(request, spec=spec.model_copy(update={"training": training.model_copy(update=update)}))

    changes: list[tuple[str, Request]] = []
    if training.sharding in ("ddp", "zero1"):
        changes.append(("training.sharding", changed(sharding="zero2")))
    if training.recompute is not None:
        changes.append(("training.recompute", changed(recompute=None, recompute_modules=(), recompute_layers=None)))
    if training.optimizer_states in ("fp32", None):
        changes.append(("training.optimizer_states", changed(**_OPEN, optimizer_states="bf16")))
    if not training.offload:
        changes.append(("training.offload", changed(**_OPEN, offload=("optimizer",))))
    loose = spec.model_copy(
        update={"training": training.model_copy(update=_OPEN), "parallelism": type(spec.parallelism)()}
    )
    changes.append(("parallelism", replace(request, spec=loose)))
    return changes
