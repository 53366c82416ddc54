"""What the environment tells the launcher. Everything that does not fit is reported at once."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from workload import contract

TERMINATION_LOG = Path("/dev/termination-log")


class WrongSettings(ValueError):
    """The environment does not fit; one line for each fault."""


@dataclass(frozen=True)
class Settings:
    """One node's part of the gang. Times are seconds."""

    command: tuple[str, ...]
    nodes: int
    node_rank: int
    processes: int
    master_addr: str
    master_port: int
    launch_port: int
    run: str
    node: str
    grace: float
    stop_step: float
    restarts: int
    start_timeout: float
    hang_timeout: float | None
    heartbeats: Path | None
    metrics_port: int | None
    termination: Path | None
    # Between SIGTERM and SIGKILL of processes whose peer is dead: most hang in a collective and never hear the first.
    kill_after: float = 5.0
    beat_every: float = 2.0
    silent_after: float = 30.0

    @property
    def world_size(self) -> int:
        return self.nodes * self.processes

    @property
    def first_rank(self) -> int:
        return self.node_rank * self.processes

    @property
    def ranks(self) -> range:
        return range(self.first_rank, self.first_rank + self.processes)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class _Reader:
    """Reads numbers and collects what is wrong."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self.faults: list[str] = []

    def text(self, name: str, default: str = "") -> str:
        return self._environment.get(name) or default

    def number(self, name: str, default: float, least: float, kind: Callable[[str], float] = int) -> float:
        said = self.text(name)
        if not said:
            return default
        try:
            value = kind(said)
        except ValueError:
            self.faults.append(f"{name} is {said!r}: a number is wanted, such as {default:g}")
            return default
        if not value >= least:
            self.faults.append(f"{name} is {said}: it starts at {least:g}")
        return value

    def path(self, name: str) -> Path | None:
        said = self.text(name)
        return Path(said) if said else None


def from_environment(
    environment: Mapping[str, str], command: Sequence[str], termination: Path | None = None
) -> Settings:
    """Raises WrongSettings."""
    read = _Reader(environment)
    nodes = int(read.number(contract.NNODES, 1, 1))
    node_rank = int(read.number(contract.NODE_RANK, 0, 0))
    if node_rank >= nodes:
        read.faults.append(f"NODE_RANK is {node_rank} of {nodes} nodes: it runs from 0 to {nodes - 1}")
    master = read.text(contract.MASTER_ADDR, "127.0.0.1" if nodes == 1 else "")
    if not master:
        read.faults.append(f"MASTER_ADDR is not set: with {nodes} nodes it names the first one")
    port = int(read.number(contract.MASTER_PORT, 29500, 1)) if nodes > 1 or read.text("MASTER_PORT") else free_port()
    hang = read.number(contract.HANG_TIMEOUT_SECONDS, 0, 1, float)
    metrics = int(read.number(contract.METRICS_PORT, 0, 1))
    if termination is None and TERMINATION_LOG.exists():
        termination = TERMINATION_LOG
    settings = Settings(
        command=tuple(command),
        nodes=nodes,
        node_rank=node_rank,
        processes=int(read.number(contract.NPROC_PER_NODE, 1, 1)),
        master_addr=master,
        master_port=port,
        launch_port=int(read.number(contract.LAUNCH_PORT, 29501, 1)),
        run=read.text(contract.RUN_ID, read.text(contract.TASK_NAME, "task")),
        node=read.text(contract.NODE_NAME, socket.gethostname()),
        grace=read.number(contract.GRACE_SECONDS, 300, 1, float),
        stop_step=read.number(contract.STOP_STEP_SECONDS, 60, 0.1, float),
        restarts=int(read.number(contract.PROCESS_RESTARTS, 3, 0)),
        start_timeout=read.number(contract.START_TIMEOUT_SECONDS, 3600, 1, float),
        hang_timeout=hang or None,
        heartbeats=read.path(contract.HEARTBEAT_FOLDER),
        metrics_port=metrics or None,
        termination=termination,
    )
    if not command:
        read.faults.append("no command: write it after --, as in `python3 -m workload.launch -- python3 train.py`")
    if read.faults:
        raise WrongSettings("\n".join(read.faults))
    return settings


def process_environment(settings: Settings, base: Mapping[str, str], local_rank: int, attempt: int) -> dict[str, str]:
    """The environment of one process; torch reads these names too."""
    own = {
        contract.RANK: settings.first_rank + local_rank,
        contract.LOCAL_RANK: local_rank,
        contract.WORLD_SIZE: settings.world_size,
        contract.LOCAL_WORLD_SIZE: settings.processes,
        contract.GROUP_RANK: settings.node_rank,
        contract.NODE_RANK: settings.node_rank,
        contract.NNODES: settings.nodes,
        contract.NPROC_PER_NODE: settings.processes,
        contract.MASTER_ADDR: settings.master_addr,
        contract.MASTER_PORT: settings.master_port,
        contract.PROCESS_ATTEMPT: attempt,
        contract.TORCHELASTIC_RESTART_COUNT: attempt,
        contract.METRICS_SERVED: int(settings.metrics_port is not None and settings.heartbeats is not None),
    }
    words = {**base, **{name: str(value) for name, value in own.items()}}
    if settings.processes > 1:
        words.setdefault(contract.OMP_NUM_THREADS, "1")
    return words
