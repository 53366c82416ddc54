"""One side of a review: what a stack declares at a commit, in the working tree, or in a file of the engine.

A commit is previewed by its own code in a process of its own, so that old code never meets new settings. A side that
can't be previewed is still a side, with its problems in place of resources.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import yaml

from components.problems import Problem, errors
from components.record import Record
from components.spec.reading import secrets
from components.spec.stack import StackSpec
from trainshed.preview.policies import Verdict
from trainshed.review import preview_json
from trainshed.review.engine_files import Step
from trainshed.review.trees import Unusable


@dataclass(frozen=True, kw_only=True)
class Side:
    """What is known of one state. `known` when it comes from a real state, whose computed values are there."""

    label: str
    resources: tuple[Record, ...] = ()
    problems: tuple[Problem, ...] = ()
    verdict: Verdict | None = None  # None where nobody asked the policies yet
    failure: str = ""
    settings: Mapping[str, Any] | None = None
    stack_file: Path | None = None
    known: bool = False
    steps: Mapping[str, Step] = field(default_factory=dict[str, Step])

    @property
    def absent(self) -> bool:
        """Whether there is no stack at all on this side."""
        return self.settings is None and not self.resources and not self.failure

    @property
    def broken(self) -> bool:
        return bool(self.failure or errors(self.problems))


def stack_settings(path: Path) -> dict[str, Any] | None:
    """The `config` of a stack file; None when there is no such file, and empty when it can't be read (the preview tells
    why).
    """
    if not path.is_file():
        return None
    try:
        document: object = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError):
        return {}
    config = cast("Mapping[str, Any]", document).get("config") if isinstance(document, Mapping) else None
    return dict(cast("Mapping[str, Any]", config)) if isinstance(config, Mapping) else {}


def secrets_changed(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Paths of secrets that differ between two stack files: what is declared shows `<secret>` on both sides."""
    if before is None or after is None:
        return ()
    return tuple(sorted(set(_secrets(before, after, "", secrets.names(StackSpec)))))


def _secrets(old: object, new: object, path: str, known: frozenset[str]) -> Iterator[str]:
    if old == new:
        return
    last = path.rsplit(".", 1)[-1]
    sealed = any(isinstance(each, Mapping) and "secure" in each for each in (old, new))
    if sealed or (path and secrets.is_secret(last, known)):
        yield path
    elif isinstance(old, Mapping) and isinstance(new, Mapping):
        first, second = cast("Mapping[str, Any]", old), cast("Mapping[str, Any]", new)
        for key in sorted({*first, *second}):
            name = str(key).removeprefix("trainshed:")
            yield from _secrets(first.get(key), second.get(key), f"{path}.{name}" if path else name, known)
    elif isinstance(old, list) and isinstance(new, list):
        for place, (one, other) in enumerate(zip(cast("list[Any]", old), cast("list[Any]", new), strict=False)):
            yield from _secrets(one, other, f"{path}[{place}]", known)


def previewed(project: Path, stack_path: str, label: str) -> Side:
    """Preview a stack file with the code that lies beside it. Never raises for what the code or the file has wrong."""
    file = project / stack_path
    settings = stack_settings(file)
    if settings is None:
        return Side(label=label)
    command = [sys.executable, "-m", "trainshed", "preview", stack_path, "--json"]
    done = subprocess.run(command, cwd=project, env=_environment(project), capture_output=True, text=True, check=False)
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        return Side(
            label=label,
            settings=settings,
            stack_file=file,
            failure=_last_words(done.stderr or done.stdout, project, done.returncode),
        )
    if not isinstance(answer, dict) or "resources" not in answer:
        return Side(
            label=label,
            settings=settings,
            stack_file=file,
            failure="its `trainshed preview --json` prints something else",
        )
    try:
        printed = preview_json.read(cast("dict[str, Any]", answer))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        failure = f"its `trainshed preview --json` can't be read here: {type(error).__name__} {error}"
        return Side(label=label, settings=settings, stack_file=file, failure=failure)
    return Side(
        label=label,
        resources=printed.resources,
        problems=printed.problems,
        verdict=printed.verdict,
        settings=settings,
        stack_file=file,
    )


def _environment(project: Path) -> dict[str, str]:
    """The folder's own modules come first, whatever is installed; without that an old commit would run today's code."""
    kept = {key: value for key, value in os.environ.items() if key not in ("PYTHONSAFEPATH", "PYTHONPATH")}
    return {**kept, "PYTHONPATH": str(project), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONIOENCODING": "utf-8"}


def _last_words(output: str, project: Path, code: int) -> str:
    """The end of what was said, without this machine's folders."""
    lines = [
        line for line in output.replace(f"{project}/", "").replace(sys.prefix, "…").strip().split("\n") if line.strip()
    ]
    return "\n".join(lines[-12:]) or f"it ended with exit code {code} and said nothing"


def place_of(stack: str, project: Path, folder: Path) -> str:
    """The stack file's path from the project's folder, from a stack's name or a path. Raises Unusable when it lies
    outside.
    """
    path = Path(stack)
    if path.suffix not in (".yaml", ".yml") and len(path.parts) <= 1:
        return f"stacks/Pulumi.{stack}.yaml"
    absolute = (folder / path).resolve()
    if not absolute.is_relative_to(project.resolve()):
        raise Unusable(
            f"{stack} lies outside the repository's project, so no commit holds it; give two files of the engine"
            " instead"
        )
    return absolute.relative_to(project.resolve()).as_posix()
