"""Files that the Pulumi engine wrote (a preview's steps, its stream of events, or an exported state), as records of a
preview.

The format of a file is found from its content.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from components.record import STACK_TYPE, Record
from trainshed.review.trees import Unusable
from trainshed.review.values import plain

_SAME = ("same", "read", "read-discard", "refresh", "discard")


@dataclass(frozen=True, kw_only=True)
class Step:
    """What the engine decided for one resource, with the properties that it gave as reasons."""

    op: str
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class EngineFile:
    """The states in one file. `before` is the state that a preview started from; `steps` its decisions."""

    kind: str  # "state" or "preview"
    before: tuple[Record, ...] = ()
    after: tuple[Record, ...] = ()
    steps: Mapping[str, Step] = field(default_factory=dict[str, Step])
    errors: tuple[str, ...] = ()
    unlisted: int = 0  # resources that stay the same and that the preview therefore left out
    wired: bool = True  # whether it tells which input comes from which resource; a stream of events doesn't

    @property
    def stacks(self) -> set[str]:
        """Names of the stacks that its resources belong to."""
        return {each.urn.split("::")[0].removeprefix("urn:pulumi:") for each in (*self.before, *self.after)}


def read(path: Path) -> EngineFile:
    """Raises Unusable, with what was expected."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise Unusable(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise Unusable(f"{path} is no UTF-8 text, so no JSON of the engine") from error
    documents = _documents(text, path)
    first = documents[0]
    if len(documents) == 1 and isinstance(first.get("deployment"), dict):
        return _state(cast("Mapping[str, Any]", first["deployment"]))
    if len(documents) == 1 and isinstance(first.get("steps"), list):
        return _preview(first)
    if any("resourcePreEvent" in each or "summaryEvent" in each or "sequence" in each for each in documents):
        return _events(documents)
    raise Unusable(
        f"{path} holds neither the output of `pulumi preview --json` (a list of steps) nor of `pulumi stack export` (a"
        " deployment)"
    )


