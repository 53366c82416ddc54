"""Declared values: whether two differ, where, and how one is shown to a reviewer.

The engine's markers are translated here: whatever is unknown or secret reads `<unknown>` and `<secret>` from here on,
and no secret is ever shown.
"""

from __future__ import annotations

import base64
import difflib
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from components.record import SECRET, UNKNOWN

ABSENT = "<absent>"
_UNKNOWN_WIRE = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
_SIGNATURE = "4dabf18193072939515e22adb298388d"
_SECRET_WIRE = "1b47061264138c4ac30d75fd1eb44270"
_LONGEST = 160


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One value that changed; a side that has none reads `<absent>`."""

    path: str
    old: Any
    new: Any

    def as_json(self) -> dict[str, Any]:
        return {"path": self.path, "old": shown(self.old), "new": shown(self.new)}


def plain(value: object) -> Any:
    """An engine's JSON value with markers in place of unknowns and secrets, and whole floats as integers."""
    if isinstance(value, Mapping):
        found = cast("Mapping[str, object]", value)
        if _SIGNATURE in found:
            return SECRET if found[_SIGNATURE] == _SECRET_WIRE else plain(found.get("value", UNKNOWN))
        return {key: plain(part) for key, part in found.items() if key not in ("__defaults", "__internal")}
    if isinstance(value, list):
        return [plain(part) for part in cast("list[object]", value)]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str):
        if value == "[secret]":
            return SECRET
        return UNKNOWN if value == _UNKNOWN_WIRE else value.replace(_UNKNOWN_WIRE, UNKNOWN)
    return value


def opaque(value: object, marker: str = UNKNOWN) -> bool:
    """Whether the marker stands anywhere in the value."""
    if isinstance(value, Mapping):
        return any(opaque(part, marker) for part in cast("Mapping[str, object]", value).values())
    if isinstance(value, list | tuple):
        return any(opaque(part, marker) for part in cast("list[object]", value))
    return isinstance(value, str) and marker in value


def at(inputs: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path; a list on the way is entered when it holds one entry. `<absent>` when there is
    none.
    """
    value: Any = inputs
    for key in path.split("."):
        if isinstance(value, list) and len(cast("list[Any]", value)) == 1:
            value = value[0]
        if not isinstance(value, Mapping) or key not in value:
            return ABSENT
        value = cast("Mapping[str, Any]", value)[key]
    return ABSENT if value is None else value


def differences(old: object, new: object, path: str = "") -> Iterator[Difference]:
    """Where two values differ, as deep as can be seen."""
    if old == new:
        return
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        before, after = cast("Mapping[str, Any]", old), cast("Mapping[str, Any]", new)
        for key in sorted({*before, *after}):
            below = f"{path}.{key}" if path else key
            yield from differences(before.get(key, ABSENT), after.get(key, ABSENT), below)
        return
    if isinstance(old, list) and isinstance(new, list):
        first, second = cast("list[Any]", old), cast("list[Any]", new)
        if len(first) == len(second):
            for index, (one, other) in enumerate(zip(first, second, strict=True)):
                yield from differences(one, other, f"{path}[{index}]")
            return
        if sorted(map(_key, first)) == sorted(map(_key, second)):
            return
        long = max(len(json.dumps(each, default=str)) for each in (first, second)) > _LONGEST
        if long and first and second:
            # Entry by entry as far as both go; then how many there are.
            for index, (one, other) in enumerate(zip(first, second, strict=False)):
                yield from differences(one, other, f"{path}[{index}]")
            yield Difference(path=path, old=f"{len(first)} entries", new=f"{len(second)} entries")
            return
    documents = _documents(old, new)
    if documents and documents[0] != documents[1]:
        yield from _opened(*documents, path)
        return
    if {_nothing(old), _nothing(new)} == {True}:
        return
    yield Difference(path=path, old=old, new=new)


def _opened(old: object, new: object, path: str) -> Iterator[Difference]:
    if isinstance(old, str):
        yield Difference(path=path, old=old, new=new)
    else:
        yield from differences(old, new, path)


def _nothing(value: object) -> bool:
    """An absent value and null are the same to the engine."""
    return value is None or value == ABSENT


def _key(value: object) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def _documents(old: object, new: object) -> tuple[object, object] | None:
    """Both sides opened, when both are JSON documents (policies, lifecycle rules), text in base64 (user data) or text
    of several lines, which become lines that only one side has.
    """
    if not (isinstance(old, str) and isinstance(new, str) and old and new):
        return None
    if old[0] in "{[" and new[0] in "{[":
        try:
            return json.loads(old), json.loads(new)
        except ValueError:
            return None
    decoded = _decoded(old), _decoded(new)
    first, second = (decoded[0] or old, decoded[1] or new) if all(decoded) else (old, new)
    if "\n" in first and "\n" in second:
        return _lines_apart(first, second)
    return (first, second) if all(decoded) else None


def _decoded(text: str) -> str:
    """The text that a base64 value holds; empty for anything else."""
    if len(text) < 16 or len(text) % 4:
        return ""
    try:
        found = base64.b64decode(text, validate=True).decode("utf-8")
    except ValueError:
        return ""
    return found if all(each.isprintable() or each in "\n\t\r" for each in found) else ""


def _lines_apart(old: str, new: str) -> tuple[dict[str, object], dict[str, object]]:
    """The lines that differ, under the words of their place: `line 3`."""
    before, after = old.splitlines(), new.splitlines()
    matcher = difflib.SequenceMatcher(a=before, b=after, autojunk=False)
    first: dict[str, object] = {}
    second: dict[str, object] = {}
    for tag, start, end, other, last in matcher.get_opcodes():
        if tag != "equal":
            key = f"line {start + 1}"
            first |= {key: "\n".join(before[start:end])} if end > start else {}
            second |= {key: "\n".join(after[other:last])} if last > other else {}
    return first, second


def shown(value: object) -> str:
    """One line; a long text is cut and identified by its length and digest, and a secret stays one."""
    if isinstance(value, str) and value.startswith(UNKNOWN) and value != UNKNOWN:
        # What a value comes from, or that its source is replaced, says more than that it isn't known yet.
        value = value.replace(f"{UNKNOWN} of ", "from ").replace(f"{UNKNOWN}: ", "")
    text = value if isinstance(value, str) else json.dumps(_veiled(value), ensure_ascii=False, default=str)
    if len(text) <= _LONGEST:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return f"{text[: _LONGEST - 60]}… ({len(text):,} characters, sha256 {digest})"


def _veiled(value: object) -> object:
    return plain(value) if isinstance(value, Mapping | list) else value
