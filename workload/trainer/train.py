#!/usr/bin/env python3
"""The reference trainer: a GPT over any number of ranks, that goes on after any stop as if there had been none.

One order of samples for all ranks together; each step a heartbeat and a line of JSON; checkpoints in the background at
fixed steps and on SIGTERM.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
from pathlib import Path
from typing import Any

if not __package__:  # run as a file: the folder above holds the package
    sys.path[0] = str(Path(__file__).resolve().parents[2])

import torch

from workload import contract
from workload.checkpoints import tiers
from workload.checkpoints.checkpoint_folder import NotACheckpoint, faults
from workload.checkpoints.dcp import load as checkpoint_load
from workload.checkpoints.keeper import Keeper, Outcome
from workload.checkpoints.lease import Held
from workload.checkpoints.places import CopyFailed
from workload.checkpoints.prune import NothingGood
from workload.data import dataset, sample_order
from workload.data.token_shards import TokenShards
from workload.heartbeat import node_name
from workload.stopping import Stop
from workload.telemetry import Telemetry
from workload.trainer import options, parallel, state, steps
from workload.trainer.model import LanguageModel, initialise, key_of
from workload.trainer.parallel import Ranks
from workload.trainer.state import State


class Log:
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


def draw_from(seed: int, ranks: Ranks) -> None:
    """Random numbers for dropout. Tensor-parallel ranks draw alike: they share each sample."""
    key = key_of(f"{seed}/{ranks.stage}/{ranks.data_rank}")
    torch.manual_seed(key)
    random.seed(key)


def build(arguments: argparse.Namespace, where: sample_order.ShardIndex, ranks: Ranks) -> State:
    shape = options.shape_of(arguments)
    model = LanguageModel(shape, ranks.stage, ranks.layout.pipeline)
    initialise(model, arguments.seed, shape.layers)
    model = parallel.split(model.to(ranks.device), ranks, arguments.precision)
    optimizer = torch.optim.AdamW(model.parameters(), lr=arguments.learning_rate)
    draw_from(arguments.seed, ranks)
    cursor = sample_order.Cursor(where.samples, arguments.seed, where.fingerprint)
    return State(model, optimizer, cursor, ranks.rank)


def keeper_of(arguments: argparse.Namespace, ranks: Ranks, telemetry: Telemetry, log: Log, stop: Stop) -> Keeper:
    reported = os.environ
    task = reported.get(contract.TASK_NAME, "task")
    return Keeper(
        tiers.from_environment(arguments.checkpoints, arguments.checkpoint_every, reported),
        ranks,
        versions={
            name: reported.get(variable) or "unknown"
            for name, variable in (
                ("image", contract.TRAINSHED_IMAGE),
                ("code", contract.TRAINSHED_CODE),
                ("data", contract.TRAINSHED_DATA),
            )
        },
        keep_last=arguments.keep_last,
        run=reported.get(contract.RUN_ID) or task,
        # Restarts in place count as well: each round is a new gang for the lease.
        attempt=int(reported.get(contract.RESTART_ATTEMPT) or 0) * 1000
        + int(reported.get(contract.PROCESS_ATTEMPT) or 0),
        node=node_name(),
        observer=telemetry,
        say=log.say,
        progress=stop.progress,
    )


class Run:
    """The loop of one rank."""

    def __init__(self, arguments: argparse.Namespace, ranks: Ranks, log: Log, stop: Stop) -> None:
        self._arguments, self._ranks, self._log, self._stop = arguments, ranks, log, stop
        self._telemetry = Telemetry.from_environment()
        if not self._telemetry.flops_per_token:
            self._telemetry.flops_per_token = options.shape_of(arguments).flops_per_token
        self._keeper = keeper_of(arguments, ranks, self._telemetry, log, stop)
        self._saved = -1

    def start(self, where: sample_order.ShardIndex) -> State:
        now = build(self._arguments, where, self._ranks)
        self._telemetry.working("loading")
        resumed = self._keeper.resume(lambda held: state.wanted(now, held), lambda found: state.take(now, found))
        self._saved = now.step if resumed else -1
        if not resumed and self._arguments.weights:
            self._check_weights()
            weights = {"weights": now.model.state_dict()}
            checkpoint_load(weights, self._arguments.weights, group=self._ranks.checkpoint_group)
            now.model.load_state_dict(weights["weights"])
        self._log.say(
            event="start",
            step=now.step,
            world_size=self._ranks.size,
            layout=vars(self._ranks.layout),
            resumed_from=resumed,
            samples=now.cursor.consumed,
        )
        return now

    def _check_weights(self) -> None:
        """Rank 0 looks whether all files are there; damage in one is found when the runs that wrote it are verified."""
        found = list(faults(self._arguments.weights, deep=False)) if self._ranks.rank == 0 else []
        found = self._ranks.from_first(found)
        if found:
            raise NotACheckpoint("\n".join(found))

    def _train(self, now: State, tokens: TokenShards, passes: steps.Passes) -> None:
        arguments, ranks = self._arguments, self._ranks
        began = time.monotonic()
        with self._telemetry.waiting_for_data():
            chosen = now.cursor.batch(arguments.global_batch, ranks.data_rank, ranks.layout.data)
            batch = torch.tensor([list(tokens[sample]) for sample in chosen], dtype=torch.long, device=ranks.device)
        rate = steps.learning_rate(now.step, arguments)
        try:
            loss, norm = steps.finish(now.model, now.optimizer, passes.run(batch), rate, arguments.clip, ranks)
        except steps.NotFinite as error:
            said = f"samples of data rank {ranks.data_rank}: {chosen[:8]}"
            raise steps.NotFinite(f"step {now.step + 1}: {error}; {said}") from None
        now.cursor = now.cursor.advance(arguments.global_batch)
        now.step += 1
        seconds = time.monotonic() - began
        count = arguments.global_batch * arguments.sequence
        self._telemetry.step(now.step, loss=loss, tokens=count, seconds=seconds, gradient_norm=norm, learning_rate=rate)
        self._stop.progress()
        self._log.say(
            event="step",
            step=now.step,
            loss=loss,
            gradient_norm=norm,
            learning_rate=rate,
            step_seconds=round(seconds, 6),
            tokens_per_second=round(count / seconds, 1),
            samples=now.cursor.consumed,
            epoch=now.cursor.epoch,
        )

    def _tell(self, outcome: Outcome) -> None:
        if outcome.fault:
            self._log.say(event="checkpoint failed", step=outcome.step, tier=outcome.tier, fault=outcome.fault)
        else:
            self._saved = max(self._saved, outcome.step)
            self._log.say(event="checkpoint", step=outcome.step, tier=outcome.tier, checkpoint=outcome.name)

    def _checkpoint(self, now: State, stop: bool, wanted: bool, all_written: bool) -> bool:
        """What checkpoints are due after a step; False where the last one of the run could not be written."""
        keeper, last = self._keeper, now.step == self._arguments.steps
        tier = tiers.SHARED if stop or wanted or last else keeper.due(now.step)
        if keeper.pending and (all_written or tier):
            # A save still under way when the next is due is waited for: they never overlap.
            outcome = keeper.wait()
            self._tell(outcome)
            if outcome.full and keeper.make_room() and not tier:
                tier = outcome.tier
        if tier is None:
            return True
        if not (stop or last):
            keeper.begin(now.step, tier, state.tree(now))
            return True
        if self._saved < now.step:
            outcome = keeper.save(now.step, tier, lambda: state.tree(now))
            self._tell(outcome)
            return not outcome.fault
        return True

    def loop(self, now: State, tokens: TokenShards) -> int:
        passes = steps.Passes(now.model, self._arguments, self._ranks)
        while now.step < self._arguments.steps:
            self._train(now, tokens, passes)
            self._keeper.tick()
            flags = (self._stop.requested, self._stop.take_checkpoint_wanted(), not self._keeper.written)
            # A signal may reach the ranks at different steps, and writes end at different times.
            stop, wanted, writing = (count > 0 for count in self._ranks.sums(*map(float, flags)))
            kept = self._checkpoint(now, stop, wanted, not writing)
            if stop:
                self._log.say(event="stopped", step=now.step, signal=15)
                return contract.STOPPED
            if not kept:
                return contract.NO_SPACE
        return contract.DONE

    def close(self) -> None:
        self._keeper.close()


def run(arguments: argparse.Namespace, stop: Stop) -> int:
    ranks = Ranks(arguments.timeout, arguments.tensor, arguments.pipeline)
    log = Log(arguments.metrics, ranks.rank == 0)
    try:
        where = sample_order.index(arguments.manifest or arguments.data / "manifest.jsonl")
        one = Run(arguments, ranks, log, stop)
        now = one.start(where)
        code = one.loop(now, TokenShards(arguments.data, where, arguments.sequence))
        one.close()
        return code
    except steps.NotFinite as error:
        print(f"train: {error}", file=sys.stderr)
        return contract.NOT_FINITE
    except (dataset.BadManifest, sample_order.OtherData, NothingGood, NotACheckpoint, EOFError) as error:
        print(f"train: {error}", file=sys.stderr)
        return contract.BAD_DATA
    except CopyFailed as error:
        print(f"train: {error}", file=sys.stderr)
        return contract.FAILED
    except Held as error:
        print(f"train: {error}", file=sys.stderr)
        return contract.LEASE_HELD
    finally:
        ranks.close()


def main(words: list[str] | None = None) -> int:
    try:
        task = options.of_task(os.environ)
    except ValueError as error:
        print(f"train: {error}", file=sys.stderr)
        return contract.USAGE
    top = options.parser(os.environ, task)
    arguments = top.parse_args(words)
    faults = options.unsupported(task) + options.misfits(arguments, int(os.environ.get("WORLD_SIZE", "1")))
    if faults:
        for fault in faults:
            print(f"train: error: {fault}", file=sys.stderr)
        return contract.USAGE
    return run(arguments, Stop())


if __name__ == "__main__":
    sys.exit(main())
