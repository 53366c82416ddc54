"""Where a checkpoint's files lie: a folder on disk, or a prefix in a bucket by boto3 or by the aws command. All answer
the same questions, and all tell a failure in one way.
"""

from __future__ import annotations

import importlib
import shutil
from pathlib import Path

from workload.checkpoints.places.boto_bucket import BotoBucket
from workload.checkpoints.places.command_bucket import CommandBucket
from workload.checkpoints.places.folder import Folder
from workload.checkpoints.places.place import CopyFailed, NoS3Client, Place, split_url

__all__ = ["BotoBucket", "CommandBucket", "CopyFailed", "Folder", "NoS3Client", "Place", "place", "split_url"]


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
