"""Who takes part in the gate: joining, asking many workers at once, and finding who has gone or doesn't answer."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workload.preflight.gang.wire import Closed, Connection, Late, Message, able, left, listen


@dataclass
class Present:
    """A worker that has joined."""

    rank: int
    node: str
    host: str
    port: int
    ports: list[int]
    connection: Connection


@dataclass
class Answers:
    """Replies by rank; `silent` says of the others why there is none."""

    replies: dict[int, Message] = field(default_factory=dict)
    silent: dict[int, str] = field(default_factory=dict)


class Attendance:
    """The first worker's connections to all."""

    def __init__(self, port: int, nodes: int, node: str, wait_every: float) -> None:
        self._listening = listen(port)
        self._listening.setblocking(False)
        self.nodes, self.node, self.wait_every = nodes, node, wait_every
        self.present: dict[int, Present] = {}
        self._number = 0

    def gather(self, limit: float) -> dict[int, str]:
        """Take in workers until all are there; of the rest, why they are not."""
        deadline = time.monotonic() + limit
        unknown: list[tuple[Connection, str]] = []
        reported = time.monotonic()
        while len(self.present) < self.nodes and left(deadline) > 0:
            waiting: list[Any] = [self._listening, *(connection for connection, _ in unknown)]
            found, _ = able(waiting, [], min(left(deadline), self.wait_every))
            for each in found:
                if each is self._listening:
                    try:
                        sock, address = self._listening.accept()
                    except OSError:
                        continue
                    unknown.append((Connection(sock), plain(address[0])))
            unknown = [(connection, host) for connection, host in unknown if not self._greeted(connection, host, found)]
            if time.monotonic() - reported >= self.wait_every:
                reported = time.monotonic()
                self._tell_all({"do": "wait"})
        for connection, _ in unknown:
            connection.close()
        return {rank: f"did not come within {limit:g} s" for rank in range(self.nodes) if rank not in self.present}

    def _greeted(self, connection: Connection, host: str, found: list[Any]) -> bool:
        """True when the connection needs no more waiting: its worker is in, or it was none."""
        if connection not in found:
            return False
        try:
            messages = connection.ready()
            if not messages:
                return False
            hello = messages[0]
            rank, node = int(hello["rank"]), str(hello["node"])
            joined = Present(rank, node, host, int(hello["port"]), [int(each) for each in hello["ports"]], connection)
            if not 0 <= rank < self.nodes:
                raise ValueError(rank)
            connection.send({"do": "welcome", "node": self.node})
        except (Closed, Late, KeyError, TypeError, ValueError):
            connection.close()
            return True
        earlier = self.present.pop(rank, None)
        if earlier is not None:  # the worker's container started again
            earlier.connection.close()
        self.present[rank] = joined
        return True

    def ask(self, commands: Mapping[int, Message], limit: float, grace: float) -> Answers:
        """Send each its command and wait for the answers, no longer than `limit` and the `grace` that an answer may be
        late by.
        """
        self._number += 1
        number, answers = self._number, Answers()
        deadline = time.monotonic() + limit + grace
        for rank, command in commands.items():
            try:
                self.present[rank].connection.send({"id": number, "limit": limit, **command})
            except (Closed, Late) as error:
                answers.silent[rank] = f"its gate ended: {error}" if isinstance(error, Closed) else str(error)
        reported = time.monotonic()
        while True:
            open_ranks = [rank for rank in commands if rank not in answers.replies and rank not in answers.silent]
            if not open_ranks:
                return answers
            if left(deadline) <= 0:
                for rank in open_ranks:
                    answers.silent[rank] = f"gave no answer within {limit + grace:g} s"
                return answers
            by_connection = {self.present[rank].connection: rank for rank in open_ranks}
            found, _ = able(list(by_connection), [], min(left(deadline), self.wait_every))
            for connection in found:
                self._hear(by_connection[connection], connection, number, answers)
            if time.monotonic() - reported >= self.wait_every:
                reported = time.monotonic()
                self._tell_all({"do": "wait"})

    def _hear(self, rank: int, connection: Connection, number: int, answers: Answers) -> None:
        try:
            for message in connection.ready():
                # An answer to an earlier question came too late to count.
                if message.get("id") == number:
                    answers.replies[rank] = message
        except Closed as error:
            answers.silent[rank] = f"its gate ended: {error}"

    def _tell_all(self, message: Message) -> None:
        for worker in list(self.present.values()):
            try:
                worker.connection.send(message, limit=0.2)
            except (Closed, Late):
                continue  # whoever is gone shows at the next question

    def end(self, report: Message) -> None:
        self._tell_all({"do": "end", "report": report})

    def close(self) -> None:
        self._listening.close()
        for worker in self.present.values():
            worker.connection.close()


def plain(host: str) -> str:
    """`::ffff:10.0.0.1`, an IPv4 address on an IPv6 socket, is `10.0.0.1`."""
    return host[7:] if host.startswith("::ffff:") and "." in host else host


def address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
