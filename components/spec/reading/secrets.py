"""What of a file is secret, so that no message, caret or report ever shows it.

A secret is known by its field's type, by a misspelling of that field's name, by `{secure: …}`, or because the engine
says so.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from pydantic import BaseModel, SecretStr

from components.problems import Problem
from components.spec.base import SEALED
from components.spec.reading import fields
from components.spec.reading.document import Document
from components.spec.reading.paths import Path

_TELLING = 4


@cache
def names(model: type[BaseModel]) -> frozenset[str]:
    """The keys that hold secrets, at any depth of a model."""
    found: set[str] = set()
    for name, info in model.model_fields.items():
        for part in fields.parts(info.annotation):
            if part is SecretStr:
                found.add(info.alias or name)
            elif fields.is_model(part):
                found |= names(part)
    return frozenset(found)


def is_secret(key: object, known: frozenset[str]) -> bool:
    """Whether a key holds a secret, also when it is misspelt."""
    spelt = re.sub(r"[-_ ]", "", str(key).casefold())
    # Nearer than a hint asks for: "config" is no misspelling of "kubeconfig".
    return spelt == "secure" or bool(difflib.get_close_matches(spelt, known, n=1, cutoff=0.8))


def masked(value: Any, known: frozenset[str]) -> Any:
    """A copy for showing, without what its secret keys hold."""
    if isinstance(value, dict):
        mapping: dict[Any, Any] = value
        if set(mapping) == {"secure"}:
            return SEALED
        return {key: SEALED if is_secret(key, known) else masked(inner, known) for key, inner in mapping.items()}
    if isinstance(value, list):
        items: list[Any] = value
        return [masked(inner, known) for inner in items]
    return value


def plain(value: Any, known: frozenset[str], path: Path = ()) -> Iterator[Path]:
    """Where a secret stands as readable text."""
    if isinstance(value, dict):
        mapping: dict[str, Any] = value
        for key, inner in mapping.items():
            if key in known and isinstance(inner, str) and inner != SEALED:
                yield (*path, key)
            else:
                yield from plain(inner, known, (*path, key))
    elif isinstance(value, list):
        items: list[Any] = value
        for index, inner in enumerate(items):
            yield from plain(inner, known, (*path, index))


def unsaid(problem: Problem, values: Mapping[str, Any]) -> Problem:
    """The problem without the words of secret settings, which are given by their top-level keys."""
    own = problem.path.partition(".")[0].partition("[")[0] in values
    # A short word may be anyone's, unless the problem is about a secret setting itself.
    hidden = {word for value in values.values() for word in _words(value) if own or len(word) >= _TELLING}
    if not hidden:
        return problem
    any_of = "|".join(re.escape(word) for word in sorted(hidden, key=len, reverse=True))
    found = re.compile(rf"(?<!\w)(?:{any_of})(?!\w)")
    return replace(problem, said=found.sub(SEALED, problem.said), hint=found.sub(SEALED, problem.hint))


def _words(value: Any) -> Iterator[str]:
    """Every text and number inside a value, as it would be printed."""
    if isinstance(value, dict):
        mapping: dict[Any, Any] = value
        for inner in mapping.values():
            yield from _words(inner)
    elif isinstance(value, list):
        items: list[Any] = value
        for inner in items:
            yield from _words(inner)
    elif value not in (None, "") and not isinstance(value, bool):
        yield str(value)


def lines(source: Document, known: frozenset[str]) -> frozenset[int]:
    """The lines of a file that carry a secret, the inner ones of a long value too."""
    if source.data is None:
        # Nothing says where a value ends in a text that is no YAML.
        reported = any(name in source.text.casefold() for name in known)
        return frozenset(range(1, len(source.text.splitlines()) + 1)) if reported else frozenset()
    found: set[int] = set()
    for path, place in source.keys.items():
        if is_secret(path[-1], known):
            found |= {place.line, *range(source.values[path].line, source.ends[path] + 1)}
    return frozenset(found)
