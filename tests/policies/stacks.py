"""The project's own stacks as policies see them: records as plain values."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from typing import Any

from infra.settings import from_file
from tests.whole import NAMES as STACKS
from tests.whole import recording

__all__ = ["STACKS", "environment_of", "records_of"]


@cache
def records_of(stack: str, *, known: bool = False) -> tuple[dict[str, Any], ...]:
    """The declared resources; `known` gives every output a value, so that documents built from ARNs can be read."""
    return tuple(asdict(each) for each in recording(stack, known=known).records if each.type != "pulumi:pulumi:Stack")


@cache
def environment_of(stack: str) -> str:
    return from_file(stack).valid.environment
