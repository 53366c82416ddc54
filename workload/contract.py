"""The contract between a job and the programs in its containers, as constants.

Written by docs/job_contract.py from components/catalog/contract, never by hand; docs/job-contract.md says
what each name means.
"""

from __future__ import annotations

# Environment variables.
TASK_NAME = "TASK_NAME"
TASK_FILE = "TASK_FILE"
TASK_JSON = "TASK_JSON"
QUEUE_NAME = "QUEUE_NAME"
TEAM_NAME = "TEAM_NAME"
RUN_ID = "RUN_ID"
RESTART_ATTEMPT = "RESTART_ATTEMPT"
NODE_NAME = "NODE_NAME"
POD_NAME = "POD_NAME"
TRAINSHED_IMAGE = "TRAINSHED_IMAGE"
TRAINSHED_CODE = "TRAINSHED_CODE"
TRAINSHED_DATA = "TRAINSHED_DATA"
NODE_RANK = "NODE_RANK"
NNODES = "NNODES"
NPROC_PER_NODE = "NPROC_PER_NODE"
MASTER_ADDR = "MASTER_ADDR"
MASTER_PORT = "MASTER_PORT"
LAUNCH_PORT = "LAUNCH_PORT"
TENSOR_PARALLEL = "TENSOR_PARALLEL"
PIPELINE_PARALLEL = "PIPELINE_PARALLEL"
CONTEXT_PARALLEL = "CONTEXT_PARALLEL"
EXPERT_PARALLEL = "EXPERT_PARALLEL"
COLLECTIVE_BACKEND = "COLLECTIVE_BACKEND"
DATASET_PATH = "DATASET_PATH"
CACHE_PATH = "CACHE_PATH"
CHECKPOINT_PATH = "CHECKPOINT_PATH"
CHECKPOINT_INTERVAL_STEPS = "CHECKPOINT_INTERVAL_STEPS"
PREPROCESS_WORKERS = "PREPROCESS_WORKERS"
CHECKPOINT_KEEP_LAST = "CHECKPOINT_KEEP_LAST"
CHECKPOINT_LOCAL_PATH = "CHECKPOINT_LOCAL_PATH"
CHECKPOINT_LOCAL_INTERVAL_STEPS = "CHECKPOINT_LOCAL_INTERVAL_STEPS"
CHECKPOINT_OBJECT_URL = "CHECKPOINT_OBJECT_URL"
CHECKPOINT_OBJECT_INTERVAL_STEPS = "CHECKPOINT_OBJECT_INTERVAL_STEPS"
HEARTBEAT_FOLDER = "HEARTBEAT_FOLDER"
HANG_TIMEOUT_SECONDS = "HANG_TIMEOUT_SECONDS"
START_TIMEOUT_SECONDS = "START_TIMEOUT_SECONDS"
GRACE_SECONDS = "GRACE_SECONDS"
STOP_STEP_SECONDS = "STOP_STEP_SECONDS"
PROCESS_RESTARTS = "PROCESS_RESTARTS"
PREFLIGHT_COLLECTIVE_TEST = "PREFLIGHT_COLLECTIVE_TEST"
PREFLIGHT_MINIMUM_OF_BASELINE = "PREFLIGHT_MINIMUM_OF_BASELINE"
METRICS_PORT = "METRICS_PORT"
CARD_PEAK_TFLOPS = "CARD_PEAK_TFLOPS"
MODEL_FLOPS_PER_TOKEN = "MODEL_FLOPS_PER_TOKEN"
RANK = "RANK"
LOCAL_RANK = "LOCAL_RANK"
WORLD_SIZE = "WORLD_SIZE"
LOCAL_WORLD_SIZE = "LOCAL_WORLD_SIZE"
GROUP_RANK = "GROUP_RANK"
PROCESS_ATTEMPT = "PROCESS_ATTEMPT"
TORCHELASTIC_RESTART_COUNT = "TORCHELASTIC_RESTART_COUNT"
METRICS_SERVED = "METRICS_SERVED"
OMP_NUM_THREADS = "OMP_NUM_THREADS"

# Exit codes.
DONE = 0
FAILED = 1
USAGE = 2
MISSING = 3
NOT_FINITE = 4
BAD_DATA = 5
NO_SPACE = 6
HUNG = 7
GANG_LOST = 8
LEASE_HELD = 9
NOT_EXECUTABLE = 126
NOT_FOUND = 127
INTERRUPTED = 130
ABORTED = 134
BUS_ERROR = 135
KILLED = 137
SEGMENTATION_FAULT = 139
STOPPED = 143

