"""A plan: the split, the step, the days, the machines, the storage and the money of one request."""

from __future__ import annotations

from dataclasses import dataclass

from components.problems import Problem
from components.sizing.layout.layout import Job
from components.sizing.memory.memory import Memory
from components.sizing.plan.campaign import Campaign
from components.sizing.plan.request import Request
from components.sizing.plan.search import Candidate, Found
from components.sizing.run.beside import Beside
from components.sizing.run.goodput import Checkpoint, Goodput
from components.sizing.run.money import Amount, RunCost
from components.sizing.run.power import Power
from components.sizing.run.store import Store
from components.sizing.step.band import Band
from components.sizing.step.counts import lora_total


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything `trainshed size` says. `nodes` train; `reserve` and `spares` come on top."""

    request: Request
    found: Found
    best: Candidate
    nodes: int
    asked_nodes: int
    cards: int
    idle_cards: int
    steps: int
    band: Band
    checkpoint: Checkpoint
    goodput: Goodput
    campaign: Campaign
    days: Amount
    reserve_fraction: float
    reserve_nodes: int
    spares: int
    store: Store
    beside: Beside
    power: Power
    money: RunCost
    region: str
    problems: tuple[Problem, ...]

    @property
    def memory(self) -> Memory:
        return self.best.memory

    @property
    def factor(self) -> float:
        """By which the team's own runs correct the step; 1 without any."""
        return self.request.measured.factor(self.nodes) if self.request.measured else 1.0

    @property
    def step_seconds(self) -> float:
        return self.best.step.total * self.factor

    @property
    def flops_per_token(self) -> float:
        return flops_per_token(self.request)

    @property
    def mfu(self) -> float:
        """Model FLOPs of the step over what the cards' 16-bit peak allows in its time."""
        peak = self.request.machine.card.tflops * 1e12
        return self.flops_per_token * self.best.job.tokens_per_step / (self.step_seconds * self.cards * peak)

    @property
    def hfu(self) -> float:
        return self.best.step.hardware_flops / (self.step_seconds * self.request.machine.card.tflops * 1e12)

    @property
    def tokens_per_second_per_card(self) -> float:
        return self.best.job.tokens_per_step / self.step_seconds / self.cards


def flops_per_token(request: Request) -> float:
    """Model FLOPs: 6 a parameter and the full square of attention.

    4 where frozen weights need no gradient of their own.
    """
    shape = request.shape
    if request.lora_rank:
        return 4.0 * shape.multiplied + 6.0 * lora_total_of(request) + shape.attention_flops
    return float(shape.flops_per_token)


def lora_total_of(request: Request) -> int:
    job = Job(
        shape=request.shape,
        machine=request.machine,
        precision=request.spec.training.precision,
        global_batch=1,
        lora_rank=request.lora_rank,
    )
    return lora_total(job)
