"""A task as Kubernetes objects: a service account, a config map, the first worker's name and a JobSet of one whole-node
worker a node.

A gang restarts as a whole: the child job gives up on its first lost pod (`backoffLimit` 0), and the JobSet's failure
policy starts all workers again, from their last checkpoint, as often as the task allows.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import yaml

from components.catalog import Catalog, InstanceType
from components.file_systems import CONTENTS, Content
from components.manifests import quantities
from components.manifests.jobs import environment, failures, limits, programs
from components.manifests.nodes import whole_node
from components.manifests.nodes.whole_node import Machine
from components.manifests.queues import accounts, kueue
from components.manifests.storage import volumes
from components.planning import mounted_folders
from components.planning.pool import Pool, of_stack
from components.spec.pools import PoolSpec
from components.spec.quantities import Nodes
from components.spec.queues import JOB_NAMESPACE
from components.spec.stack import StackSpec
from components.spec.task import TaskSpec

API: Final = "jobset.x-k8s.io/v1alpha2"
PROGRAMS: Final = "workload"  # the package of this project's own programs in every image
# Minutes after which a node that stopped answering loses its pods; Kubernetes' own five keep 10,000 cards waiting.
_LOST_NODE_SECONDS: Final = 60
# Karpenter takes no node from under a worker, whatever it would save.
_STAYS: Final = {"karpenter.sh/do-not-disrupt": "true"}
_FINISHED_SECONDS: Final = 7 * 24 * 3600

Manifest = dict[str, Any]


class NoSuchPool(LookupError):
    """The task's pool isn't in the stack, or its machines are unknown."""


def render(task: TaskSpec, stack: StackSpec, cat: Catalog) -> list[Manifest]:
    """The task's objects in the order to create them. The task has passed `rules_task`; raises NoSuchPool otherwise."""
    pool = next((each for each in of_stack(stack, cat) if each.name == task.resources.pool), None)
    machine = whole_node.machine_of(pool) if pool else None
    if pool is None or machine is None:
        raise NoSuchPool(f'the stack has no pool "{task.resources.pool}" with known machines')
    namespace = namespace_of(task, stack)
    metadata = {"namespace": namespace, "labels": labels(task, stack), "annotations": identity(task)}
    objects = [
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": task.task, **metadata},
            "automountServiceAccountToken": False,
        },
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": volumes.config_map_name(task), **metadata},
            "data": files(task),
        },
        programs.config_map(task, metadata),
        _meeting_point(task, metadata),
        {
            "apiVersion": API,
            "kind": "JobSet",
            "metadata": {"name": task.task, **metadata, "labels": labels(task, stack) | _queue_labels(task, stack)},
            "spec": _spec(task, stack, pool, machine),
        },
    ]
    return quantities.plain(objects)


def _meeting_point(task: TaskSpec, metadata: Manifest) -> Manifest:
    """The headless service that gives the first worker its host name, which is where all others meet.

    JobSet's own gives one to every worker: with a gang of 1,232 its list of addresses is written anew hundreds of times
    while the gang starts, which took a fifth of what the start costs the control plane, and nobody asks for those
    names.
    """
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": task.task, **metadata},
        "spec": {
            "clusterIP": "None",
            "selector": {"jobset.sigs.k8s.io/jobset-name": task.task, "batch.kubernetes.io/job-completion-index": "0"},
            # The name resolves before the pod is ready: the rendezvous comes before readiness.
            "publishNotReadyAddresses": True,
        },
    }


def namespace_of(task: TaskSpec, stack: StackSpec) -> str:
    queue = kueue.queue_of(stack, task.resources.pool, task.queue)
    return queue.namespace if queue else JOB_NAMESPACE


def labels(task: TaskSpec, stack: StackSpec) -> dict[str, str]:
    return {
        "app.kubernetes.io/managed-by": "trainshed",
        "app.kubernetes.io/name": task.task,
        "trainshed.io/environment": stack.environment,
        "trainshed.io/task": task.task,
    }


def identity(task: TaskSpec) -> dict[str, str]:
    """What ran: image, code and data, together on every object of the run."""
    words = {"trainshed.io/image": task.image}
    if task.reference.digest:
        words["trainshed.io/image-digest"] = task.reference.digest
    if task.versions.code:
        words["trainshed.io/code-version"] = task.versions.code
    if task.versions.data:
        words["trainshed.io/data-version"] = task.versions.data
    return words


def files(task: TaskSpec) -> dict[str, str]:
    """What stands under /etc/task: the task, and its model by itself."""
    whole = task.model_dump(mode="json", exclude_none=True, by_alias=True)
    text = {
        "task.yaml": yaml.safe_dump(whole, sort_keys=False),
        "task.json": json.dumps(whole, indent=1, ensure_ascii=False),
    }
    if "model" in whole:
        text["model.yaml"] = yaml.safe_dump(whole["model"], sort_keys=False)
    return text


