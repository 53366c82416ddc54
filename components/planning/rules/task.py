"""Checks that a task fits its stack: pool, queue, cards, parallelism, image and paths. Paths are those of the task
file.

A job's cards are nodes x cards a node; its data-parallel ranks are the cards divided by tensor, pipeline and context
parallelism.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import gcd

from components import accelerators, fabrics, file_systems
from components.catalog import Catalog, regions
from components.catalog.contract import WORDS
from components.naming import did_you_mean, listed
from components.planning import credentials, nodes
from components.planning.pool import Pool
from components.planning.rules.registry import until_unread
from components.problems import Problem
from components.spec.form import SelfHosted
from components.spec.pools import HostSpec, PoolSpec
from components.spec.queues import QueueSpec
from components.spec.reading.partial import UnreadError
from components.spec.stack import StackSpec
from components.spec.task import TaskSpec

# What container runtimes take as a name: lower-case words, joined (distribution/reference).
_REPOSITORY = re.compile(r"[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*")
_ACCOUNT_REGISTRY = re.compile(r"^[0-9]{12}\.dkr\.ecr(-fips)?\.(?P<region>[a-z0-9-]+)\.amazonaws\.com(\.cn)?$")


@dataclass(frozen=True, kw_only=True)
class Case:
    """A task against a stack, either of them perhaps read in part only."""

    task: TaskSpec
    stack: StackSpec
    cat: Catalog

    @property
    def pool(self) -> PoolSpec | None:
        """None where the task names none that exists."""
        return next((each for each in self.stack.pools if each.name == self.task.resources.pool), None)

    @property
    def queue(self) -> QueueSpec | None:
        """The queue that the task names, or its pool's only one."""
        if self.task.queue:
            return next((queue for queue in self.stack.queues if queue.name == self.task.queue), None)
        queues = [queue for queue in self.stack.queues if queue.pool == self.task.resources.pool]
        return queues[0] if len(queues) == 1 else None

    @property
    def per_node(self) -> int:
        """Raises UnreadError for a pool of unknown types, which is reported as a problem of the stack file."""
        if self.pool is None:
            return 0
        if self.pool.types and not any(name in self.cat.instances for name in self.pool.types):
            raise UnreadError("types")
        return Pool(self.pool, self.cat).cards

    @property
    def cards(self) -> int:
        return self.task.resources.nodes * self.per_node

    @property
    def processes_per_node(self) -> int:
        """One on each card, or as many as the family wants: what parallelism divides."""
        node = Pool(self.pool, self.cat).node if self.pool else None
        instance = None if isinstance(node, HostSpec) else node
        vendor = node.vendor if isinstance(node, HostSpec) else ""
        return accelerators.processes_per_node(instance, vendor, self.per_node)


TaskRule = Callable[[Case], Iterator[Problem]]


def check_task(task: TaskSpec, stack: StackSpec, cat: Catalog) -> list[Problem]:
    """Every reason why the task can't run in the stack, and what its author should know, as far as both could be
    read.
    """
    case = Case(task=task, stack=stack, cat=cat)
    return [problem for each in RULES for problem in until_unread(each(case))[0]]


def pool_exists(case: Case) -> Iterator[Problem]:
    """The task runs in a pool of the stack."""
    if case.pool is None:
        name, names = case.task.resources.pool, [pool.name for pool in case.stack.pools]
        said = f'the stack has no pool "{name}"'
        yield Problem(id="task-pool-unknown", path="resources.pool", said=said, hint=did_you_mean(name, names))


