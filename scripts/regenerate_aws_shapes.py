"""Writes infra/offline/aws_shapes.json: what the AWS classes that this project uses are called and how they are filled,
read from the SDK itself.

Run it after the SDK's version or the set of used classes changes: `python scripts/regenerate_aws_shapes.py`; with
`--check` it only says whether the file is up to date.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import re
import sys
import typing
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pulumi
import pulumi_aws
from pulumi import _types  # pyright: ignore[reportPrivateUsage] - what the SDK itself asks

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from infra.offline.recorder import record  # noqa: E402

FILE = ROOT / "infra" / "offline" / "aws_shapes.json"
SOURCES = ("components", "infra")
_MENTION = re.compile(r"\baws\.([a-z0-9]+)\.([A-Z]\w*)")


class _Seen(Exception):
    """Ends a constructor once it has said what it would register."""


def mentioned() -> list[tuple[str, str]]:
    """(module, name) of every AWS class or argument type that the sources name, sorted."""
    found: set[tuple[str, str]] = set()
    for folder in SOURCES:
        for path in (ROOT / folder).rglob("*.py"):
            found |= set(_MENTION.findall(path.read_text(encoding="utf-8")))
    return sorted(found)


def element(declared: Any) -> type | None:
    """The input type inside a list or an optional; None for plain values and maps, whose keys are the user's."""
    inner = _types.unwrap_type(declared)
    if typing.get_origin(inner) in (list, Sequence):
        return element(typing.get_args(inner)[0])
    if typing.get_origin(inner) in (dict, Mapping):
        assert element(typing.get_args(inner)[1]) is None, f"a map of {inner} would need names below keys of the user's"
        return None
    return inner if isinstance(inner, type) and _types.is_input_type(inner) else None


class Shapes:
    """Argument types by `module.Name`, gathered as they are met."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, Any]] = {}

    def fields(self, kind: type) -> dict[str, Any]:
        """Python name -> wire name, or [wire name, shape] where something is nested."""
        types = _types.input_type_types(kind)
        names = _types.input_type_py_to_pulumi_names(kind)
        return {python: self._field(wire, types[wire]) for python, wire in sorted(names.items())}

    def _field(self, wire: str, declared: Any) -> str | list[str]:
        inner = element(declared)
        return wire if inner is None else [wire, self.name(inner)]

    def name(self, kind: type) -> str:
        key = f"{kind.__module__.split('.')[1]}.{kind.__name__}"
        if key not in self.found:
            self.found[key] = {}  # before its fields: types may hold themselves
            self.found[key].update(self.fields(kind))
        return key


def registered(cls: type[pulumi.CustomResource]) -> tuple[str, dict[str, Any], pulumi.ResourceOptions]:
    """Token, properties and options that a class registers when it is given nothing."""
    said: list[tuple[str, dict[str, Any], pulumi.ResourceOptions]] = []

    def note(
        self: object, token: str, name: str, props: Any = None, opts: Any = None, *more: object, **others: object
    ) -> None:
        assert not more and not others, f"{cls.__name__} registers in a way that a stand-in doesn't know"
        said.append((token, vars(props), opts))
        raise _Seen

    real = pulumi.CustomResource.__init__
    pulumi.CustomResource.__init__ = note  # pyright: ignore[reportAttributeAccessIssue] - put back below
    try:
        made: Any = cls
        made("name", opts=pulumi.ResourceOptions(urn="urn:pulumi:none"))  # with a URN no property is required
    except _Seen:
        pass
    finally:
        pulumi.CustomResource.__init__ = real
    return said[0]


def resource(cls: type[pulumi.CustomResource], shapes: Shapes) -> dict[str, Any]:
    holder = importlib.import_module(cls.__module__)
    # Where a nested type has taken the usual name, the resource's own arguments have another.
    arguments = getattr(holder, f"{cls.__name__}InitArgs", None) or getattr(holder, f"{cls.__name__}Args")
    token, props, opts = registered(cls)
    required = [
        name
        for name, given in inspect.signature(arguments.__init__).parameters.items()
        if given.default is inspect.Parameter.empty
    ]
    inputs = shapes.fields(arguments)
    found = {
        "token": token,
        "inputs": inputs,
        "outputs": sorted(set(_types.resource_py_to_pulumi_names(cls)) - set(inputs)),
        "required": sorted(set(required) & set(inputs)),
        "defaults": {name: value for name, value in sorted(props.items()) if value is not None},
        "secrets": opts.additional_secret_outputs or [],
        "aliases": [alias.type_ for alias in opts.aliases or () if isinstance(alias, pulumi.Alias)],
        "replace_on_changes": opts.replace_on_changes or [],
    }
    return {key: value for key, value in found.items() if value}


def provider() -> dict[str, Any]:
    """What the provider registers beyond its region, by the wire's names: all of it the SDK's defaults."""
    made = record(lambda: pulumi_aws.Provider("provider", region="us-west-2"))[0]
    defaults = {name: value for name, value in sorted(made.inputs.items()) if name != "region"}
    return {"defaults": defaults, "secrets": sorted(made.secret_outputs)}


def generate() -> str:
    shapes = Shapes()
    resources: dict[str, Any] = {}
    for module, name in mentioned():
        kind = getattr(getattr(pulumi_aws, module), name)
        if inspect.isclass(kind) and issubclass(kind, pulumi.CustomResource):
            resources[f"{module}.{name}"] = resource(kind, shapes)
        elif inspect.isclass(kind) and _types.is_input_type(kind):
            shapes.name(kind)
    table: dict[str, Any] = {
        "sdk": version("pulumi_aws"),
        "resources": resources,
        "shapes": dict(sorted(shapes.found.items())),
    }
    lines = [f'"sdk": {json.dumps(table["sdk"])}', f'"provider": {json.dumps(provider())}']
    for part in ("resources", "shapes"):
        rows = ",\n".join(f"{json.dumps(key)}: {json.dumps(row)}" for key, row in table[part].items())
        lines.append(f'"{part}": {{\n{rows}\n}}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="say whether the file is up to date, and change nothing")
    wanted, check = generate(), parser.parse_args().check
    if FILE.exists() and FILE.read_text() == wanted:
        print(f"{FILE.relative_to(ROOT)} is up to date")
        return 0
    if check:
        print(
            f"{FILE.relative_to(ROOT)} is not what the SDK says: run python scripts/regenerate_aws_shapes.py",
            file=sys.stderr,
        )
        return 1
    FILE.write_text(wanted)
    print(f"wrote {FILE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
