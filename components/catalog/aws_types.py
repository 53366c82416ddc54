"""What AWS says of each type that the project declares: limits, what replaces it, what there is one of, where it lacks.

The figures stand in `data/aws_types.json`, or in `limits` where a rule or the quota report counts against them. A type
that the project declares has a row here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

_FILE = Path(__file__).parent / "data" / "aws_types.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """A default that nothing here comes near, so that no report counts it."""

    value: int
    unit: str
    service: str
    code: str
    unverified: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsType:
    """`limits` are fields of `Limits`. `replaces` are properties whose change makes the engine replace the resource;
    `one_per` says of what there is only one: an account, a region, or a name in a region.
    """

    token: str
    replaces: tuple[str, ...] = ()
    replaces_when_smaller: tuple[str, ...] = ()
    replaces_when_taken_away: tuple[str, ...] = ()
    replaces_unverified: bool = False
    limits: tuple[str, ...] = ()
    quota: Quota | None = None
    one_per: str = ""
    barred_zones: frozenset[str] = frozenset()
    lacking_partitions: frozenset[str] = frozenset()
    partitions_unverified: bool = False
    note: str = ""


@cache
def table() -> Mapping[str, AwsType]:
    """Every row by its type token."""
    rows = json.loads(_FILE.read_text())["types"]
    return MappingProxyType({token: _row(token, row) for token, row in rows.items()})


def _row(token: str, row: Mapping[str, Any]) -> AwsType:
    quota = row.get("quota")
    return AwsType(
        token=token,
        replaces=tuple(row["replaces"]),
        replaces_when_smaller=tuple(row.get("replaces_when_smaller", ())),
        replaces_when_taken_away=tuple(row.get("replaces_when_taken_away", ())),
        replaces_unverified=row.get("replaces_unverified", False),
        limits=tuple(row.get("limits", ())),
        quota=Quota(**quota) if quota else None,
        one_per=row.get("one_per", ""),
        barred_zones=frozenset(row.get("barred_zones", ())),
        lacking_partitions=frozenset(row.get("lacking_partitions", ())),
        partitions_unverified=row.get("partitions_unverified", False),
        note=row.get("note", ""),
    )
