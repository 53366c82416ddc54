"""Child processes that can't outlive their starter, and ports that no second run can be given.

A child has a process group of its own, which is ended whole; a port stays reserved until its user has bound it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


class ProcessFailed(RuntimeError):
    """A child ended or did not get ready; the message ends with the last lines of its log."""


def die_with_parent() -> None:
    """For a child between fork and exec: end when the starter ends."""
    # The kernel ends the child when its starter dies, however that happens. It watches the starting thread, so starters
    # start children from a thread that lives as long as they do.
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    # What runs in a shell's background has SIGINT ignored, and a child that inherits that can't be asked to end with
    # it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Ports:
    """Ports of 127.0.0.1 asked from the system and held until the end.

    Each port stays bound, without listening, by a socket of ours: with SO_REUSEADDR on both sides the child can listen
    on it all the same, while the kernel gives it to nobody else who asks for a free port. So two runs at once never
    meet.
    """

    def __init__(self) -> None:
        self._sockets: list[socket.socket] = []

    def take(self) -> int:
        held = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        self._sockets.append(held)
        return int(held.getsockname()[1])

    def close(self) -> None:
        for held in self._sockets:
            held.close()
        self._sockets.clear()


@dataclass(kw_only=True)
class Child:
    """One process in a group of its own, with its output in a log file."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    def running(self) -> bool:
        return self.process.poll() is None

    def tail(self, lines: int = 30) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def stop(self, patience: float = 5.0) -> None:
        """Ask the whole group to end, then end it."""
        for sign in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, sign)
            try:
                self.process.wait(timeout=patience)
            except subprocess.TimeoutExpired:
                continue
            break
        # The leader is gone; whatever it left behind in its group goes too.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)


@dataclass(kw_only=True)
class Processes:
    """The children of one run, ended in the reverse of their starting order on leaving the `with` block.

    `environment` is what all of them get beside this process's own variables, which win.
    """

    logs: Path
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    ports: Ports = field(default_factory=Ports)
    children: list[Child] = field(default_factory=list[Child])

    def start(self, name: str, command: Sequence[str | Path], *, environment: Mapping[str, str] | None = None) -> Child:
        self.logs.mkdir(parents=True, exist_ok=True)
        log = self.logs / f"{name}.log"
        with log.open("ab") as sink:
            process = subprocess.Popen(
                [str(word) for word in command],
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                env={**self.environment, **os.environ, **(environment or {})},
                start_new_session=True,
                preexec_fn=die_with_parent,  # noqa: PLW1509 - it only makes one system call, no lock is taken in the child
            )
        child = Child(name=name, process=process, log=log)
        self.children.append(child)
        return child

    def child(self, name: str) -> Child:
        return next(child for child in self.children if child.name == name)

    def wait_until(
        self,
        ready: Callable[[], bool],
        *,
        what: str,
        child: Child | None = None,
        seconds: float = 240.0,
        pause: float = 0.1,
    ) -> None:
        """Wait for a state, and fail at once when the child that should bring it about has ended."""
        limit = time.monotonic() + seconds
        while not ready():
            if child is not None and not child.running():
                raise ProcessFailed(
                    f"{child.name} ended with exit code {child.process.returncode} before {what}:\n{child.tail()}"
                )
            if time.monotonic() > limit:
                raise ProcessFailed(f"no {what} within {seconds:.0f} s" + (f":\n{child.tail()}" if child else ""))
            time.sleep(pause)

    def stop(self) -> None:
        while self.children:
            self.children.pop().stop()
        self.ports.close()

    def __enter__(self) -> Processes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
