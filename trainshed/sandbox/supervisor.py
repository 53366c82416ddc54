"""The process that holds a sandbox: it starts everything, tells how far it is, and ends it all on a signal or on its
own death.

Run as `python -m trainshed.sandbox.supervisor FOLDER`; `FOLDER/stage.json` says what to hold.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from types import FrameType

from trainshed.sandbox.api import ApiError
from trainshed.sandbox.cluster import raise_curtain
from trainshed.sandbox.contents import SandboxContents
from trainshed.sandbox.plane import ControlPlane
from trainshed.sandbox.processes import ProcessFailed

STAGE = "stage.json"
PROGRESS = "progress.jsonl"
IDENTITY = "supervisor.json"


def start_ticks(pid: int) -> int | None:
    """When a process began, in the kernel's clock ticks; with its id it names a process for good, as ids are
    used again.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(stat.rsplit(")", 1)[1].split()[19])


def main(folder: Path) -> int:
    ended = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        ended.set()

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, end)
    identity = {"pid": os.getpid(), "ticks": start_ticks(os.getpid())}
    (folder / IDENTITY).write_text(json.dumps(identity))
    started = time.monotonic()

    def tell(text: str, **more: object) -> None:
        with (folder / PROGRESS).open("a") as progress:
            progress.write(json.dumps({"said": text, "seconds": round(time.monotonic() - started, 1), **more}) + "\n")

    stage = SandboxContents.read(folder / STAGE)
    try:
        tell("etcd, the API server, the controller manager and the scheduler")
        with ControlPlane.started(folder=folder / "plane", load=True) as plane:
            left_out = raise_curtain(plane, stage, tell)
            tell("ready", state="ready", kubeconfig=str(plane.kubeconfig), left_out=left_out)
            while not ended.wait(2.0):
                dead = [child.name for child in plane.processes.children if not child.running()]
                if dead:
                    tell(f"{', '.join(dead)} ended by itself", state="failed")
                    return 1
    except (ProcessFailed, ApiError, FileNotFoundError, TimeoutError, OSError) as error:
        tell(str(error), state="failed")
        return 1
    tell("ended", state="ended")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
