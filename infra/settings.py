"""The settings of a run: the only reader of the stack's configuration.

They come from a stack file (in a preview) or from the engine. Errors stop the run before anything is declared.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from components import catalog
from components.catalog import Catalog
from components.naming import fit
from components.planning import rules, siblings
from components.planning.rules.cluster import check_name
from components.planning.shares import with_default_queues
from components.problems import Problem, errors, in_file_order, render
from components.spec.defaults import Default
from components.spec.reading import document, partial, secrets
from components.spec.reading.canonical import canonical
from components.spec.reading.document import Document
from components.spec.reading.reader import PROJECT, Reading, read_config, read_stack
from components.spec.reading.scalars import json_number
from components.spec.stack import StackSpec

ROOT = Path(__file__).resolve().parent.parent
# The checkout's own stacks; where the package is installed from a wheel, those of the folder it is used in.
STACKS = ROOT / "stacks" if (ROOT / "stacks").is_dir() else Path("stacks")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """A stack that passed (`stack` is there and no problem is an error), or why it didn't."""

    name: str
    stack: StackSpec | None
    problems: tuple[Problem, ...]
    catalog: Catalog = field(repr=False)
    defaults: tuple[Default, ...] = ()
    reading: Reading | None = field(default=None, repr=False)
    folder: Path | None = None

    @property
    def document(self) -> Document:
        """The stack's file with the places of its keys; empty where there is none."""
        return self.reading.document if self.reading else Document(file="")

    @cached_property
    def valid(self) -> StackSpec:
        """The stack in its canonical order, once no error is left. Raises ValueError otherwise."""
        if self.stack is None or errors(self.problems):
            raise ValueError("the stack has errors")
        return canonical(self.stack)

    def with_later(self, found: list[Problem]) -> Settings:
        """These settings with problems that only a preview can see, placed and acknowledged as the stack file says."""
        if not found or self.stack is None:
            return self
        placed = self.reading.placed(found) if self.reading else found
        accepted = {(each.id, each.path): each.reason for _, each in partial.items(self.stack, "acknowledged")}
        told = [_accepted(each, accepted) for each in placed]
        return replace(self, problems=tuple(in_file_order([*self.problems, *told])))


def tags(settings: Settings) -> dict[str, str]:
    """The user's tags and the stack's own; every resource that can carry tags carries these."""
    stack = settings.valid
    return {
        **stack.tags,
        "project": "trainshed",
        "stack": settings.name,
        "environment": stack.environment,
        "managed-by": "pulumi",
    }


def cluster_name(settings: Settings) -> str:
    """Known beforehand: the log group is named after it. EKS takes 100 characters; names made from it take fewer."""
    return fit(f"trainshed-{settings.name}", 40)


def stack_file(stack: str) -> tuple[str, Path]:
    """The stack's name and file, from its name (`prod`) or from a path to a stack file."""
    path = Path(stack)
    if path.suffix in (".yaml", ".yml") or len(path.parts) > 1:
        return path.stem.removeprefix("Pulumi.") or path.stem, path
    return stack, STACKS / f"Pulumi.{stack}.yaml"


def from_file(stack: str, cat: Catalog | None = None) -> Settings:
    """Read and check a stack file by name or path; every problem is in the answer."""
    name, path = stack_file(stack)
    shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    read = _checked(name, read_stack(path, str(shown)), cat or catalog.load(), _siblings(path))
    return replace(read, folder=path.parent)


def _siblings(path: Path) -> dict[str, StackSpec]:
    """The other stacks of the folder by name, as far as they can be read."""
    found: dict[str, StackSpec] = {}
    for other in sorted(path.parent.glob("Pulumi.*.yaml")):
        if other.name != path.name and (stack := read_stack(other, str(other)).stack) is not None:
            found[other.stem.removeprefix("Pulumi.")] = stack
    return found