def _documents(text: str, path: Path) -> list[dict[str, Any]]:
    """One JSON object, or one a line as the engine streams its events."""
    try:
        found: list[object] = [json.loads(text)]
    except ValueError as whole:
        try:
            found = [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError:
            line = getattr(whole, "lineno", 1)
            column = getattr(whole, "colno", 1)
            raise Unusable(f"{path}:{line}:{column}: this is no JSON ({getattr(whole, 'msg', whole)})") from whole
    if not found or not all(isinstance(each, dict) for each in found):
        raise Unusable(f"{path} holds no JSON object")
    return cast("list[dict[str, Any]]", found)


def _state(deployment: Mapping[str, Any]) -> EngineFile:
    # A resource that is about to be deleted stands beside its successor under the same URN.
    kept = [each for each in deployment.get("resources") or () if not each.get("delete")]
    return EngineFile(kind="state", after=tuple(_records(kept)))


def _preview(document: Mapping[str, Any]) -> EngineFile:
    return _from_steps(
        [
            (str(each.get("op", "")), each, each.get("oldState"), each.get("newState"), _why(each))
            for each in cast("list[Mapping[str, Any]]", document["steps"])
        ],
        errors=_errors(document.get("diagnostics") or ()),
        same=int((document.get("changeSummary") or {}).get("same") or 0),
    )


def _events(documents: Sequence[Mapping[str, Any]]) -> EngineFile:
    found: list[tuple[str, Mapping[str, Any], Any, Any, tuple[str, ...]]] = []
    for event in documents:
        metadata = (event.get("resourcePreEvent") or {}).get("metadata")
        if isinstance(metadata, dict):
            reported = cast("Mapping[str, Any]", metadata)
            found.append(
                (str(reported.get("op", "")), reported, reported.get("old"), reported.get("new"), _why(reported))
            )
    said = [event["diagnosticEvent"] for event in documents if isinstance(event.get("diagnosticEvent"), dict)]
    summary = next((event["summaryEvent"] for event in documents if isinstance(event.get("summaryEvent"), dict)), {})
    return _from_steps(
        found, errors=_errors(said), same=int((summary.get("resourceChanges") or {}).get("same") or 0), wired=False
    )


def _why(step: Mapping[str, Any]) -> tuple[str, ...]:
    """The properties that the provider named: as reasons outright, or as the kinds of a detailed diff."""
    named = step.get("replaceReasons") or step.get("keys") or ()
    detailed = [
        path
        for path, each in (step.get("detailedDiff") or {}).items()
        if "replace" in str(each.get("kind") or each.get("diffKind") or "")
    ]
    return tuple(dict.fromkeys([*map(str, named), *detailed]))


def _errors(diagnostics: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    said = [str(each.get("message", "")).strip() for each in diagnostics if each.get("severity") == "error"]
    return tuple(each for each in dict.fromkeys(said) if each)


def _from_steps(
    found: Sequence[tuple[str, Mapping[str, Any], Any, Any, tuple[str, ...]]],
    *,
    errors: tuple[str, ...],
    same: int,
    wired: bool = True,
) -> EngineFile:
    before: dict[str, Mapping[str, Any]] = {}
    after: dict[str, Mapping[str, Any]] = {}
    steps: dict[str, Step] = {}
    for op, step, old, new, why in found:
        urn = str(step.get("urn") or "")
        if isinstance(old, dict) and urn not in before:
            before[urn] = cast("Mapping[str, Any]", old)
        if isinstance(new, dict) and op not in ("delete", "delete-replaced"):
            after[urn] = cast("Mapping[str, Any]", new)
        word = _word(op)
        # One replacement comes as three steps; the one named "replace" describes them best.
        if word and (urn not in steps or word == "replace"):
            reasons = why or (steps[urn].reasons if urn in steps else ())
            steps[urn] = Step(op=word, reasons=reasons)
    listed = sum(1 for each in steps.values() if each.op == "same")
    return EngineFile(
        kind="preview",
        before=tuple(_records(before.values())),
        after=tuple(_records(after.values())),
        steps=steps,
        errors=errors,
        unlisted=max(0, same - listed),
        wired=wired,
    )


def over(state: Sequence[Record], preview: EngineFile) -> tuple[Record, ...]:
    """The whole stack after a preview: what it lists, over a state that holds what it leaves out."""
    old = {each.urn: each for each in state}
    new = {each.urn: each for each in preview.after}
    gone = {urn for urn, step in preview.steps.items() if step.op == "delete"}
    kept = [each for urn, each in old.items() if urn not in gone and urn not in new]
    listed = [
        each
        if preview.wired or urn not in old
        else replace(each, depends_on=old[urn].depends_on, property_dependencies=old[urn].property_dependencies)
        for urn, each in new.items()
    ]
    return (*kept, *listed)


def _word(op: str) -> str:
    if op in ("replace", "create-replacement", "delete-replaced", "import-replacement", "read-replacement"):
        return "replace"
    if op in _SAME:
        return "same"
    return "create" if op == "import" else op


def _records(states: Any) -> Iterator[Record]:
    for state in cast("Sequence[Mapping[str, Any]]", list(states)):
        urn = str(state.get("urn") or "")
        if not urn or state.get("type") == STACK_TYPE or urn.count("::") < 3:
            continue
        wired = cast("Mapping[str, Sequence[str]]", state.get("propertyDependencies") or {})
        yield Record(
            urn=urn,
            type=str(state.get("type") or urn.split("::")[2].rsplit("$", 1)[-1]),
            name=urn.rsplit("::", 1)[-1],
            parent=str(state.get("parent") or ""),
            custom=bool(state.get("custom", True)),
            inputs=plain(state.get("inputs") or {}),
            depends_on=tuple(
                sorted({*(state.get("dependencies") or ()), *(urn for urns in wired.values() for urn in urns or ())})
            ),
            property_dependencies={key: tuple(urns or ()) for key, urns in wired.items()},
            protect=bool(state.get("protect")),
            retain_on_delete=bool(state.get("retainOnDelete")),
            aliases=tuple(str(each) for each in state.get("aliases") or ()),
            provider=str(state.get("provider") or "").rsplit("::", 1)[0],
        )
