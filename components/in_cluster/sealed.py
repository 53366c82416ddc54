"""Texts that are secrets, made so wherever they stand in what a component hands to the engine."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pulumi


def webhooks(alerts_to: Sequence[str]) -> frozenset[str]:
    """Targets of alerts whose address is all that keeps others from posting there."""
    return frozenset(each for each in alerts_to if each.startswith("https://"))


def sealed(value: Any, secrets: Collection[str]) -> Any:
    """The same value with every one of these texts as a secret output, at any depth."""
    if isinstance(value, str):
        return pulumi.Output.secret(value) if value in secrets else value
    if isinstance(value, Mapping):
        return {key: sealed(part, secrets) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [sealed(part, secrets) for part in value]
    return value