def queue_is_known(case: Case) -> Iterator[Problem]:
    """A task on cards waits in exactly one queue of its pool."""
    if case.pool is None:
        return
    task, queues = case.task, [queue for queue in case.stack.queues if queue.pool == case.pool.name]
    names = [queue.name for queue in queues]
    if task.queue and case.queue is None:
        said = f'the stack has no queue "{task.queue}"'
        yield Problem(id="task-queue-unknown", path="queue", said=said, hint=did_you_mean(task.queue, names))
    elif case.queue is not None and case.queue.pool != case.pool.name:
        said = f'queue "{task.queue}" hands out the pool "{case.queue.pool}", and the task runs in "{case.pool.name}"'
        hint = f"use {listed(names, 'or')}" if names else f'or run it in pool "{case.queue.pool}"'
        yield Problem(id="task-queue-of-another-pool", path="queue", said=said, hint=hint)
    elif not task.queue and len(queues) > 1:
        said = f'pool "{case.pool.name}" has the queues {listed(names)}'
        yield Problem(id="task-queue-open", path="queue", said=said, hint=f"name one: queue: {names[0]}")
    elif not queues and case.per_node:
        said = f'no queue hands out the cards of pool "{case.pool.name}"'
        yield Problem(
            id="task-queue-unknown", path="resources.pool", said=said, hint="add a queue for it to the stack file"
        )


def cards_per_node_agree(case: Case) -> Iterator[Problem]:
    """The cards a node that the task writes down are those of the pool's type."""
    written = case.task.resources.cards_per_node
    if case.pool is None or written is None or written == case.per_node:
        return
    machine = case.pool.types[0] if case.pool.types else f'pool "{case.pool.name}"'
    said = f"{written} cards a node, but {machine} has {case.per_node} and a worker takes the whole node"
    yield Problem(id="task-cards-per-node", path="resources.cards_per_node", said=said, hint=f"use {case.per_node}")


def fits_pool_and_queue(case: Case) -> Iterator[Problem]:
    """A task larger than its pool or queue would wait for ever."""
    if case.pool is None:
        return
    nodes, pool = case.task.resources.nodes, case.pool
    unit = f"{nodes} nodes x {case.per_node} = {case.cards} cards" if case.per_node else f"{nodes} nodes"
    if nodes > pool.max_nodes - pool.spares:
        room = pool.max_nodes - pool.spares
        kept = f" ({pool.max_nodes} - {pool.spares} spares)" if pool.spares else ""
        cards = f" = {Pool(pool, case.cat).cards_to_share} cards" if case.per_node else ""
        have = f"{room} nodes{kept}{cards}"
        said = f'the task asks for {unit}; pool "{pool.name}" carries {have}'
        yield Problem(id="task-over-pool", path="resources.nodes", said=said, hint=f"use at most {room} nodes")
        return
    queue = case.queue
    if queue is None or queue.pool != pool.name:
        return
    limit = queue.cards if case.per_node else queue.nodes
    asked = case.cards if case.per_node else nodes
    if limit is None or asked <= limit or queue.cohort:
        return
    word = "cards" if case.per_node else "nodes"
    room = limit // case.per_node if case.per_node else limit
    said = f'the task asks for {unit}; queue "{queue.name}" hands out {limit} {word}'
    yield Problem(id="task-over-queue", path="resources.nodes", said=said, hint=f"use at most {room} nodes")


