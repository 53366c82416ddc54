"""Collective tests over plain TCP sockets, for images without torch: all-reduce, broadcast, pairs.

The data are known, so every byte is checked; every wait ends at a deadline, whatever the other side does.
"""

from __future__ import annotations

import hashlib
import json
import socket
import threading
import time
from collections.abc import Sequence
from typing import Any, Union

from workload.preflight.gang.wire import able, left, listen

PIECE = 1 << 18
Address = tuple[str, int]
Bytes = Union[bytes, bytearray, memoryview]


class Failed(Exception):
    """A transfer did not end in time or lost its other side; the text names which side."""


class Mailbox:
    """Takes the connections of other workers and hands each to the test it was made for."""

    def __init__(self) -> None:
        self._listening = listen(0)
        self.port = int(self._listening.getsockname()[1])
        self._waiting: dict[tuple[str, int], socket.socket] = {}
        self._changed = threading.Condition()
        threading.Thread(target=self._serve, name="mailbox", daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._greet, args=(connection,), daemon=True).start()

    def _greet(self, connection: socket.socket) -> None:
        """The first line says which test the connection belongs to."""
        connection.settimeout(10)
        line = b""
        try:
            while not line.endswith(b"\n") and len(line) < 200:
                byte = connection.recv(1)
                if not byte:
                    raise ValueError
                line += byte
            words = json.loads(line)
            key = (str(words["test"]), int(words["from"]))
        except (OSError, ValueError, KeyError, TypeError):
            connection.close()
            return
        with self._changed:
            self._waiting[key] = connection
            self._changed.notify_all()

    def take(self, test: str, sender: int, deadline: float) -> socket.socket:
        with self._changed:
            while (test, sender) not in self._waiting:
                if left(deadline) <= 0 or not self._changed.wait(left(deadline)):
                    raise Failed(f"worker {sender} did not connect in time")
            return self._waiting.pop((test, sender))

    def close(self) -> None:
        self._listening.close()


def connect(address: Address, test: str, me: int, other: int, deadline: float) -> socket.socket:
    while True:
        try:
            connection = socket.create_connection(address, timeout=max(left(deadline), 0.01))
        except OSError as error:
            if left(deadline) <= 0.2:
                raise Failed(f"worker {other} at {address[0]}:{address[1]} can't be reached: {error}") from None
            time.sleep(0.1)
            continue
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(json.dumps({"test": test, "from": me}).encode() + b"\n")
        return connection


def payload(test: str, worker: int, size: int) -> bytes:
    """What a worker sends in a test; anybody can make it again and compare."""
    return repeated(hashlib.sha512(f"{test}/{worker}".encode()).digest(), size)


