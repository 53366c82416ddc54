#!/usr/bin/env python3
"""The reference trainer: a small language model, data-parallel, that goes on after any stop as if there had been none.

It hides the loop's bookkeeping: one order of samples for all ranks together, gradients summed over the global batch, a
checkpoint at a fixed step interval and on SIGTERM, heartbeats, and one line of JSON a step.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import random
import resource
import secrets
import signal
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

if not __package__:  # run as a file: the folder above holds the package
    sys.path[0] = str(Path(__file__).resolve().parents[2])

import torch
import torch.distributed as dist

from workload.checkpoints import checkpoint
from workload.data import dataset, sample_order
from workload.data.token_shards import TokenShards
from workload.heartbeat import Heart
from workload.trainer import state as train_state
from workload.trainer.model import LanguageModel, Shape
from workload.trainer.state import State

DONE, FAILED, USAGE, NOT_FINITE, BAD_DATA = 0, 1, 2, 4, 5
EPILOG = f"""\
exit codes:
  {DONE}    all steps are done and checkpointed
  {FAILED}    another fault
  {USAGE}    used wrongly
  {NOT_FINITE}    the loss or gradient is NaN or infinite; the step is named, and no checkpoint of it is written
  {BAD_DATA}    the dataset or the checkpoint can't be used (malformed, shorter than its manifest, or another dataset's)
  143  stopped by SIGTERM, after a checkpoint; not 0, so that a job controller starts it again

RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT come from the environment, as torchrun and the job set them;
without them it runs alone."""


class NotFinite(ArithmeticError):
    """NaN or infinity where a number belongs."""


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="train",
        description="Train a small language model.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--manifest", type=Path, required=True, help="manifest of the dataset, with samples")
    top.add_argument(
        "--data", type=Path, required=True, help="folder of the dataset: samples of (sequence + 1) tokens of 16 bits"
    )
    top.add_argument("--checkpoints", type=Path, required=True)
    top.add_argument("--steps", type=int, required=True, help="steps of the whole run, those before a restart included")
    top.add_argument("--global-batch", type=int, default=16, help="samples of one step over all ranks (default 16)")
    top.add_argument("--checkpoint-every", type=int, default=50, help="steps between checkpoints (default 50)")
    top.add_argument("--keep-last", type=int, default=5, help="complete checkpoints to keep (default 5)")
    top.add_argument("--seed", type=int, default=0)
    top.add_argument("--learning-rate", type=float, default=3e-3)
    top.add_argument("--warmup", type=int, default=10, help="steps of rising learning rate (default 10)")
    top.add_argument("--clip", type=float, default=1.0, help="largest gradient norm (default 1.0)")
    for name, value in Shape().__dict__.items():
        top.add_argument(f"--{name}", type=type(value), default=value, help=f"of the model (default {value})")
    top.add_argument("--metrics", type=Path, help="append one line of JSON a step here, besides standard output")
    top.add_argument("--heartbeats", type=Path, help="folder for heartbeats")
    top.add_argument("--image-version", default=os.environ.get("TRAINSHED_IMAGE", "unknown"))
    top.add_argument("--code-version", default=os.environ.get("TRAINSHED_CODE", "unknown"))
    top.add_argument("--data-version", default=os.environ.get("TRAINSHED_DATA", "unknown"))
    top.add_argument(
        "--timeout", type=float, default=600.0, help="seconds that a collective call may take (default 600)"
    )
    return top


class Ranks:
    """This process among its peers."""

    def __init__(self, timeout: float) -> None:
        self.rank, self.size = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
        self.device = "cpu"
        if torch.cuda.is_available():
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
            self.device = "cuda"
        if self.size > 1:
            backend = "nccl" if self.device == "cuda" else "gloo"
            dist.init_process_group(backend, rank=self.rank, world_size=self.size, timeout=timedelta(seconds=timeout))

    def sum(self, tensor: torch.Tensor) -> torch.Tensor:
        if self.size > 1:
            dist.all_reduce(tensor)
        return tensor

    def any(self, flag: bool) -> bool:
        """True on all ranks when it is true on one: a signal may reach them at different steps."""
        return bool(self.sum(torch.tensor([1.0 if flag else 0.0], device=self.device)).item())

    def from_first(self, value: Any) -> Any:
        """Rank 0's value, on all ranks."""
        if self.size == 1:
            return value
        box = [value]
        dist.broadcast_object_list(box, src=0)
        return box[0]

    def close(self) -> None:
        if self.size > 1:
            dist.destroy_process_group()