def parallelism_divides(case: Case) -> Iterator[Problem]:
    """Tensor x pipeline x context ranks divide the cards; what is left are data-parallel ranks, which expert
    parallelism divides.
    """
    if not case.per_node:
        return
    split = case.task.parallelism
    tensor, pipeline, context, expert = split.tensor or 1, split.pipeline or 1, split.context or 1, split.expert or 1
    group, nodes = tensor * pipeline * context, case.task.resources.nodes
    per_node = case.processes_per_node
    total = nodes * per_node
    word = "cards" if per_node == case.per_node else "processes"
    product = f"tensor {tensor} x pipeline {pipeline} x context {context} = {group}"
    ranks = f"{nodes} nodes x {per_node} = {total} {word}"
    if total % group:
        room = case.pool.max_nodes - case.pool.spares if case.pool else 0
        fewer = _nearest_nodes(group, per_node, nodes, room)
        hint = f"use {fewer}, or another split" if fewer else "use another split"
        said = f"{product} does not divide {ranks}: data-parallel ranks would be {total / group:.2f}"
        yield Problem(id="task-parallelism", path="parallelism", said=said, hint=hint)
        return
    data = total // group
    if (data * context * tensor) % expert:
        members = f"{data * context * tensor} ranks (data {data} x context {context} x tensor {tensor})"
        said = f"expert {expert} does not divide the {members} of a stage"
        yield Problem(id="task-parallelism", path="parallelism.expert", said=said, hint="use a divisor of them")
    if tensor > per_node:
        said = (
            f"tensor {tensor} spans several nodes of {per_node} {word}, over the network instead of the node's own"
            " links"
        )
        hint = f"use at most {per_node}, and more pipeline stages"
        yield Problem(id="task-tensor-over-nodes", path="parallelism.tensor", said=said, hint=hint, severity="warning")


def _nearest_nodes(group: int, per_node: int, nodes: int, room: int) -> str:
    """The node counts around the one asked for that the split divides and the pool has."""
    step = group // gcd(group, per_node)
    below = nodes // step * step
    return listed([f"{count} nodes" for count in (below, below + step) if 0 < count <= room], "or")


def placement_is_possible(case: Case) -> Iterator[Problem]:
    """One network domain is required only where nodes have layers and stand before the job does."""
    pool = case.pool
    if pool is None or case.task.resources.placement != "required":
        return
    found = Pool(pool, case.cat)
    if found.placed_by_topology:
        return
    why = "its nodes are bought when a job waits" if nodes.bought_nodes(pool) else "its nodes report no network layers"
    yield Problem(
        id="task-placement",
        path="resources.placement",
        said=f'no job of pool "{pool.name}" can be held to one network domain: {why}',
        hint="take placement out, or use a pool with cards and a fixed number of nodes",
    )


def ramp_fits(case: Case) -> Iterator[Problem]:
    """A ramp starts below the target."""
    ramp, nodes = case.task.ramp, case.task.resources.nodes
    if ramp and ramp.start_nodes > nodes:
        said = f"the ramp starts with {ramp.start_nodes} nodes, the task has {nodes}"
        yield Problem(id="task-ramp", path="ramp.start_nodes", said=said, hint=f"use at most {nodes}")


def staging_and_ramp_are_asked_of_people(case: Case) -> Iterator[Problem]:
    """Nothing stages a dataset or ramps a job up by itself yet: whoever asks for it is told how to do it."""
    dataset = case.task.storage.dataset
    if dataset and dataset.warm_up:
        said = f"nothing stages {dataset.path} before the job starts"
        hint = "run python3 -m workload.data.stage prepare as a task of its own first, and take warm_up out"
        yield Problem(id="task-warm-up", path="storage.dataset.warm_up", said=said, hint=hint, severity="warning")
    if case.task.ramp:
        said = f"the job starts on all {case.task.resources.nodes} nodes at once: submit runs no ramp"
        hint = "submit the task with fewer nodes first and compare, or take ramp out"
        yield Problem(id="task-ramp-unused", path="ramp", said=said, hint=hint, severity="warning")


def metrics_are_known(case: Case) -> Iterator[Problem]:
    """The words of the job contract: another one would select nothing."""
    for index, word in enumerate(case.task.monitor.metrics):
        if word not in WORDS:
            yield Problem(
                id="task-metric",
                path=f"monitor.metrics[{index}]",
                said=f'"{word}" is no metric of a training run',
                hint=did_you_mean(word, WORDS),
            )


