"""The gate's tests over torch.distributed: NCCL on cards, gloo without.

One child process a card runs `torch_rank`; a child that gives no answer within its limit is ended with all it started,
and a new one takes the next test.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workload.preflight import fabric_log
from workload.preflight.gang.transfers import Failed
from workload.preflight.gang.wire import able, left

PROGRAM = Path(__file__).with_name("torch_rank.py")


class Child:
    """One card's process."""

    def __init__(self, python: str, card: int, log: Path | None) -> None:
        variables = {**os.environ, "GATE_CARD": str(card), "OMP_NUM_THREADS": "1"}
        for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"):
            variables.pop(name, None)  # each test brings its own group
        if log is not None:
            variables |= {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,NET", "NCCL_DEBUG_FILE": f"{log}.%h.%p"}
        self.process = subprocess.Popen(
            [python, str(PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True, env=variables
        )
        self._buffer = b""

    def ask(self, command: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(command).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            raise Failed("the test's process ended") from None

    def answer(self, deadline: float) -> dict[str, Any]:
        assert self.process.stdout is not None
        while b"\n" not in self._buffer:
            if left(deadline) <= 0 or not able([self.process.stdout], [], left(deadline))[0]:
                raise Failed("the collective library gave no answer in time")
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            if not data:
                raise Failed(f"the test's process ended with {self.process.wait()}")
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        found = dict(json.loads(line))
        if "failed" in found:
            raise Failed(found["failed"])
        return found

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


class TorchTests:
    """The tests of one worker with `cards` processes."""

    def __init__(self, python: str, cards: int, backend: str, log: Path | None = None) -> None:
        self.python, self.cards, self.backend, self.log = python, cards, backend, log
        self._children: list[Child] = []

    def run(self, command: dict[str, Any], limit: float) -> dict[str, Any]:
        """`index` of `members` says which of the group's nodes this is; bytes are those of one card."""
        deadline = time.monotonic() + limit
        if not self._children:
            self._children = [Child(self.python, card, self.log) for card in range(self.cards)]
        index, members = int(command["index"]), int(command["members"])
        try:
            for card, child in enumerate(self._children):
                child.ask(
                    {
                        "do": command["do"],
                        "backend": self.backend,
                        "rank": index * self.cards + card,
                        "world": members * self.cards,
                        "address": command["address"],
                        "bytes": command["bytes"],
                        "repeats": command["repeats"],
                        "limit": max(left(deadline), 1),
                    }
                )
            # The library's own limit is the test's: what it says of a dead peer needs a moment to come.
            answers = [child.answer(deadline + 1) for child in self._children]
        except Failed:
            self.end()
            raise
        return {
            "seconds": max(answer["seconds"] for answer in answers),
            "wrong": sum(answer["wrong"] for answer in answers),
        }

    def network_faults(self, fabric: str, nics: int) -> list[str]:
        """What NCCL wrote about the network it took; nothing else proves that it isn't TCP."""
        if self.log is None:
            return []
        return fabric_log.faults(self._lines(), fabric, nics)[1]

    def _lines(self) -> Iterator[str]:
        assert self.log is not None
        for path in sorted(self.log.parent.glob(f"{self.log.name}.*")):
            with path.open(errors="replace") as lines:
                yield from lines

    def end(self) -> None:
        for child in self._children:
            child.end()
        self._children = []
