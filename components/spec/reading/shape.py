"""Turns what pydantic says about a badly shaped value into problems in the user's words, and corrects a copy to read
on.

The copy leaves out what is badly shaped, so that one bad key doesn't keep the problems elsewhere from being found.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

from pydantic import BaseModel, ValidationError

from components.naming import did_you_mean, listed, nearest
from components.problems import Problem
from components.spec.base import SEALED, Spec
from components.spec.reading import fields, partial, secrets
from components.spec.reading.paths import Path, parsed, written
from components.spec.reading.scalars import scalar

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
    "no_moment": "a time is wanted, such as 2026-12-10T11:30:00Z",
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
    """A value as the user would write it, kept short."""
    if isinstance(value, dict) and set(value) == {"secure"}:
        return "a secret"
    if isinstance(value, date):
        return value.isoformat().replace("+00:00", "Z")
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."


def validate(
    model: type[BaseModel], data: dict[str, Any], secret_keys: frozenset[str] = frozenset(), *, partly: bool = False
) -> Shaped:
    """Validate; on errors report them all and correct a copy (coerce, take the nearest word, else drop) so that later
    rules can run.

    What lies under `secret_keys`, and in fields that hold secrets, is reported without its value.
    `partly` keeps every item of a list where it is, and marks whatever was corrected or missing as not read.
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
            found = list(_translate(model, current, error, secret_keys))
            inside = [path for each, path, _ in found if each.id != "empty"]
            found = [
                item for item in found if item[0].id != "empty" or not any(_touch(item[1], path) for path in inside)
            ]
            # What a later round finds at, in or around something already reported only follows from it.
            problems += [
                each for each, _, _ in found if not any(_touch(parsed(each.path), reported) for reported in told_paths)
            ]
            told_paths += [parsed(each.path) for each, _, _ in found]
            # Deepest and last first, so that dropping one list item leaves the places of the others alone.
            missing = partly and all(repair is _UNSET for _, _, repair in found)
            for _, path, repair in sorted(found, key=lambda each: _depth_first(each[1]), reverse=True):
                if partly and repair is _UNSET:
                    # The rest of the item is corrected first: what is made of it here is not validated again.
                    current = _without_missing(model, current, path) if missing else current
                    continue
                mended.add(path)
                if (
                    partly
                    and repair is _DROP
                    and _is_item(path)
                    and (models := _specs(fields.models_at(model, current, path)))
                ):
                    repair = partial.nothing_of(models[0])
                if not _mend(current, path, repair):
                    incomplete.add(str(path[0]) if path else "")
            continue
        if partly and isinstance(value, Spec):
            for path in sorted(mended, key=len):
                # Another kind is another model: nothing of what stands there is known.
                partial.forget(value, path[:-1] if path[-1:] == ("kind",) else path)
        return Shaped(value=value, problems=tuple(problems), incomplete=frozenset(incomplete))
    return Shaped(value=None, problems=tuple(problems), incomplete=frozenset(incomplete))


_DROP = object()
_SECRET = {"secure": ""}
_UNSET = object()  # as _DROP, of an item that lacks a key


def _is_item(path: Path) -> bool:
    return bool(path) and isinstance(path[-1], int)


def _specs(models: list[type[BaseModel]]) -> list[type[Spec]]:
    return [each for each in models if issubclass(each, Spec)]


def _without_missing(model: type[BaseModel], data: Any, path: Path) -> Any:
    """The data with the value at the path made a model whose missing keys count as not read."""
    here = data
    for part in path:
        here = fields.step(here, part)
    models = _specs(fields.models_at(model, data, path))
    if not isinstance(here, dict) or not models:
        return data
    made = partial.partly(models[0], here)
    if not path:
        return made
    _mend(data, path, made)
    return data


def _touch(one: Path, other: Path) -> bool:
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]


def _depth_first(path: Path) -> tuple[Any, ...]:
    return tuple((1, part, "") if isinstance(part, int) else (0, 0, part) for part in path)


