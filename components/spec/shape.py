"""Turns what pydantic says about a badly shaped value into problems in the user's words, and mends a copy to read on.

Hides pydantic's error kinds and locations, and what is left out so that one bad key doesn't hide the problems elsewhere.
"""

from __future__ import annotations

import copy
import json
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr, ValidationError
from pydantic.fields import FieldInfo

from components.naming import did_you_mean, listed, nearest
from components.problems import Problem
from components.spec import unread
from components.spec.base import PATTERN_WORDS, Spec
from components.spec.paths import Path, parsed, written

_WANTED = {
    "int_type": "a whole number is wanted",
    "int_from_float": "a whole number is wanted",
    "int_parsing": "a whole number is wanted",
    "float_type": "a number is wanted",
    "float_parsing": "a number is wanted",
    "string_type": "text is wanted",
    "bool_type": "a boolean is wanted: true or false",
    "bool_parsing": "a boolean is wanted: true or false",
    "tuple_type": "a list is wanted",
    "list_type": "a list is wanted",
    "dict_type": "a mapping of keys to values is wanted",
    "model_type": "a mapping of keys to values is wanted",
    "model_attributes_type": "a mapping of keys to values is wanted",
    "datetime_type": "a time is wanted, such as 2026-12-10T11:30:00Z",
    "datetime_parsing": "a time is wanted, such as 2026-12-10T11:30:00Z",
    "datetime_from_date_parsing": "a time is wanted, such as 2026-12-10T11:30:00Z",
    "is_instance_of": "another type is wanted",
}


@dataclass(frozen=True, kw_only=True)
class Shaped:
    """`value` is the model, or None; `incomplete` names the top-level sections that lost something while mending."""

    value: Any
    problems: tuple[Problem, ...]
    incomplete: frozenset[str]


def shown(value: object) -> str:
    """A value as the user would write it, kept short; never the inside of a secret."""
    if isinstance(value, dict) and set(value) == {"secure"}:
        return "a secret"
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."


def validate(model: type[BaseModel], data: dict[str, Any], *, partly: bool = False) -> Shaped:
    """Validate; on errors tell them all and mend a copy (coerce, take the nearest word, else drop) so that later rules can run.

    `partly` keeps every item of a list where it is, and leaves unread in the value whatever was mended or missing.
    """
    problems: list[Problem] = []
    incomplete: set[str] = set()
    mended: set[Path] = set()
    told_paths: list[Path] = []
    current = copy.deepcopy(data)
    for _ in range(8):
        try:
            value = model.model_validate(current)
        except ValidationError as error:
            found = list(_translate(model, current, error))
            inside = [path for each, path, _ in found if each.id != "empty"]
            found = [item for item in found if item[0].id != "empty" or not any(_touch(item[1], path) for path in inside)]
            # What a later round finds at, in or around something already told is only its echo.
            problems += [each for each, _, _ in found if not any(_touch(parsed(each.path), told) for told in told_paths)]
            told_paths += [parsed(each.path) for each, _, _ in found]
            # Deepest and last first, so that dropping one list item leaves the places of the others alone.
            missing = partly and all(repair is _UNSET for _, _, repair in found)
            for _, path, repair in sorted(found, key=lambda each: _depth_first(each[1]), reverse=True):
                if partly and repair is _UNSET:
                    # The rest of the item is mended first: what is made of it here is not validated again.
                    current = _without_missing(model, current, path) if missing else current
                    continue
                mended.add(path)
                if partly and repair is _DROP and _is_item(path) and (models := _specs(_models_at(model, current, path))):
                    repair = unread.nothing_of(models[0])
                if not _mend(current, path, repair):
                    incomplete.add(str(path[0]) if path else "")
            continue
        if partly and isinstance(value, Spec):
            for path in sorted(mended, key=len):
                # Another kind is another model: nothing of what stands there is known.
                unread.forget(value, path[:-1] if path[-1:] == ("kind",) else path)
        return Shaped(value=value, problems=tuple(problems), incomplete=frozenset(incomplete))
    return Shaped(value=None, problems=tuple(problems), incomplete=frozenset(incomplete))


_DROP = object()
_UNSET = object()  # as _DROP, of an item that lacks a key


def _is_item(path: Path) -> bool:
    return bool(path) and isinstance(path[-1], int)


def _specs(models: list[type[BaseModel]]) -> list[type[Spec]]:
    return [each for each in models if issubclass(each, Spec)]


def _without_missing(model: type[BaseModel], data: Any, path: Path) -> Any:
    """The data with what stands at the path made a model whose missing keys are unread."""
    here = data
    for part in path:
        here = _step(here, part)
    models = _specs(_models_at(model, data, path))
    if not isinstance(here, dict) or not models:
        return data
    made = unread.partly(models[0], here)
    if not path:
        return made
    _mend(data, path, made)
    return data


