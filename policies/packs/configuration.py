"""A pack's configuration: what each rule's level and parameters are in one environment, and which exemptions stand.

The file format is the engine's own (`--policy-pack-config`), so that one file serves the engine and the preview. The
key `exemptions` configures the rule of that name, whose list counts for every rule of the pack.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from policies.packs.policy_rule import LEVELS, Level, PolicyRule

FOLDER = Path(__file__).parents[1] / "config"
EXEMPTIONS = "exemptions"


class ConfigurationError(ValueError):
    """A configuration that the pack can't read."""


@dataclass(frozen=True)
class Configuration:
    """Levels and parameters by rule name; what is missing has the rule's own."""

    levels: Mapping[str, Level] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    everywhere: Level | None = None

    def level(self, rule: PolicyRule) -> Level:
        return self.levels.get(rule.name) or self.everywhere or rule.level

    def parameters(self, rule: PolicyRule) -> dict[str, Any]:
        return rule.defaults() | dict(self.values.get(rule.name, {}))

    @property
    def exemptions(self) -> object:
        return self.values.get(EXEMPTIONS, {}).get("entries") or []

    @property
    def today(self) -> date | None:
        written = self.values.get(EXEMPTIONS, {}).get("today")
        if not written:
            return None
        try:
            return date.fromisoformat(str(written))
        except ValueError as error:
            raise ConfigurationError(
                f'exemptions.today is "{written}", which is not a date; write YYYY-MM-DD'
            ) from error


def parse(written: Mapping[str, Any]) -> Configuration:
    """A configuration from the engine's file format: a level, or a map of `enforcementLevel` and parameters, for
    each rule or `all`.
    """
    levels: dict[str, Level] = {}
    values: dict[str, Mapping[str, Any]] = {}
    for name, entry in written.items():
        if name == "environments":
            continue
        parameters = {"enforcementLevel": entry} if isinstance(entry, str) else entry
        if not isinstance(parameters, Mapping):
            raise ConfigurationError(f"{name}: neither a level nor a map of parameters")
        level = parameters.get("enforcementLevel")
        if level is not None:
            if level not in LEVELS:
                raise ConfigurationError(f'{name}: the level "{level}" is not one of {", ".join(LEVELS)}')
            levels[name] = level
        values[name] = {key: value for key, value in parameters.items() if key != "enforcementLevel"}
    return Configuration(levels, values, levels.get("all"))


def path_of(pack: str, *names: str) -> Path | None:
    """The configuration file of the first of these stack or environment names that has one."""
    return next((path for name in names if (path := FOLDER / pack / f"{name}.json").is_file()), None)


def load(pack: str, *names: str) -> Configuration:
    """The configuration for the first of these names that has a file; the rules' own defaults when none has."""
    path = path_of(pack, *names)
    return Configuration() if path is None else parse(json.loads(path.read_text(encoding="utf-8")))
