"""The stack file and the task file described from their models: JSON schemas for editors, and a page of all keys.

Both come from the models alone, so a key can't be without a description, and a description not without its key.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, cast

from components.spec import defaults
from components.spec.base import Spec
from components.spec.stack import StackSpec
from components.spec.task import TaskSpec

File = Literal["stack", "task"]
FILES: Final[tuple[File, ...]] = ("stack", "task")
_PROJECT: Final = "trainshed"
_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
_ENCRYPTED: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"secure": {"type": "string"}},
    "required": ["secure"],
    "additionalProperties": False,
}
# Under which heading each top-level key of a stack file stands, in the order of a typical file.
_TITLES: Final[Mapping[File, str]] = {"stack": "The stack file", "task": "The task file"}


def schema(file: File) -> dict[str, Any]:
    """The JSON schema of a whole file, for the YAML language server of an editor."""
    model: type[Spec] = StackSpec if file == "stack" else TaskSpec
    made = cast("dict[str, Any]", _plain(model.model_json_schema(by_alias=True)))
    if file == "task":
        return {"$schema": _DRAFT, **made, "title": "Trainshed task file"}
    properties = {
        ("aws:region" if name == "region" else f"{_PROJECT}:{name}"): each for name, each in made["properties"].items()
    }
    config = {
        "type": "object",
        "properties": properties,
        "required": [f"{_PROJECT}:{name}" for name in made.get("required", [])],
        # Other namespaces of the engine's configuration, and its own keys, are none of ours.
        "patternProperties": {f"^(?!{_PROJECT}:)": {}},
        "additionalProperties": False,
    }
    whole = {
        "$schema": _DRAFT,
        "title": "Trainshed stack file",
        "type": "object",
        "properties": {"config": config, "encryptionsalt": {"type": "string"}, "secretsprovider": {"type": "string"}},
        "required": ["config"],
        "$defs": made.get("$defs", {}),
    }
    return cast("dict[str, Any]", _encryptable(whole))


def _plain(part: Any) -> Any:
    """Without the titles that pydantic makes from names: an editor shows the description."""
    if isinstance(part, dict):
        words = cast("dict[str, Any]", part)
        return {
            key: _plain(value)
            for key, value in words.items()
            if not (key == "title" and isinstance(value, str) and "type" not in str(value))
        }
    if isinstance(part, list):
        return [_plain(each) for each in cast("list[Any]", part)]
    return part


def _encryptable(part: Any) -> Any:
    """The engine keeps an encrypted value as `{secure: ...}` wherever text stands, and booleans as words."""
    if isinstance(part, dict):
        words = {key: _encryptable(value) for key, value in cast("dict[str, Any]", part).items()}
        kind = words.get("type")
        if kind == "string" and "enum" not in words and "const" not in words and "secure" not in str(words):
            said = {key: words.pop(key) for key in ("description", "default") if key in words}
            return {**said, "anyOf": [words, _ENCRYPTED]}
        if kind == "boolean":
            said = {key: words.pop(key) for key in ("description", "default") if key in words}
            return {**said, "anyOf": [words, {"enum": ["true", "false"]}]}
        return words
    if isinstance(part, list):
        return [_encryptable(each) for each in cast("list[Any]", part)]
    return part


def page(file: File) -> str:
    """All keys of a file as one Markdown page."""
    model: type[Spec] = StackSpec if file == "stack" else TaskSpec
    made = model.model_json_schema(by_alias=True)
    lines = [
        f"# {_TITLES[file]}",
        "",
        (
            "Every key, its type and its default. Generated from the models by "
            f"`trainshed schema {file} --format markdown`."
        ),
        "",
    ]
    if file == "stack":
        lines += [
            "Keys stand under `config`, each with `trainshed:` before it; the region is `aws:region`. Defaults that",
            "depend on the environment are listed at the end, with their reasons.",
            "",
        ]
    lines += _section(made, made.get("$defs", {}), "", frozenset(), file)
    if file == "stack":
        lines += _environment_defaults()
    return "\n".join(lines).rstrip() + "\n"


def _section(
    made: Mapping[str, Any], named: Mapping[str, Any], path: str, seen: frozenset[tuple[str, str]], file: File
) -> list[str]:
    """One table for the keys of an object, and a section for each object below it."""
    required = set(made.get("required", []))
    lines = ["| key | type | default | meaning |", "|---|---|---|---|"]
    below: list[tuple[str, Mapping[str, Any]]] = []
    for name, each in made.get("properties", {}).items():
        said = each.get("description") or _said(each, named)
        key = f"`{path}{name}`" if path or file == "task" else f"`{'aws' if name == 'region' else _PROJECT}:{name}`"
        default = "**required**" if name in required else _default(each)
        lines.append(f"| {key} | {_type(each, named)} | {default} | {_cell(said)} |")
        for ref, many in _objects(each):
            below.append((f"{path}{name}{'[]' if many else ''}.", {"$ref": ref}))
    lines.append("")
    for inner, ref in below:
        name = str(ref["$ref"]).rsplit("/", 1)[1]
        target = named[name]
        if (inner, name) in seen or "properties" not in target:
            continue
        seen = seen | {(inner, name)}
        said = str(target.get("description", "")).replace("\n", " ")
        kind = target["properties"].get("kind", {}).get("const")
        title = f"## `{inner.rstrip('.')}`" + (f" of kind `{kind}`" if kind else "")
        lines += [title, "", said, ""] if said else [title, ""]
        lines += _section(target, named, inner, seen, file)
    return lines


def _said(part: Mapping[str, Any], named: Mapping[str, Any]) -> str:
    """The description of an object's model, where its key has none."""
    refs = [ref for ref, _ in _objects(part)]
    said = str(named[refs[0].rsplit("/", 1)[1]].get("description", "")) if len(refs) == 1 else ""
    return said[:1].lower() + said[1:].rstrip(".").replace("\n", " ")


