"""Files and folders that job, launcher, program and probes share."""

from __future__ import annotations

from typing import Final

from components.catalog.contract.table import File, Tag

FILES: Final = (
    File(
        name="heartbeat",
        path="$HEARTBEAT_FOLDER/rank-RRRRRR.json",
        written_by="each rank, at most every 5 s",
        read_by="launcher, `workload.heartbeat check` (liveness probe)",
        meaning="rank, step, work at hand, host, time, and seconds of the boot clock, which no change of date moves",
    ),
    File(
        name="metrics",
        path="$HEARTBEAT_FOLDER/metrics-RRRRRR.json",
        written_by="each rank, at most every second",
        read_by="the server on METRICS_PORT: the launcher, or local rank 0 under another launcher",
        meaning="the rank's last figures",
    ),
    File(
        name="termination message",
        path="/dev/termination-log",
        written_by="launcher",
        read_by="kubelet: the container's status",
        meaning="one line of JSON: code, rank, node, local_rank, reason, last lines of the rank; at most 4096 bytes",
    ),
    File(
        name="checkpoint",
        path="$CHECKPOINT_PATH/step-SSSSSSSSSSSS-ATTEMPT/",
        written_by="all ranks",
        read_by="all ranks, `workload.checkpoints.checkpoint`",
        meaning="parts, .metadata of torch.distributed.checkpoint, a record for each rank; complete once manifest.json "
        "is there, which is written last",
    ),
    File(
        name="lease",
        path="$CHECKPOINT_PATH/lease.json",
        written_by="rank 0 of the gang that may write",
        read_by="rank 0 of every gang",
        meaning="who writes checkpoints here; a second gang waits and then refuses",
    ),
    File(
        name="copy lease",
        path="$CHECKPOINT_PATH/step-SSSSSSSSSSSS-ATTEMPT/.copying-ID",
        written_by="a copy from or to this folder, every 10 s",
        read_by="every prune and resume",
        meaning="a folder with one younger than 60 s is not deleted; ages are compared by the file system's own clock",
    ),
)

CONDEMNED_TAG: Final = Tag(
    key="trainshed-condemned",
    value="true",
    meaning="on every object of a checkpoint that pruning gave up: a lifecycle rule may expire it. The job may tag "
    "(s3:PutObjectTagging) and never delete",
)
