"""A prefix in a bucket, through the aws command, for images that have it and no boto3."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

from workload.atomic_files import CHUNK_BYTES
from workload.checkpoints.places.place import CopyFailed, Passing, again, split_url

# What the command says when another try may do better.
_PASSING = (
    "Could not connect",
    "Connection was closed",
    "timed out",
    "SlowDown",
    "(50",
    "reset by peer",
    "IncompleteRead",
)


def _fault(where: str, said: str) -> Exception:
    if "404" in said or "NoSuchKey" in said:
        return FileNotFoundError(where)
    if any(words in said for words in _PASSING):
        return Passing(f"{where}: {said}")
    return CopyFailed(f"{where}: {said}")


class CommandBucket:
    """A prefix in a bucket."""

    def __init__(self, url: str, command: str, endpoint_url: str | None) -> None:
        self.bucket, self.prefix = split_url(url)
        self._more = ["--endpoint-url", endpoint_url] if endpoint_url else []
        self._aws = command
        self._copy = [command, "s3", "cp", "--only-show-errors", *self._more]

    def _key(self, file: str) -> str:
        return f"{self.prefix}/{file}" if self.prefix else file

    def name(self, file: str) -> str:
        return f"s3://{self.bucket}/{self._key(file)}"

    def _api(self, file: str, *words: str) -> str:
        def call() -> str:
            command = [self._aws, "s3api", words[0], "--bucket", self.bucket, *words[1:], *self._more]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise _fault(self.name(file), done.stderr.strip())
            return done.stdout

        return again(call)

    def sizes(self) -> dict[str, int]:
        below = self._key("")
        said = self._api("", "list-objects-v2", "--prefix", below, "--output", "json")
        # An empty listing is printed as nothing at all.
        found = json.loads(said or "{}").get("Contents") or []
        return {entry["Key"][len(below) :]: entry["Size"] for entry in found}

    def read(self, file: str) -> Iterator[bytes]:
        """The command can't resume: a body cut short is an error, and the caller's next try starts over."""
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
            error = _fault(self.name(file), said)
            raise error if isinstance(error, FileNotFoundError) else CopyFailed(str(error))

    def put(self, file: str, chunks: Iterator[bytes], origin: Path | None) -> None:
        source = "-" if origin is None else str(origin)
        data = b"".join(chunks) if origin is None else None
        if origin is not None and not origin.is_file():
            raise FileNotFoundError(str(origin))

        def call() -> None:
            done = subprocess.run([*self._copy, source, self.name(file)], input=data, capture_output=True, check=False)
            if done.returncode:
                raise _fault(self.name(file), done.stderr.decode(errors="replace").strip())

        again(call)

    def remove(self, file: str) -> None:
        self._api(file, "delete-object", "--key", self._key(file))

    def tag(self, file: str, key: str, value: str) -> None:
        tags = json.dumps({"TagSet": [{"Key": key, "Value": value}]})
        self._api(file, "put-object-tagging", "--key", self._key(file), "--tagging", tags)

    def settle(self) -> None:
        """S3 shows an object whole, at once, or not at all."""
