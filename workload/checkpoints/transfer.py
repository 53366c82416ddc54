"""A checkpoint taken to another path or into S3, or back from there, verified where it arrives.

It hides the place: a folder on disk and a prefix in a bucket answer the same questions. The manifest goes last, so a
copy cut short never looks complete, and a second run carries only what is not there yet.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from workload.atomic_files import CHUNK_BYTES, open_partial, partial_path, sync_folder, write_all
from workload.checkpoints import checkpoint_folder
from workload.checkpoints.checkpoint_folder import MANIFEST, NotACheckpoint, Part


class CopyFailed(RuntimeError):
    """The copy did not arrive whole; the text names the file."""


class NoS3Client(RuntimeError):
    """Neither boto3 nor the aws command is here."""


class Place(Protocol):
    """Where a checkpoint's files lie."""

    def name(self, file: str) -> str: ...

    def sizes(self) -> dict[str, int]:
        """The files that are there."""
        ...

    def read(self, file: str) -> Iterator[bytes]:
        """Raises FileNotFoundError."""
        ...

    def put(self, file: str, chunks: Iterator[bytes], origin: Path | None) -> None:
        """`origin` is the file on disk, where there is one: clients of S3 send large files from it in pieces."""
        ...

    def settle(self) -> None: ...


class Folder:
    """A folder on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def name(self, file: str) -> str:
        return str(self.path / file)

    def sizes(self) -> dict[str, int]:
        return {path.name: path.stat().st_size for path in self.path.iterdir()} if self.path.is_dir() else {}

    def read(self, file: str) -> Iterator[bytes]:
        with (self.path / file).open("rb") as source:
            while True:
                data = source.read(CHUNK_BYTES)
                if not data:
                    return
                yield data

    def put(self, file: str, chunks: Iterator[bytes], origin: Path | None) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        target = self.path / file
        descriptor = open_partial(target)
        try:
            for data in chunks:
                write_all(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(partial_path(target), target)

    def settle(self) -> None:
        sync_folder(self.path)
        sync_folder(self.path.parent)


def split_url(url: str) -> tuple[str, str]:
    """`s3://bucket/some/prefix` -> bucket, `some/prefix`."""
    bucket, _, prefix = url[len("s3://") :].partition("/")
    if not bucket:
        raise ValueError(f"{url}: expected s3://BUCKET/PREFIX")
    return bucket, prefix.strip("/")


class BotoBucket:
    """A prefix in a bucket, through boto3."""

    def __init__(self, url: str, boto3: Any, endpoint_url: str | None) -> None:
        self.bucket, self.prefix = split_url(url)
        self._client = boto3.client("s3", endpoint_url=endpoint_url)

    def _key(self, file: str) -> str:
        return f"{self.prefix}/{file}" if self.prefix else file

    def name(self, file: str) -> str:
        return f"s3://{self.bucket}/{self._key(file)}"

    def sizes(self) -> dict[str, int]:
        below = self._key("")
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=below)
        return {entry["Key"][len(below) :]: entry["Size"] for page in pages for entry in page.get("Contents", [])}

    def read(self, file: str) -> Iterator[bytes]:
        try:
            body = self._client.get_object(Bucket=self.bucket, Key=self._key(file))["Body"]
        except self._client.exceptions.NoSuchKey:
            raise FileNotFoundError(self.name(file)) from None
        yield from body.iter_chunks(CHUNK_BYTES)

    def put(self, file: str, chunks: Iterator[bytes], origin: Path | None) -> None:
        if origin is not None:
            self._client.upload_file(str(origin), self.bucket, self._key(file))
        else:
            self._client.put_object(Bucket=self.bucket, Key=self._key(file), Body=b"".join(chunks))

    def settle(self) -> None:
        """S3 shows an object whole, at once, or not at all."""


class CommandBucket:
    """A prefix in a bucket, through the aws command."""

    def __init__(self, url: str, command: str, endpoint_url: str | None) -> None:
        self.bucket, self.prefix = split_url(url)
        self._more = ["--endpoint-url", endpoint_url] if endpoint_url else []
        self._aws = command
        self._copy = [command, "s3", "cp", "--only-show-errors", *self._more]

    def name(self, file: str) -> str:
        return f"s3://{self.bucket}/{self.prefix}/{file}" if self.prefix else f"s3://{self.bucket}/{file}"

    def sizes(self) -> dict[str, int]:
        below = f"{self.prefix}/" if self.prefix else ""
        words = [
            "s3api",
            "list-objects-v2",
            "--bucket",
            self.bucket,
            "--prefix",
            below,
            "--output",
            "json",
            *self._more,
        ]
        done = subprocess.run([self._aws, *words], capture_output=True, text=True, check=False)
        if done.returncode:
            raise CopyFailed(f"{self.name('')}: {done.stderr.strip()}")
        # An empty listing is printed as nothing at all.
        found = json.loads(done.stdout or "{}").get("Contents") or []
        return {entry["Key"][len(below) :]: entry["Size"] for entry in found}

    def read(self, file: str) -> Iterator[bytes]:
        with subprocess.Popen(
            [*self._copy, self.name(file), "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as running:
            assert running.stdout is not None and running.stderr is not None
            while True:
                data = running.stdout.read(CHUNK_BYTES)
                if not data:
                    break
                yield data
            said = running.stderr.read().decode(errors="replace").strip()
        if running.returncode:
            if "404" in said or "NoSuchKey" in said:
                raise FileNotFoundError(self.name(file))
            raise CopyFailed(f"{self.name(file)}: {said}")

    def put(self, file: str, chunks: Iterator[bytes], origin: Path | None) -> None:
        source = "-" if origin is None else str(origin)
        data = b"".join(chunks) if origin is None else None
        done = subprocess.run([*self._copy, source, self.name(file)], input=data, capture_output=True, check=False)
        if done.returncode:
            raise CopyFailed(f"{self.name(file)}: {done.stderr.decode(errors='replace').strip()}")

    def settle(self) -> None:
        """S3 shows an object whole, at once, or not at all."""


def place(where: str, endpoint_url: str | None = None, client: str = "any") -> Place:
    """A path or an `s3://` URL as a place. `client`: any | boto3 | aws. Raises NoS3Client."""
    if not where.startswith("s3://"):
        return Folder(Path(where))
    if client in ("any", "boto3"):
        try:
            return BotoBucket(where, importlib.import_module("boto3"), endpoint_url)
        except ImportError:
            if client == "boto3":
                raise NoS3Client("boto3 is not installed") from None
    command = shutil.which("aws")
    if command is None:
        raise NoS3Client(
            "S3 needs boto3 or the aws command, and neither is here: `pip install boto3`, or install the AWS CLI"
        )
    return CommandBucket(where, command, endpoint_url)


def fault(at: Place, part: Part) -> str | None:
    """What is wrong with a part at a place, every byte read."""
    digest, size = hashlib.sha256(), 0
    try:
        for data in at.read(part.name):
            digest.update(data)
            size += len(data)
    except FileNotFoundError:
        return f"{at.name(part.name)}: is missing"
    if size != part.size:
        return f"{at.name(part.name)}: {size} bytes, the manifest says {part.size}"
    if digest.hexdigest() != part.sha256:
        return f"{at.name(part.name)}: sha256 is {digest.hexdigest()}, the manifest says {part.sha256}"
    return None


def copy(source: Place, target: Place) -> tuple[int, int]:
    """Carry a checkpoint; gives parts carried and parts that were there already. Raises NotACheckpoint, CopyFailed."""
    try:
        manifest_bytes = b"".join(source.read(MANIFEST))
    except FileNotFoundError:
        raise NotACheckpoint(f"{source.name(MANIFEST)} is missing: the checkpoint is not complete") from None
    manifest = checkpoint_folder.parse_manifest(manifest_bytes, source.name(MANIFEST))
    there = target.sizes()
    carried = kept = 0
    for part in manifest.parts:
        if there.get(part.name) == part.size and fault(target, part) is None:
            kept += 1
            continue
        try:
            target.put(
                part.name, source.read(part.name), source.path / part.name if isinstance(source, Folder) else None
            )
        except FileNotFoundError as error:
            raise CopyFailed(f"not copied: {error.filename or error}: is missing") from None
        wrong = fault(target, part)
        if wrong:
            # Terabytes are read twice, not three times: the source is looked at again only to say whose fault it is.
            at_source = fault(source, part)
            raise CopyFailed(f"not copied: {at_source}" if at_source else f"arrived damaged: {wrong}")
        carried += 1
    target.settle()
    target.put(MANIFEST, iter([manifest_bytes]), None)
    target.settle()
    if b"".join(target.read(MANIFEST)) != manifest_bytes:
        raise CopyFailed(f"arrived damaged: {target.name(MANIFEST)}")
    return carried, kept