def draw_from(seed: int, rank: int, step: int) -> None:
    """Random numbers that no other seed, rank or step draws."""
    key = int.from_bytes(hashlib.blake2b(f"{seed}/{rank}/{step}".encode(), digest_size=7).digest(), "little")
    torch.manual_seed(key)
    random.seed(key)


def build(arguments: argparse.Namespace, where: sample_order.ShardIndex, ranks: Ranks) -> State:
    torch.manual_seed(arguments.seed)  # the same weights on all ranks
    shape = Shape(**{name: getattr(arguments, name) for name in Shape().__dict__})
    model = LanguageModel(shape).to(ranks.device)
    # From here on each rank draws its own numbers (dropout).
    draw_from(arguments.seed, ranks.rank, 0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=arguments.learning_rate)
    warmup, steps = arguments.warmup, arguments.steps

    def rate(step: int) -> float:
        if step < warmup:
            return (step + 1) / warmup
        return 0.1 + 0.45 * (1 + math.cos(math.pi * min(1.0, (step - warmup) / max(1, steps - warmup))))

    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    return State(model, optimizer, scheduler, sample_order.Cursor(where.samples, arguments.seed, where.fingerprint))


def train_step(state: State, tokens: TokenShards, arguments: argparse.Namespace, ranks: Ranks) -> tuple[float, float]:
    """One step over the global batch; gives its mean loss and the gradient's norm before clipping."""
    chosen = state.cursor.batch(arguments.global_batch, ranks.rank, ranks.size)
    state.optimizer.zero_grad()
    total = torch.zeros(1, device=ranks.device)
    if chosen:
        batch = torch.tensor([list(tokens[sample]) for sample in chosen], dtype=torch.long, device=ranks.device)
        logits = state.model(batch[:, :-1])
        # A sum over this rank divided by the whole batch: ranks may hold unequal pieces, and the sum over ranks is
        # still the mean.
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten(), reduction="sum")
        loss = loss / (arguments.global_batch * arguments.sequence)
        loss.backward()
        total += loss.detach()
    ranks.sum(total)
    for parameter in state.model.parameters():
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        ranks.sum(parameter.grad)
    norm = float(torch.nn.utils.clip_grad_norm_(state.model.parameters(), arguments.clip))
    if not (math.isfinite(float(total)) and math.isfinite(norm)):
        raise NotFinite(
            f"step {state.step + 1}: loss {float(total)}, gradient norm {norm}; samples of rank {ranks.rank}:"
            f" {chosen[:8]}"
        )
    state.optimizer.step()
    state.scheduler.step()
    state.cursor = state.cursor.advance(arguments.global_batch)
    state.step += 1
    return float(total), norm


def save(state: State, arguments: argparse.Namespace, ranks: Ranks) -> None:
    versions = {"image": arguments.image_version, "code": arguments.code_version, "data": arguments.data_version}
    attempt = ranks.from_first(secrets.token_hex(4))
    root = arguments.checkpoints
    writer = checkpoint.Writer(
        root, step=state.step, attempt=attempt, versions=versions, rank=ranks.rank, world_size=ranks.size
    )
    train_state.save(writer, state)
    if ranks.rank == 0:
        writer.seal(timeout=arguments.timeout)
        _, condemned = checkpoint.plan(root, arguments.keep_last)
        for one in condemned:
            print(json.dumps({"event": "delete", "checkpoint": one.folder.name, "why": one.why}), flush=True)
        for one in condemned:
            checkpoint.delete(one)
    ranks.any(False)  # nobody goes on before the checkpoint is complete


