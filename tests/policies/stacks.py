"""The project's own stacks as records, as a first preview declares them and with every output known."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from infra.build import build
from infra.recording import record
from infra.settings import from_file

STACKS = tuple(sorted(path.stem.removeprefix("Pulumi.") for path in (Path(__file__).resolve().parents[2] / "stacks").glob("Pulumi.*.yaml")))


@cache
def records_of(stack: str, *, known: bool = False) -> tuple[dict[str, Any], ...]:
    """The declared resources; `known` gives every output a value, so that documents built from ARNs can be read."""
    settings = from_file(stack)
    return tuple(asdict(each) for each in record(lambda: build(settings), stack=stack, known=known, outputs=_named))


def _named(type_: str, name: str, inputs: dict[str, Any]) -> dict[str, Any]:
    """A bucket whose name Pulumi makes has one once it exists."""
    return {"bucket": name} if type_ == "aws:s3/bucket:Bucket" else {}


@cache
def environment_of(stack: str) -> str:
    return from_file(stack).stack.environment
