"""Messages between the workers' gates: one JSON object a line over TCP, with a deadline on every wait."""

from __future__ import annotations

import json
import select
import socket
import time
from collections.abc import Sequence
from typing import Any

Message = dict[str, Any]
LONGEST_BYTES = 4 << 20  # a line without an end is not ours


class Closed(ConnectionError):
    """The other side closed the connection, or sent what is no message."""


class Late(TimeoutError):
    """Nothing whole came in time."""


def able(reading: Sequence[Any], writing: Sequence[Any], seconds: float) -> tuple[list[Any], list[Any]]:
    """Which of some sockets can be read from or written to, within `seconds`. `poll`, as `select` ends at file number
    1,024 and a gang may have more workers.
    """
    poll = select.poll()
    masks: dict[int, int] = {}
    for each in reading:
        masks[each.fileno()] = masks.get(each.fileno(), 0) | select.POLLIN
    for each in writing:
        masks[each.fileno()] = masks.get(each.fileno(), 0) | select.POLLOUT
    for number, mask in masks.items():
        poll.register(number, mask)
    events = dict(poll.poll(max(seconds, 0) * 1000))
    # An error or a hang-up is found by the read or the write that follows.
    odd = select.POLLERR | select.POLLHUP | select.POLLNVAL
    return (
        [each for each in reading if events.get(each.fileno(), 0) & (select.POLLIN | odd)],
        [each for each in writing if events.get(each.fileno(), 0) & (select.POLLOUT | odd)],
    )


def left(deadline: float) -> float:
    return deadline - time.monotonic()


class Connection:
    """One TCP connection; `fileno` lets `select` wait on many of them."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self._buffer = b""
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def fileno(self) -> int:
        return self.sock.fileno()

    def send(self, message: Message, limit: float = 5.0) -> None:
        """Raises Closed or Late."""
        data = memoryview(json.dumps(message).encode() + b"\n")
        deadline = time.monotonic() + limit
        while data:
            try:
                data = data[self.sock.send(data) :]
            except BlockingIOError:
                if left(deadline) <= 0 or not able([], [self], left(deadline))[1]:
                    raise Late(f"could not be sent within {limit:g} s") from None
            except OSError as error:
                raise Closed(str(error)) from None

    def ready(self) -> list[Message]:
        """The whole messages that have come so far, without waiting. Raises Closed."""
        ended = False
        while True:
            try:
                data = self.sock.recv(1 << 16)
            except BlockingIOError:
                break
            except OSError as error:
                raise Closed(str(error)) from None
            if not data:
                ended = True
                break
            self._buffer += data
            if len(self._buffer) > LONGEST_BYTES:
                raise Closed("a message without an end")
        *lines, self._buffer = self._buffer.split(b"\n")
        try:
            messages = [json.loads(line) for line in lines]
        except ValueError:
            raise Closed("what came is no message") from None
        if ended and not messages:
            raise Closed("the connection was closed")
        return messages

    def receive(self, limit: float) -> list[Message]:
        """Wait for at least one message. Raises Closed, or Late after `limit` seconds."""
        deadline = time.monotonic() + limit
        while True:
            messages = self.ready()
            if messages:
                return messages
            if left(deadline) <= 0:
                raise Late(f"nothing came within {limit:g} s")
            able([self], [], left(deadline))

    def close(self) -> None:
        self.sock.close()


def listen(port: int, backlog: int = 4096) -> socket.socket:
    """A listening socket on every address, IPv6 too where there is IPv6; port 0 takes a free one."""
    if socket.has_dualstack_ipv6():
        return socket.create_server(("", port), family=socket.AF_INET6, backlog=backlog, dualstack_ipv6=True)
    return socket.create_server(("", port), backlog=backlog)