def _translate(
    model: type[BaseModel], data: dict[str, Any], error: ValidationError, secret_keys: frozenset[str]
) -> Iterator[tuple[Problem, Path, object]]:
    seen: set[tuple[str, Path]] = set()
    for each in error.errors(include_url=False, include_input=True):
        kind, location = each["type"], tuple(each["loc"])
        path = _path(data, location, missing=kind in ("missing", "union_tag_not_found"))
        if (kind, path) in seen:
            continue
        seen.add((kind, path))
        value = each.get("input")
        concealed = path[:1] and path[0] in secret_keys
        value = _SECRET if concealed else _showable(model, data, path, value)
        yield _problem(model, data, kind, path, value, dict(each.get("ctx") or {}), each["msg"])
        if kind == "union_tag_not_found" and isinstance(each.get("input"), dict):
            # Without its kind pydantic looks no further, though the kind may just be misspelt.
            known = fields.keys(fields.models_at(model, data, path))
            for key in each["input"]:
                if key not in known:
                    yield _problem(model, data, "extra_forbidden", (*path, key), None, {}, "")


def _path(data: object, location: tuple[Any, ...], *, missing: bool) -> Path:
    """The location without the tags that pydantic adds for unions: only steps that the data really has."""
    path: list[str | int] = []
    here: Any = data
    for index, part in enumerate(location):
        last = index == len(location) - 1
        if (isinstance(here, dict) and part in here) or (
            isinstance(here, list) and isinstance(part, int) and part < len(here)
        ):
            here = here[part]
        elif not (last and missing and isinstance(here, dict)):
            continue
        path.append(part)
    return tuple(path)


def _problem(
    model: type[BaseModel],
    data: dict[str, Any],
    kind: str,
    path: Path,
    value: Any,
    context: dict[str, Any],
    message: str,
) -> tuple[Problem, Path, object]:
    text = written(path)
    if kind == "extra_forbidden":
        holder = fields.models_at(model, data, path[:-1])
        answers = [
            each.computed[str(path[-1])] for each in holder if issubclass(each, Spec) and path[-1] in each.computed
        ]
        hint = answers[0] if answers else did_you_mean(str(path[-1]), fields.keys(holder))
        return Problem(id="unknown-key", path=text, said=f'"{path[-1]}" is not a key here', hint=hint), path, _DROP
    if kind == "missing":
        return (
            Problem(id="missing-key", path=text, said="is missing", hint=fields.description(model, data, path)),
            path[:-1],
            _UNSET,
        )
    if value == SEALED:
        hint = "write it as plain text: what is declared follows from it"
        return Problem(id="encrypted", path=text, said="is encrypted", hint=hint), path, _DROP
    if kind == "union_tag_not_found":
        tags = [str(kind) for each in fields.models_at(model, data, path) for kind in fields.kinds(each)]
        return (
            Problem(id="missing-key", path=f"{text}.kind", said="is missing", hint=f"use one of: {', '.join(tags)}"),
            path,
            _DROP,
        )
    if kind == "union_tag_invalid":
        tag = str(context.get("tag", ""))
        tags = _tags(context)
        hint = did_you_mean(tag, tags)
        if value == _SECRET:
            hint = f"use one of: {', '.join(tags)}"
        said = f"{shown(value if value == _SECRET else tag)} is not a kind"
        inner = (*path, "kind")
        return Problem(id="unknown-word", path=written(inner), said=said, hint=hint), inner, nearest(tag, tags) or _DROP
    if kind in ("literal_error", "enum"):
        words = _literals(context)
        hint = did_you_mean(value, words) if isinstance(value, str) else f"use one of: {', '.join(words)}"
        said = (
            f"{shown(value)} is not one of {listed(words, 'or')}"
            if nearest(str(value), words)
            else f"{shown(value)} is not allowed"
        )
        return Problem(id="unknown-word", path=text, said=said, hint=hint), path, nearest(str(value), words) or _DROP
    return _wrong_value(kind, path, text, value, context, message)


