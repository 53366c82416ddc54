"""What a stack file may leave out, chosen for its environment.

Each default has its reason, and `trainshed preview --explain` shows them all.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from components.spec.reading.paths import Path, parsed, written


@dataclass(frozen=True, kw_only=True)
class Default:
    """A key that was left out, what it became, and why."""

    path: str
    value: Any
    why: str


_EVERYWHERE: tuple[tuple[str, Any, str], ...] = (
    ("form", {"kind": "cloud"}, "everything on AWS"),
    ("cluster.version", "1.35", "newest version in standard support whose add-ons are all pinned"),
)

_BY_ENVIRONMENT: dict[str, tuple[tuple[str, Any, str], ...]] = {
    "dev": (
        (
            "network.nat_gateways",
            "one",
            "a lost zone may stop a development cluster; a second gateway costs more than that",
        ),
        ("network.flow_log_days", 14, "long enough to look back at a failed run"),
        ("cluster.logs_days", 30, "long enough to look back at a failed run"),
        (
            "cluster.system_pool",
            {"instance_type": "m7i.xlarge", "nodes": 2},
            "controllers of a small cluster fit on two nodes",
        ),
        ("observability.metrics_days", 15, "a development cluster's past matters little"),
        ("observability.logs_days", 30, "a development cluster's past matters little"),
        ("governance.delete_protection", False, "a development stack is destroyed and made again"),
        ("storage.checkpoints.keep_last", 3, "enough to resume and to step back once"),
        ("storage.checkpoints.expire_days", 14, "development checkpoints are soon of no use"),
    ),
    "staging": (
        ("network.nat_gateways", "one", "staging may lose its way out for a while"),
        ("network.flow_log_days", 30, "a month to look back"),
        ("cluster.logs_days", 90, "a quarter to look back"),
        ("cluster.system_pool", {"instance_type": "m7i.2xlarge", "nodes": 3}, "one node in each of three zones"),
        ("observability.metrics_days", 30, "a month to compare runs"),
        ("observability.logs_days", 30, "a month to compare runs"),
        ("governance.delete_protection", False, "staging is remade to rehearse that"),
        ("storage.checkpoints.keep_last", 3, "enough to resume and to step back once"),
        ("storage.checkpoints.expire_days", 30, "a month to compare runs"),
    ),
    "prod": (
        ("network.nat_gateways", "per-zone", "a lost zone must not take the way out with it"),
        ("network.flow_log_days", 90, "a quarter to look back after an incident"),
        ("cluster.logs_days", 365, "audit logs are kept a year"),
        ("cluster.system_pool", {"instance_type": "m7i.2xlarge", "nodes": 3}, "one node in each of three zones"),
        ("observability.metrics_days", 30, "a month to compare runs"),
        ("observability.logs_days", 90, "a quarter to look back after an incident"),
        ("governance.audit_trail", True, "management actions are audited"),
        ("governance.delete_protection", True, "stateful resources refuse deletion"),
        ("storage.checkpoints.keep_last", 5, "enough to step back over a bad stretch of data"),
        ("storage.checkpoints.expire_days", 30, "a month to compare runs"),
    ),
}
_BY_ENVIRONMENT["standby"] = _BY_ENVIRONMENT["prod"]
_AWS_ONLY = ("network", "cluster")


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A default, and the environments that have it: all where none is named."""

    path: str
    value: Any
    why: str
    environments: tuple[str, ...] = ()


def of_environments() -> list[Choice]:
    """Every default that is chosen here, by key; environments that agree stand together."""
    found: dict[tuple[str, str, str], list[str]] = {}
    values: dict[tuple[str, str, str], Any] = {}
    for environment, choices in _BY_ENVIRONMENT.items():
        for path, value, why in choices:
            found.setdefault((path, repr(value), why), []).append(environment)
            values[path, repr(value), why] = value
    everywhere = [Choice(path=path, value=value, why=why) for path, value, why in _EVERYWHERE]
    chosen = [
        Choice(path=key[0], value=values[key], why=key[2], environments=tuple(names)) for key, names in found.items()
    ]
    return sorted([*everywhere, *chosen], key=lambda each: each.path)


def fill(data: dict[str, Any]) -> tuple[dict[str, Any], list[Default]]:
    """The data with the environment's defaults for what it leaves out, and those defaults. What is there is never
    changed.
    """
    out = copy.deepcopy(data)
    used: list[Default] = []
    form = out.get("form")
    self_hosted = isinstance(form, dict) and form.get("kind") == "self-hosted"
    environment = out.get("environment")
    chosen = _BY_ENVIRONMENT.get(environment, ()) if isinstance(environment, str) else ()
    for path, value, why in (*_EVERYWHERE, *chosen):
        if self_hosted and path.split(".")[0] in _AWS_ONLY:
            continue
        _set(out, parsed(path), value, why, used)
    return out, used


def _set(data: dict[str, Any], path: Path, value: Any, why: str, used: list[Default]) -> None:
    here: Any = data
    for part in path[:-1]:
        if here.get(part) is None:
            here[part] = {}
        here = here[part]
        if not isinstance(here, dict):
            return
    last = path[-1]
    present = here.get(last)
    if isinstance(value, dict) and isinstance(present, dict) and "kind" not in value:
        for key, inner in value.items():
            _set(data, (*path, key), inner, why, used)
    elif present is None:
        here[last] = copy.deepcopy(value)
        used.append(Default(path=written(path), value=value, why=why))


def left_out(value: BaseModel, data: Any, path: Path = ()) -> list[Default]:
    """The model's own defaults that apply because the data doesn't hold the key."""
    found: list[Default] = []
    for name, info in type(value).model_fields.items():
        if name not in value.__dict__:
            continue  # could not be read
        key = info.alias or name
        inner = getattr(value, name)
        given = isinstance(data, dict) and key in data
        if given and isinstance(inner, BaseModel):
            found += left_out(inner, data[key], (*path, key))
        elif given and isinstance(inner, tuple):
            for index, item in enumerate(inner):
                if isinstance(item, BaseModel):
                    found += left_out(item, data[key][index], (*path, key, index))
        elif not given and not isinstance(inner, BaseModel) and inner is not None and inner != () and inner != {}:
            found.append(Default(path=written((*path, key)), value=inner, why=info.description or ""))
        elif not given and isinstance(inner, BaseModel):
            found += left_out(inner, {}, (*path, key))
    return found