def repeated(piece: bytes, size: int) -> bytes:
    return (piece * (size // len(piece) + 1))[:size]


def mixed_payloads(test: str, workers: Sequence[int], size: int) -> bytes:
    """The exclusive or of what all of them send: of one period, as the rest repeats it."""
    mixed, period = 0, 64
    for worker in workers:
        mixed ^= int.from_bytes(payload(test, worker, period), "little")
    return repeated(mixed.to_bytes(period, "little"), size)


def wrong_bytes(found: Bytes, expected: bytes) -> int:
    if found == expected:
        return 0
    mixed = int.from_bytes(found, "little") ^ int.from_bytes(expected, "little")
    return len(expected) - mixed.to_bytes(len(expected), "little").count(0)


def exchange(
    out: socket.socket | None, data: Bytes, into: socket.socket | None, size: int, deadline: float, names: str
) -> bytearray:
    """Send `data` and receive `size` bytes at once, so that a full ring can't lock itself."""
    found, came = bytearray(size), 0
    sending, view = memoryview(data), memoryview(found)
    for sock in (out, into):
        if sock is not None:
            sock.setblocking(False)
    while sending or came < size:
        readers = [into] if came < size else []
        writers = [out] if sending else []
        readable, writable = able(readers, writers, left(deadline))
        if not readable and not writable:
            what = "nothing more came from" if came < size else "nothing more could be sent to"
            raise Failed(f"{what} {names}")
        try:
            if readable and into is not None:
                count = into.recv_into(view[came:], min(size - came, PIECE))
                if not count:
                    raise Failed(f"the connection with {names} ended")
                came += count
            if writable and out is not None:
                sending = sending[out.send(sending[:PIECE]) :]
        except BlockingIOError:
            continue
        except OSError as error:
            raise Failed(f"the connection with {names} broke: {error}") from None
    return found


class Sockets:
    """The tests of one worker; each answers with its seconds (the best of its repeats) and the values that came
    wrong.
    """

    def __init__(self, me: int, mailbox: Mailbox) -> None:
        self.me, self.mailbox = me, mailbox

    def run(self, command: dict[str, Any], limit: float) -> dict[str, Any]:
        deadline = time.monotonic() + limit
        test, size, repeats = str(command["test"]), int(command["bytes"]), int(command["repeats"])
        ring = [int(worker) for worker in command["ring"]]
        sockets: list[socket.socket] = []
        try:
            if command["do"] == "pair":
                other = ring[1] if ring[0] == self.me else ring[0]
                first = ring[0] == self.me
                address = (command["host"], int(command["port"]))
                link = (
                    connect(address, test, self.me, other, deadline)
                    if first
                    else self.mailbox.take(test, other, deadline)
                )
                sockets.append(link)
                return self._pair(link, test, other, first, size, repeats, deadline)
            place = ring.index(self.me)
            after, before = ring[(place + 1) % len(ring)], ring[place - 1]
            address = (command["host"], int(command["port"]))
            sockets.append(connect(address, test, self.me, after, deadline))
            sockets.append(self.mailbox.take(test, before, deadline))
            work = self._all_reduce if command["do"] == "all_reduce" else self._broadcast
            return work(sockets, test, ring, size, repeats, deadline)
        finally:
            for each in sockets:
                each.close()

    def _pair(
        self, link: socket.socket, test: str, other: int, first: bool, size: int, repeats: int, deadline: float
    ) -> dict[str, Any]:
        """One way, then the other; a byte back ends each, so that the sender's clock sees the last byte arrive."""
        name, best, wrong = f"worker {other}", [float("inf"), float("inf")], 0
        mine, theirs = payload(test, self.me, size), payload(test, other, size)
        for _ in range(repeats):
            for way in (0, 1):
                started = time.monotonic()
                if (way == 0) == first:
                    exchange(link, mine, None, 0, deadline, name)
                    exchange(None, b"", link, 1, deadline, name)
                    best[way] = min(best[way], time.monotonic() - started)
                else:
                    found = exchange(None, b"", link, size, deadline, name)
                    exchange(link, b"k", None, 0, deadline, name)
                    wrong += wrong_bytes(found, theirs)
        mine_sent = best[0 if first else 1]
        return {"seconds": mine_sent, "wrong": wrong}

    def _all_reduce(
        self,
        ring_sockets: Sequence[socket.socket],
        test: str,
        ring: list[int],
        size: int,
        repeats: int,
        deadline: float,
    ) -> dict[str, Any]:
        """Exclusive or of everybody's data around the ring: reduce-scatter, then all-gather, as NCCL's ring does."""
        out, into = ring_sockets
        count, place = len(ring), ring.index(self.me)
        names = f"workers {ring[place - 1]} and {ring[(place + 1) % count]}"
        piece = -(-size // count)
        whole, best, wrong = mixed_payloads(test, ring, piece * count), float("inf"), 0
        for _ in range(repeats):
            parts = bytearray(payload(test, self.me, piece * count))
            started = time.monotonic()
            for step in range(2 * (count - 1)):
                send, take = (place - step) % count, (place - step - 1) % count
                data = bytes(parts[send * piece : (send + 1) * piece])
                found = exchange(out, data, into, piece, deadline, names)
                if step < count - 1:
                    own = int.from_bytes(parts[take * piece : (take + 1) * piece], "little")
                    mixed = int.from_bytes(found, "little") ^ own
                    parts[take * piece : (take + 1) * piece] = mixed.to_bytes(piece, "little")
                else:
                    parts[take * piece : (take + 1) * piece] = found
            best = min(best, time.monotonic() - started)
            wrong += wrong_bytes(parts, whole)
        return {"seconds": best, "wrong": wrong}

    def _broadcast(
        self,
        ring_sockets: Sequence[socket.socket],
        test: str,
        ring: list[int],
        size: int,
        repeats: int,
        deadline: float,
    ) -> dict[str, Any]:
        """The first worker's data handed on along the ring; the last one hands a byte back, which ends the time."""
        out, into = ring_sockets
        place, last = ring.index(self.me), len(ring) - 1
        names = f"workers {ring[place - 1]} and {ring[(place + 1) % len(ring)]}"
        expected, best, wrong = payload(test, ring[0], size), float("inf"), 0
        for _ in range(repeats):
            started = time.monotonic()
            for begin in range(0, size, PIECE):
                count = min(PIECE, size - begin)
                if place == 0:
                    exchange(out, expected[begin : begin + count], None, 0, deadline, names)
                    continue
                found = exchange(None, b"", into, count, deadline, names)
                wrong += wrong_bytes(found, expected[begin : begin + count])
                if place != last:
                    exchange(out, found, None, 0, deadline, names)
            if place == 0:
                exchange(None, b"", into, 1, deadline, names)
            elif place == last:
                exchange(out, b"k", None, 0, deadline, names)
            best = min(best, time.monotonic() - started)
        return {"seconds": best, "wrong": wrong}
