"""One training step over the global batch: its mean loss and gradients, however the ranks share the work."""

from __future__ import annotations

import argparse
import math
from typing import Any

import torch
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
from torch.nn import functional

from workload.trainer import parallel
from workload.trainer.model import LanguageModel
from workload.trainer.parallel import Ranks


class NotFinite(ArithmeticError):
    """NaN or infinity where a number belongs."""


class Passes:
    """Forward and backward of one rank's samples, in micro-batches."""

    def __init__(self, model: LanguageModel, arguments: argparse.Namespace, ranks: Ranks) -> None:
        self._model, self._ranks = model, ranks
        share = arguments.global_batch // ranks.layout.data
        self._micro = arguments.micro_batch or (1 if ranks.layout.pipeline > 1 else share)
        self._count = share // self._micro
        # A sum over the whole batch's tokens; FSDP averages over the data ranks, so each counts that much more.
        self._scale = ranks.layout.data / (arguments.global_batch * arguments.sequence)
        self._schedule: Any = self._pipelined() if ranks.layout.pipeline > 1 else None

    def _loss(self, logits: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        summed = functional.cross_entropy(logits.float().flatten(0, 1), wanted.flatten(), reduction="sum")
        return summed * self._scale

    def _pipelined(self) -> Any:
        ranks = self._ranks
        group = ranks.mesh["pipeline"].get_group()
        stage = PipelineStage(self._model, ranks.stage, ranks.layout.pipeline, ranks.device, group=group)
        kind = Schedule1F1B if self._count >= ranks.layout.pipeline else ScheduleGPipe
        return kind(stage, self._count, loss_fn=self._loss, scale_grads=False)

    def run(self, batch: torch.Tensor) -> float:
        """Leaves the gradients; gives this rank's share of the mean loss, 0 where the stage has no loss."""
        inputs, wanted = batch[:, :-1], batch[:, 1:].contiguous()
        if self._schedule is None:
            total = 0.0
            for number, (one, target) in enumerate(zip(inputs.split(self._micro), wanted.split(self._micro))):
                # Gradients cross the network once a step, with the last micro-batch.
                self._model.set_requires_gradient_sync(number == self._count - 1)
                loss = self._loss(self._model(one), target)
                loss.backward()
                total += float(loss.detach())
            return total
        losses: list[torch.Tensor] = []
        if self._ranks.stage == 0:
            self._schedule.step(inputs.contiguous())
        elif self._ranks.last_stage:
            self._schedule.step(target=wanted, losses=losses)
        else:
            self._schedule.step()
        return float(sum(float(loss.detach()) for loss in losses))


def learning_rate(step: int, arguments: argparse.Namespace) -> float:
    """Rises in a line, then falls along a cosine to a tenth. `step` counts from 0."""
    if step < arguments.warmup:
        return arguments.learning_rate * (step + 1) / arguments.warmup
    share = min(1.0, (step - arguments.warmup) / max(1, arguments.steps - arguments.warmup))
    return arguments.learning_rate * (0.1 + 0.45 * (1 + math.cos(math.pi * share)))


def finish(
    model: LanguageModel, optimizer: torch.optim.Optimizer, loss: float, rate: float, clip: float, ranks: Ranks
) -> tuple[float, float]:
    """The global loss and gradient norm; the weights move unless one of them is not finite. Raises NotFinite."""
    mine = loss / ranks.layout.data if ranks.tensor_rank == 0 else 0.0
    total, squared = ranks.sums(mine, parallel.squared_norm(model, ranks))
    norm = math.sqrt(squared) if squared >= 0 else math.nan
    if not (math.isfinite(total) and math.isfinite(norm)):
        raise NotFinite(f"loss {total}, gradient norm {norm}")
    if norm > clip:
        parallel.scale_gradients(model, clip / norm)
    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.step()
    optimizer.zero_grad()
    return total, norm
