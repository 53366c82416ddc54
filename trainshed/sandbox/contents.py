"""What a sandbox holds, as plain data: nodes, objects and the controllers' limits.

The command writes it to a file, from which the supervisor reads it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from trainshed.sandbox.api import Object
from trainshed.sandbox.cloud.purchases import Purchases
from trainshed.sandbox.controllers import ClientLimits
from trainshed.sandbox.nodes import NodeShape


@dataclass(frozen=True, kw_only=True)
class SandboxContents:
    """`kueue_settings` are the keys of Kueue's configuration that the stack's release sets, where they mean
    something outside a cluster. `purchases` where the stack's nodes come when jobs wait for them.
    """

    stack: str
    shapes: tuple[NodeShape, ...]
    objects: tuple[Object, ...]
    kueue: ClientLimits
    jobset: ClientLimits
    kueue_settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    kueue_gates: Mapping[str, bool] = field(default_factory=dict[str, bool])
    purchases: Purchases | None = None

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)))

    @classmethod
    def read(cls, path: Path) -> SandboxContents:
        raw = json.loads(path.read_text())
        return cls(
            stack=raw["stack"],
            shapes=tuple(NodeShape(**shape) for shape in raw["shapes"]),
            objects=tuple(raw["objects"]),
            kueue=ClientLimits(**raw["kueue"]),
            jobset=ClientLimits(**raw["jobset"]),
            kueue_settings=raw["kueue_settings"],
            kueue_gates=raw["kueue_gates"],
            purchases=Purchases(**raw["purchases"]) if raw["purchases"] else None,
        )
