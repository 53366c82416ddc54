"""The environment of a worker's containers: ranks, rendezvous, paths, and what the fabric and the accelerator want set.

The variables come from the job, then the accelerator, then the fabric, and last from the user, whose values win.
"""

from __future__ import annotations

from typing import Any, Final

from components import accelerators
from components.manifests.jobs import limits
from components.manifests.queues import kueue
from components.manifests.storage import volumes
from components.planning.pool import Pool
from components.spec.pools import HostSpec
from components.spec.quantities import Cards, Nodes
from components.spec.stack import StackSpec
from components.spec.task import TaskSpec

MASTER_PORT: Final = 29500
LAUNCH_PORT: Final = 29501  # the launchers' channel, and before them the gate's
STOP_STEP_SECONDS: Final = 60
PROCESS_RESTARTS: Final = 3
WORKERS: Final = "workers"  # the one replicated job of the JobSet
_INDEX = "metadata.labels['batch.kubernetes.io/job-completion-index']"
_ATTEMPT = "metadata.labels['jobset.sigs.k8s.io/restart-attempt']"
_RUN = "metadata.labels['jobset.sigs.k8s.io/jobset-uid']"


def master_address(task: TaskSpec) -> str:
    """The first worker's host name in the task's headless service."""
    return f"{task.task}-{WORKERS}-0-0.{task.task}"


def processes_per_node(pool: Pool, cards: Cards) -> int:
    """Processes that one worker starts: as many on each card as its family wants, one where there are no cards."""
    node = pool.node
    instance = None if isinstance(node, HostSpec) else node
    vendor = node.vendor if isinstance(node, HostSpec) else ""
    return accelerators.processes_per_node(instance, vendor, cards.count)


def _plain(task: TaskSpec, stack: StackSpec, pool: Pool, cards: Cards) -> dict[str, str]:
    nodes = Nodes(task.resources.nodes)
    processes = processes_per_node(pool, cards)
    queue = kueue.queue_of(stack, pool.name, task.queue)
    words = {
        "TASK_NAME": task.task,
        "TASK_FILE": f"{volumes.TASK_PATH}/task.yaml",
        "TASK_JSON": f"{volumes.TASK_PATH}/task.json",
        "QUEUE_NAME": queue.name if queue else "",
        "TEAM_NAME": stack.tags.get("team", ""),
        "TRAINSHED_IMAGE": task.reference.digest or task.image,
        "TRAINSHED_CODE": task.versions.code or "unknown",
        "TRAINSHED_DATA": task.versions.data or "unknown",
        "LAUNCH_PORT": str(LAUNCH_PORT),
        "START_TIMEOUT_SECONDS": str(max(limits.FIRST_HEARTBEAT_SECONDS, task.recovery.hang_timeout_seconds or 0)),
        "GRACE_SECONDS": str(task.recovery.grace_seconds),
        "STOP_STEP_SECONDS": str(STOP_STEP_SECONDS),
        "PROCESS_RESTARTS": str(PROCESS_RESTARTS if task.recovery.auto_restart else 0),
        "NNODES": str(nodes.count),
        "NPROC_PER_NODE": str(processes),
        "WORLD_SIZE": str(nodes.count * processes),
        "MASTER_ADDR": master_address(task),
        "MASTER_PORT": str(MASTER_PORT),
        "CACHE_PATH": volumes.CACHE_PATH,
        "HEARTBEAT_FOLDER": volumes.HEARTBEAT_PATH,
        "PYTHONUNBUFFERED": "1",
    }
    if pool.spec.purpose == "preprocessing":
        words["PREPROCESS_WORKERS"] = str(nodes.count)
    if task.storage.dataset:
        words["DATASET_PATH"] = task.storage.dataset.path
    if task.storage.checkpoint:
        words["CHECKPOINT_PATH"] = task.storage.checkpoint.path
        words["CHECKPOINT_KEEP_LAST"] = str(task.recovery.keep_last or stack.storage.checkpoints.keep_last)
        if task.recovery.checkpoint_interval_steps:
            words["CHECKPOINT_INTERVAL_STEPS"] = str(task.recovery.checkpoint_interval_steps)
    if task.recovery.hang_timeout_seconds:
        words["HANG_TIMEOUT_SECONDS"] = str(task.recovery.hang_timeout_seconds)
    if task.preflight:
        words["PREFLIGHT_COLLECTIVE_TEST"] = "true" if task.preflight.collective_test else "false"
        words["PREFLIGHT_MINIMUM_OF_BASELINE"] = f"{task.preflight.minimum_of_baseline:g}"
    if task.monitor.metrics:
        words["METRICS_PORT"] = str(task.monitor.port)
    for part in ("tensor", "pipeline", "context", "expert"):
        value = getattr(task.parallelism, part)
        if value is not None:
            words[f"{part.upper()}_PARALLEL"] = str(value)
    node = pool.node
    family = pool.accelerator
    card = None if node is None or isinstance(node, HostSpec) else node.accelerator
    if card and card.bf16_tflops:
        words["CARD_PEAK_TFLOPS"] = f"{card.bf16_tflops:g}"
    if family:
        words["COLLECTIVE_BACKEND"] = family.collective_backend
        words |= family.job_environment(cards=cards.count)
    if node is not None and cards.count:
        words |= pool.fabric.environment(pool.spec, node)
    return words | task.environment


def variables(task: TaskSpec, stack: StackSpec, pool: Pool, cards: Cards) -> list[dict[str, Any]]:
    """Kubernetes' list: what only the running pod knows first, so that later values may refer to it; then by name."""
    fields = {
        "NODE_RANK": _INDEX,
        "RESTART_ATTEMPT": _ATTEMPT,
        "RUN_ID": _RUN,
        "NODE_NAME": "spec.nodeName",
        "POD_NAME": "metadata.name",
    }
    plain = _plain(task, stack, pool, cards)
    from_pod = [
        {"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}
        for name, path in sorted(fields.items())
        if name not in plain
    ]
    # MASTER_ADDR before the rest: Kubernetes expands $(NAME) only for variables that stand earlier.
    ordered = sorted(plain, key=lambda name: (name != "MASTER_ADDR", name))
    from_secrets = [
        {"name": name, "valueFrom": {"secretKeyRef": {"name": each.secret, "key": each.key}}}
        for name, each in sorted(task.secrets.items())
    ]
    named = [each for each in ordered if each not in task.secrets]
    return [*from_pod, *from_secrets, *({"name": name, "value": plain[name]} for name in named)]
