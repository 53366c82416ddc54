"""`trainshed review`: the comment on a pull request, from two commits or two files of the engine.

Both commits are previewed at once.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from components.naming import did_you_mean
from components.record import Record
from trainshed.review import engine_files
from trainshed.review.comment.whole import comment
from trainshed.review.engine_files import EngineFile, over
from trainshed.review.sources import Side, place_of, previewed, stack_settings
from trainshed.review.trees import Repository, Unusable, repository
from trainshed.review.verdict import Review
from trainshed.review.verdict import review as put_together

Format = Literal["markdown", "json"]


def review(stack: str, *, base: str, head: str | None = None, shape: Format = "markdown") -> int:
    """Run the command; returns its exit code. The comment is printed whatever the verdict is."""
    try:
        found = _review(stack, base, head, Path.cwd())
    except Unusable as problem:
        print(problem, file=sys.stderr)
        if shape == "json":
            reported = {"id": "review-impossible", "severity": "error", "path": "", "said": str(problem), "hint": ""}
            print(json.dumps({"stack": _name(stack), "passes": False, "problems": [reported]}, ensure_ascii=False))
        return problem.code
    print(
        json.dumps(found.as_json(), ensure_ascii=False) if shape == "json" else comment(found),
        end="\n" if shape == "json" else "",
    )
    return found.exit_code


def _review(stack: str, base: str, head: str | None, folder: Path) -> Review:
    if _is_file(base) or (head is not None and _is_file(head)):
        return _of_files(stack, base, head, folder)
    return _of_commits(stack, base, head, folder)


def _is_file(word: str) -> bool:
    return word.endswith((".json", ".jsonl")) or Path(word).is_file()


def _of_commits(stack: str, base: str, head: str | None, folder: Path) -> Review:
    at = repository(folder)
    place = place_of(stack, at.project, folder)
    old = at.commit(base)
    new = at.commit(head) if head is not None else None
    labels = (_label(at, base, old), _label(at, head, new) if head is not None and new else "working tree")
    with _laid_out(at, old, new) as (before, after):
        if not (before / place).is_file() and not (after / place).is_file():
            raise Unusable(f"{place} is in neither side; {_nearest(stack, after, before)}")
        _say(f"previewing {labels[0]} and {labels[1]}")
        with ThreadPoolExecutor(max_workers=2) as both:
            one = both.submit(previewed, before, place, labels[0])
            other = both.submit(previewed, after, place, labels[1])
            sides = one.result(), other.result()
        return put_together(_name(stack), *sides, notes=_notes(at, base, old, new))


@contextlib.contextmanager
def _laid_out(at: Repository, old: str, new: str | None) -> Generator[tuple[Path, Path]]:
    with contextlib.ExitStack() as trees:
        before = trees.enter_context(at.laid_out(old))
        after = at.project if new is None else trees.enter_context(at.laid_out(new))
        yield before, after


def _label(at: Repository, ref: str, commit: str) -> str:
    short = at.short(commit)
    return short if commit.startswith(ref) else f"{ref} ({short})"


def _notes(at: Repository, base: str, old: str, new: str | None) -> list[str]:
    """What a reviewer must know of the comparison itself."""
    notes: list[str] = []
    behind = at.missing_from(old, new or at.commit("HEAD"))
    if behind:
        commits = "1 commit" if behind == 1 else f"{behind:,} commits"
        notes.append(
            f"{base} has {commits} that this change lacks: what they did reads here as undone. Rebase, or compare with"
            " the merge base."
        )
    rules = at.changed(old, new, "policies")
    if rules:
        named = ", ".join(rules[:5]) + (f" and {len(rules) - 5} more" if len(rules) > 5 else "")
        notes.append(f"The policies themselves change here, and judge themselves: {named}.")
    return notes


def _nearest(stack: str, *projects: Path) -> str:
    known = {
        each.stem.removeprefix("Pulumi.") for project in projects for each in (project / "stacks").glob("Pulumi.*.yaml")
    }
    return did_you_mean(_name(stack), known) or "the project has no stacks"


def _name(stack: str) -> str:
    path = Path(stack)
    return (
        path.stem.removeprefix("Pulumi.") or path.stem
        if path.suffix in (".yaml", ".yml") or len(path.parts) > 1
        else stack
    )


def _of_files(stack: str, base: str, head: str | None, folder: Path) -> Review:
    """Two files of the engine, or one against an offline preview. The stack file, when it is there, tells what no
    resource carries.
    """
    name = _name(stack)
    old = _read(base, name) if _is_file(base) else None
    new = _read(head, name) if head is not None and _is_file(head) else None
    if old is not None and old.kind == "preview" and head is None:
        # One preview holds both sides: the state that it started from, and what it would make of it.
        whole = _whole(old, base)
        before = _side(f"{Path(base).name} (state before)", whole.before, stack, folder, known=True)
        return put_together(name, before, _of_preview(whole, base, stack, folder), steps=whole.steps)
    if old is not None and old.kind == "state":
        before = _side(Path(base).name, old.after, stack, folder, known=True)
    else:
        before = (
            _of_preview(_whole(old, base), base, stack, folder) if old is not None else _offline(stack, base, folder)
        )
    if new is None:
        return put_together(name, before, _offline(stack, head, folder))
    if new.kind == "state":
        return put_together(name, before, _side(Path(str(head)).name, new.after, stack, folder, known=True))
    if old is not None and old.kind == "state":
        # The engine's own decisions about this very state; what it leaves out stays as the state has it.
        after = replace(new, after=over(old.after, new))
        return put_together(name, before, _of_preview(after, str(head), stack, folder), steps=new.steps)
    return put_together(name, before, _of_preview(_whole(new, str(head)), str(head), stack, folder))


def _whole(found: EngineFile, word: str) -> EngineFile:
    """A preview that lists every resource: without the others neither cost nor policies can be judged."""
    if not found.wired:
        raise Unusable(
            f"{word} is a stream of events, which tells no dependencies; give the exported state as --base and this as"
            " --head"
        )
    if found.unlisted:
        left = "1 unchanged resource is" if found.unlisted == 1 else f"{found.unlisted:,} unchanged resources are"
        how = (
            "make it with `pulumi preview --json --show-sames`, or give the exported state as --base and this as --head"
        )
        raise Unusable(
            f"{word} lists only what changes ({left} left out), so neither cost nor policies can be told; {how}"
        )
    return found


def _read(word: str, stack: str) -> EngineFile:
    found = engine_files.read(Path(word))
    others = found.stacks - {stack}
    if others:
        raise Unusable(f"{word} is of stack {' and '.join(sorted(others))}, not of {stack}")
    return found


def _of_preview(found: EngineFile, word: str, stack: str, folder: Path) -> Side:
    return _side(Path(word).name, found.after, stack, folder, failure="\n".join(found.errors), steps=found.steps)


def _side(label: str, resources: Sequence[Record], stack: str, folder: Path, **more: Any) -> Side:
    file = _stack_file(stack, folder)
    settings = stack_settings(file) if file else {}
    return Side(label=label, resources=tuple(resources), settings=settings, stack_file=file, **more)


def _stack_file(stack: str, folder: Path) -> Path | None:
    path = Path(stack)
    file = folder / (path if path.suffix in (".yaml", ".yml") else f"stacks/Pulumi.{stack}.yaml")
    return file if file.is_file() else None


def _offline(stack: str, ref: str | None, folder: Path) -> Side:
    at = repository(folder)
    place = place_of(stack, at.project, folder)
    if ref is None:
        return previewed(at.project, place, "working tree")
    commit = at.commit(ref)
    with at.laid_out(commit) as project:
        side = previewed(project, place, _label(at, ref, commit))
        if side.absent:
            raise Unusable(f"{place} is not in {ref}; {_nearest(stack, project)}")
        return side


def _say(words: str) -> None:
    if sys.stderr.isatty():
        print(f"{words} ...", file=sys.stderr)
