"""A stack in one order, whatever the order in its file.

Lists and maps of a stack file are sets: what is declared must not follow the order in which they were typed.
"""

from __future__ import annotations

import json
from typing import Any, TypeVar

from pydantic import BaseModel

Model = TypeVar("Model", bound=BaseModel)


def canonical(value: Model) -> Model:
    """A copy whose lists are sorted (named things by name) and whose maps are sorted by key, at every depth."""
    update = {name: _ordered(getattr(value, name)) for name in type(value).model_fields}
    return value.model_copy(update=update)


def _ordered(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return canonical(value)
    if isinstance(value, tuple):
        items: tuple[Any, ...] = value
        return tuple(sorted((_ordered(item) for item in items), key=_key))
    if isinstance(value, dict):
        mapping: dict[str, Any] = value
        return {key: _ordered(mapping[key]) for key in sorted(mapping)}
    return value


def _key(value: Any) -> tuple[Any, ...]:
    if isinstance(value, BaseModel):
        name = getattr(value, "name", None)
        return (1, str(name or ""), json.dumps(value.model_dump(mode="json"), sort_keys=True))
    if isinstance(value, int | float):
        return (0, value, "")
    return (1, str(value), "")
