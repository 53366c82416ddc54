"""What every place can do, and how often a try is repeated."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Callable, Protocol, TypeVar

Found = TypeVar("Found")
TRIES = 6
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 30.0


class CopyFailed(RuntimeError):
    """The copy did not arrive whole, or the place can't be used; the text names file and cause."""


class Passing(RuntimeError):
    """A fault that another try may not meet; the text is for a person."""


class NoS3Client(RuntimeError):
    """Neither boto3 nor the aws command is here."""


class Place(Protocol):
    """Where a checkpoint's files lie."""

    def name(self, file: str) -> str: ...

    def sizes(self) -> dict[str, int]:
        """The files that are there."""
        ...

    def read(self, file: str) -> Iterator[bytes]:
        """Raises FileNotFoundError, CopyFailed."""
        ...

    def put(self, file: str, chunks: Iterator[bytes], origin: Path | None) -> None:
        """`origin` is the file on disk, where there is one: clients of S3 send large files from it in pieces."""
        ...

    def remove(self, file: str) -> None:
        """The file is not there afterwards."""
        ...

    def tag(self, file: str, key: str, value: str) -> None:
        """Mark an object; a folder on disk has no tags."""
        ...

    def settle(self) -> None: ...


def split_url(url: str) -> tuple[str, str]:
    """`s3://bucket/some/prefix` -> bucket, `some/prefix`."""
    bucket, _, prefix = url[len("s3://") :].partition("/")
    if not bucket:
        raise ValueError(f"{url}: expected s3://BUCKET/PREFIX")
    return bucket, prefix.strip("/")


def again(call: Callable[[], Found], pause: Callable[[float], None] = time.sleep) -> Found:
    """The result of `call`, tried several times with growing pauses while faults pass. Raises CopyFailed."""
    wait = FIRST_PAUSE_SECONDS
    for number in range(1, TRIES + 1):
        try:
            return call()
        except Passing as error:
            if number == TRIES:
                raise CopyFailed(f"{error} (tried {TRIES} times)") from None
            # Without the spread a thousand ranks would come back in the same second.
            pause(wait * random.uniform(0.5, 1.0))
            wait = min(2 * wait, LONGEST_PAUSE_SECONDS)
    raise AssertionError
