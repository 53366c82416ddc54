"""Records as a preview writes them, the documents in them, and what all of the good stack shares."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

Record = dict[str, Any]
ACCOUNT = "111122223333"
REGION = "us-west-2"
TAGS = {"owner": "ml-platform", "team": "pretraining", "cost-center": "4711"}
KEY_ARN = f"arn:aws:kms:{REGION}:{ACCOUNT}:key/0a1b2c3d-0000-4000-8000-000000000001"
ROOT = f"arn:aws:iam::{ACCOUNT}:root"
ADMIN = f"arn:aws:iam::{ACCOUNT}:role/platform-admin"
IMAGE = f"{ACCOUNT}.dkr.ecr.{REGION}.amazonaws.com/trainer@sha256:{'a' * 64}"


def urn(type_: str, name: str) -> str:
    return f"urn:pulumi:good::trainshed::{type_}::{name}"


def record(
    type_: str, name: str, inputs: dict[str, Any], *, after: Iterable[str] = (), protect: bool = False
) -> Record:
    return {
        "urn": urn(type_, name),
        "type": type_,
        "name": name,
        "parent": "",
        "inputs": inputs,
        "depends_on": list(after),
        "protect": protect,
        "ignore_changes": [],
        "provider": "",
    }


def document(*statements: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


def trust(service: str) -> str:
    return document({"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"})
