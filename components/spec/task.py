"""The task file: what a researcher wants run, on how many nodes of which pool, from which data, and how it recovers.

The job reads all sections but `model`, `training`, `hardware` and `goal`, which are the planner's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Annotated, Any, Literal

from pydantic import Field

from components.naming import did_you_mean
from components.problems import Problem, Where
from components.spec.base import (
    AbsolutePath,
    AnyText,
    Count,
    CountOrZero,
    Flag,
    Fraction,
    Name,
    NodeCount,
    Spec,
    StrictText,
    Text,
    matching,
)
from components.spec.reading import document
from components.spec.reading.document import Document
from components.spec.reading.paths import parsed
from components.spec.reading.shape import Shaped, validate
from components.spec.sizing import GoalSpec, HardwareSpec, ModelSpec, ParallelismSpec, PhaseSpec, TrainingSpec

EnvironmentName = Annotated[
    StrictText,
    matching(
        r"[A-Za-z_][A-Za-z0-9_]*",
        "the name of an environment variable is wanted: letters, digits and underscores, no digit first",
    ),
]
MetricName = Annotated[
    StrictText,
    matching(
        r"[a-z][a-z0-9_]*", "the name of a metric is wanted: lower-case letters, digits and underscores; a letter first"
    ),
]
Priority = Literal["low", "normal", "high"]

_DIGEST = re.compile(r"@sha256:[0-9a-f]{64}\Z")
_TAG = re.compile(r":([\w][\w.-]{0,127})\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageReference:
    """A container image's parts. `registry` is empty for a short name, which means Docker Hub."""

    registry: str
    repository: str
    tag: str | None
    digest: str | None


def image_reference(text: str) -> ImageReference:
    """Take an image's address apart: `registry/repository:tag@sha256:...`."""
    digest = _DIGEST.search(text)
    rest = text[: digest.start()] if digest else text.partition("@")[0]
    head, slash, tail = rest.partition("/")
    host = head if slash and ("." in head or ":" in head or head == "localhost") else ""
    path = tail if host else rest
    tag = _TAG.search(path)
    repository = path[: tag.start()] if tag else path
    return ImageReference(
        registry=host,
        repository=repository,
        tag=tag.group(1) if tag else None,
        digest=digest.group()[1:] if digest else None,
    )


class VersionsSpec(Spec):
    """With the image's digest, the identity of a run."""

    code: Text | None = Field(default=None, description="version of the code, such as git:3f2a91c")
    data: Text | None = Field(default=None, description="version of the data, such as corpus-2026-11")


class ResourcesSpec(Spec):
    """Whole nodes of one pool."""

    pool: Name = Field(description="the pool the task runs in")
    nodes: NodeCount = Field(description="how many nodes; each runs one worker pod")
    cards_per_node: CountOrZero | None = Field(
        default=None, description="cards in one node, for the reader; checked against the pool's type"
    )
    placement: Literal["preferred", "required"] = Field(
        default="preferred", description="whether all nodes must share the domain at `within`, or best do"
    )
    within: Literal["leaf", "spine"] = Field(default="leaf", description="the network layer that the nodes share")


class DatasetUseSpec(Spec):
    """Where the dataset is mounted from, read-only."""

    path: AbsolutePath = Field(description="folder of the dataset, under /datasets")
    warm_up: Flag = Field(default=False, description="whether the dataset is staged before the job starts")


class CheckpointUseSpec(Spec):
    """Where checkpoints are written to."""

    path: AbsolutePath = Field(description="folder of the checkpoints, under /checkpoints")


class TaskStorageSpec(Spec):
    """The paths of the parallel file system that the task uses."""

    dataset: DatasetUseSpec | None = None
    checkpoint: CheckpointUseSpec | None = None


class RecoverySpec(Spec):
    """What happens when a worker dies or hangs."""

    checkpoint_interval_steps: Count | None = Field(default=None, description="steps between two checkpoints")
    keep_last: Count | None = Field(
        default=None,
        description="newest checkpoints that are kept; left out: storage.checkpoints.keep_last of the stack",
    )
    auto_restart: Flag = Field(default=True, description="whether the whole job starts again from its last checkpoint")
    max_restarts: CountOrZero = Field(default=20, description="restarts before the job counts as failed")
    hang_timeout_seconds: Count | None = Field(
        default=None, description="seconds without a heartbeat after which a worker counts as hung"
    )
    grace_seconds: Count = Field(
        default=300, description="seconds a worker gets to write a checkpoint when it is told to stop"
    )


class PreflightSpec(Spec):
    """The test before every start."""

    collective_test: Flag = Field(default=True, description="whether a small all-reduce over all cards comes first")
    minimum_of_baseline: Fraction = Field(
        default=0.8, description="share of the recorded bandwidth below which the job does not start"
    )


