"""What a trainer calls: each step is a heartbeat and a set of figures. Nothing here waits, and nothing fails a step.

Without HEARTBEAT_FOLDER every call is still right and writes nothing, so a program runs unchanged on a laptop.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from workload import boot_clock, contract
from workload.heartbeat import Heart, node_name
from workload.telemetry import figures, server
from workload.telemetry.figures import Figures

WRITE_EVERY_SECONDS = 1.0


def memory() -> tuple[int, int]:
    """Bytes in use and the most that were: of the card where torch uses one, else of this process."""
    torch: Any = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        return torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return peak, peak
    return pages * resource.getpagesize(), peak


def _number(environment: Mapping[str, str], name: str) -> float:
    try:
        return float(environment.get(name) or 0)
    except ValueError:
        return 0.0


class Telemetry:
    """One rank's telemetry."""

    def __init__(
        self,
        *,
        rank: int = 0,
        world_size: int = 1,
        folder: Path | None = None,
        restarts: int = 0,
        flops_per_token: float = 0.0,
        peak_flops: float = 0.0,
        write_every: float = WRITE_EVERY_SECONDS,
    ) -> None:
        self.rank, self.world_size, self.folder = rank, world_size, folder
        self.flops_per_token, self.peak_flops = flops_per_token, peak_flops
        self.heart = Heart(folder, rank) if folder else None
        self._node, self._every = node_name(), write_every
        self._values: dict[str, float] = {"restarts": restarts, "checkpoint_failures": 0}
        self._since: dict[str, float] = {}
        self._last: float | None = None
        self._waited = 0.0
        self._written = 0.0
        self._step_ends: dict[int, float] = {}

    @staticmethod
    def from_environment(environment: Mapping[str, str] = os.environ) -> Telemetry:
        """By the contract's names. Starts the server of METRICS_PORT where no launcher of ours has one."""
        folder = Path(environment[contract.HEARTBEAT_FOLDER]) if environment.get(contract.HEARTBEAT_FOLDER) else None
        made = Telemetry(
            rank=int(environment.get(contract.RANK) or 0),
            world_size=int(environment.get(contract.WORLD_SIZE) or 1),
            folder=folder,
            restarts=int(_number(environment, "RESTART_ATTEMPT") + _number(environment, "PROCESS_ATTEMPT")),
            flops_per_token=_number(environment, contract.MODEL_FLOPS_PER_TOKEN),
            peak_flops=_number(environment, contract.CARD_PEAK_TFLOPS) * 1e12,
        )
        first_here = (environment.get(contract.LOCAL_RANK) or "0") == "0"
        port = int(_number(environment, contract.METRICS_PORT))
        if folder and port and first_here and environment.get(contract.METRICS_SERVED) != "1":
            try:
                server.serve(port, folder, environment=environment)
            except OSError as error:
                print(f"telemetry: port {port}: {error.strerror}; metrics are not served", file=sys.stderr, flush=True)
        return made

    def step(
        self,
        step: int,
        *,
        loss: float,
        tokens: float,
        seconds: float | None = None,
        gradient_norm: float | None = None,
        learning_rate: float | None = None,
    ) -> None:
        """A step has ended. `tokens` are those of all ranks; without `seconds` the time since the last call counts."""
        now = time.monotonic()
        if seconds is None and self._last is not None:
            seconds = now - self._last
        self._last = now
        self._step_ends = {**dict(list(self._step_ends.items())[-50:]), step: boot_clock.now()}
        used, peak = memory()
        self._values |= {
            "step": step,
            "loss": loss,
            "memory_used": used,
            "memory_peak": peak,
            "data_wait": self._waited,
        }
        self._waited = 0.0
        if seconds:
            rate = tokens / seconds
            self._values |= {"step_seconds": seconds, "tokens_per_second": rate}
            if self.flops_per_token and self.peak_flops:
                self._values["mfu"] = rate * self.flops_per_token / (self.world_size * self.peak_flops)
        for word, value in (("gradient_norm", gradient_norm), ("learning_rate", learning_rate)):
            if value is not None:
                self._values[word] = value
        if self.heart:
            self.heart.beat(step)
        self._write()

    def working(self, what: str) -> None:
        """A piece of long work between two steps is done: a sign of life."""
        if self.heart:
            self.heart.working(what)

    @contextmanager
    def waiting_for_data(self) -> Generator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            self._waited += time.monotonic() - began

    @contextmanager
    def checkpointing(self, step: int) -> Generator[None]:
        """A checkpoint that training waits for. One that raises counts as failed."""
        began = time.monotonic()
        try:
            yield
        except BaseException:
            self.checkpoint_failed()
            raise
        seconds = time.monotonic() - began
        self.checkpoint_stalled(seconds)
        self.checkpoint_done(step, seconds)

    def checkpoint_stalled(self, seconds: float) -> None:
        self._values["checkpoint_stall"] = seconds
        self._write(now=True)

    def checkpoint_done(self, step: int, seconds: float) -> None:
        """The checkpoint of `step` is complete; its age counts from the end of that step."""
        self._values["checkpoint_seconds"] = seconds
        self._since["checkpoint_age"] = self._step_ends.get(step, boot_clock.now() - seconds)
        self._write(now=True)

    def checkpoint_failed(self) -> None:
        self._values["checkpoint_failures"] += 1
        self._write(now=True)

    def _write(self, now: bool = False) -> None:
        clock = time.monotonic()
        if self.folder is None or (not now and clock - self._written < self._every):
            return
        self._written = clock
        try:
            figures.write(self.folder, Figures(self.rank, self._node, dict(self._values), dict(self._since)))
        except OSError as error:
            # Training is worth more than its figures.
            print(f"telemetry: {self.folder}: {error.strerror}", file=sys.stderr, flush=True)
