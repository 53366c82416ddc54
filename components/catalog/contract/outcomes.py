"""Signals and exit codes with their meaning."""

from __future__ import annotations

from typing import Final

from components.catalog.contract.table import ExitCode, Signal

SIGNALS: Final = (
    Signal(
        name="SIGTERM",
        receiver="launcher",
        meaning="passed to all processes of all nodes; kills what is left 5 s before GRACE_SECONDS end; ends with 143",
    ),
    Signal(
        name="SIGTERM",
        receiver="program",
        meaning="finish the step, write a checkpoint, end with 143. All ranks agree on the step, whoever was told. A "
        "rank that makes no progress for STOP_STEP_SECONDS ends with 143 without one",
    ),
    Signal(name="SIGINT", receiver="launcher", meaning="as SIGTERM; ends with 130"),
    Signal(name="SIGUSR1", receiver="program", meaning="write a checkpoint after this step and go on"),
    Signal(name="SIGUSR1", receiver="launcher", meaning="passed to every process of its node"),
)

EXIT_CODES: Final = (
    ExitCode(code=0, name="DONE", verdict="succeed", meaning="all steps are done and checkpointed"),
    ExitCode(code=1, name="FAILED", verdict="restart", in_place=True, meaning="a fault of no known kind"),
    ExitCode(code=2, name="USAGE", verdict="end", meaning="used wrongly: the command or the task does not fit"),
    ExitCode(code=3, name="MISSING", verdict="end", meaning="a program, library or file it needs is missing"),
    ExitCode(
        code=4,
        name="NOT_FINITE",
        verdict="end",
        meaning="loss or gradient is NaN or infinite; the step is named and not checkpointed",
    ),
    ExitCode(
        code=5,
        name="BAD_DATA",
        verdict="end",
        meaning="the dataset or every checkpoint is malformed, damaged or another dataset's",
    ),
    ExitCode(
        code=6,
        name="NO_SPACE",
        verdict="restart",
        meaning="the last checkpoint found no room, also after old ones were cleared",
    ),
    ExitCode(
        code=7,
        name="HUNG",
        verdict="restart",
        in_place=True,
        meaning="a rank was silent for longer than HANG_TIMEOUT_SECONDS; the first to stop is named",
    ),
    ExitCode(
        code=8,
        name="GANG_LOST",
        verdict="disruption",
        meaning="another node of the gang is gone or never came; it is named",
    ),
    ExitCode(
        code=9, name="LEASE_HELD", verdict="restart", meaning="another gang writes checkpoints to the same folder"
    ),
    ExitCode(code=126, name="NOT_EXECUTABLE", verdict="end", meaning="the command can't be run"),
    ExitCode(code=127, name="NOT_FOUND", verdict="end", meaning="the command is not there"),
    ExitCode(code=130, name="INTERRUPTED", verdict="disruption", meaning="stopped by SIGINT"),
    ExitCode(
        code=134,
        name="ABORTED",
        verdict="restart",
        in_place=True,
        meaning="SIGABRT: most often the collective library's watchdog",
    ),
    ExitCode(
        code=135, name="BUS_ERROR", verdict="restart", in_place=True, meaning="SIGBUS: most often /dev/shm is full"
    ),
    ExitCode(code=137, name="KILLED", verdict="restart", in_place=True, meaning="SIGKILL: most often out of memory"),
    ExitCode(code=139, name="SEGMENTATION_FAULT", verdict="restart", in_place=True, meaning="SIGSEGV"),
    ExitCode(
        code=143,
        name="STOPPED",
        verdict="disruption",
        meaning="stopped by SIGTERM, after a checkpoint where there was time for one",
    ),
)