def _wrong_value(
    kind: str, path: Path, text: str, value: Any, context: dict[str, Any], message: str
) -> tuple[Problem, Path, object]:
    if kind in ("greater_than", "greater_than_equal", "less_than", "less_than_equal"):
        bound = context.get("gt", context.get("ge", context.get("lt", context.get("le"))))
        if isinstance(bound, float) and bound.is_integer():
            bound = int(bound)
        word = {
            "greater_than": "more than",
            "greater_than_equal": "at least",
            "less_than": "less than",
            "less_than_equal": "at most",
        }[kind]
        # The most that is allowed may be a stack too large to say anything sensible about.
        repair: object = bound if kind == "greater_than_equal" else _DROP
        return (
            Problem(
                id="out-of-range", path=text, said=f"{shown(value)} is out of range", hint=f"{word} {bound} is wanted"
            ),
            path,
            repair,
        )
    if kind == "malformed":
        return Problem(id="malformed", path=text, said=f"{shown(value)} is malformed", hint=message), path, _DROP
    if kind == "string_too_long":
        hint = f"at most {context.get('max_length')} characters are wanted"
        return Problem(id="too-long", path=text, said=f"{shown(value)} is too long", hint=hint), path, _DROP
    if kind in ("too_short", "string_too_short"):
        return (
            Problem(id="empty", path=text, said="is empty", hint=f"at least {context.get('min_length', 1)} is wanted"),
            path,
            _DROP,
        )
    if kind in _WANTED:
        hint = _quoting(kind, value) or _WANTED[kind]
        return (
            Problem(id="wrong-type", path=text, said=f"{shown(value)} is {_kind_of(value)}", hint=hint),
            path,
            _coerced(kind, value),
        )
    if kind in ("flag", "unquoted_version", "cidr", "timezone"):
        ids = {
            "flag": "wrong-type",
            "unquoted_version": "unquoted-version",
            "cidr": "malformed",
            "timezone": "malformed",
        }
        said = f"{shown(value)} is {_kind_of(value)}" if kind != "cidr" else f"{shown(value)} is malformed"
        if kind == "timezone":
            said = "has no time zone"
        if kind == "cidr" and value == _SECRET:
            message = "an IPv4 range such as 10.0.0.0/16 is wanted"
        repair = nearest_flag(value) if kind == "flag" else _DROP
        return Problem(id=ids[kind], path=text, said=said, hint=message), path, repair
    if kind == "unquoted_time":
        return Problem(id="wrong-type", path=text, said="holds a time", hint=message), path, _DROP
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
    if isinstance(value, date):
        return "a time"
    if value == _SECRET:
        return "of another type"
    if isinstance(value, str):
        return "text"
    return "a list" if isinstance(value, list) else "a mapping"


def _quoting(kind: str, value: object) -> str:
    if kind in ("int_type", "float_type") and isinstance(value, str):
        wanted = _WANTED[kind]
        return f"{wanted}: write it without quotes" if _coerced(kind, value) is not _DROP else wanted
    if kind == "string_type" and isinstance(value, int | float | date) and not isinstance(value, bool):
        return "text is wanted: put it in quotes"
    return ""


def _coerced(kind: str, value: object) -> object:
    # What the quotes were put around by mistake is what it would be without them.
    meant = scalar(value) if isinstance(value, str) else value
    if kind.startswith("int") and isinstance(meant, int | float) and not isinstance(meant, bool):
        return int(meant) if math.isfinite(meant) else _DROP
    if kind.startswith("float") and isinstance(meant, int | float) and not isinstance(meant, bool):
        return float(meant)
    if kind == "string_type" and isinstance(value, int | float | date):
        return str(value)
    return _DROP


def _tags(context: dict[str, Any]) -> list[str]:
    return [word.strip(" '") for word in str(context.get("expected_tags", "")).split(",") if word.strip(" '")]


def _literals(context: dict[str, Any]) -> list[str]:
    return [
        word.strip(" '")
        for word in str(context.get("expected", "")).replace(" or ", ", ").split(",")
        if word.strip(" '")
    ]


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


def _showable(model: type[BaseModel], data: Any, path: Path, value: Any) -> Any:
    """The value as a message may show it."""
    if fields.is_secret(model, data, path):
        return _SECRET
    here = fields.models_at(model, data, path) if path else [model]
    if isinstance(value, str) and value != SEALED and any(secrets.names(each) for each in here):
        # In place of a mapping that holds a secret stands perhaps that secret; one of the kinds is none.
        return value if nearest(value, [str(kind) for each in here for kind in fields.kinds(each)]) else _SECRET
    return secrets.masked(value, secrets.names(model))