def image_is_fixed(case: Case) -> Iterator[Problem]:
    """An image is named by digest, or by a tag of the environment: another tag may be another program tomorrow."""
    reference, environment = case.task.reference, case.stack.environment
    if not _REPOSITORY.fullmatch(reference.repository):
        said = f'"{reference.repository}" is no name of an image: Kubernetes answers InvalidImageName'
        hint = "use lower-case words, joined by dots, dashes, underscores or slashes"
        yield Problem(id="task-image", path="image", said=said, hint=hint)
    if reference.digest:
        return
    if "@" in case.task.image:
        said = f'"{case.task.image}" has no whole digest'
        yield Problem(id="task-image", path="image", said=said, hint="a digest is @sha256: and 64 hexadecimal digits")
    elif reference.tag is None:
        said = f'"{case.task.image}" names neither a digest nor a tag'
        yield Problem(
            id="task-image", path="image", said=said, hint=f"use …@sha256:…, or a tag such as {environment}-2026.11.1"
        )
    elif not reference.tag.startswith(f"{environment}-"):
        said = f'the tag "{reference.tag}" is no tag of the environment {environment}'
        yield Problem(
            id="task-image", path="image", said=said, hint=f"use …@sha256:…, or a tag that begins with {environment}-"
        )


def image_can_be_pulled(case: Case) -> Iterator[Problem]:
    """The compute network has no route out: its images come from the account's registry in the stack's region."""
    registry, form = case.task.reference.registry, case.stack.form
    if isinstance(form, SelfHosted):
        if form.registry and not case.task.image.startswith(f"{form.registry}/"):
            said = f'"{case.task.image}" is not in the registry that mirrors every image'
            yield Problem(
                id="task-image-registry", path="image", said=said, hint=f"push it to {form.registry} and name it there"
            )
        return
    if case.pool is None or not case.per_node:
        return
    match = _ACCOUNT_REGISTRY.match(registry)
    wanted = f"ACCOUNT.dkr.ecr.{case.stack.region}.{regions.domain(case.stack.region)}"
    if not match:
        said = (
            f'nodes of pool "{case.pool.name}" have no way out of the compute network, and the image is at'
            f" {registry or 'Docker Hub'}"
        )
        yield Problem(id="task-image-registry", path="image", said=said, hint=f"push it to {wanted} and name it there")
    elif match["region"] != case.stack.region:
        said = f"the image is in the registry of {match['region']}, and the stack is in {case.stack.region}"
        yield Problem(
            id="task-image-registry", path="image", said=said, hint=f"replicate it to {wanted} and name it there"
        )


def paths_are_mounted(case: Case) -> Iterator[Problem]:
    """Datasets lie under /datasets and checkpoints under /checkpoints, which is where jobs find them."""
    storage = case.task.storage
    if storage.dataset and not _under(storage.dataset.path, "/datasets"):
        said = f'"{storage.dataset.path}" is not under /datasets, where datasets are mounted'
        yield Problem(
            id="task-path", path="storage.dataset.path", said=said, hint=f"use /datasets{storage.dataset.path}"
        )
    if storage.checkpoint and not _under(storage.checkpoint.path, "/checkpoints"):
        said = f'"{storage.checkpoint.path}" is not under /checkpoints, the only place a job may write to'
        yield Problem(
            id="task-path", path="storage.checkpoint.path", said=said, hint=f"use /checkpoints{storage.checkpoint.path}"
        )
    uses = [key for key, part in (("dataset", storage.dataset), ("checkpoint", storage.checkpoint)) if part]
    if uses and case.stack.on_aws and not any(kind.present(case.stack) for kind in file_systems.KINDS.values()):
        said = "the stack has no file system to mount from"
        yield Problem(
            id="task-path", path=f"storage.{uses[0]}", said=said, hint="add one under storage.lustre of the stack file"
        )


def _under(path: str, root: str) -> bool:
    return path == root or path.startswith(f"{root}/")


