"""Messages between launchers: one JSON object a line over TCP."""

from __future__ import annotations

import json
import socket
from typing import Any

LONGEST = 1 << 20
Message = dict  # of JSON


class ChannelClosed(ConnectionError):
    """The other side is gone."""


class Channel:
    """One connection. `receive` never waits: it gives the messages that are there."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.settimeout(10.0)  # for sending: a peer that takes nothing for so long is gone
        self.socket = connection
        self._held = b""

    def fileno(self) -> int:
        return self.socket.fileno()

    def send(self, **message: Any) -> None:
        """Raises Closed."""
        try:
            self.socket.sendall(json.dumps(message).encode() + b"\n")
        except OSError as error:
            raise ChannelClosed(str(error)) from None

    def receive(self) -> list[dict[str, Any]]:
        """Raises Closed once the other side is gone and all it said was given."""
        try:
            data = self.socket.recv(1 << 16, socket.MSG_DONTWAIT)
        except (BlockingIOError, InterruptedError):
            return []
        except OSError as error:
            raise ChannelClosed(str(error)) from None
        if not data:
            raise ChannelClosed("the connection ended")
        *lines, self._held = (self._held + data).split(b"\n")
        if len(self._held) > LONGEST:
            raise ChannelClosed("a message without an end")
        try:
            found = [json.loads(line) for line in lines if line]
        except ValueError:
            raise ChannelClosed("not a launcher's message") from None
        return [message for message in found if isinstance(message, dict)]

    def close(self) -> None:
        self.socket.close()
