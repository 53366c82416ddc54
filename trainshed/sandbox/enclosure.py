"""Run a program that insists on listening on every address in a network of its own.

The program sees a loopback interface and nothing else. Connections that it makes to the named ports of 127.0.0.1 are
carried to the same ports out here; what it listens on is reachable from nowhere.

Run as `python -m trainshed.sandbox.enclosure PORT[,PORT...] -- PROGRAM ARGUMENT...`.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import socket
import struct
import sys
import threading
from contextlib import suppress

from trainshed.sandbox.processes import die_with_parent

_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 0x1
_LIBC = ctypes.CDLL(None, use_errno=True)
_CHUNK = 1 << 16


def enter() -> None:
    """Leave this machine's network for an empty one, and switch its loopback on."""
    flags = _CLONE_NEWNET if os.geteuid() == 0 else _CLONE_NEWUSER | _CLONE_NEWNET
    if _LIBC.unshare(flags) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"no network namespace to be had: {os.strerror(number)}")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        request = struct.pack("16sH14s", b"lo", 0, b"")
        _, current, _ = struct.unpack("16sH14s", fcntl.ioctl(handle, _SIOCGIFFLAGS, request))
        fcntl.ioctl(handle, _SIOCSIFFLAGS, struct.pack("16sH14s", b"lo", current | _IFF_UP, b""))


def inside(ports: list[int], channel: socket.socket, command: list[str]) -> None:
    """In the child: hand the inner listeners out through the channel, then become the program."""
    die_with_parent()
    enter()
    listeners: list[socket.socket] = []
    for port in ports:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(128)
        listeners.append(listener)
    socket.send_fds(channel, [b"ready"], [each.fileno() for each in listeners])
    channel.close()
    os.execvp(command[0], command)


def carry(source: socket.socket, target: socket.socket) -> None:
    """One direction of a connection, until its end."""
    with suppress(OSError):
        while chunk := source.recv(_CHUNK):
            target.sendall(chunk)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def serve(listener: socket.socket, port: int) -> None:
    """Carry every connection to the inner listener on to the port out here."""
    while True:
        near, _ = listener.accept()
        try:
            far = socket.create_connection(("127.0.0.1", port))
        except OSError:
            near.close()
            continue
        for one, other in ((near, far), (far, near)):
            threading.Thread(target=carry, args=(one, other), daemon=True).start()


def main(words: list[str]) -> int:
    ports = [int(each) for each in words[0].split(",")]
    command = words[words.index("--") + 1 :]
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        try:
            ours.close()
            inside(ports, theirs, command)
        except OSError as error:
            print(error, file=sys.stderr, flush=True)
        os._exit(1)
    theirs.close()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda sign, _: os.kill(pid, sign))
    _, descriptors, _, _ = socket.recv_fds(ours, 16, len(ports))
    for descriptor, port in zip(descriptors, ports, strict=False):
        threading.Thread(target=serve, args=(socket.socket(fileno=descriptor), port), daemon=True).start()
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
