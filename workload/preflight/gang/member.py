"""A worker's side of the gate: joins the first worker and does what it asks, one test at a time."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workload.preflight.findings import MISSING, NETWORK, Finding
from workload.preflight.gang import facts
from workload.preflight.gang.torch_tests import TorchTests
from workload.preflight.gang.transfers import Failed, Mailbox, Sockets, payload, wrong_bytes
from workload.preflight.gang.wire import Closed, Connection, Late, Message, left

RETRY_SECONDS = 0.2
PORTS = 4


class LostCoordinator(Exception):
    """The first worker can't be reached or has gone silent."""

    def __init__(self, said: str, node: str | None) -> None:
        super().__init__(said)
        self.node = node


@dataclass(frozen=True)
class GateWorker:
    """Who this worker is and how its node is tested."""

    rank: int
    nodes: int
    host: str
    port: int
    node: str
    cards: int
    backend: str  # nccl, gloo, or another library's name, which nothing here can drive
    kind: str  # nvidia, neuron, none
    fabric: str  # efa, infiniband, roce, tcp
    nics: int
    transport: str  # auto, torch, sockets
    python: str
    scratch: Path
    checks: Callable[[], list[Finding]]
    join_seconds: float
    patience_seconds: float
    root: Path = field(default=Path("/"))


class GateMember:
    """One worker's run of the gate. `run` gives the coordinator's last word, a report as JSON."""

    def __init__(self, worker: GateWorker) -> None:
        self.worker = worker
        self.mailbox = Mailbox()
        self._sockets = Sockets(worker.rank, self.mailbox)
        self._torch: TorchTests | None = None
        self._held = [self._hold() for _ in range(PORTS)]
        self.coordinator: str | None = None
        self.findings: list[Finding] = []

    @staticmethod
    def _hold() -> socket.socket:
        """A port that stays ours: bound without listening, so that a process group's store can still listen on it."""
        held = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("", 0))
        return held

    def run(self) -> Message:
        connection = self._join()
        try:
            while True:
                try:
                    messages = connection.receive(self.worker.patience_seconds)
                except Late:
                    said = f"the first worker said nothing for {self.worker.patience_seconds:g} s"
                    raise LostCoordinator(said, self.coordinator) from None
                except Closed as error:
                    raise LostCoordinator(f"the first worker went away: {error}", self.coordinator) from None
                for message in messages:
                    if message["do"] == "end":
                        return dict(message["report"])
                    self._obey(connection, message)
        finally:
            connection.close()
            self.mailbox.close()
            if self._torch is not None:
                self._torch.end()
            for held in self._held:
                held.close()

    def _join(self) -> Connection:
        worker, deadline = self.worker, time.monotonic() + self.worker.join_seconds
        while True:
            try:
                sock = socket.create_connection((worker.host, worker.port), timeout=min(max(left(deadline), 0.1), 5))
            except OSError as error:
                if left(deadline) <= 0:
                    said = f"{worker.host}:{worker.port} could not be reached within {worker.join_seconds:g} s: {error}"
                    raise LostCoordinator(said, None) from None
                time.sleep(RETRY_SECONDS)
                continue
            connection = Connection(sock)
            ports = [int(held.getsockname()[1]) for held in self._held]
            hello = {"rank": worker.rank, "node": worker.node, "port": self.mailbox.port, "ports": ports}
            try:
                connection.send({"do": "hello", **hello})
            except (Closed, Late):
                connection.close()
                continue
            return connection

    def _obey(self, connection: Connection, message: Message) -> None:
        if message["do"] == "wait":
            return
        if message["do"] == "welcome":
            self.coordinator = message["node"]
            return
        try:
            answer = self._answer(message)
        except Failed as error:
            answer = {"failed": str(error)}
        except (
            Exception
        ) as error:  # a worker that can't do a test reports it instead of leaving the gang without an answer
            answer = {"failed": f"{type(error).__name__}: {error}"}
        try:
            connection.send({"id": message["id"], **answer})
        except (Closed, Late):
            return  # the next receive says what happened

    def _answer(self, message: Message) -> dict[str, Any]:
        if message["do"] == "node":
            return self._node()
        if message["do"] == "clock":
            return {"time": time.time()}
        if message["do"] == "inside":
            return self._inside(message)
        if message["do"] == "network":
            said = self._torch.network_faults(self.worker.fabric, self.worker.nics) if self._torch else []
            return {"findings": [Finding("network", NETWORK, each).as_json() for each in said]}
        if message["transport"] == "torch" and self._torch is not None:
            return self._torch.run(message, float(message["limit"]))
        return self._sockets.run(message, float(message["limit"]))

    def _node(self) -> dict[str, Any]:
        worker = self.worker
        found = worker.checks()
        versions = facts.versions(worker.root)
        found += facts.health(worker.kind, worker.root)
        torch = facts.torch_versions(worker.python) if worker.transport != "sockets" else {}
        usable = bool(torch) and (
            (worker.backend == "nccl" and bool(torch.get("NCCL")))
            or (worker.backend == "gloo" and bool(torch.get("gloo")))
        )
        if usable:
            log = worker.scratch / "collective-log" if worker.backend == "nccl" and worker.fabric != "tcp" else None
            self._torch = TorchTests(worker.python, max(worker.cards, 1), worker.backend, log)
        elif worker.transport == "torch" or (worker.kind == "nvidia" and worker.fabric != "tcp"):
            said = f"no torch with {worker.backend} under {worker.python}: the gate can't test {worker.fabric}"
            found.append(Finding("transport", MISSING, f"{said}; run it in an image of this project"))
        self.findings = found
        faults = [each.as_json() for each in found if each.code]
        return {"findings": faults, "versions": {**versions, **torch}, "transport": "torch" if usable else "sockets"}

    def _inside(self, message: Message) -> dict[str, Any]:
        """Between the cards of the node where there are several; else what its memory copies."""
        if self._torch is not None and self._torch.cards > 1:
            address = f"127.0.0.1:{self._held[-1].getsockname()[1]}"
            command = {**message, "do": "all_reduce", "index": 0, "members": 1, "address": address}
            found = self._torch.run(command, float(message["limit"]))
            share = 2 * (self._torch.cards - 1) / self._torch.cards
            return {"gb_per_s": share * message["bytes"] / found["seconds"] / 1e9, "wrong": found["wrong"]}
        size = int(message["bytes"])
        source, target, best = payload("inside", 0, size), bytearray(size), float("inf")
        deadline = time.monotonic() + float(message["limit"])
        for _ in range(int(message["repeats"])):
            started = time.monotonic()
            target[:] = source
            best = min(best, max(time.monotonic() - started, 1e-9))
            if left(deadline) <= 0:
                raise Failed(f"copying {size} bytes of memory took longer than {message['limit']:g} s")
        return {"gb_per_s": size / best / 1e9, "wrong": wrong_bytes(target, source)}
