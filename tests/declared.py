"""What a program declares, as plain records: the one harness of all tests over declarations.

Assertions are made on the records, never inside an `apply`, which may not run at all.
"""

from __future__ import annotations

from collections.abc import Iterable

from infra.offline.recorder import Record, Recording, record, run

__all__ = ["Record", "Recording", "named", "of_type", "one", "record", "run"]


def of_type(records: Iterable[Record], token: str) -> list[Record]:
    """Records whose type is `token`, or ends with `:token` (`Vpc`, `launchTemplate:LaunchTemplate`)."""
    return [each for each in records if each.type == token or each.type.endswith(f":{token}")]


def named(records: Iterable[Record], name: str) -> Record:
    """The only record of that logical name."""
    found = [each for each in records if each.name == name]
    assert len(found) == 1, f"{len(found)} resources are named {name}: {[each.type for each in found]}"
    return found[0]


def one(records: Iterable[Record], token: str) -> Record:
    """The only record of that type."""
    found = of_type(records, token)
    assert len(found) == 1, f"{len(found)} resources are of type {token}: {[each.name for each in found]}"
    return found[0]
