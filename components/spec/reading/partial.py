"""What of a value could not be read: the fields that are missing or badly shaped, which nothing may be computed from.

Such a field is absent from a value that is otherwise whole, and asking for it raises.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from components.naming import nearest
from components.spec.base import Spec, UnreadError
from components.spec.reading.paths import Path

__all__ = ["UnreadError", "forget", "items", "partly", "whole"]


def partly(model: type[Spec], data: dict[str, Any]) -> Spec:
    """The model of data that lacks keys it should have: defaults apply as ever, and a missing key raises when it is
    asked for.
    """
    made = model.model_construct()
    for name, info in model.model_fields.items():
        key = info.alias or name
        if key in data:
            try:
                vars(made)[name] = TypeAdapter[Any](info.rebuild_annotation()).validate_python(data[key])
            except ValidationError:
                vars(made).pop(name, None)
    return made


def nothing_of(model: type[Spec]) -> Spec:
    """An item that is there, and of which not one field could be read."""
    made = model.model_construct()
    vars(made).clear()
    return made


def forget(value: Spec, path: Path) -> None:
    """Mark the field at a path as not read, or the one that holds it; of a key that no field has, the field that was
    probably meant.
    """
    here: Any = value
    holder, field = value, ""
    for part in path:
        if isinstance(here, Spec):
            holder, field = here, _field(here, str(part))
            if field not in vars(here):
                return
            here = vars(here)[field]
        elif isinstance(here, tuple) and isinstance(part, int):
            rest = cast(tuple[Any, ...], here)
            here = rest[part] if part < len(rest) else None
        else:
            here = None
    # Each item of a list of models already keeps which of its own fields could not be read.
    if field and not (path and isinstance(path[-1], int) and isinstance(here, Spec)):
        vars(holder).pop(field, None)


def _field(holder: Spec, key: str) -> str:
    fields = type(holder).model_fields
    names = {info.alias or name: name for name, info in fields.items()}
    if key in names:
        return names[key]
    meant = names.get(nearest(key, names) or "", "")
    return meant if meant not in holder.model_fields_set else ""


def whole(value: object) -> bool:
    """Whether everything in it could be read."""
    if isinstance(value, Spec):
        return all(name in vars(value) and whole(vars(value)[name]) for name in type(value).model_fields)
    return all(whole(each) for each in cast(tuple[object, ...], value)) if isinstance(value, tuple) else True


def items(holder: Spec, field: str) -> Iterator[tuple[int, Any]]:
    """The items of a list that could be read whole, with their places; none of a list that could not be read itself."""
    yield from ((index, each) for index, each in enumerate(vars(holder).get(field, ())) if whole(each))
