"""The models and fields that a spec has at a path of the user's data.

It follows nested types (unions, lists, maps). A union's member follows from the data's `kind`.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from components.spec.reading.paths import Path

Model = type[BaseModel]


def models_at(model: Model, data: Any, path: Path) -> list[Model]:
    """The models that could stand at a path; of a union, the one whose `kind` the data names."""
    found: list[Any] = [model]
    here: Any = data
    for part in path:
        here = step(here, part)
        found = [each for annotation in found for inner in _inside(annotation, part) for each in alternatives(inner)]
        kind = here.get("kind") if isinstance(here, dict) else None
        if kind is not None:
            found = [each for each in found if is_model(each) and kind in kinds(each)] or found
    return [each for each in found if is_model(each)]


def keys(models: Iterable[Model]) -> set[str]:
    """The keys that models have, as the user writes them."""
    return {info.alias or name for each in models for name, info in each.model_fields.items()}


def kinds(model: Model) -> tuple[Any, ...]:
    """The words that choose a model of a union."""
    info = model.model_fields.get("kind")
    return get_args(info.annotation) if info else ()


def description(model: Model, data: Any, path: Path) -> str:
    """What the field at a path is for."""
    return next((info.description or "" for info in _fields(model, data, path)), "")


def is_secret(model: Model, data: Any, path: Path) -> bool:
    """Whether a field that holds a secret could stand at a path."""
    return any(SecretStr in alternatives(info.annotation) for info in _fields(model, data, path))


def alternatives(annotation: Any) -> Iterator[Any]:
    """The types that a union allows."""
    if get_origin(annotation) is Annotated:
        yield from alternatives(get_args(annotation)[0])
    elif get_origin(annotation) in (Union, types.UnionType):
        for each in get_args(annotation):
            yield from alternatives(each)
    else:
        yield annotation


def parts(annotation: Any) -> Iterator[Any]:
    """The types at the ends of unions, lists and maps."""
    for each in alternatives(annotation):
        inner = get_args(each) if get_origin(each) in (dict, tuple, list) else ()
        if not inner:
            yield each
        for one in inner:
            yield from parts(one)


def is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _fields(model: Model, data: Any, path: Path) -> list[FieldInfo]:
    holders = models_at(model, data, path[:-1]) if path else []
    return [info for each in holders for name, info in each.model_fields.items() if path[-1] in (name, info.alias)]


def _inside(annotation: Any, part: str | int) -> Iterator[Any]:
    if is_model(annotation):
        yield from (info.annotation for name, info in annotation.model_fields.items() if part in (name, info.alias))
    elif get_origin(annotation) is dict:
        yield get_args(annotation)[1]
    elif get_origin(annotation) in (tuple, list) and isinstance(part, int):
        yield get_args(annotation)[0]


def step(here: Any, part: str | int) -> Any:
    try:
        return here[part]
    except (KeyError, IndexError, TypeError):
        return None
