"""The processes of one node: started together, each in its own group, their output passed through, their end noticed.

What a process starts itself belongs to its group and goes with it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Callable

from workload import contract
from workload.launch.settings import Settings, process_environment

KEPT_LINES = 20
_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of linux/prctl.h
try:
    _libc: ctypes.CDLL | None = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
except OSError:
    _libc = None


def _end_with_the_launcher() -> None:
    """In the child: nobody would look after it once the launcher was killed."""
    if _libc is not None:
        _libc.prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)


@dataclass(frozen=True)
class Ended:
    """A process that ended, with the code as a shell tells it."""

    local_rank: int
    code: int
    lines: tuple[str, ...]


def shell_code(returncode: int) -> int:
    """`-9` of a signal is 137."""
    return 128 - returncode if returncode < 0 else returncode


class Processes:
    """One round of processes."""

    def __init__(self, settings: Settings, base: Mapping[str, str], attempt: int) -> None:
        self._lines: list[deque[str]] = [deque(maxlen=KEPT_LINES) for _ in range(settings.processes)]
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        self._readers: list[list[threading.Thread]] = [[] for _ in range(settings.processes)]
        self._failed_to_start: list[Ended] = []
        for local_rank in range(settings.processes):
            try:
                self._start(settings, process_environment(settings, base, local_rank, attempt), local_rank)
            except OSError as error:
                missing = isinstance(error, FileNotFoundError)
                code = contract.NOT_FOUND if missing else contract.NOT_EXECUTABLE
                self._failed_to_start.append(
                    Ended(local_rank, code, (f"{settings.command[0]}: {error.strerror or error}",))
                )
                break

    def _start(self, settings: Settings, environment: Mapping[str, str], local_rank: int) -> None:
        process = subprocess.Popen(
            settings.command,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=_end_with_the_launcher,  # noqa: PLW1509 (one call into libc, loaded before)
        )
        self._running[local_rank] = process
        for source, target in ((process.stdout, sys.stdout), (process.stderr, sys.stderr)):
            assert source is not None
            words = (source, target.buffer, self._lines[local_rank])
            thread = threading.Thread(target=_pass_through, args=words, daemon=True)
            thread.start()
            self._readers[local_rank].append(thread)

    @property
    def running(self) -> bool:
        return bool(self._running)

    def ended(self) -> list[Ended]:
        """Processes that ended since the last call."""
        found, self._failed_to_start = self._failed_to_start, []
        for local_rank, process in list(self._running.items()):
            code = process.poll()
            if code is None:
                continue
            del self._running[local_rank]
            self._signal(process, signal.SIGKILL)  # what it started and left behind
            for reader in self._readers[local_rank]:
                reader.join(1.0)
            found.append(Ended(local_rank, shell_code(code), tuple(self._lines[local_rank])))
        _reap_orphans({process.pid for process in self._running.values()})
        return found

    def send(self, number: int) -> None:
        """To the processes alone: they decide what their own children hear."""
        for process in self._running.values():
            if process.poll() is None:
                process.send_signal(number)

    def kill(self) -> None:
        for process in self._running.values():
            self._signal(process, signal.SIGKILL)

    @staticmethod
    def _signal(process: subprocess.Popen[bytes], number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)


def _reap_orphans(own: set[int]) -> None:
    """As the container's first process the launcher inherits orphans, which stay zombies unless somebody waits."""
    if os.getpid() != 1:
        return
    while True:
        try:
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if found is None or found.si_pid in own:
            return
        os.waitpid(found.si_pid, os.WNOHANG)


def _pass_through(source: IO[bytes], target: IO[bytes], kept: deque[str]) -> None:
    write: Callable[[bytes], int] = target.write
    with source:
        for line in source:
            kept.append(line.decode(errors="replace").rstrip("\n")[:500])
            try:
                write(line)
                target.flush()
            except (OSError, ValueError):
                continue  # nobody reads any more: the process must not stop for that
