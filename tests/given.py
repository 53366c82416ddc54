"""Stacks and tasks for tests: the project's own files, and small texts."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from typing import Any

from components import catalog
from components.accelerators import Accelerator, DevicePlugin, HostMount
from components.planning.shares import with_default_queues
from components.problems import errors, render
from components.spec.reading.reader import read_stack, read_text
from components.spec.stack import StackSpec
from components.spec.task import TaskSpec, read_task, read_task_text

ROOT = Path(__file__).resolve().parent.parent
CAT = catalog.load()
STACKS = ("dev", "onprem", "prod", "staging", "standby")
TASKS = ("finetune-8b", "gpt-125m", "llama-405b", "preprocess-corpus")


@cache
def stack(name: str) -> StackSpec:
    """One of the project's own stacks, its queues filled in."""
    reading = read_stack(ROOT / "stacks" / f"Pulumi.{name}.yaml")
    assert reading.stack is not None, [render(each) for each in reading.problems]
    return with_default_queues(reading.stack, CAT)


def stack_of(*, pools: str, queues: str = "[]", rest: str = "", environment: str = "prod") -> StackSpec:
    """A stack in us-west-2 with these pools and queues, written in YAML's flow style; `rest` are further lines of
    config.
    """
    text = f"""config:
  aws:region: us-west-2
  trainshed:environment: {environment}
  trainshed:network: {{zones: [usw2-az2, usw2-az3]}}
  trainshed:pools: {pools}
  trainshed:queues: {queues}
{rest}"""
    reading = read_text(text, "stack.yaml")
    assert reading.stack is not None and not errors(reading.problems), [render(each) for each in reading.problems]
    return reading.stack


@cache
def task(name: str) -> TaskSpec:
    """One of the project's own tasks."""
    reading = read_task(ROOT / "tasks" / f"{name}.yaml")
    assert reading.task is not None and not reading.problems, [render(each) for each in reading.problems]
    return reading.task


DIGEST = "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
SMALL_TASK = f"""task: small
image: 111122223333.dkr.ecr.us-west-2.amazonaws.com/trainer@{DIGEST}
command: [python, -m, trainer.main]
resources: {{pool: train, nodes: 2}}
recovery: {{auto_restart: false}}
"""


def task_of(text: str) -> TaskSpec:
    """A task of a text."""
    reading = read_task_text(text, "task.yaml")
    assert reading.task is not None and not reading.problems, [render(each) for each in reading.problems]
    return reading.task


def made_up_accelerator() -> Accelerator:
    """A family that nobody sells, as a module of its own would answer for it."""
    return Accelerator(
        vendor="acme",
        resource_name="acme.example/npu",
        image_families={"x86_64": "CUSTOM"},
        collective_backend="acl",
        device_plugin=DevicePlugin(
            name="acme-device-plugin",
            image="nvidia-device-plugin",
            resource_name="acme.example/npu",
            mounts=(
                HostMount(
                    name="device-plugins",
                    path="/var/lib/kubelet/device-plugins",
                    mount="/var/lib/kubelet/device-plugins",
                ),
            ),
        ),
        environment={"ACME_CARDS": "{cards}"},
    )


def shuffled(value: Any, rng: random.Random) -> Any:
    """The same value with the keys of every mapping and the items of every list in another order."""
    if isinstance(value, dict):
        keys = list(value)
        rng.shuffle(keys)
        return {key: shuffled(value[key], rng) for key in keys}
    if isinstance(value, list):
        items = [shuffled(item, rng) for item in value]
        rng.shuffle(items)
        return items
    return value
