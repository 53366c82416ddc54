"""One declared resource as a plain value: what the preview records, the cost model prices and the review compares.

It is made once, by the recorder or from the JSON of a preview or of the engine, and only read from there on. Unknown
values are `<unknown>`, secrets `<secret>`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

UNKNOWN = "<unknown>"
SECRET = "<secret>"
STACK_TYPE = "pulumi:pulumi:Stack"


@dataclass(frozen=True, kw_only=True)
class Record:
    """A resource with its inputs, by the wire's names, and the options that the engine acts on."""

    urn: str
    type: str
    name: str
    custom: bool = True
    parent: str = ""
    inputs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    depends_on: tuple[str, ...] = ()
    property_dependencies: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    protect: bool = False
    ignore_changes: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    provider: str = ""
    retain_on_delete: bool = False
    delete_before_replace: bool = False
    secret_outputs: tuple[str, ...] = ()
    timeouts: Mapping[str, str] = field(default_factory=dict[str, str])

    def one(self, by_urn: Mapping[str, Record], kind: str) -> Record | None:
        """The resource of a type that this one depends on."""
        return next((by_urn[urn] for urn in self.depends_on if urn in by_urn and by_urn[urn].type == kind), None)

    def number(self, key: str) -> float | None:
        """A figure among the inputs; None when it is absent or not known yet."""
        value = self.inputs.get(key)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    def part(self, key: str) -> Mapping[str, Any]:
        """A nested input; empty when it is absent."""
        value: Any = self.inputs.get(key)
        return value if isinstance(value, Mapping) else {}

    def as_json(self) -> dict[str, Any]:
        """An entry of the `resources` of `trainshed preview --json`."""
        return {
            "urn": self.urn,
            "type": self.type,
            "name": self.name,
            "parent": self.parent,
            "inputs": self.inputs,
            "depends_on": list(self.depends_on),
            "property_dependencies": {key: list(urns) for key, urns in self.property_dependencies.items()},
            "protect": self.protect,
            "ignore_changes": list(self.ignore_changes),
            "provider": self.provider,
            "custom": self.custom,
            "retain_on_delete": self.retain_on_delete,
            "delete_before_replace": self.delete_before_replace,
            "aliases": list(self.aliases),
        }


def from_json(entry: Mapping[str, Any]) -> Record:
    """A record from such an entry; what an older preview doesn't tell is as a resource without it has it."""
    wired: Mapping[str, Iterable[str]] = entry.get("property_dependencies") or {}
    return Record(
        urn=str(entry["urn"]),
        type=str(entry["type"]),
        name=str(entry.get("name") or str(entry["urn"]).rsplit("::", 1)[-1]),
        custom=bool(entry.get("custom", True)),
        parent=str(entry.get("parent") or ""),
        inputs=entry.get("inputs") or {},
        depends_on=tuple(entry.get("depends_on") or ()),
        property_dependencies={key: tuple(urns) for key, urns in wired.items()},
        protect=bool(entry.get("protect")),
        ignore_changes=tuple(entry.get("ignore_changes") or ()),
        aliases=tuple(str(each) for each in entry.get("aliases") or ()),
        provider=str(entry.get("provider") or ""),
        retain_on_delete=bool(entry.get("retain_on_delete")),
        delete_before_replace=bool(entry.get("delete_before_replace")),
    )


def owners(records: Iterable[Record]) -> dict[str, str]:
    """The name of the outermost component that holds each resource, by URN; empty for one that stands alone."""
    by_urn = {each.urn: each for each in records}
    found: dict[str, str] = {}

    def owner(record: Record) -> str:
        if record.urn not in found:
            above = by_urn.get(record.parent)
            own = "" if record.custom or record.type.startswith("pulumi:") else record.name
            found[record.urn] = (owner(above) if above is not None else "") or own
        return found[record.urn]

    for each in by_urn.values():
        owner(each)
    return found