def _touch(one: Path, other: Path) -> bool:
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]


def _depth_first(path: Path) -> tuple[Any, ...]:
    return tuple((1, part, "") if isinstance(part, int) else (0, 0, part) for part in path)


def _translate(model: type[BaseModel], data: dict[str, Any], error: ValidationError) -> Iterator[tuple[Problem, Path, object]]:
    seen: set[tuple[str, Path]] = set()
    for each in error.errors(include_url=False, include_input=True):
        kind, location = each["type"], tuple(each["loc"])
        path = _path(data, location, missing=kind in ("missing", "union_tag_not_found"))
        if (kind, path) in seen:
            continue
        seen.add((kind, path))
        yield _problem(model, data, kind, path, each.get("input"), dict(each.get("ctx") or {}), each["msg"])


def _path(data: object, location: tuple[Any, ...], *, missing: bool) -> Path:
    """The location without the tags that pydantic adds for unions: only steps that the data really has."""
    path: list[str | int] = []
    here: Any = data
    for index, part in enumerate(location):
        last = index == len(location) - 1
        if (isinstance(here, dict) and part in here) or (isinstance(here, list) and isinstance(part, int) and part < len(here)):
            here = here[part]
        elif not (last and missing and isinstance(here, dict)):
            continue
        path.append(part)
    return tuple(path)


def _problem(
    model: type[BaseModel], data: dict[str, Any], kind: str, path: Path, value: Any, context: dict[str, Any], message: str
) -> tuple[Problem, Path, object]:
    text = written(path)
    if _is_secret(model, data, path):
        value = {"secure": ""}
    if kind == "extra_forbidden":
        holder = _models_at(model, data, path[:-1])
        names = [info.alias or name for each in holder for name, info in each.model_fields.items()]
        hint = did_you_mean(str(path[-1]), names)
        return Problem(id="unknown-key", path=text, said=f'"{path[-1]}" is not a key here', hint=hint), path, _DROP
    if kind == "missing":
        return Problem(id="missing-key", path=text, said="is missing", hint=_describe(model, data, path)), path[:-1], _UNSET
    if kind == "union_tag_not_found":
        tags = [str(kind) for each in _models_at(model, data, path) for kind in _kinds(each)]
        return Problem(id="missing-key", path=f"{text}.kind", said="is missing", hint=f"use one of: {', '.join(tags)}"), path, _DROP
    if kind == "union_tag_invalid":
        tag = str(context.get("tag", ""))
        tags = _tags(context)
        hint = did_you_mean(tag, tags)
        inner = (*path, "kind")
        return Problem(id="unknown-word", path=written(inner), said=f'"{tag}" is not a kind', hint=hint), inner, nearest(tag, tags) or _DROP
    if kind in ("literal_error", "enum"):
        words = _literals(context)
        hint = did_you_mean(value, words) if isinstance(value, str) else f"use one of: {', '.join(words)}"
        said = f"{shown(value)} is not one of {listed(words, 'or')}" if nearest(str(value), words) else f"{shown(value)} is not allowed"
        return Problem(id="unknown-word", path=text, said=said, hint=hint), path, nearest(str(value), words) or _DROP
    return _wrong_value(kind, path, text, value, context, message)


def _wrong_value(kind: str, path: Path, text: str, value: Any, context: dict[str, Any], message: str) -> tuple[Problem, Path, object]:
    if kind in ("greater_than", "greater_than_equal", "less_than", "less_than_equal"):
        bound = context.get("gt", context.get("ge", context.get("lt", context.get("le"))))
        word = {"greater_than": "more than", "greater_than_equal": "at least", "less_than": "less than", "less_than_equal": "at most"}[kind]
        repair: object = bound if kind.endswith("equal") else _DROP
        return Problem(id="out-of-range", path=text, said=f"{shown(value)} is out of range", hint=f"{word} {bound} is wanted"), path, repair
    if kind == "string_pattern_mismatch":
        words = PATTERN_WORDS.get(str(context.get("pattern")), f"text like {context.get('pattern')} is wanted")
        return Problem(id="malformed", path=text, said=f"{shown(value)} is malformed", hint=words), path, _DROP
    if kind in ("too_short", "string_too_short"):
        return Problem(id="empty", path=text, said="is empty", hint=f"at least {context.get('min_length', 1)} is wanted"), path, _DROP
    if kind in _WANTED:
        hint = _quoting(kind, value) or _WANTED[kind]
        return Problem(id="wrong-type", path=text, said=f"{shown(value)} is {_kind_of(value)}", hint=hint), path, _coerced(kind, value)
    if kind in ("flag", "unquoted_version", "cidr", "timezone"):
        ids = {"flag": "wrong-type", "unquoted_version": "unquoted-version", "cidr": "malformed", "timezone": "malformed"}
        said = f"{shown(value)} is {_kind_of(value)}" if kind != "cidr" else f"{shown(value)} is malformed"
        if kind == "timezone":
            said = "has no time zone"
        repair = nearest_flag(value) if kind == "flag" else _DROP
        return Problem(id=ids[kind], path=text, said=said, hint=message), path, repair
    said = f"{shown(value)}: {message}" if kind != "value_error" else message.removeprefix("Value error, ")
    return Problem(id="malformed", path=text, said=said), path, _DROP


