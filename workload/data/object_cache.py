"""Files of a dataset at s3://, fetched as they are asked for and kept on a local disk.

A file comes as a stream, is hashed on the way, and has its name only once it is whole and right: a cache that a kill
left behind is never wrong. Above its size the cache drops what was not used for longest. boto3 is the image's.
"""

from __future__ import annotations

import importlib
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from workload import checksums
from workload.atomic_files import CHUNK_BYTES, open_partial, partial_path, write_all
from workload.data.dataset import Entry

TRIES = 5
PAUSE_SECONDS = 0.5


class NotFetched(OSError):
    """A file that could not be had; the text says which, from where, and why."""


def location(url: str) -> tuple[str, str]:
    """Bucket and prefix of `s3://bucket/prefix`. Raises ValueError."""
    parts = urlsplit(url)
    if parts.scheme != "s3" or not parts.netloc:
        raise ValueError(f"{url!r} is no s3://BUCKET/PREFIX")
    return parts.netloc, parts.path.strip("/")


class ObjectCache:
    """`path(name)` gives a local file with the bytes that the manifest describes. Safe to ask from several threads."""

    def __init__(self, url: str, folder: Path, entries: Iterable[Entry], most_bytes: int, client: Any = None) -> None:
        self.bucket, self.prefix = location(url)
        self.folder, self.most_bytes = folder, most_bytes
        self._entries = {entry.path: entry for entry in entries}
        self._client = client if client is not None else importlib.import_module("boto3").client("s3")
        self._lock = threading.Lock()
        self._busy: dict[str, threading.Lock] = {}
        self._kept: OrderedDict[str, int] = OrderedDict()
        folder.mkdir(parents=True, exist_ok=True)
        self._find()

    def _find(self) -> None:
        """What an earlier run left: the right size is enough, as names are only given after the checksum."""
        found = []
        for name, entry in self._entries.items():
            try:
                status = (self.folder / name).stat()
            except OSError:
                continue
            if status.st_size == entry.size:
                found.append((status.st_mtime, name, entry.size))
        for _, name, size in sorted(found):
            self._kept[name] = size

    @property
    def kept_bytes(self) -> int:
        return sum(self._kept.values())

    def path(self, name: str) -> Path:
        """Raises KeyError for a name that the manifest lacks, NotFetched otherwise."""
        entry = self._entries[name]
        with self._lock:
            lock = self._busy.setdefault(name, threading.Lock())
        with lock:
            target = self.folder / name
            with self._lock:
                if name in self._kept and target.exists():
                    self._kept.move_to_end(name)
                    return target
                self._make_room(entry.size)
            self._fetch(entry, target)
            with self._lock:
                self._kept[name] = entry.size
            return target

    def _make_room(self, size: int) -> None:
        """A file that a reader has open stays readable after its name is gone."""
        while self._kept and self.kept_bytes + size > self.most_bytes:
            oldest, _ = self._kept.popitem(last=False)
            (self.folder / oldest).unlink(missing_ok=True)

    def _fetch(self, entry: Entry, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        key = f"{self.prefix}/{entry.path}" if self.prefix else entry.path
        where, said = f"s3://{self.bucket}/{key}", ""
        for attempt in range(TRIES):
            if attempt:
                time.sleep(PAUSE_SECONDS * 2 ** (attempt - 1))
            try:
                said = self._pour(key, entry, target)
            except Exception as error:  # botocore's are made at run time, and sockets break in many ways
                said = f"{type(error).__name__}: {error}"
                if _hopeless(error):
                    break
            if not said:
                return
        partial_path(target).unlink(missing_ok=True)
        raise NotFetched(f"{where} could not be had: {said}")

    def _pour(self, key: str, entry: Entry, target: Path) -> str:
        """Why the bytes are not the manifest's; empty when they are, and the file is in place."""
        checksum, size = checksums.new(entry.kind), 0
        body = self._client.get_object(Bucket=self.bucket, Key=key)["Body"]
        descriptor = open_partial(target)
        try:
            while True:
                data = body.read(CHUNK_BYTES)
                if not data:
                    break
                checksum.update(data)
                size += len(data)
                write_all(descriptor, data)
        finally:
            os.close(descriptor)
            body.close()
        if size != entry.size:
            return f"{size} bytes came, the manifest says {entry.size}"
        if checksum.hexdigest() != entry.checksum:
            return f"{entry.kind} is {checksum.hexdigest()}, the manifest says {entry.checksum}"
        os.replace(partial_path(target), target)
        return ""


def _hopeless(error: Exception) -> bool:
    """No key, no right, no room: trying again changes nothing."""
    if isinstance(error, OSError) and error.errno in (28, 122):
        return True
    code = str(getattr(error, "response", {}).get("Error", {}).get("Code", ""))
    return code in ("NoSuchKey", "NoSuchBucket", "AccessDenied", "403", "404", "InvalidAccessKeyId")