def _account(task: TaskSpec, stack: StackSpec) -> str:
    """On AWS that of the queue, which has an identity there; elsewhere one of the task's own."""
    queue = kueue.queue_of(stack, task.resources.pool, task.queue)
    return accounts.name(queue.name) if queue and stack.on_aws else task.task


def _queue_labels(task: TaskSpec, stack: StackSpec) -> dict[str, str]:
    queue = kueue.queue_of(stack, task.resources.pool, task.queue)
    return {kueue.QUEUE_LABEL: queue.name, kueue.PRIORITY_LABEL: kueue.priority_class(task.priority)} if queue else {}


def topology(task: TaskSpec, stack: StackSpec, pool: Pool) -> dict[str, str]:
    """Kueue's wish for one network domain. `preferred` climbs from the leaf to the spine and on until the job fits."""
    queued = kueue.queue_of(stack, pool.name, task.queue)
    if not queued or not pool.placed_by_topology:
        return {}
    key = kueue.REQUIRED if task.resources.placement == "required" else kueue.PREFERRED
    return {key: kueue.layer_label(pool.layers, task.resources.within)}


def _spec(task: TaskSpec, stack: StackSpec, pool: Pool, machine: Machine) -> Manifest:
    workers = Nodes(task.resources.nodes).workers.count
    pod_metadata = {
        "labels": labels(task, stack),
        "annotations": identity(task) | topology(task, stack, pool) | _networks(pool.spec) | _STAYS,
    }
    return {
        "network": {"enableDNSHostnames": False},
        "successPolicy": {"operator": "All", "targetReplicatedJobs": [environment.WORKERS]},
        "failurePolicy": _failure_policy(task),
        "ttlSecondsAfterFinished": _FINISHED_SECONDS,
        "replicatedJobs": [
            {
                "name": environment.WORKERS,
                "replicas": 1,
                "template": {
                    "metadata": {"labels": labels(task, stack)},
                    "spec": {
                        "completionMode": "Indexed",
                        "completions": workers,
                        "parallelism": workers,
                        **_attempts(task, pool.spec),
                        "template": {"metadata": pod_metadata, "spec": _pod(task, stack, pool, machine)},
                    },
                },
            }
        ],
    }


def independent(pool: PoolSpec) -> bool:
    """Whether the workers of the pool's tasks do without each other: one that is lost is started again alone."""
    return pool.purpose == "preprocessing"


def _attempts(task: TaskSpec, pool: PoolSpec) -> Manifest:
    """How often the workers' job tries: a gang not at all, for JobSet starts it again as a whole."""
    if independent(pool):
        return {
            "backoffLimitPerIndex": task.recovery.max_restarts if task.recovery.auto_restart else 0,
            "podFailurePolicy": {"rules": failures.of_independent_workers()},
        }
    return {"backoffLimit": 0, "podFailurePolicy": failures.pod_failure_policy(gate=task.preflight is not None)}


def _failure_policy(task: TaskSpec) -> Manifest:
    if not task.recovery.auto_restart:
        return {"maxRestarts": 0, "restartStrategy": "Recreate"}
    return failures.failure_policy(task.recovery.max_restarts)


def _networks(pool: PoolSpec) -> dict[str, str]:
    """Addresses on the networks of a host's RDMA devices, by Multus; machines of EC2 need none."""
    named = pool.hosts.networks if pool.hosts else ()
    return {"k8s.v1.cni.cncf.io/networks": ", ".join(named)} if named else {}


def _pod(task: TaskSpec, stack: StackSpec, pool: Pool, machine: Machine) -> Manifest:
    container = _container(task, stack, pool, machine)
    mounted: dict[Content, str] = {content: mounted_folders.claim_name(content, pool, stack) for content in CONTENTS}
    pod: Manifest = {
        "serviceAccountName": _account(task, stack),
        "automountServiceAccountToken": False,
        # With the host name that an indexed job gives its pods this makes the first worker's address.
        "subdomain": task.task,
        "restartPolicy": "Never",
        "enableServiceLinks": False,  # a namespace with many jobs would fill the environment with their services
        "terminationGracePeriodSeconds": task.recovery.grace_seconds,
        "nodeSelector": whole_node.labels_of(pool.spec),
        "tolerations": [*whole_node.tolerations(pool), *_lost_node()],
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": task.user_id,
            "runAsGroup": task.user_id,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "volumes": volumes.volumes(task, machine, mounted),
        "containers": [container],
    }
    if task.preflight:
        pod["initContainers"] = [_gate(task, container, pool, machine)]
    return pod


def _lost_node() -> list[Manifest]:
    return [
        {
            "key": f"node.kubernetes.io/{word}",
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": _LOST_NODE_SECONDS,
        }
        for word in ("not-ready", "unreachable")
    ]


