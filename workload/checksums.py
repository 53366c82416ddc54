"""Checksums of files: SHA-256 from the standard library, CRC-32C (Castagnoli) from whichever fast module the image has.

Python has no CRC-32C of its own: without one of the known modules a table in pure Python answers, right but slow (see
`crc32c_speed`).
"""

from __future__ import annotations

import hashlib
import importlib
import os
from pathlib import Path
from typing import Callable, Protocol

from workload.atomic_files import CHUNK_BYTES


class Checksum(Protocol):
    """What hashlib's objects offer, as far as it is used here."""

    def update(self, data: bytes | memoryview, /) -> None: ...

    def hexdigest(self) -> str: ...


def _table() -> list[int]:
    polynomial = 0x82F63B78  # Castagnoli, reflected: RFC 3720 appendix B.4
    table = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = (value >> 1) ^ (polynomial if value & 1 else 0)
        table.append(value)
    return table


_TABLE = _table()


def crc32c_in_python(data: bytes | memoryview, value: int = 0) -> int:
    """CRC-32C of `data`, continued from `value`."""
    crc = value ^ 0xFFFFFFFF
    table = _TABLE
    for byte in memoryview(data).cast("B"):
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def _find_crc32c() -> tuple[Callable[[bytes, int], int], str]:
    # Each is a small compiled module that images of the clouds carry; none is required.
    for module_name, attribute in (("crc32c", "crc32c"), ("awscrt.checksums", "crc32c")):
        try:
            module = importlib.import_module(module_name)
        except ImportError:
            continue
        return getattr(module, attribute), module_name
    try:
        google = importlib.import_module("google_crc32c")
    except ImportError:
        return crc32c_in_python, "python"
    return (lambda data, value: google.extend(value, data)), "google_crc32c"


_crc32c, crc32c_module = _find_crc32c()


def crc32c_speed() -> str:
    """`compiled` or `python`: the second reads some 10 MB/s a core, too slow for a large dataset."""
    return "python" if crc32c_module == "python" else "compiled"


class Crc32c:
    """A running CRC-32C, with hashlib's manners."""

    def __init__(self) -> None:
        self._value = 0

    def update(self, data: bytes | memoryview) -> None:
        self._value = _crc32c(bytes(data), self._value)

    def hexdigest(self) -> str:
        return f"{self._value:08x}"


def _sha256() -> Checksum:
    return hashlib.sha256()


KINDS: dict[str, tuple[Callable[[], Checksum], int]] = {"sha256": (_sha256, 64), "crc32c": (Crc32c, 8)}


def new(kind: str) -> Checksum:
    return KINDS[kind][0]()


def of_file(
    path: Path, kind: str, *, from_disk: bool = False, worked: Callable[[int], None] | None = None
) -> tuple[int, str]:
    """Size and checksum of a file, read in pieces. `from_disk` reads past the page cache, which would only repeat what
    was just written; `worked` hears of each piece.
    """
    checksum, size, buffer = new(kind), 0, bytearray(CHUNK_BYTES)
    view = memoryview(buffer)
    with path.open("rb", buffering=0) as file:
        if from_disk and hasattr(os, "posix_fadvise"):
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        while True:
            count = file.readinto(buffer)
            if not count:
                return size, checksum.hexdigest()
            checksum.update(view[:count])
            size += count
            if worked is not None:
                worked(count)