def nearest_flag(value: object) -> object:
    return str(value).casefold() in ("true", "yes", "on", "1")


def _kind_of(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if value == {"secure": ""}:
        return "of another type"
    if isinstance(value, str):
        return "text"
    return "a list" if isinstance(value, list) else "a mapping"


def _quoting(kind: str, value: object) -> str:
    if kind in ("int_type", "float_type") and isinstance(value, str):
        wanted = _WANTED[kind]
        return f"{wanted}: write it without quotes" if _coerced(kind, value) is not _DROP else wanted
    if kind == "string_type" and isinstance(value, int | float) and not isinstance(value, bool):
        return "text is wanted: put it in quotes"
    return ""


def _coerced(kind: str, value: object) -> object:
    try:
        if kind.startswith("int") and isinstance(value, str | float):
            return int(float(value))
        if kind.startswith("float") and isinstance(value, str):
            return float(value)
    except ValueError:
        return _DROP
    if kind == "string_type" and isinstance(value, int | float):
        return str(value)
    return _DROP


def _tags(context: dict[str, Any]) -> list[str]:
    return [word.strip(" '") for word in str(context.get("expected_tags", "")).split(",") if word.strip(" '")]


def _literals(context: dict[str, Any]) -> list[str]:
    return [word.strip(" '") for word in str(context.get("expected", "")).replace(" or ", ", ").split(",") if word.strip(" '")]


def _mend(data: Any, path: Path, repair: object) -> bool:
    """Repair or drop in place; True when nothing but an unknown or repaired value was lost."""
    here = data
    for part in path[:-1]:
        try:
            here = here[part]
        except (KeyError, IndexError, TypeError):
            return False
    if not path:
        return False
    last = path[-1]
    try:
        if repair is not _DROP and repair is not _UNSET:
            here[last] = repair
            return True
        gone = here[last]
        del here[last]
    except (KeyError, IndexError, TypeError):
        return False
    return not isinstance(last, int) and not isinstance(gone, dict | list)


def _models_at(model: type[BaseModel], data: Any, path: Path) -> list[type[BaseModel]]:
    """The models that could stand at a path; of a union, the one whose `kind` the data names."""
    models: list[type[BaseModel]] = [model]
    here: Any = data
    for part in path:
        here = _step(here, part)
        if isinstance(part, int):
            continue
        fields = [info for each in models for name, info in each.model_fields.items() if part in (name, info.alias)]
        models = [inner for info in fields for inner in _models_in(info.annotation)]
        kind = here.get("kind") if isinstance(here, dict) else None
        if kind is not None:
            models = [each for each in models if kind in _kinds(each)] or models
    return models


def _step(here: Any, part: str | int) -> Any:
    try:
        return here[part]
    except (KeyError, IndexError, TypeError):
        return None


def _is_secret(model: type[BaseModel], data: Any, path: Path) -> bool:
    holders = _models_at(model, data, path[:-1]) if path else []
    fields = [info for each in holders for name, info in each.model_fields.items() if path[-1] in (name, info.alias)]
    return any(info.annotation is SecretStr for info in fields)


def _kinds(model: type[BaseModel]) -> tuple[Any, ...]:
    info = model.model_fields.get("kind")
    return get_args(info.annotation) if info else ()


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    origin = get_origin(annotation)
    if origin is Annotated:
        return _models_in(get_args(annotation)[0])
    if origin in (Union, types.UnionType, tuple, list, dict):
        return [inner for each in get_args(annotation) for inner in _models_in(each)]
    return [annotation] if isinstance(annotation, type) and issubclass(annotation, BaseModel) else []


def _describe(model: type[BaseModel], data: Any, path: Path) -> str:
    for each in _models_at(model, data, path[:-1]):
        info: FieldInfo | None = next((i for n, i in each.model_fields.items() if path[-1] in (n, i.alias)), None)
        if info is not None:
            return info.description or ""
    return ""