def _container(task: TaskSpec, stack: StackSpec, pool: Pool, machine: Machine) -> Manifest:
    container: Manifest = {
        "name": "worker",
        "image": task.image,
        "command": _direct(task.command) if independent(pool.spec) else _launched(task.command),
        "env": environment.variables(task, stack, pool, machine.cards),
        "resources": {"requests": machine.requests, "limits": machine.requests},
        # No capability at all: locked memory is unlimited through the container runtime, where IPC_LOCK would not help
        # a non-root user.
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": volumes.mounts(task),
        "ports": [
            {"name": "rendezvous", "containerPort": environment.MASTER_PORT, "protocol": "TCP"},
            {"name": "launch", "containerPort": environment.LAUNCH_PORT, "protocol": "TCP"},
        ],
        "terminationMessagePolicy": "File",
    }
    if task.monitor.metrics:
        container["ports"].append({"name": "metrics", "containerPort": task.monitor.port, "protocol": "TCP"})
    if task.recovery.hang_timeout_seconds:
        processes = environment.processes_per_node(pool, machine.cards)
        container |= _heartbeat(task.recovery.hang_timeout_seconds, processes)
    return container


def _launched(command: Sequence[str]) -> list[str]:
    """The command under the launcher, which starts a process for each card and keeps the gang together. A command that
    brings its own launcher stays as it is, with the archive of our programs on its path.
    """
    words = list(command)
    if "workload.launch" in words[:3]:
        return programs.command("workload.launch", *words[words.index("workload.launch") + 1 :])
    if words[0].rsplit("/", 1)[-1] in ("torchrun", "mpirun"):
        return words
    return programs.command("workload.launch", "--", *words)


def _direct(command: Sequence[str]) -> list[str]:
    """The command as it is; one of our own programs is run from the archive."""
    words = list(command)
    if len(words) > 2 and words[1] == "-m" and words[2].startswith(f"{PROGRAMS}."):
        return programs.command(words[2], *words[3:])
    return words


def _heartbeat(timeout_seconds: int, processes: int) -> Manifest:
    """The launcher ends a round whose ranks fell silent, and names the first; after twice that time the probe ends a
    launcher that is stuck itself. Before the first sign of life only the start-up counts.
    """
    folder = volumes.HEARTBEAT_PATH
    ranks = f"--world-size {processes} --first-rank $((NODE_RANK * {processes}))"
    program = " ".join(programs.command("workload.heartbeat"))
    period = min(max(timeout_seconds // 10, 10), 60)
    first = max(limits.FIRST_HEARTBEAT_SECONDS, timeout_seconds)
    look = f"exec {program} check {folder} {ranks} --hang-timeout {2 * timeout_seconds}"
    return {
        "startupProbe": {
            "exec": {"command": ["sh", "-c", f"exec {program} started {folder}"]},
            "periodSeconds": 30,
            "failureThreshold": first // 30,
            "timeoutSeconds": 10,
        },
        "livenessProbe": {
            "exec": {"command": ["sh", "-c", look]},
            "periodSeconds": period,
            "failureThreshold": 2,
            "timeoutSeconds": 30,
        },
    }


def _gate(task: TaskSpec, container: Manifest, pool: Pool, machine: Machine) -> Manifest:
    """The check before every start, on the very nodes the gang got. It asks for what the worker asks for, so that it
    sees the same cards and limits.
    """
    return {
        "name": failures.GATE,
        "image": container["image"],
        "command": programs.command(f"{PROGRAMS}.preflight.gate", *_gate_words(task, pool, machine)),
        "env": container["env"],
        "resources": container["resources"],
        "securityContext": container["securityContext"],
        "volumeMounts": container["volumeMounts"],
    }


def _gate_words(task: TaskSpec, pool: Pool, machine: Machine) -> list[str]:
    words = ["--shm-gib", f"{volumes.shared_memory_mib(machine) / 1024 * 0.99:.2f}"]
    if machine.rdma:
        words.append("--memlock")
    if machine.family and machine.family.gate_kind and machine.cards.count:
        words += ["--devices", str(machine.cards.count), "--device-kind", machine.family.gate_kind]
    if task.storage.dataset:
        words += ["--mount", f"{volumes.DATASETS_PATH}:ro"]
    if task.storage.checkpoint:
        words += ["--mount", f"{volumes.CHECKPOINTS_PATH}:rw"]
    if task.preflight and task.preflight.collective_test and task.resources.nodes > 1:
        words += _gang_words(task, pool)
    return words


def _gang_words(task: TaskSpec, pool: Pool) -> list[str]:
    """All workers test the network together; healthy rates are kept beside the checkpoints by type, fabric, size."""
    node = pool.node
    words = ["--gang", "--join-limit", str(limits.GATE_JOIN_SECONDS), "--limit", str(limits.GATE_TEST_SECONDS)]
    if node is None:
        return words
    words += ["--fabric", pool.fabric.kind]
    if isinstance(node, InstanceType):
        words += ["--instance-type", node.name, "--wire-gbps", f"{node.network.gbps:g}"]
    if task.storage.checkpoint:
        words += ["--baselines", f"{volumes.CHECKPOINTS_PATH}/.baselines"]
    return words
