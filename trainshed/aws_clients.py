"""Clients of AWS for the commands that ask an account.

The library is imported only when a client is made, because the import costs a third of a second. It comes without
types.
"""

from __future__ import annotations

from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

__all__ = ["BotoCoreError", "ClientError", "client"]


def client(service: str, region: str | None) -> Any:
    """A client by the environment's credentials. Raises BotoCoreError when no region is known."""
    return boto3.client(service, region_name=region)
