"""A stand-in for `pulumi_aws` in offline previews: classes that register the very same resources and cost no second of
imports.

The SDK's modules define thousands of argument types of which a stack uses a few, and importing them takes longer than
all the rest of a preview (docs/decisions/sdk-stand-in.md). The few are in `aws_shapes.json`, which
`scripts/regenerate_aws_shapes.py` reads from the SDK.

Only for runs whose outputs are unknown: a computed output is simply unknown here. The engine always runs the SDK
itself, and tests hold both against each other, record by record. What the table lacks comes from the SDK. With another
version of the SDK, or with TRAINSHED_AWS_SDK=1 in the environment, nothing is replaced.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, cast

import pulumi

PACKAGE = "pulumi_aws"
SWITCH = "TRAINSHED_AWS_SDK"  # the one flag that turns the stand-in off
_TABLE = Path(__file__).with_name("aws_shapes.json")


def install() -> str:
    """Put the stand-in where `import pulumi_aws` finds it; the answer is why the SDK is used instead, or empty."""
    if PACKAGE in sys.modules:
        return "" if isinstance(sys.modules[PACKAGE], _Package) else "it is imported already"
    if os.environ.get(SWITCH, "").lower() in ("1", "true", "yes"):
        return f"{SWITCH} is set"
    found = importlib.util.find_spec(PACKAGE)
    try:
        installed = version(PACKAGE)
    except PackageNotFoundError:
        return "its version is not known"
    if found is None or installed != _table()["sdk"]:
        return f"version {installed} is installed, and infra/offline/aws_shapes.json is of {_table()['sdk']}"
    sys.modules[PACKAGE] = _Package(list(found.submodule_search_locations or ()))
    return ""


@cache
def _table() -> dict[str, Any]:
    return json.loads(_TABLE.read_text(encoding="utf-8"))


class _Package(ModuleType):
    """`pulumi_aws`: its modules by name, and for what is not in one of them the SDK's own file."""

    def __init__(self, path: list[str]) -> None:
        super().__init__(PACKAGE, __doc__)
        self.__path__ = path

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name == "Provider":
            return _provider
        module = _Module(name)
        setattr(self, name, module)
        return module


class _Module(ModuleType):
    """One service's classes; they are made when they are first asked for."""

    def __init__(self, service: str) -> None:
        super().__init__(f"{PACKAGE}.{service}")
        self._service = service

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        key, table = f"{self._service}.{name}", _table()
        if key in table["resources"]:
            shape = table["resources"][key]
            made: Any = type(
                name, (_Resource,), {"shape": shape, "names": _pairs(shape["inputs"]), "__module__": self.__name__}
            )
        elif key in table["shapes"]:
            made = partial(_arguments, key)
        elif key.removesuffix("Dict") in table["shapes"]:
            made = dict
        else:
            made = getattr(importlib.import_module(self.__name__), name)
        setattr(self, name, made)
        return made


def _arguments(shape: str, **given: object) -> dict[str, object]:
    """What an argument type holds, by Python's names. Raises TypeError for a name that it doesn't have."""
    _refuse_unknown(shape.split(".")[1], given, _table()["shapes"][shape])
    return {name: value for name, value in given.items() if value is not None}


