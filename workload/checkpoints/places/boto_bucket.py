"""A prefix in a bucket, through boto3: large files in parallel pieces, bodies cut short continued, faults in words.

Where the AWS Common Runtime (awscrt) is installed boto3 uses it for transfers by itself.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable, TypeVar

from workload.atomic_files import CHUNK_BYTES
from workload.checkpoints.places.place import CopyFailed, Passing, again, split_url

Found = TypeVar("Found")
PIECE_BYTES = 64 << 20
PIECES_AT_ONCE = 8
# What a person can do about a refusal, by S3's own error codes.
_REMEDIES = {
    "AccessDenied": "access denied: the role needs s3:GetObject, s3:PutObject, s3:ListBucket (and s3:PutObjectTagging"
    " to prune)",
    "NoSuchBucket": "there is no such bucket",
    "InvalidAccessKeyId": "the access key is unknown",
    "SignatureDoesNotMatch": "the secret key is wrong",
    "ExpiredToken": "the credentials have expired",
    "PermanentRedirect": "the bucket is in another region: set AWS_DEFAULT_REGION",
    "InvalidObjectState": "the object is archived: restore it first",
}


class BotoBucket:
    """A prefix in a bucket."""

    def __init__(self, url: str, boto3: Any, endpoint_url: str | None) -> None:
        self.bucket, self.prefix = split_url(url)
        self._errors = importlib.import_module("botocore.exceptions")
        config = importlib.import_module("botocore.config").Config(
            retries={"max_attempts": 3, "mode": "standard"},
            max_pool_connections=64,
            connect_timeout=10,
            read_timeout=60,
        )
        try:
            self._client = boto3.client("s3", endpoint_url=endpoint_url, config=config)
        except (self._errors.BotoCoreError, ValueError) as error:
            raise CopyFailed(f"{url}: {error}") from None
        transfer = importlib.import_module("boto3.s3.transfer")
        self._transfer = transfer.TransferConfig(
            multipart_threshold=PIECE_BYTES, multipart_chunksize=PIECE_BYTES, max_concurrency=PIECES_AT_ONCE
        )
        self._upload_failed = importlib.import_module("boto3.exceptions").S3UploadFailedError

    def _key(self, file: str) -> str:
        return f"{self.prefix}/{file}" if self.prefix else file

    def name(self, file: str) -> str:
        return f"s3://{self.bucket}/{self._key(file)}"

    def _reported(self, file: str, call: Callable[[], Found]) -> Found:
        """A call's result; its faults as FileNotFoundError, Passing or CopyFailed."""
        where = self.name(file)
        try:
            return call()
        except self._errors.ClientError as error:
            code = str(error.response.get("Error", {}).get("Code", ""))
            status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
            if code in ("NoSuchKey", "404"):
                raise FileNotFoundError(where) from None
            if status >= 500 or code in ("SlowDown", "RequestTimeout", "Throttling"):
                raise Passing(f"{where}: {code}") from None
            raise CopyFailed(f"{where}: {_REMEDIES.get(code) or error}") from None
        except (self._errors.NoCredentialsError, self._errors.PartialCredentialsError) as error:
            raise CopyFailed(f"{where}: no credentials: {error}") from None
        except self._upload_failed as error:
            text = str(error)
            known = next((said for code, said in _REMEDIES.items() if f"({code})" in text), None)
            if known:
                raise CopyFailed(f"{where}: {known}") from None
            raise Passing(f"{where}: {text.rpartition(': ')[2]}") from None
        except (self._errors.BotoCoreError, OSError) as error:
            if isinstance(error, FileNotFoundError):
                raise
            raise Passing(f"{where}: {error}") from None
        except Exception as error:
            # A cut body surfaces as urllib3's own fault, which botocore wraps only in some releases.
            if type(error).__module__.partition(".")[0] in ("urllib3", "http", "awscrt"):
                raise Passing(f"{where}: {error}") from None
            raise

    def sizes(self) -> dict[str, int]:
        below = self._key("")

        def listed() -> dict[str, int]:
            pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=below)
            return {entry["Key"][len(below) :]: entry["Size"] for page in pages for entry in page.get("Contents", [])}

        return again(lambda: self._reported("", listed))

    def read(self, file: str) -> Iterator[bytes]:
        """A body cut short goes on where it ended, of the same object."""
        position, length, version = 0, None, ""
        while length is None or position < length:
            answer = again(lambda: self._reported(file, lambda: self._get(file, position, version)))  # noqa: B023
            body, version = answer["Body"], answer["ETag"]
            length = position + int(answer["ContentLength"])
            before = position
            try:
                for data in self._pieces(file, body):
                    position += len(data)
                    yield data
            except Passing as error:
                if position == before:
                    raise CopyFailed(f"{error} (nothing arrived)") from None

    def _pieces(self, file: str, body: Any) -> Iterator[bytes]:
        chunks = body.iter_chunks(CHUNK_BYTES)
        while True:
            data = self._reported(file, lambda: next(chunks, b""))
            if not data:
                return
            yield data

    def _get(self, file: str, position: int, version: str) -> Any:
        more = {"Range": f"bytes={position}-", "IfMatch": version} if position else {}
        return self._client.get_object(Bucket=self.bucket, Key=self._key(file), **more)

    def put(self, file: str, chunks: Iterator[bytes], origin: Path | None) -> None:
        if origin is None:
            data = b"".join(chunks)
            again(lambda: self._reported(file, lambda: self._put(file, data)))
            return
        if not origin.is_file():
            raise FileNotFoundError(str(origin))
        words = (str(origin), self.bucket, self._key(file))
        again(lambda: self._reported(file, lambda: self._client.upload_file(*words, Config=self._transfer)))

    def _put(self, file: str, data: bytes) -> Any:
        return self._client.put_object(Bucket=self.bucket, Key=self._key(file), Body=data)

    def remove(self, file: str) -> None:
        again(lambda: self._reported(file, lambda: self._client.delete_object(Bucket=self.bucket, Key=self._key(file))))

    def tag(self, file: str, key: str, value: str) -> None:
        tagging = {"TagSet": [{"Key": key, "Value": value}]}
        words = {"Bucket": self.bucket, "Key": self._key(file), "Tagging": tagging}
        again(lambda: self._reported(file, lambda: self._client.put_object_tagging(**words)))

    def settle(self) -> None:
        """S3 shows an object whole, at once, or not at all."""
