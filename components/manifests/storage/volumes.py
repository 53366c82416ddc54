"""The volumes of a job's pods: claims on the parallel file system, shared memory, the node's local disks.

Every volume has a fixed mount path. Datasets are mounted read-only, whatever the program tries.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from components.file_systems import Content
from components.manifests import quantities
from components.manifests.nodes.whole_node import Machine
from components.planning import mounted_folders
from components.spec.task import TaskSpec

DATASETS_PATH: Final = mounted_folders.PATHS["datasets"]
CHECKPOINTS_PATH: Final = mounted_folders.PATHS["checkpoints"]
TASK_PATH: Final = "/etc/task"
CACHE_PATH: Final = "/cache"
PROGRAMS: Final = "programs"  # the volume of this project's own programs
PROGRAMS_PATH: Final = "/opt/trainshed"
HEARTBEAT_PATH: Final = "/run/trainshed/heartbeat"
SHARED_MEMORY_PATH: Final = "/dev/shm"
# Data loaders and the collective library's intra-node rings: some 8 GiB a card, and never more than a quarter of the
# memory.
_SHARED_MEMORY_GIB_PER_CARD: Final = 8
_HEARTBEAT_MIB: Final = 16


def shared_memory_mib(machine: Machine) -> int:
    """Size of /dev/shm. It is a part of the pod's memory, not on top of it: what lies there counts against the
    limit.
    """
    wanted = max(machine.cards.count, 1) * _SHARED_MEMORY_GIB_PER_CARD * 1024
    return min(wanted, machine.memory_mib // 4)


def volumes(task: TaskSpec, machine: Machine, claims: Mapping[Content, str]) -> list[dict[str, Any]]:
    """The pod's volumes; `claims` names the claims of datasets and checkpoints for the task's pool."""
    found: list[dict[str, Any]] = [
        {"name": "task", "configMap": {"name": config_map_name(task)}},
        # The container runtime's own /dev/shm has 64 MiB, which ends in a bus error.
        {
            "name": "shared-memory",
            "emptyDir": {"medium": "Memory", "sizeLimit": quantities.mebi(shared_memory_mib(machine))},
        },
        {"name": "heartbeat", "emptyDir": {"medium": "Memory", "sizeLimit": quantities.mebi(_HEARTBEAT_MIB)}},
        {"name": "cache", "emptyDir": {}},
        {"name": PROGRAMS, "configMap": {"name": f"{task.task}-programs"}},
    ]
    if task.storage.dataset:
        found.append({"name": "datasets", "persistentVolumeClaim": {"claimName": claims["datasets"], "readOnly": True}})
    if task.storage.checkpoint:
        found.append({"name": "checkpoints", "persistentVolumeClaim": {"claimName": claims["checkpoints"]}})
    return found


def mounts(task: TaskSpec) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        {"name": "task", "mountPath": TASK_PATH, "readOnly": True},
        {"name": "shared-memory", "mountPath": SHARED_MEMORY_PATH},
        {"name": "heartbeat", "mountPath": HEARTBEAT_PATH},
        {"name": "cache", "mountPath": CACHE_PATH},
        {"name": PROGRAMS, "mountPath": PROGRAMS_PATH, "readOnly": True},
    ]
    if task.storage.dataset:
        found.append({"name": "datasets", "mountPath": DATASETS_PATH, "readOnly": True})
    if task.storage.checkpoint:
        found.append({"name": "checkpoints", "mountPath": CHECKPOINTS_PATH})
    return found


def config_map_name(task: TaskSpec) -> str:
    return f"{task.task}-task"