def _objects(part: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    if "$ref" in part:
        yield part["$ref"], False
    for each in (*part.get("anyOf", []), *part.get("oneOf", []), *part.get("allOf", [])):
        yield from _objects(each)
    if isinstance(part.get("items"), dict):
        yield from ((ref, True) for ref, _ in _objects(part["items"]))


def _type(part: Mapping[str, Any], named: Mapping[str, Any]) -> str:
    if "$ref" in part:
        target = named[part["$ref"].rsplit("/", 1)[1]]
        return "mapping" if target.get("type") == "object" else _type(target, named)
    if "enum" in part:
        return " \\| ".join(f"`{each}`" for each in part["enum"])
    if "const" in part:
        return f"`{part['const']}`"
    choices = [*part.get("anyOf", []), *part.get("oneOf", [])]
    if choices:
        kinds = [_type(each, named) for each in choices if each.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if part.get("type") == "array":
        return f"list of {_type(part['items'], named)}" if part.get("items") else "list"
    if part.get("type") == "object":
        return "mapping"
    if isinstance(part.get("type"), list):
        return "number, such as `15.6T`"
    return {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}.get(
        str(part.get("type")), "any"
    )


def _default(part: Mapping[str, Any]) -> str:
    value = part.get("default")
    if value is None:
        return ""
    return f"`{_cell(json.dumps(value, ensure_ascii=False))}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _environment_defaults() -> list[str]:
    lines = [
        "## Defaults that depend on the environment",
        "",
        "What `trainshed preview STACK --explain` lists. `standby` has those of `prod`.",
        "",
        "| key | environment | default | why |",
        "|---|---|---|---|",
    ]
    for each in defaults.of_environments():
        where = ", ".join(each.environments) or "all"
        value = json.dumps(each.value, ensure_ascii=False)
        lines.append(f"| `{_PROJECT}:{each.path}` | {where} | `{_cell(value)}` | {_cell(each.why)} |")
    return [*lines, ""]
