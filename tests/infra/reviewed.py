"""What a stack declares, as texts for a reviewer: one YAML file for each component, with every input whole.

Policies and other JSON texts are written as the values they hold, user data as it reaches the machine. Tags that every
resource of the stack carries are left out, as another test looks for them. A text that is a file of this repository is
named by its path.
"""

from __future__ import annotations

import base64
import difflib
import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from components.record import STACK_TYPE, Record

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(__file__).parent / "golden"
# Shorter texts are more readable where they stand.
_SHORTEST_FILE = 1000
_BASE64 = re.compile(r"[A-Za-z0-9+/]{40,}={0,2}")
_TAGS = ("tags", "tagSpecifications", "tagsAll")
# The archive of the programs in workload/ changes often, and nothing is reviewed in its bytes.
_BYTES = ("binaryData", "trainshed.io/programs")


class _Dumper(yaml.SafeDumper):
    """Texts of several lines as blocks, and no anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


@cache
def _files() -> dict[str, str]:
    """The repository's texts, to their paths."""
    return {
        path.read_text(encoding="utf-8"): str(path.relative_to(ROOT))
        for folder in ("components", "workload")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if path.stat().st_size > _SHORTEST_FILE
    }


def _readable(value: Any, common: Mapping[str, str]) -> Any:
    if isinstance(value, Mapping):
        own = {key: _own(key, item, common) for key, item in value.items()}
        return {
            key: _readable(item, common)
            for key, item in own.items()
            if key not in _BYTES and (item or key not in _TAGS)
        }
    if isinstance(value, list | tuple):
        return [_readable(item, common) for item in value]
    if isinstance(value, str):
        if value in _files():
            return f"<the text of {_files()[value]}>"
        if value[:1] in "{[" and value[-1:] in "}]":
            try:
                return {"<JSON>": _readable(json.loads(value), common)}
            except ValueError:
                return value
        return "\n".join(line.rstrip() for line in value.split("\n")) if "\n" in value else value
    return value


def _own(key: str, item: Any, common: Mapping[str, str]) -> Any:
    if key in _TAGS:
        return _own_tags(item, common)
    if key == "userData" and isinstance(item, str) and _BASE64.fullmatch(item):
        return base64.b64decode(item).decode()
    return item


def _own_tags(tags: Any, common: Mapping[str, str]) -> Any:
    """What the tags say beyond the stack's."""
    if isinstance(tags, Mapping):
        return {key: value for key, value in tags.items() if common.get(key) != value and key != "Name"}
    if isinstance(tags, list):
        kept = [{**each, "tags": _own_tags(each.get("tags"), common)} for each in tags]
        return [each for each in kept if each["tags"]]
    return tags


def _entry(record: Record, common: Mapping[str, str]) -> dict[str, Any]:
    entry: dict[str, Any] = {}
    if record.protect:
        entry["protect"] = True
    if record.retain_on_delete:
        entry["retain_on_delete"] = True
    if record.delete_before_replace:
        entry["delete_before_replace"] = True
    if record.ignore_changes:
        entry["ignore_changes"] = list(record.ignore_changes)
    if named := [each for each in record.aliases if each]:
        entry["aliases"] = named
    inputs = _readable(dict(record.inputs), common) if record.custom else {}
    return entry | ({"inputs": inputs} if inputs else {})


def texts(records: Iterable[Record], common: Mapping[str, str]) -> dict[str, str]:
    """The file of each component that stands directly under the stack, by its name; `common`: the stack's tags."""
    every = list(records)
    by_urn = {each.urn: each for each in every}
    stack = {each.urn for each in every if each.type == STACK_TYPE}

    def outermost(record: Record) -> str:
        while record.parent and record.parent not in stack and record.parent in by_urn:
            record = by_urn[record.parent]
        return record.name

    found: dict[str, dict[str, Any]] = {}
    for record in sorted(every, key=lambda each: (each.type, each.name)):
        if record.type != STACK_TYPE:
            home = found.setdefault(outermost(record), {})
            home[f"{record.type} {record.name}"] = _entry(record, common)
    return {
        name: yaml.dump(entries, Dumper=_Dumper, sort_keys=True, allow_unicode=True, width=110)
        for name, entries in found.items()
    }


def write(folder: Path, found: Mapping[str, str]) -> None:
    """Make the folder hold these files and no others."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.yaml"):
        if path.stem not in found:
            path.unlink()
    for name, text in found.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """A unified diff over all files; empty when nothing has changed."""
    lines: list[str] = []
    for name in sorted({*before, *after}):
        old, new = before.get(name, "").splitlines(), after.get(name, "").splitlines()
        lines += difflib.unified_diff(old, new, f"{name}.yaml, reviewed", f"{name}.yaml, declared", n=2, lineterm="")
    return "\n".join(lines)