def from_engine() -> Settings:
    """Settings of the stack that the engine runs. Raises pulumi.RunError naming every error; warnings go to the
    engine's log.
    """
    import pulumi
    from pulumi.runtime.config import CONFIG, get_config_env, get_config_secret_keys_env, is_config_secret

    name = pulumi.get_stack()
    # The language host passes the configuration in the environment; what tests and the automation API set comes on top.
    config = {key: _decoded(value) for key, value in {**get_config_env(), **CONFIG.get()}.items()}
    secret = frozenset({*get_config_secret_keys_env(), *(key for key in config if is_config_secret(key))})
    settings = _unsaid(
        _checked(name, read_config(config, _source(name, config), secret), catalog.load()), config, secret
    )
    wrong = errors(settings.problems)
    if wrong:
        raise pulumi.RunError("\n".join(["the stack file has errors:", *(f"  {render(each)}" for each in wrong)]))
    for each in settings.problems:
        (pulumi.log.warn if each.severity == "warning" else pulumi.log.info)(render(each))
    return settings


def _checked(
    name: str, reading: Reading, cat: Catalog, others: Mapping[str, StackSpec] = MappingProxyType({})
) -> Settings:
    stack = with_default_queues(reading.stack, cat) if reading.stack else None
    found: list[Problem] = []
    if stack:
        found = [
            *rules.check(stack, cat),
            *check_name(stack, name, reading.document.file),
            *siblings.check(stack, others),
        ]
    problems = in_file_order([*reading.problems, *reading.placed(found)])
    if stack:
        problems = in_file_order(reading.placed(_acknowledged(stack, problems)))
    return Settings(
        name=name, stack=stack, problems=tuple(problems), catalog=cat, defaults=reading.defaults, reading=reading
    )


# Problems that no single reading of the stack file finds: a review's, the plan's and those of the moment.
_FOUND_LATER = ("review-", "plan-", "block-")


def _accepted(problem: Problem, accepted: Mapping[tuple[str, str], str]) -> Problem:
    reason = accepted.get((problem.id, problem.path))
    if problem.severity != "warning" or reason is None:
        return problem
    return replace(problem, severity="note", said=f"{problem.said} (acknowledged: {reason})")


def _acknowledged(stack: StackSpec, problems: list[Problem]) -> list[Problem]:
    """Acknowledged warnings become notes with their reason; an acknowledgement of nothing is a warning itself."""
    accepted = {(each.id, each.path): each.reason for _, each in partial.items(stack, "acknowledged")}
    met = {(each.id, each.path) for each in problems if each.severity == "warning"}
    out = [_accepted(each, accepted) for each in problems]
    for index, each in partial.items(stack, "acknowledged"):
        if (each.id, each.path) in met or each.id.startswith(_FOUND_LATER):
            continue
        severe = any((other.id, other.path) == (each.id, each.path) and other.severity == "error" for other in problems)
        said = (
            f"{each.id} at {each.path} is an error, which can't be acknowledged"
            if severe
            else f"no warning {each.id} is raised at {each.path}"
        )
        hint = "mend it" if severe else "take the acknowledgement out"
        out.append(
            Problem(id="acknowledges-nothing", path=f"acknowledged[{index}]", said=said, hint=hint, severity="warning")
        )
    return out


def _unsaid(settings: Settings, config: Mapping[str, Any], secret: frozenset[str]) -> Settings:
    """The engine hides a secret only where it is printed whole: a problem may quote a part of it."""
    values = {key.removeprefix(f"{PROJECT}:"): config[key] for key in secret if key in config}
    return replace(settings, problems=tuple(secrets.unsaid(each, values) for each in settings.problems))


def _decoded(value: str) -> Any:
    """Objects arrive as JSON; everything else is the text that was written."""
    if value[:1] in ("{", "["):
        try:
            return json.loads(value, parse_float=json_number)
        except ValueError:
            return value
    return value


def _source(name: str, config: Mapping[str, Any]) -> Document | None:
    """The stack's file, for the places of problems, when it is where the project keeps it."""
    path = STACKS / f"Pulumi.{name}.yaml"
    if not path.is_file() or not any(key.startswith(f"{PROJECT}:") for key in config):
        return None
    shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    return document.read(path.read_text(encoding="utf-8"), str(shown))