def _refuse_unknown(where: str, given: Mapping[str, object], known: Mapping[str, object]) -> None:
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, 1)
            raise TypeError(f"{where} takes no argument {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))


# For each name: the name on the other side, and the shape of what lies below it.
_Names = Mapping[str, tuple[str, str | None]]


def _pairs(fields: Mapping[str, Any]) -> _Names:
    return {name: (said, None) if isinstance(said, str) else (said[0], said[1]) for name, said in fields.items()}


@cache
def _wire_names(shape: str) -> _Names:
    return _pairs(_table()["shapes"][shape])


@cache
def _python_names(shape: str) -> _Names:
    return {wire: (name, below) for name, (wire, below) in _wire_names(shape).items()}


def _translated(value: Any, shape: str, names: Callable[[str], _Names]) -> Any:
    """`value` with the keys of every mapping in it, at any depth, as `names` gives them for its shape."""
    if isinstance(value, pulumi.Output):
        return cast("pulumi.Output[Any]", value).apply(lambda known: _translated(known, shape, names))
    if isinstance(value, list | tuple):
        return [_translated(item, shape, names) for item in cast("list[Any]", value)]
    if not isinstance(value, Mapping):
        return value
    known, out = names(shape), dict[str, Any]() if names is _wire_names else _Nested(shape)
    for key, item in cast("Mapping[str, Any]", value).items():
        name, below = known.get(key, (key, None))
        out[name] = _translated(item, below, names) if below else item
    return out


class _Nested(dict[str, Any]):
    """A nested output, read like an object as the SDK's output types are: a name that it doesn't have is refused."""

    def __init__(self, shape: str) -> None:
        super().__init__()
        self._shape = shape

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self:
            return self[name]
        known = _wire_names(self._shape)
        if name not in known and name not in _outputs_alone(self._shape):
            near = get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise AttributeError(f"{self._shape.split('.')[1].removesuffix('Args')} has no output {name!r}{hint}")
        return None


@cache
def _outputs_alone(shape: str) -> frozenset[str]:
    """The names that the SDK's own output type has, which may be more than its arguments'. Asked only before a refusal:
    it imports a module of the SDK.
    """
    service, name = shape.split(".")
    kind = getattr(importlib.import_module(f"{PACKAGE}.{service}.outputs"), name.removesuffix("Args"), None)
    return frozenset(each for each in vars(kind) if not each.startswith("_")) if kind is not None else frozenset()


class _Resource(pulumi.CustomResource):
    shape: ClassVar[Mapping[str, Any]]
    names: ClassVar[_Names]

    def __init__(self, resource_name: str, opts: pulumi.ResourceOptions | None = None, **given: object) -> None:
        _refuse_unknown(type(self).__name__, given, self.names)
        options = pulumi.ResourceOptions.merge(_own_options(self.shape), opts)
        set_ = {name: value for name, value in given.items() if value is not None}
        missing = [name for name in self.shape.get("required", ()) if name not in set_]
        if missing and options.urn is None:
            raise TypeError(f"Missing required property {missing[0]!r}")
        props: dict[str, Any] = {}
        for name, value in {**self.shape.get("defaults", {}), **set_}.items():
            wire, below = self.names[name]
            props[wire] = _translated(value, below, _wire_names) if below else value
        super().__init__(self.shape["token"], resource_name, props, options)
        # The SDK has put an output for each property under its wire name.
        for name in set_:
            wire, below = self.names[name]
            output = self.__dict__[wire]
            self.__dict__[name] = (
                output.apply(partial(_translated, shape=below, names=_python_names)) if below else output
            )

    def __getattr__(self, name: str) -> Any:
        """What nobody gave: the cloud will say it, so it is unknown, as the id is."""
        if name in self.names or name in self.shape.get("outputs", ()):
            return self.id.apply(lambda known: None)
        raise AttributeError(f"{type(self).__name__} has no output {name!r}")


class _RegionalProvider(pulumi.ProviderResource):
    def __init__(self, resource_name: str, opts: pulumi.ResourceOptions | None, region: object) -> None:
        shape = _table()["provider"]
        super().__init__(
            "aws",
            resource_name,
            {**shape["defaults"], "region": region},
            pulumi.ResourceOptions.merge(_own_options(shape), opts),
        )


def _provider(resource_name: str, opts: pulumi.ResourceOptions | None = None, **given: Any) -> pulumi.ProviderResource:
    """A provider of one region; any other comes from the SDK, whose provider knows how to write down every argument."""
    if set(given) == {"region"} and given["region"] is not None:
        return _RegionalProvider(resource_name, opts, given["region"])
    return importlib.import_module(f"{PACKAGE}.provider").Provider(resource_name, opts, **given)


def _own_options(shape: Mapping[str, Any]) -> pulumi.ResourceOptions:
    return pulumi.ResourceOptions(
        version=_table()["sdk"],
        additional_secret_outputs=shape.get("secrets"),
        aliases=[pulumi.Alias(type_=each) for each in shape.get("aliases", ())] or None,
        replace_on_changes=shape.get("replace_on_changes"),
    )
