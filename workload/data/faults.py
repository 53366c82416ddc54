"""What can go wrong with one file of a dataset, and the exit code a whole run ends with.

The system's error numbers are reduced to what a supervisor needs to know: whether to call someone, to free space, or to
try again.
"""

from __future__ import annotations

import errno
import threading
from dataclasses import dataclass

DONE, FAILED, USAGE, MISSING_TOOL, BAD_DATA, NO_SPACE, LOST_SOURCE = 0, 1, 2, 3, 4, 5, 6
EXIT_CODES = {
    DONE: "everything is in place and verified",
    FAILED: "another fault, named on standard error",
    USAGE: "used wrongly, or the manifest can't be opened",
    MISSING_TOOL: "a tool it needs is missing",
    BAD_DATA: (
        "bad data: a size or checksum is wrong, or the manifest is malformed; every file is named; trying again won't"
        " help"
    ),
    NO_SPACE: "no space left at the destination",
    LOST_SOURCE: "the source is gone or stopped answering; a later run copies only the rest",
}
# No space ends the run at once; bad data needs a person, so it outranks a source that a later run may find again.
WORST_FIRST = (NO_SPACE, BAD_DATA, FAILED, LOST_SOURCE)

_NO_SPACE = {errno.ENOSPC, errno.EDQUOT}
_LOST = {
    errno.ENOENT,
    errno.EIO,
    errno.ESTALE,
    errno.ENOTCONN,
    errno.ETIMEDOUT,
    errno.ESHUTDOWN,
    errno.EHOSTDOWN,
    errno.ENODATA,
    errno.ENODEV,
}


@dataclass(frozen=True)
class Fault:
    """One file's fault, in words."""

    code: int
    path: str
    said: str

    def __str__(self) -> str:
        return f"{self.path}: {self.said}"


def of_source(path: str, error: OSError) -> Fault:
    """A fault while reading."""
    code = LOST_SOURCE if error.errno in _LOST else FAILED
    return Fault(code, path, f"the source can't be read: {error.strerror or error}")


def of_destination(path: str, error: OSError) -> Fault:
    """A fault while writing."""
    if error.errno in _NO_SPACE:
        return Fault(NO_SPACE, path, f"no space left at the destination: {error.strerror}")
    return Fault(FAILED, path, f"can't be written: {error.strerror or error}")


class Faults:
    """Every fault of a run, gathered from its threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._faults: list[Fault] = []

    def add(self, fault: Fault) -> None:
        with self._lock:
            self._faults.append(fault)

    def all(self) -> list[Fault]:
        """Worst first, then by path."""
        return sorted(self._faults, key=lambda fault: (WORST_FIRST.index(fault.code), fault.path))

    @property
    def out_of_space(self) -> bool:
        return any(fault.code == NO_SPACE for fault in self._faults)

    @property
    def exit_code(self) -> int:
        return self.all()[0].code if self._faults else DONE
