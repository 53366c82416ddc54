"""A YAML document with the place of every key and value.

Keys given twice are reported, merges are followed, and anchors that would unfold without an end are stopped.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import yaml

from components.problems import Problem, Where
from components.spec.reading.paths import Path, written
from components.spec.reading.scalars import NOT_FINITE, scalar

# The C loader has no stub, and where it is absent the Python one does.
_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Base):
    """Composes nodes only; the scalars' meaning is decided here."""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> str:
        return ""


_MOST_LEVELS = 100
# Go's reader gives up on aliases too; no file that a person wrote comes near.
_MOST_UNFOLDED = 10_000
_KINDS = frozenset({f"tag:yaml.org,2002:{kind}" for kind in ("int", "float", "bool", "null", "timestamp")})


@dataclass(frozen=True, kw_only=True)
class Document:
    """`data` is plain; `values` and `keys` give the place of a value and of its key by path, `ends` the last line of a
    value.
    """

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


class _Unreadable(Exception):
    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.said)
        self.problem = problem


class _Walk:
    def __init__(self, file: str) -> None:
        self.file = file
        self.values: dict[Path, Where] = {}
        self.keys: dict[Path, Where] = {}
        self.ends: dict[Path, int] = {}
        self.problems: list[Problem] = []
        self.open: list[tuple[Any, bool]] = []
        self.seen: set[int] = set()
        self.unfolded = 0

    def place(self, node: Any) -> Where:
        return Where(file=self.file, line=node.start_mark.line + 1, column=node.start_mark.column + 1)

    def problem(self, node: Any, said: str, hint: str = "") -> Problem:
        return Problem(id="yaml", path="", said=said, hint=hint, where=self.place(node))

    @contextmanager
    def inside(self, node: Any) -> Generator[None]:
        """Follow a node once more, unless it leads nowhere. Raises _Unreadable."""
        if any(node is each for each, _ in self.open):
            raise _Unreadable(
                self.problem(node, "this contains itself", "an alias (*) inside leads back to its own anchor (&)")
            )
        if len(self.open) >= _MOST_LEVELS:
            raise _Unreadable(
                self.problem(
                    node, f"this lies more than {_MOST_LEVELS} levels deep", "nothing in these files nests so deep"
                )
            )
        again = id(node) in self.seen
        self.unfolded += again
        if self.unfolded > _MOST_UNFOLDED:
            outermost = next((each for each, met in self.open if met), node)
            said = f"aliases unfold to more than {_MOST_UNFOLDED:,} values"
            raise _Unreadable(self.problem(outermost, said, "write out what this anchor (&) stands for"))
        self.seen.add(id(node))
        self.open.append((node, again))
        try:
            yield
        finally:
            self.open.pop()

    def value(self, node: Any, path: Path) -> Any:
        with self.inside(node):
            self.values[path] = self.place(node)
            end = node.end_mark
            # A block ends where the next token starts, at the head of a line that isn't its own.
            self.ends[path] = max(end.line + (end.column > 0), node.start_mark.line + 1)
            if isinstance(node, yaml.MappingNode):
                return self.mapping(node, path)
            if isinstance(node, yaml.SequenceNode):
                items: list[Any] = node.value
                return [self.value(item, (*path, index)) for index, item in enumerate(items)]
            return self.scalar(node)

    def scalar(self, node: Any) -> Any:
        text = str(node.value)
        if node.tag and node.tag not in _KINDS:
            return text
        if not node.tag and node.style in ("'", '"', "|", ">"):
            return text
        if NOT_FINITE.fullmatch(text):
            self.problems.append(
                self.problem(
                    node, f"{text} is no number that the engine can hold", "write a number, or quotes around it"
                )
            )
        return scalar(text)

    def mapping(self, node: Any, path: Path) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key_node, item in self.pairs(node):
            if not isinstance(key_node, yaml.ScalarNode):
                self.problems.append(self.problem(key_node, "a key is a word here, not a mapping or a list"))
                continue
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
        """The mapping's own keys, then those merged into it that it hasn't; of several sources the first wins."""
        own: list[tuple[Any, Any]] = []
        merged: list[tuple[Any, Any]] = []
        for key, item in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value == "<<" and key.style not in ("'", '"'):
                merged += self.merged(item)
            else:
                own.append((key, item))
        yield from own
        reported = {str(key.value) for key, _ in own}
        for key, item in merged:
            if str(key.value) not in reported:
                reported.add(str(key.value))
                yield key, item

    def merged(self, item: Any) -> Iterator[tuple[Any, Any]]:
        sources: list[Any] = item.value if isinstance(item, yaml.SequenceNode) else [item]
        for source in sources:
            if isinstance(source, yaml.MappingNode):
                with self.inside(source):
                    yield from self.pairs(source)
            else:
                said = '"<<" merges mappings, and this is none'
                self.problems.append(
                    self.problem(source, said, "write an alias of a mapping (*name), or a list of them")
                )


def read(text: str, file: str) -> Document:
    """Parse; a text that is no YAML gives one problem with its line and column, and no data."""
    walk = _Walk(file)
    try:
        node: Any = yaml.compose(text, Loader=_Loader)
        data = walk.value(node, ()) if node is not None else None
    except _Unreadable as error:
        return Document(file=file, text=text, problems=(error.problem,))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Where(file=file, line=mark.line + 1, column=mark.column + 1) if mark else None
        said = f"this is not YAML: {error.problem or error.context}"
        hint = f"{error.context}" if error.context and error.problem else ""
        return Document(
            file=file, text=text, problems=(Problem(id="yaml", path="", said=said, hint=hint, where=place),)
        )
    except yaml.reader.ReaderError:
        return Document(file=file, text=text, problems=(_strange_character(text, file),))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        said = f"this is not YAML: {str(error).splitlines()[0]}"
        return Document(file=file, text=text, problems=(Problem(id="yaml", path="", said=said),))
    return Document(
        file=file,
        text=text,
        data=data,
        values=walk.values,
        keys=walk.keys,
        ends=walk.ends,
        problems=tuple(walk.problems),
    )


def _strange_character(text: str, file: str) -> Problem:
    # The reader counts bytes or characters, as the case may be, and no lines.
    found = yaml.reader.Reader.NON_PRINTABLE.search(text)
    before = text[: found.start()] if found else ""
    place = Where(file=file, line=before.count("\n") + 1, column=len(before) - before.rfind("\n"))
    name = f"the character U+{ord(found.group()):04X}" if found else "a character"
    return Problem(
        id="yaml", path="", said=f"this is not YAML: {name} is not allowed in it", hint="take it out", where=place
    )
