"""An exemption: a team's dated statement that one rule does not hold for some resources, and why.

An entry without an owner, a reason or a date excuses nothing and is a violation itself, and so is one that has expired.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from typing import Any

FIELDS = ("rule", "urn_glob", "reason", "owner", "expires")
SYNTAX = '{{"rule": "{rule}", "urn_glob": "{urn}", "reason": "...", "owner": "TEAM", "expires": "YYYY-MM-DD"}}'


@dataclass(frozen=True, kw_only=True)
class Exemption:
    """One complete entry."""

    rule: str
    urn_glob: str
    reason: str
    owner: str
    expires: date
    # Comes with the pack and is about the project's own resources, so a first screen need not repeat it.
    shipped: bool = False

    def covers(self, rule: str, urn: str) -> bool:
        return self.rule == rule and fnmatchcase(urn, self.urn_glob)

    def expired(self, today: date | None) -> bool:
        """Whether its date has passed; the last day still counts. Without a date of today it is taken as standing."""
        return today is not None and self.expires < today

    def __str__(self) -> str:
        return f"{self.rule} on {self.urn_glob}: {self.reason} (owner {self.owner}, expires {self.expires.isoformat()})"


@dataclass(frozen=True)
class Reading:
    """The entries that stand, those that have expired, and what is wrong with the rest."""

    standing: tuple[Exemption, ...] = ()
    expired: tuple[Exemption, ...] = ()
    faults: tuple[str, ...] = ()

    def __add__(self, other: Reading) -> Reading:
        return Reading(self.standing + other.standing, self.expired + other.expired, self.faults + other.faults)


def read(entries: object, rules: Iterable[str], today: date | None, *, shipped: bool = False) -> Reading:
    """Reads the list of a configuration file, or the one that comes with a pack."""
    if not isinstance(entries, list | tuple):
        return Reading(
            faults=("exemptions.entries is not a list; give a list of {rule, urn_glob, reason, owner, expires}",)
        )
    known = set(rules)
    standing: list[Exemption] = []
    expired: list[Exemption] = []
    faults: list[str] = []
    for place, entry in enumerate(entries):
        found = _read_one(entry, known, shipped)
        if isinstance(found, str):
            faults.append(f"exemptions.entries[{place}] {found}")
        else:
            (expired if found.expired(today) else standing).append(found)
    return Reading(tuple(standing), tuple(expired), tuple(faults))


def _read_one(entry: object, rules: set[str], shipped: bool) -> Exemption | str:
    if not isinstance(entry, Mapping):
        return f"is not a map of {', '.join(FIELDS)}"
    values: Mapping[str, Any] = entry
    unknown = sorted(set(values) - set(FIELDS))
    if unknown:
        return f"has an unknown key {unknown[0]}; the keys are {', '.join(FIELDS)}"
    for key in FIELDS:
        if not isinstance(values.get(key), str) or not values[key].strip():
            return f"has no {key}: it excuses nothing until it names {', '.join(FIELDS)}"
    if values["rule"] not in rules:
        return f"names the rule {values['rule']}, which is not in this pack"
    try:
        expires = date.fromisoformat(values["expires"])
    except ValueError:
        return f'expires on "{values["expires"]}", which is not a date; write YYYY-MM-DD'
    return Exemption(
        rule=values["rule"],
        urn_glob=values["urn_glob"],
        reason=values["reason"],
        owner=values["owner"],
        expires=expires,
        shipped=shipped,
    )
