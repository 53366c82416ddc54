"""The container's termination message: why the gang ended, for whoever looks at the pod's status."""

from __future__ import annotations

import json
from pathlib import Path

from workload.launch.verdicts import Failure

MOST_BYTES = 4096  # what the kubelet reads


def message(failure: Failure) -> bytes:
    """One line of JSON of at most 4096 bytes; the oldest lines of the program go first."""
    value = failure.as_json()
    value["reason"] = value["reason"][:1000]
    while True:
        data = json.dumps(value).encode() + b"\n"
        if len(data) <= MOST_BYTES or not value["lines"]:
            return data
        value["lines"] = value["lines"][1:]


def write(path: Path | None, failure: Failure) -> None:
    if path is None:
        return
    try:
        path.write_bytes(message(failure))
    except OSError:
        return  # the exit code still tells