class RampSpec(Spec):
    """Growing to the full size in steps."""

    start_nodes: NodeCount = Field(default=2, description="nodes of the first step")
    factor: Annotated[int, Field(strict=True, ge=2, le=100_000)] = Field(
        default=4, description="by how much each step grows"
    )
    minimum_efficiency: Fraction = Field(default=0.9, description="throughput a node keeps from step to step, at least")


class MonitorSpec(Spec):
    """What the program reports."""

    metrics: tuple[MetricName, ...] = Field(default=(), description="metrics that the program writes")
    port: Annotated[int, Field(strict=True, ge=1024, le=65535)] = Field(
        default=9402, description="port that serves them"
    )


SecretName = Annotated[
    StrictText,
    matching(
        r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?",
        "the name of a Kubernetes secret is wanted: lower-case letters, digits, dots and dashes",
    ),
]


class SecretUseSpec(Spec):
    """A value of a secret in the namespace of the task's queue, by reference."""

    secret: SecretName = Field(description="the secret's name")
    key: Text = Field(description="the key in it")


class TaskSpec(Spec):
    """One task."""

    task: Name = Field(description="the task's name, which its Kubernetes objects carry")
    image: Text = Field(description="container image, by digest or by a tag of the environment")
    command: tuple[Text, ...] = Field(min_length=1, description="what the container runs")
    versions: VersionsSpec = Field(default_factory=VersionsSpec)
    resources: ResourcesSpec = Field(description="whole nodes of one pool, such as {pool: train, nodes: 2}")
    queue: Name | None = Field(default=None, description="the queue to wait in; the pool's only one when left out")
    priority: Priority = Field(default="normal", description="order among the tasks of a queue")
    parallelism: ParallelismSpec = Field(default_factory=ParallelismSpec)
    storage: TaskStorageSpec = Field(default_factory=TaskStorageSpec)
    recovery: RecoverySpec = Field(default_factory=RecoverySpec)
    preflight: PreflightSpec | None = None
    ramp: RampSpec | None = None
    monitor: MonitorSpec = Field(default_factory=MonitorSpec)
    environment: dict[EnvironmentName, AnyText] = Field(
        default_factory=dict, description="variables; they win over the job's own"
    )
    secrets: dict[EnvironmentName, SecretUseSpec] = Field(
        default_factory=dict, description="variables whose values are secrets of the cluster, by reference"
    )
    user_id: Count = Field(
        default=10001, description="user the container runs as: 10001 in the images of this project, never 0"
    )
    model: ModelSpec | None = None
    training: TrainingSpec | None = None
    hardware: HardwareSpec | None = None
    goal: GoalSpec | None = None
    phases: tuple[PhaseSpec, ...] = ()

    @property
    def reference(self) -> ImageReference:
        return image_reference(self.image)


@dataclass(frozen=True, kw_only=True)
class TaskReading:
    """`task` is None when the shape is too broken to read on; what of it could not be read raises UnreadError when
    asked for.
    """

    task: TaskSpec | None
    problems: tuple[Problem, ...]
    text: str = field(default="", repr=False)
    document: Document = field(default_factory=lambda: Document(file=""), repr=False)

    def placed(self, problems: tuple[Problem, ...] | list[Problem]) -> list[Problem]:
        """The problems with their places in the task file."""
        return [each if each.where or not self.document.file else each.at(self._where(each)) for each in problems]

    def _where(self, problem: Problem) -> Where | None:
        return self.document.where(parsed(problem.path), of_key=problem.id == "unknown-key")


def read_task(path: FilePath, shown_as: str | None = None) -> TaskReading:
    """Read a task file; a missing or unreadable one is a problem too."""
    name = shown_as or str(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        others = sorted(each.name for each in path.parent.glob("*.yaml")) if path.parent.is_dir() else []
        problem = Problem(
            id="task-file-missing", path="", said=f"there is no task file {name}", hint=did_you_mean(path.name, others)
        )
        return TaskReading(task=None, problems=(problem,))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "it is not UTF-8 text"
        problem = Problem(id="task-file-unreadable", path="", said=f"the task file {name} can't be read: {reason}")
        return TaskReading(task=None, problems=(problem,))
    return read_task_text(text, name)


def read_task_text(text: str, name: str) -> TaskReading:
    """As `read_task`, from a given text."""
    found = document.read(text, name)
    if found.data is None and found.problems:
        return TaskReading(task=None, problems=found.problems, text=text, document=found)
    if not isinstance(found.data, dict):
        hint = "a task has at least task, image, command and resources"
        problem = Problem(id="task-file-empty", path="", said=f"the task file {name} holds no task", hint=hint)
        return TaskReading(task=None, problems=(problem,), text=text, document=found)
    data: dict[str, Any] = found.data
    shaped: Shaped = validate(TaskSpec, data, partly=True)
    reading = TaskReading(task=shaped.value, problems=(), text=text, document=found)
    placed = tuple(reading.placed([*found.problems, *shaped.problems]))
    return TaskReading(task=shaped.value, problems=placed, text=text, document=found)
