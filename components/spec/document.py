"""A YAML document with the place of every key and value.

Hides YAML's surprises: scalars are read as the Pulumi engine reads them (YAML 1.2 booleans, so `yes` is a word), keys given twice are told,
and numbers such as `15.6e12` are numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from components.problems import Problem, Where
from components.spec.paths import Path, written

_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Base):  # type: ignore[misc] - the C loader has no stub, and its absence must fall back to the Python one
    """Composes nodes only; the scalars' meaning is decided here."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}


_NULL = re.compile(r"^(~|null|Null|NULL|)$")
_BOOLEAN = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER = re.compile(r"^[-+]?[0-9][0-9_]*$")
_FLOAT = re.compile(r"^[-+]?([0-9][0-9_]*)(\.[0-9_]*)?([eE][-+]?[0-9]+)?$")


@dataclass(frozen=True, kw_only=True)
class Document:
    """`data` is plain; `values` and `keys` give the place of a value and of its key by path, `ends` the last line of a value."""

    file: str
    text: str = field(repr=False, default="")
    data: Any = None
    values: dict[Path, Where] = field(default_factory=dict[Path, Where], repr=False)
    keys: dict[Path, Where] = field(default_factory=dict[Path, Where], repr=False)
    ends: dict[Path, int] = field(default_factory=dict[Path, int], repr=False)
    problems: tuple[Problem, ...] = ()

    def where(self, path: Path, *, of_key: bool = False) -> Where | None:
        """The place of a value (or of its key), or of the nearest thing around it that is in the file."""
        if of_key and path in self.keys:
            return self.keys[path]
        while path and path not in self.values:
            path = path[:-1]
        return self.values.get(path)

    def line(self, number: int) -> str:
        lines = self.text.splitlines()
        return lines[number - 1] if 0 < number <= len(lines) else ""


def scalar(text: str) -> Any:
    """A plain (unquoted) scalar's value."""
    if _NULL.match(text):
        return None
    if text in _BOOLEAN:
        return _BOOLEAN[text]
    if _INTEGER.match(text) and not re.match(r"^[-+]?0[0-9]", text):
        return int(text.replace("_", ""))
    if _FLOAT.match(text) and not re.match(r"^[-+]?0[0-9]", text):
        return float(text.replace("_", ""))
    return text


class _Walk:
    def __init__(self, file: str) -> None:
        self.file = file
        self.values: dict[Path, Where] = {}
        self.keys: dict[Path, Where] = {}
        self.ends: dict[Path, int] = {}
        self.problems: list[Problem] = []

    def place(self, node: Any) -> Where:
        return Where(file=self.file, line=node.start_mark.line + 1, column=node.start_mark.column + 1)

    def value(self, node: Any, path: Path) -> Any:
        self.values[path] = self.place(node)
        end = node.end_mark
        # A block ends where the next token starts, at the head of a line that isn't its own.
        self.ends[path] = max(end.line + (end.column > 0), node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            items: list[Any] = node.value
            return [self.value(item, (*path, index)) for index, item in enumerate(items)]
        text = str(node.value)
        return text if node.style in ("'", '"', "|", ">") else scalar(text)

    def mapping(self, node: Any, path: Path) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key_node, item in self.pairs(node):
            key = str(key_node.value)
            inner = (*path, key)
            if key in out:
                first = self.keys[inner]
                said = f'the key "{key}" is given twice'
                hint = f"the first is at line {first.line}: keep one"
                self.problems.append(
                    Problem(
                        id="key-twice",
                        path=written(inner).removeprefix("config.").removeprefix("trainshed:"),
                        said=said,
                        hint=hint,
                        where=self.place(key_node),
                    )
                )
                continue
            self.keys[inner] = self.place(key_node)
            out[key] = self.value(item, inner)
        return out

    def pairs(self, node: Any) -> Iterator[tuple[Any, Any]]:
        own: list[tuple[Any, Any]] = []
        merged: list[tuple[Any, Any]] = []
        for key, item in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value == "<<" and key.style not in ("'", '"'):
                sources: list[Any] = item.value if isinstance(item, yaml.SequenceNode) else [item]
                merged += [pair for source in sources if isinstance(source, yaml.MappingNode) for pair in self.pairs(source)]
            else:
                own.append((key, item))
        mine = {str(key.value) for key, _ in own}
        yield from own
        yield from ((key, item) for key, item in merged if str(key.value) not in mine)


def read(text: str, file: str) -> Document:
    """Parse; a text that is no YAML gives one problem with its line and column, and no data."""
    try:
        node: Any = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Where(file=file, line=mark.line + 1, column=mark.column + 1) if mark else None
        said = f"this is not YAML: {error.problem or error.context}"
        hint = f"{error.context}" if error.context and error.problem else ""
        return Document(file=file, text=text, problems=(Problem(id="yaml", path="", said=said, hint=hint, where=place),))
    except (yaml.YAMLError, ValueError) as error:
        return Document(file=file, text=text, problems=(Problem(id="yaml", path="", said=f"this is not YAML: {error}"),))
    walk = _Walk(file)
    data = walk.value(node, ()) if node is not None else None
    return Document(file=file, text=text, data=data, values=walk.values, keys=walk.keys, ends=walk.ends, problems=tuple(walk.problems))
