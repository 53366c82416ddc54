"""Files that are whole or absent: written under another name, flushed to the disk, then renamed.

The order of system calls must stay, so that a kill or a power cut at any instant does no harm: data, then file, then
name, then folder.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

PARTIAL_SUFFIX = ".partial"
CHUNK_BYTES = 1 << 20


def partial_path(path: Path) -> Path:
    """The name under which `path` is written until it is whole; the same on every run, so that a restart reuses what a
    kill left behind.
    """
    name = f".{path.name}{PARTIAL_SUFFIX}"
    if len(os.fsencode(name)) > 255:  # the longest name that ext4, XFS and Lustre take
        name = f".{hashlib.sha256(os.fsencode(path.name)).hexdigest()[:32]}{PARTIAL_SUFFIX}"
    return path.with_name(name)


def write_all(descriptor: int, data: bytes | memoryview) -> None:
    """Write every byte; one `write` may take only a part of a large buffer."""
    view = memoryview(data).cast("B")
    while view:
        view = view[os.write(descriptor, view) :]


def open_partial(path: Path, mode: int = 0o644) -> int:
    """A descriptor on the partial name of `path`, emptied, never through a symbolic link."""
    return os.open(partial_path(path), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, mode)


def sync_folder(folder: Path) -> None:
    """Make the names in `folder` survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_file(path: Path, data: bytes, *, sync: bool = True) -> None:
    """Replace `path` by `data` in one step. `sync=False` where only readers must never see a half, as with metrics and
    heartbeats.
    """
    descriptor = open_partial(path)
    try:
        write_all(descriptor, data)
        if sync:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.replace(partial_path(path), path)
    if sync:
        sync_folder(path.parent)


def write_json(path: Path, value: Any, *, sync: bool = True) -> None:
    """`write_file` of one JSON value, keys sorted."""
    write_file(path, (json.dumps(value, sort_keys=True, indent=1) + "\n").encode(), sync=sync)
