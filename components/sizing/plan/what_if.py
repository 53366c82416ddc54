"""Sweeps: the same question asked with one thing changed, as rows of one table.

A word such as `nodes=512,1024` becomes changed sections of the task file, which are read like any other.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

from components.catalog import Catalog
from components.naming import did_you_mean
from components.problems import Problem, render
from components.sizing.plan import reading
from components.sizing.plan.plan import Plan, plan
from components.spec.reading.document import scalar

# word -> (section, key, keys of that section that it replaces)
KEYS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "nodes": ("hardware", "nodes", ()),
    "instance_type": ("hardware", "instance_type", ("accelerator", "cards_per_node", "network_gbps")),
    "accelerator": ("hardware", "accelerator", ("instance_type",)),
    "network_gbps": ("hardware", "network_gbps", ()),
    "precision": ("training", "precision", ()),
    "global_batch": ("training", "global_batch", ()),
    "recompute": ("training", "recompute", ()),
    "sharding": ("training", "sharding", ()),
    "tokens": ("training", "tokens", ()),
    "sequence": ("model", "sequence", ()),
    "tensor": ("parallelism", "tensor", ()),
    "pipeline": ("parallelism", "pipeline", ()),
    "context": ("parallelism", "context", ()),
    "expert": ("parallelism", "expert", ()),
    "virtual_stages": ("parallelism", "virtual_stages", ()),
    "micro_batch": ("parallelism", "micro_batch", ()),
    "days": ("goal", "days", ()),
}


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """What is swept over which values; `rows` holds a plan, or the words why there is none, for each."""

    key: str
    rows: tuple[tuple[str, Plan | str], ...]


def parse(words: str) -> tuple[str, list[str]]:
    """`nodes=512,1024` as its key and values. Raises ValueError with the reason."""
    key, equals, rest = words.partition("=")
    values = [part.strip() for part in rest.split(",") if part.strip()]
    if not equals or not values:
        raise ValueError(f'--what-if "{words}" is not of the form key=value,value')
    if key.strip() not in KEYS:
        raise ValueError(f'--what-if can\'t change "{key.strip()}"; {did_you_mean(key.strip(), KEYS)}')
    return key.strip(), values


def sweep(data: dict[str, Any], key: str, values: list[str], cat: Catalog) -> Sweep:
    """One plan for each value, the rest of the task as it is."""
    return Sweep(key=key, rows=tuple((value, _one(data, key, value, cat)) for value in values))


def _one(data: dict[str, Any], key: str, value: str, cat: Catalog) -> Plan | str:
    section, name, replaced = KEYS[key]
    changed = copy.deepcopy(data)
    part: dict[str, Any] = dict(changed.get(section) or {})
    for other in replaced:
        part.pop(other, None)
    part[name] = scalar(value)
    changed[section] = part
    if key == "nodes":
        changed["goal"] = None  # the question is how long these nodes take
    if key == "days":
        hardware = dict(changed.get("hardware") or {})
        hardware.pop("nodes", None)
        changed["hardware"] = hardware
        changed["resources"] = None
    if key in ("nodes", "instance_type", "accelerator") and isinstance(changed.get("parallelism"), dict):
        # Another number of cards rarely deals out as before: only what keeps its meaning stays, the planner
        # chooses the rest.
        split = {k: v for k, v in changed["parallelism"].items() if k in ("tensor", "pipeline", "context", "expert")}
        changed["parallelism"] = split
    read = reading.build(changed, cat)
    made, problems = plan(read.request, cat) if read.request else (None, list(read.problems))
    if made is None and key in ("nodes", "instance_type", "accelerator") and changed.get("parallelism"):
        changed["parallelism"] = {}
        read = reading.build(changed, cat)
        made, problems = plan(read.request, cat) if read.request else (None, list(read.problems))
    return made if made is not None else _reported(problems)


def _reported(problems: list[Problem]) -> str:
    return "; ".join(render(problem) for problem in problems) or "no plan"