def recovery_is_possible(case: Case) -> Iterator[Problem]:
    """Restarting without checkpoints starts from nothing."""
    recovery, storage = case.task.recovery, case.task.storage
    if recovery.checkpoint_interval_steps and storage.checkpoint is None:
        said = "checkpoints are asked for and there is no place for them"
        yield Problem(
            id="task-recovery", path="recovery.checkpoint_interval_steps", said=said, hint="add storage.checkpoint.path"
        )
    if (
        case.per_node
        and case.task.resources.nodes > 1
        and recovery.auto_restart
        and not recovery.checkpoint_interval_steps
    ):
        said = "a restart would begin from nothing: no checkpoint interval is set"
        hint = "set recovery.checkpoint_interval_steps and storage.checkpoint"
        yield Problem(id="task-without-checkpoints", path="recovery", said=said, hint=hint, severity="warning")


def credentials_are_referenced(case: Case) -> Iterator[Problem]:
    """Whoever may read a job reads its variables and its command: a credential stands in a secret, by reference."""
    task = case.task
    hint = "keep it in a secret of the cluster, and name that: secrets: {{{name}: {{secret: NAME, key: KEY}}}}"
    for name, value in sorted(task.environment.items()):
        if name in task.secrets:
            said = f"{name} is given twice: as text and as a secret"
            yield Problem(id="task-secret-twice", path=f"environment.{name}", said=said, hint="take the text out")
        elif kind := credentials.in_variable(name, value):
            said = f"the value is {kind}, in clear for everybody who may read the job"
            yield Problem(id="task-credential", path=f"environment.{name}", said=said, hint=hint.format(name=name))
    for index, word in enumerate(task.command):
        if kind := credentials.in_text(word):
            said = f"the word holds {kind}, in clear for everybody who may read the job"
            yield Problem(id="task-credential", path=f"command[{index}]", said=said, hint=hint.format(name="TOKEN"))


def environment_keeps_the_jobs_own(case: Case) -> Iterator[Problem]:
    """A variable that the job sets itself and the task would replace is reported with both values."""
    if case.pool is None:
        return
    for name, value in sorted(case.task.environment.items()):
        path = f"environment.{name}"
        own = _set_by_job(case).get(name)
        if own is not None and own != value:
            said = f'{name} is set by the job to "{own}", and "{value}" takes its place'
            yield Problem(id="task-environment-replaced", path=path, said=said, hint="take it out", severity="warning")
        elif name in _SLOWER and (name, value) in _SLOW_VALUES and _fabric(case).zone_bound:
            said = f'{name}="{value}" keeps the job off {_fabric(case).kind.upper()}, on which its nodes talk'
            yield Problem(id="task-environment-slow", path=path, said=said, hint="take it out", severity="warning")


_SLOW_VALUES = frozenset({("NCCL_NET", "Socket"), ("FI_PROVIDER", "tcp"), ("FI_PROVIDER", "sockets")})
_SLOWER = frozenset(name for name, _ in _SLOW_VALUES)


def _fabric(case: Case) -> fabrics.Fabric:
    assert case.pool is not None
    node = Pool(case.pool, case.cat).node
    return fabrics.of(case.pool, node) if node is not None else fabrics.FABRICS["tcp"]


def _set_by_job(case: Case) -> dict[str, str]:
    """What every job sets whatever its task says: its ranks and its rendezvous."""
    nodes, per_node = case.task.resources.nodes, case.processes_per_node
    return {
        "NNODES": str(nodes),
        "NPROC_PER_NODE": str(per_node),
        "WORLD_SIZE": str(nodes * per_node),
        "MASTER_ADDR": f"{case.task.task}-workers-0-0.{case.task.task}",
    }


RULES: tuple[TaskRule, ...] = (
    pool_exists,
    queue_is_known,
    cards_per_node_agree,
    fits_pool_and_queue,
    parallelism_divides,
    placement_is_possible,
    ramp_fits,
    staging_and_ramp_are_asked_of_people,
    metrics_are_known,
    image_is_fixed,
    image_can_be_pulled,
    paths_are_mounted,
    recovery_is_possible,
    credentials_are_referenced,
    environment_keeps_the_jobs_own,
)
