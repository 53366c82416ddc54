"""A node: one value inside a resource's inputs, with the path by which a person would name it.

A value can be absent, null, empty, unknown, secret, of the wrong type, or left out of the update. No rule may pass by
accident because of that: asking a node for a type gives that type, gives None for what is absent, or raises what the
evaluator reports.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

UNKNOWN = "<unknown>"
SECRET = "<secret>"

# What the engine writes for a value it can't know yet, one text for each type (sdk/go/common/resource/plugin/rpc.go).
_UNKNOWN_ON_THE_WIRE = frozenset(
    {
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
        "04da6b54-80e4-46f7-96ec-b56ff0331ba9",
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
        "030794c1-ac77-496b-92df-f27374a8bd58",
        "e48ece36-62e2-4504-bad9-02848725956a",
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
        UNKNOWN,
    }
)
SIGNATURE = "4dabf18193072939515e22adb298388d"
SECRET_SIGNATURE = "1b47061264138c4ac30d75fd1eb44270"
OUTPUT_SIGNATURE = "d0e6a833031e9bbcd3f4e8bde6ca49a4"


LEFT_OUT = "is not part of this update (--target or --exclude leaves it out)"


class LeftOut:
    """The properties of a resource that this update leaves out: the engine names it and sends nothing of it."""

    def __repr__(self) -> str:
        return "left out of this update"


LEFT_OUT_PROPERTIES = LeftOut()


class Absent:
    """The value of a key that is missing or null."""

    def __repr__(self) -> str:
        return "not set"


ABSENT = Absent()


class Unjudged(Exception):
    """A rule met a value that can't be known here."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path} {why}")
        self.path = path
        self.why = why


class WrongType(Exception):
    """A rule met a value of a type the provider would refuse; it is a violation, because nothing can be
    concluded from it.
    """

    def __init__(self, node: Node, wanted: str) -> None:
        super().__init__(f"{node.path} is no {wanted}")
        self.node = node
        self.wanted = wanted


def is_unknown(value: object) -> bool:
    return value in _UNKNOWN_ON_THE_WIRE if isinstance(value, str) else type(value).__name__ == "Unknown"


def _is_map(value: object) -> bool:
    # The plain type first: the abstract one costs ten times as much, and this is asked at every step into a value.
    return type(value) is dict or isinstance(value, Mapping)


def _unwrap(value: Any, secret: bool) -> tuple[Any, bool]:
    """The value inside a secret or output envelope of the wire, and whether it is secret."""
    while _is_map(value) and SIGNATURE in value:
        if value[SIGNATURE] == SECRET_SIGNATURE:
            value, secret = value.get("value"), True
        elif value[SIGNATURE] == OUTPUT_SIGNATURE:
            value, secret = value.get("value", UNKNOWN), secret or bool(value.get("secret"))
        else:
            break
    return (ABSENT if value is None else value), secret


@dataclass(frozen=True, slots=True)
class Node:
    """A value, its path, and whether it lies inside a secret."""

    value: Any
    path: str
    secret: bool = False

    @staticmethod
    def of(value: Any, path: str, secret: bool = False) -> Node:
        plain, hidden = _unwrap(value, secret)
        return Node(plain, path, hidden)

    @property
    def absent(self) -> bool:
        return self.value is ABSENT

    @property
    def left_out(self) -> bool:
        return self.value is LEFT_OUT_PROPERTIES

    @property
    def unknown(self) -> bool:
        return self.left_out or is_unknown(self.value)

    @property
    def opaque(self) -> bool:
        """Unknown, or a secret whose content isn't here: no statement about its content is possible."""
        return self.unknown or (isinstance(self.value, str) and self.value == SECRET)

    def require_known(self) -> None:
        if self.left_out:
            raise Unjudged(self.path, LEFT_OUT)
        if self.unknown:
            raise Unjudged(self.path, "is not known before the update")
        if self.opaque:
            raise Unjudged(self.path, "is secret")

    def at(self, *keys: str | int) -> Node:
        """The node under these keys. What lies under an absent value is absent, under an unknown one unknown."""
        node = self
        for key in keys:
            node = node._step(key)
        return node

    def _step(self, key: str | int) -> Node:
        path = f"{self.path}[{key}]" if isinstance(key, int) else f"{self.path}.{key}" if self.path else key
        if self.absent or self.opaque:
            return Node(self.value, path, self.secret)
        if isinstance(key, int):
            elements = self._list()
            return Node.of(elements[key] if key < len(elements) else None, path, self.secret)
        if not _is_map(self.value):
            raise WrongType(self, "map")
        return Node.of(self.value.get(key), path, self.secret)

    def _list(self) -> list[Any]:
        if not isinstance(self.value, list | tuple):
            raise WrongType(self, "list")
        return list(self.value)

    def elements(self) -> list[Node]:
        """The elements of a list; none when it is absent."""
        if self.absent:
            return []
        self.require_known()
        return [Node.of(element, f"{self.path}[{place}]", self.secret) for place, element in enumerate(self._list())]

    def one_or_many(self) -> list[Node]:
        """A list's elements, or the single value that stands where a list may stand (as in IAM documents)."""
        return self.elements() if self.absent or self.opaque or isinstance(self.value, list | tuple) else [self]

    def entries(self) -> dict[str, Node]:
        """The values of a map by key; none when it is absent."""
        if self.absent:
            return {}
        self.require_known()
        if not isinstance(self.value, Mapping):
            raise WrongType(self, "map")
        return {str(key): self.at(str(key)) for key in self.value}

    def boolean(self) -> bool | None:
        """A boolean, also from the texts "true" and "false" that some providers use for one."""
        if self.absent:
            return None
        self.require_known()
        if isinstance(self.value, bool):
            return self.value
        if isinstance(self.value, str) and self.value in ("true", "false", ""):
            return {"true": True, "false": False}.get(self.value)
        raise WrongType(self, "boolean")

    def text(self) -> str | None:
        if self.absent:
            return None
        self.require_known()
        if not isinstance(self.value, str):
            raise WrongType(self, "text")
        return self.value

    def number(self) -> float | None:
        if self.absent:
            return None
        self.require_known()
        if isinstance(self.value, int | float) and not isinstance(self.value, bool):
            return self.value
        raise WrongType(self, "number")

    def texts(self) -> list[str]:
        """The texts of a list; none when it is absent."""
        return [text for element in self.elements() if (text := element.text()) is not None]

    def walk(self) -> Iterator[Node]:
        """This node and all below it that are known, parents first."""
        yield self
        if _is_map(self.value):
            for key in self.value:
                yield from self.at(str(key)).walk()
        elif isinstance(self.value, list | tuple):
            for element in self.elements():
                yield from element.walk()


def shown(node: Node) -> str:
    """How a value is written in a message: short, and never a secret."""
    if node.secret or node.value == SECRET:
        return "is <secret>"
    value = node.value
    if node.absent:
        return "is not set"
    if isinstance(value, bool):
        return f"is {str(value).lower()}"
    if isinstance(value, float) and value.is_integer():
        return f"is {int(value)}"
    if isinstance(value, str):
        return f'is "{value if len(value) <= 80 else value[:77] + "..."}"'
    if isinstance(value, list | tuple):
        return f"is a list of {len(value)}" if value else "is an empty list"
    if isinstance(value, Mapping):
        return f"is a map of {len(value)} keys" if value else "is an empty map"
    return f"is {value}"
