"""A change to a task: the keys that it sets, in the task file's words, and the request that it makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from components.catalog import Catalog
from components.problems import errors
from components.sizing.plan import request
from components.sizing.plan.request import Request
from components.spec.pools import CapacityKind
from components.spec.sizing import SizingSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanChange:
    """`sets` maps a key's path to its value, None meaning that the key is left out.

    `buying` is how machines are bought.
    """

    kind: str
    words: str
    sets: Mapping[str, Any] = field(default_factory=dict[str, Any])
    buying: CapacityKind | None = None
    caution: str = ""

    def spec(self, spec: SizingSpec) -> SizingSpec:
        """The task's planner sections with the change made."""
        data = spec.model_dump(exclude_unset=True)
        for path, value in self.sets.items():
            section, _, key = path.partition(".")
            part = dict(data.get(section) or {})
            if value is None:
                part.pop(key, None)
            else:
                part[key] = value
            data[section] = part
        return SizingSpec.model_validate(data)


def changed(base: Request, change: PlanChange, cat: Catalog) -> Request | None:
    """The request after the change; None when the task could not be written so."""
    spec = change.spec(base.spec)
    made, problems = request.build(spec, cat, name=base.name, keep_last=base.keep_last, task_nodes=base.nodes)
    if made is None or errors(problems):
        return None
    return replace(
        made,
        tuning=base.tuning,
        measured=base.measured,
        buying=change.buying or base.buying,
        pool=base.pool,
        quick=base.quick,
    )
