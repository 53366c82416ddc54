"""The environment of a worker's processes: what the job renders into the pod, and what the launcher adds for each."""

from __future__ import annotations

from typing import Final

from components.catalog.contract.table import Variable

_CHECKPOINT = "with storage.checkpoint"
_LOCAL = "with a local checkpoint tier"
_OBJECT = "with an object storage tier"
_CARDS = "with cards"


def _job(name: str, value: str, meaning: str, *, when: str = "always", default: str = "") -> Variable:
    return Variable(name=name, set_by="job", value=value, meaning=meaning, when=when, default=default)


def _launcher(name: str, value: str, meaning: str) -> Variable:
    return Variable(name=name, set_by="launcher", value=value, meaning=meaning)


_IDENTITY: Final = (
    _job("TASK_NAME", "task", "name of the task", default="task"),
    _job("TASK_FILE", "/etc/task/task.yaml", "the task as it was submitted"),
    _job("TASK_JSON", "/etc/task/task.json", "the same as JSON, for programs without a YAML reader"),
    _job("QUEUE_NAME", "the queue's name", "label of the metrics", default="empty"),
    _job("TEAM_NAME", "the stack's or queue's team", "label of the metrics", default="empty"),
    _job("RUN_ID", "UID of the JobSet", "tells two submissions of one task apart", default="TASK_NAME"),
    _job("RESTART_ATTEMPT", "label jobset.sigs.k8s.io/restart-attempt", "restarts of the gang so far", default="0"),
    _job("NODE_NAME", "field spec.nodeName", "the Kubernetes node", default="host name"),
    _job("POD_NAME", "field metadata.name", "the pod", default="host name"),
    _job("TRAINSHED_IMAGE", "the image's digest, else its reference", "recorded in checkpoints", default="unknown"),
    _job("TRAINSHED_CODE", "versions.code", "recorded in checkpoints", default="unknown"),
    _job("TRAINSHED_DATA", "versions.data", "recorded in checkpoints", default="unknown"),
)

_GANG: Final = (
    _job("NODE_RANK", "label batch.kubernetes.io/job-completion-index", "number of the node in the gang", default="0"),
    _job("NNODES", "resources.nodes", "nodes of the gang", default="1"),
    _job("NPROC_PER_NODE", "cards of a node, or logical cores (Neuron)", "processes on each node", default="1"),
    _job("MASTER_ADDR", "first worker's host name", "where all processes meet", default="127.0.0.1"),
    _job("MASTER_PORT", "29500", "port of torch's store, opened by rank 0", default="29500"),
    _job("LAUNCH_PORT", "29501", "port of the launchers' channel, opened by the first worker", default="29501"),
    _job("TENSOR_PARALLEL", "parallelism.tensor", "ranks that share a layer", when="where set", default="1"),
    _job("PIPELINE_PARALLEL", "parallelism.pipeline", "pipeline stages", when="where set", default="1"),
    _job("CONTEXT_PARALLEL", "parallelism.context", "ranks that share a sequence", when="where set", default="1"),
    _job("EXPERT_PARALLEL", "parallelism.expert", "ranks that share the experts", when="where set", default="1"),
    _job("COLLECTIVE_BACKEND", "nccl, or the family's own", "backend of torch.distributed", when=_CARDS),
)

_PATHS: Final = (
    _job("DATASET_PATH", "storage.dataset.path", "folder of the dataset, read-only", when="with storage.dataset"),
    _job("CACHE_PATH", "/cache", "scratch space of the pod, gone with it"),
    _job("CHECKPOINT_PATH", "storage.checkpoint.path", "folder of the checkpoints, shared by all", when=_CHECKPOINT),
    _job(
        "CHECKPOINT_INTERVAL_STEPS",
        "recovery.checkpoint_interval_steps",
        "steps between two of them",
        when=_CHECKPOINT,
        default="50",
    ),
    _job("PREPROCESS_WORKERS", "resources.nodes", "workers that share the input", when="in preprocessing pools"),
    _job("CHECKPOINT_KEEP_LAST", "recovery.keep_last", "complete checkpoints to keep", when=_CHECKPOINT, default="5"),
    _job(
        "CHECKPOINT_LOCAL_PATH",
        "a folder on the node's disks that outlives the pod",
        "first tier: each node keeps what its own ranks wrote",
        when=_LOCAL,
    ),
    _job(
        "CHECKPOINT_LOCAL_INTERVAL_STEPS",
        "recovery's interval of the tier",
        "steps between two local ones",
        when=_LOCAL,
    ),
    _job("CHECKPOINT_OBJECT_URL", "s3://BUCKET/PREFIX", "last tier: copies of complete checkpoints", when=_OBJECT),
    _job(
        "CHECKPOINT_OBJECT_INTERVAL_STEPS", "recovery's interval of the tier", "steps between two copies", when=_OBJECT
    ),
    _job("HEARTBEAT_FOLDER", "/run/trainshed/heartbeat", "folder in memory for heartbeats and metrics of the node"),
)

_LIMITS: Final = (
    _job("HANG_TIMEOUT_SECONDS", "recovery.hang_timeout_seconds", "silence that means a hang", when="where set"),
    _job(
        "START_TIMEOUT_SECONDS", "the startup probe's limit", "time to the first heartbeat of a start", default="3600"
    ),
    _job("GRACE_SECONDS", "terminationGracePeriodSeconds", "time between SIGTERM and SIGKILL", default="300"),
    _job("STOP_STEP_SECONDS", "60", "after SIGTERM a rank without progress for so long is ended", default="60"),
    _job("PROCESS_RESTARTS", "3", "restarts of the processes in place before the gang is placed anew", default="3"),
    _job(
        "PREFLIGHT_COLLECTIVE_TEST",
        "preflight.collective_test",
        "whether the gate runs collectives",
        when="with preflight",
    ),
    _job(
        "PREFLIGHT_MINIMUM_OF_BASELINE",
        "preflight.minimum_of_baseline",
        "share of the healthy rate it asks for",
        when="with preflight",
    ),
)

_MONITOR: Final = (
    _job("METRICS_PORT", "monitor.port", "port that serves the node's metrics", when="with monitor.metrics"),
    _job("CARD_PEAK_TFLOPS", "the catalog's dense bf16 rate of the card", "for MFU", when=_CARDS),
    _job("MODEL_FLOPS_PER_TOKEN", "the planner's count of the model", "for MFU", when="with model"),
)

_PROCESS: Final = (
    _launcher("RANK", "NODE_RANK x NPROC_PER_NODE + LOCAL_RANK", "number of the process in the gang"),
    _launcher("LOCAL_RANK", "0 to NPROC_PER_NODE - 1", "number of the process on its node: the card it takes"),
    _launcher("WORLD_SIZE", "NNODES x NPROC_PER_NODE", "processes of the gang"),
    _launcher("LOCAL_WORLD_SIZE", "NPROC_PER_NODE", "processes on this node"),
    _launcher("GROUP_RANK", "NODE_RANK", "torch's name for the node's number"),
    _launcher("PROCESS_ATTEMPT", "0, 1, 2 ...", "restarts in place since the pod began"),
    _launcher("TORCHELASTIC_RESTART_COUNT", "PROCESS_ATTEMPT", "torch's name for the same"),
    _launcher("METRICS_SERVED", "1 or 0", "whether the launcher serves METRICS_PORT"),
    _launcher("OMP_NUM_THREADS", "1 where not set", "threads of a process; more processes than one share the cores"),
)

VARIABLES: Final = (*_IDENTITY, *_GANG, *_PATHS, *_LIMITS, *_MONITOR, *_PROCESS)