EXIT_MEANINGS: dict[int, str] = {
    DONE: "all steps are done and checkpointed",
    FAILED: "a fault of no known kind",
    USAGE: "used wrongly: the command or the task does not fit",
    MISSING: "a program, library or file it needs is missing",
    NOT_FINITE: "loss or gradient is NaN or infinite; the step is named and not checkpointed",
    BAD_DATA: "the dataset or every checkpoint is malformed, damaged or another dataset's",
    NO_SPACE: "the last checkpoint found no room, also after old ones were cleared",
    HUNG: "a rank was silent for longer than HANG_TIMEOUT_SECONDS; the first to stop is named",
    GANG_LOST: "another node of the gang is gone or never came; it is named",
    LEASE_HELD: "another gang writes checkpoints to the same folder",
    NOT_EXECUTABLE: "the command can't be run",
    NOT_FOUND: "the command is not there",
    INTERRUPTED: "stopped by SIGINT",
    ABORTED: "SIGABRT: most often the collective library's watchdog",
    BUS_ERROR: "SIGBUS: most often /dev/shm is full",
    KILLED: "SIGKILL: most often out of memory",
    SEGMENTATION_FAULT: "SIGSEGV",
    STOPPED: "stopped by SIGTERM, after a checkpoint where there was time for one",
}
# What the job does: end at once, restart and count, or restart without counting.
VERDICTS: dict[int, str] = {
    DONE: "succeed",
    FAILED: "restart",
    USAGE: "end",
    MISSING: "end",
    NOT_FINITE: "end",
    BAD_DATA: "end",
    NO_SPACE: "restart",
    HUNG: "restart",
    GANG_LOST: "disruption",
    LEASE_HELD: "restart",
    NOT_EXECUTABLE: "end",
    NOT_FOUND: "end",
    INTERRUPTED: "disruption",
    ABORTED: "restart",
    BUS_ERROR: "restart",
    KILLED: "restart",
    SEGMENTATION_FAULT: "restart",
    STOPPED: "disruption",
}
# Faults of a process alone: the launcher starts the processes again before the gang is placed anew.
IN_PLACE: tuple[int, ...] = (
    FAILED,
    HUNG,
    ABORTED,
    BUS_ERROR,
    KILLED,
    SEGMENTATION_FAULT,
)

# Tag of objects that a lifecycle rule may expire.
CONDEMNED_TAG = ("trainshed-condemned", "true")

# Metrics by the word of `monitor.metrics`: name, kind, help.
METRICS: dict[str, tuple[str, str, str]] = {
    "step": (
        "training_step",
        "gauge",
        "Steps done since the run began, those before restarts included.",
    ),
    "loss": (
        "training_loss",
        "gauge",
        "Mean loss of the last step over the global batch.",
    ),
    "step_seconds": (
        "training_step_seconds",
        "gauge",
        "Duration of the last step.",
    ),
    "tokens_per_second": (
        "training_tokens_per_second",
        "gauge",
        "Tokens of the last step over its duration, all ranks together.",
    ),
    "mfu": (
        "training_mfu_ratio",
        "gauge",
        "Model FLOPs of the last step as a share of the cards' peak, 0 to 1.",
    ),
    "gradient_norm": (
        "training_gradient_norm",
        "gauge",
        "Norm of the last gradient, before clipping.",
    ),
    "learning_rate": (
        "training_learning_rate",
        "gauge",
        "Learning rate of the last step.",
    ),
    "memory_used": (
        "training_memory_used_bytes",
        "gauge",
        "Memory in use: the card's by tensors, or the process's where there is no card.",
    ),
    "memory_peak": (
        "training_memory_peak_bytes",
        "gauge",
        "Most memory in use since the process began.",
    ),
    "data_wait": (
        "training_data_wait_seconds",
        "gauge",
        "Seconds of the last step that were spent waiting for data.",
    ),
    "checkpoint_seconds": (
        "training_checkpoint_seconds",
        "gauge",
        "Seconds from the start of the last checkpoint until it was complete.",
    ),
    "checkpoint_stall": (
        "training_checkpoint_stall_seconds",
        "gauge",
        "Seconds that training stood still for the last checkpoint.",
    ),
    "checkpoint_age": (
        "training_checkpoint_age_seconds",
        "gauge",
        "Seconds since the newest complete checkpoint's step ended.",
    ),
    "checkpoint_failures": (
        "training_checkpoint_failures_total",
        "counter",
        "Checkpoints that could not be completed since the process began.",
    ),
    "restarts": (
        "training_restarts_total",
        "counter",
        "Restarts of the run: of the gang and in place.",
    ),
    "heartbeat_age": (
        "training_heartbeat_age_seconds",
        "gauge",
        "Seconds since the rank's last sign of life.",
    ),
}