def resume(state: State, arguments: argparse.Namespace, ranks: Ranks) -> str | None:
    """Continue from the newest good checkpoint; gives its folder's name."""
    arguments.checkpoints.mkdir(parents=True, exist_ok=True)
    folder = skipped = None
    if ranks.rank == 0:  # one rank reads and verifies; a thousand need not
        folder, skipped = checkpoint.latest(arguments.checkpoints)
        for fault in skipped:
            print(f"passed over: {fault}", file=sys.stderr)
    folder = ranks.from_first(folder)
    if folder is None:
        return None
    if not train_state.load(folder, state, ranks.rank, ranks.device):
        # A rank that the saved run did not have: numbers of its own, and not those of step 0 again.
        draw_from(arguments.seed, ranks.rank, state.step)
    return folder.name


def memory_used(device: str) -> int:
    """Bytes: the most that the card has held, or this process on a CPU."""
    if device == "cuda":
        return int(torch.cuda.max_memory_allocated())
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class Metrics:
    """One line of JSON an event: on standard output, and in a file that a restart goes on with."""

    def __init__(self, file: Path | None, active: bool) -> None:
        self._file, self._active = file, active

    def say(self, **values: Any) -> None:
        if not self._active:
            return
        line = json.dumps(values)
        print(line, flush=True)
        if self._file is not None:
            with self._file.open("a") as file:
                file.write(line + "\n")


def loop(
    state: State, tokens: TokenShards, arguments: argparse.Namespace, ranks: Ranks, metrics: Metrics, stopped: list[int]
) -> int:
    heart = Heart(arguments.heartbeats, ranks.rank) if arguments.heartbeats else None
    saved = state.step
    while state.step < arguments.steps:
        started = time.monotonic()
        loss, norm = train_step(state, tokens, arguments, ranks)
        seconds = time.monotonic() - started
        if heart:
            heart.beat(state.step)
        metrics.say(
            event="step",
            step=state.step,
            loss=loss,
            gradient_norm=norm,
            learning_rate=state.scheduler.get_last_lr()[0],
            step_seconds=round(seconds, 6),
            tokens_per_second=round(arguments.global_batch * arguments.sequence / seconds, 1),
            samples=state.cursor.consumed,
            epoch=state.cursor.epoch,
            memory_used=memory_used(ranks.device),
        )
        stop = ranks.any(bool(stopped))
        if stop or state.step % arguments.checkpoint_every == 0 or state.step == arguments.steps:
            save(state, arguments, ranks)
            saved = state.step
            metrics.say(event="checkpoint", step=saved)
        if stop:
            metrics.say(event="stopped", step=state.step, signal=int(signal.SIGTERM))
            return 128 + int(signal.SIGTERM)
    return DONE


def main(words: list[str] | None = None) -> int:
    top = parser()
    arguments = top.parse_args(words)
    for name in ("steps", "global_batch", "checkpoint_every", "keep_last"):
        if getattr(arguments, name) < 1:
            top.error(f"--{name.replace('_', '-')} starts at 1")
    stopped: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, frame: stopped.append(number))
    ranks = Ranks(arguments.timeout)
    metrics = Metrics(arguments.metrics, ranks.rank == 0)
    try:
        where = sample_order.index(arguments.manifest)
        state = build(arguments, where, ranks)
        resumed = resume(state, arguments, ranks)
        metrics.say(
            event="start", step=state.step, world_size=ranks.size, resumed_from=resumed, samples=state.cursor.consumed
        )
        tokens = TokenShards(arguments.data, where, arguments.sequence)
        return loop(state, tokens, arguments, ranks, metrics, stopped)
    except NotFinite as error:
        print(f"train: {error}", file=sys.stderr)
        return NOT_FINITE
    except (dataset.BadManifest, sample_order.OtherData, EOFError) as error:
        print(f"train: {error}", file=sys.stderr)
        return BAD_DATA
    finally:
        ranks.close()


if __name__ == "__main__":
    sys.exit(main())
