"""The settings of a run: from options, else from the task and the contract's environment. Everything that does not fit
is reported at once, before anything starts.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from workload import contract
from workload.trainer.model import Shape

_CODES = "\n".join(
    f"  {code:<4} {contract.EXIT_MEANINGS[code]}"
    for code in (
        contract.DONE,
        contract.FAILED,
        contract.USAGE,
        contract.NOT_FINITE,
        contract.BAD_DATA,
        contract.NO_SPACE,
        contract.LEASE_HELD,
        contract.STOPPED,
    )
)
EPILOG = f"""\
Options that are left out come from the task (TASK_JSON: model, training) and the environment of docs/job-contract.md:
DATASET_PATH, CHECKPOINT_PATH, CHECKPOINT_INTERVAL_STEPS, CHECKPOINT_KEEP_LAST, TENSOR_PARALLEL, PIPELINE_PARALLEL.
RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT are the launcher's; without them it runs alone.

exit codes:
{_CODES}"""


def of_task(environment: Mapping[str, str]) -> dict[str, Any]:
    """The task's sections; empty where the job gave none. Raises ValueError."""
    path = environment.get(contract.TASK_JSON)
    if not path or not Path(path).is_file():
        return {}
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: not JSON: {error}") from None
    return found if isinstance(found, dict) else {}


def parser(environment: Mapping[str, str], task: Mapping[str, Any]) -> argparse.ArgumentParser:
    """The options, with the environment's and the task's values as defaults."""
    model, training = task.get("model") or {}, task.get("training") or {}
    paths = {
        "data": environment.get(contract.DATASET_PATH),
        "checkpoints": environment.get(contract.CHECKPOINT_PATH),
    }
    top = argparse.ArgumentParser(
        prog="train",
        description="Train a language model of the GPT kind.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )

    def add(name: str, kind: Any, default: Any, words: str) -> None:
        shown = "" if default is None else f" (default {default})"
        top.add_argument(f"--{name}", type=kind, default=default, required=False, help=words + shown)

    def number(name: str, default: float) -> float:
        said = environment.get(name)
        return type(default)(said) if said else default

    add("manifest", Path, None, "manifest of the dataset, with samples; manifest.jsonl in its folder when left out")
    add("data", Path, paths["data"], "folder of the dataset: samples of (sequence + 1) tokens")
    add("checkpoints", Path, paths["checkpoints"], "folder of the checkpoints")
    add("weights", Path, None, "checkpoint whose weights a new run begins with (fine-tuning)")
    add("steps", int, steps_of(model, training), "steps of the whole run, those before a restart included")
    add("global-batch", int, training.get("global_batch") or 16, "samples of one step over all ranks")
    add("micro-batch", int, None, "samples of one forward pass on one rank; all of a rank's when left out")
    add("checkpoint-every", int, int(number(contract.CHECKPOINT_INTERVAL_STEPS, 50)), "steps between checkpoints")
    add("keep-last", int, int(number(contract.CHECKPOINT_KEEP_LAST, 5)), "complete checkpoints to keep")
    add("tensor", int, int(number(contract.TENSOR_PARALLEL, 1)), "ranks that share a layer")
    add("pipeline", int, int(number(contract.PIPELINE_PARALLEL, 1)), "pipeline stages")
    add("seed", int, 0, "of the first weights, the order of the data and dropout")
    add("learning-rate", float, 3e-3, "highest learning rate")
    add("warmup", int, 10, "steps of rising learning rate")
    add("clip", float, 1.0, "largest gradient norm")
    add("timeout", float, 600.0, "seconds that a collective call may take")
    top.add_argument("--precision", choices=("fp32", "bf16"), default=precision_of(training))
    top.add_argument("--metrics", type=Path, help="append one line of JSON a step here, besides standard output")
    names = {"layers", "hidden", "heads", "kv_heads", "ffn", "vocab", "sequence", "gated_mlp"}
    given = {name: value for name, value in model.items() if name in names and value is not None}
    for one in fields(Shape):
        default = given.get(one.name, one.default)
        option = f"--{one.name.replace('_', '-')}"
        if isinstance(one.default, bool):
            top.add_argument(option, action=argparse.BooleanOptionalAction, default=default, help="of the model")
        else:
            top.add_argument(option, type=type(one.default), default=default, help=f"of the model (default {default})")
    return top


def steps_of(model: Mapping[str, Any], training: Mapping[str, Any]) -> int | None:
    """The steps that a task's tokens make."""
    tokens, batch, sequence = training.get("tokens"), training.get("global_batch"), model.get("sequence")
    return math.ceil(float(tokens) / (batch * sequence)) if tokens and batch and sequence else None


def precision_of(training: Mapping[str, Any]) -> str:
    return "bf16" if training.get("precision") == "bf16" else "fp32"


def near(value: int, step: int) -> str:
    """The multiples of `step` around a value."""
    below, above = value // step * step, (value // step + 1) * step
    return f"{below} or {above}" if below else str(above)


def misfits(arguments: argparse.Namespace, world_size: int, environment: Mapping[str, str] = os.environ) -> list[str]:
    """All that keeps the run from starting, each with what would do."""
    found = [
        f"--{name.replace('_', '-')} starts at 1"
        for name in ("steps", "global_batch", "checkpoint_every", "keep_last", "tensor", "pipeline", "micro_batch")
        if getattr(arguments, name) is not None and getattr(arguments, name) < 1
    ]
    for name in ("data", "checkpoints", "steps"):
        if getattr(arguments, name) is None:
            found.append(f"--{name} is missing, and neither the task nor the environment has it")
    if found:
        return found
    tensor, pipeline, batch = arguments.tensor, arguments.pipeline, arguments.global_batch
    if world_size % (tensor * pipeline):
        return [f"{world_size} ranks can't be dealt out to tensor {tensor} x pipeline {pipeline}"]
    data = world_size // (tensor * pipeline)
    if batch % data:
        found.append(
            f"a global batch of {batch} can't be shared by {data} data-parallel ranks: use {near(batch, data)}"
        )
    elif arguments.micro_batch and (batch // data) % arguments.micro_batch:
        found.append(f"a micro-batch of {arguments.micro_batch} does not divide a rank's {batch // data} samples")
    shape = shape_of(arguments)
    for what, value, name, by in (
        ("hidden", shape.hidden, "heads", shape.heads),
        ("heads", shape.heads, "kv heads", shape.keys),
        ("heads", shape.heads, "tensor ranks", tensor),
        ("kv heads", shape.keys, "tensor ranks", tensor),
        ("ffn", shape.inner, "tensor ranks", tensor),
    ):
        if value % by:
            found.append(f"{what} {value} is no multiple of {by} {name}: use {near(value, by)}")
    if shape.layers < pipeline:
        found.append(f"{shape.layers} layers make no {pipeline} pipeline stages")
    for name in (contract.CONTEXT_PARALLEL, contract.EXPERT_PARALLEL):
        if (environment.get(name) or "1") != "1":
            found.append(f"{name} is {environment[name]}: this trainer splits by data, tensor and pipeline only")
    return found


def shape_of(arguments: argparse.Namespace) -> Shape:
    return Shape(**{one.name: getattr(arguments, one.name) for one in fields(Shape)})


def unsupported(task: Mapping[str, Any]) -> list[str]:
    """What a task's model has that this trainer's has not."""
    model = task.get("model") or {}
    wants = ("experts", "latent_attention", "tied_embeddings")
    return [f"model.{name}: this trainer has no such model; use another trainer" for name in wants if model.get(name)]
